"""How far a run came, and how much of it it had done before: AgentQuest's two rates after the last call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.metrics.metric import Metric, Observed
from synth.progress import case_milestones, known_progress, known_rate


def progress_rates(seen: Observed) -> tuple[float, ...] | None:
    """After each call: by the case, else by what states of the calls say (`{"progress": share}`).

    None without either, and where unseen calls may have changed it.
    """
    if seen.case is None:
        return _told_by_states(seen)
    return known_progress(seen.run, case_milestones(seen.case))


def progress_rate(seen: Observed) -> float | None:
    if seen.case is None:
        told = _told_by_states(seen)
        return told[-1] if told else None
    return known_rate(seen.run, case_milestones(seen.case))


def _told_by_states(seen: Observed) -> tuple[float, ...] | None:
    """What each call's state says of the progress; None where one does not, and without calls."""
    states = [call.extra.get("state") for call in seen.run.calls]
    told = [_share(state.get("progress")) if isinstance(state, Mapping) else None for state in states]
    shares = tuple(share for share in told if share is not None)
    return shares if states and len(shares) == len(states) and not seen.run.gaps else None


def _share(said: Any) -> float | None:
    """A number from 0 to 1, None for anything else."""
    return float(said) if type(said) in (int, float) and 0 <= said <= 1 else None


def repetition_rate(seen: Observed) -> float | None:
    return None if seen.repetition is None else (seen.repetition or (0.0,))[-1]


METRICS = (
    Metric(
        "progress_rate",
        "actions done in a valid order / actions of the case, else what the calls' states say; null without "
        "either, or where unseen calls may have done more",
        progress_rate, highest=1, better="high",
    ),
    Metric(
        "repetition_rate",
        "repeated calls / (calls - 1), those that could repeat one (AgentQuest); 0 for one call and none, "
        "null where calls or arguments were not seen",
        repetition_rate, highest=1, better="low",
    ),
)  # fmt: skip
