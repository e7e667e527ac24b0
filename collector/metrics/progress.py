"""How far a run came, and how much of it it had done before: AgentQuest's two rates after the last call."""

from __future__ import annotations

from collector.metrics.metric import Metric, Observed
from synth.progress import case_milestones, known_progress, known_rate, repetition, repetition_doubts


def progress_rates(seen: Observed) -> tuple[float, ...] | None:
    """After each call; None without a case, and where unseen calls may have done actions of it."""
    return None if seen.case is None else known_progress(seen.run, case_milestones(seen.case))


def repetition_rates(seen: Observed) -> tuple[float, ...] | None:
    """After each call, by equal actions; None where calls were not seen or arguments are not known."""
    if repetition_doubts(seen.run):
        return None
    return repetition([step.action for step in seen.steps]).rates()


def progress_rate(seen: Observed) -> float | None:
    return None if seen.case is None else known_rate(seen.run, case_milestones(seen.case))


def repetition_rate(seen: Observed) -> float | None:
    rates = repetition_rates(seen)
    return None if rates is None else (rates or (0.0,))[-1]


METRICS = (
    Metric(
        "progress_rate",
        "actions done in a valid order / actions of the case; null without a case, or where unseen calls may "
        "have done more",
        progress_rate, highest=1, better="high",
    ),
    Metric(
        "repetition_rate",
        "repeated calls / (calls - 1), those that could repeat one (AgentQuest); 0 for one call and none, "
        "null where calls or arguments were not seen",
        repetition_rate, highest=1, better="low",
    ),
)  # fmt: skip
