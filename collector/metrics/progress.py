"""How far a run came, and how much of it it had done before: AgentQuest's two rates after the last call."""

from __future__ import annotations

from collector.metrics.metric import Metric, Observed
from synth.progress import case_milestones, progress, repetition


def progress_rates(seen: Observed) -> tuple[float, ...] | None:
    """After each call; None without a case."""
    return None if seen.case is None else progress(seen.run, case_milestones(seen.case))


def repetition_rates(seen: Observed) -> tuple[float, ...] | None:
    """After each call, by equal actions; None where arguments are not known."""
    known = all(call.partly.get("arguments", "hashed") == "hashed" for call in seen.run.calls)
    return repetition([step.action for step in seen.steps]).rates() if known else None


def progress_rate(seen: Observed) -> float | None:
    rates = progress_rates(seen)
    return None if rates is None else (rates or (0.0,))[-1]


def repetition_rate(seen: Observed) -> float | None:
    rates = repetition_rates(seen)
    return None if rates is None else (rates or (0.0,))[-1]


METRICS = (
    Metric(
        "progress_rate", "actions done in a valid order / actions of the case; null without a case",
        progress_rate, highest=1, better="high",
    ),
    Metric(
        "repetition_rate",
        "repeated calls / (calls - 1), those that could repeat one (AgentQuest); 0 for one call and none, "
        "null where arguments are not known",
        repetition_rate, highest=1, better="low",
    ),
)  # fmt: skip
