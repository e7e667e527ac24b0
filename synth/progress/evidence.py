"""What may be said of a run of which not everything was seen (`Run.gaps`)."""

from __future__ import annotations

from collections.abc import Sequence

from synth.observed.run import Run, ToolCall, Unseen
from synth.progress.milestones import Milestone, progress, reached_by


def progress_doubts(run: Run, milestones: Sequence[Milestone]) -> tuple[str, ...]:
    """Why a run may have come further than what was seen of it; empty where that is known.

    What was reached stays reached, so a run that is seen to have reached everything has no doubts.
    """
    reached = reached_by(run, milestones)
    return _doubts(run, [one for one in milestones if one.name not in reached])


def known_progress(run: Run, milestones: Sequence[Milestone]) -> tuple[float, ...] | None:
    """PR after each call; None without milestones, and where any may have been reached unseen."""
    return None if _doubts(run, milestones) else progress(run, milestones)


def known_rate(run: Run, milestones: Sequence[Milestone]) -> float | None:
    """PR after the last call, 0 without calls; None without milestones, and with doubts."""
    if not milestones or progress_doubts(run, milestones):
        return None
    return len(reached_by(run, milestones)) / len(milestones)


def repetition_doubts(run: Run) -> tuple[str, ...]:
    """Why the repetition rate of a run is not known: calls that were not seen, arguments that are not known.

    Arguments that are hashed can be told apart.
    """
    hidden = [
        _hidden(at, call)
        for at, call in enumerate(run.calls)
        if call.partly.get("arguments", "hashed") != "hashed"
    ]
    return tuple(dict.fromkeys((*(gap.problem for gap in run.lost), *hidden)))


def _doubts(run: Run, milestones: Sequence[Milestone]) -> tuple[str, ...]:
    """What may have reached one of these milestones, unseen."""
    missed = [gap.problem for gap in run.gaps if any(_may_reach(gap, one) for one in milestones)]
    hidden = [
        _hidden(at, call)
        for at, call in enumerate(run.calls)
        if "arguments" in call.partly and any(one.tool == call.tool and one.arguments for one in milestones)
    ]
    return tuple(dict.fromkeys((*missed, *hidden)))


def _hidden(at: int, call: ToolCall) -> str:
    return f"not all arguments of call {at} ({call.tool}) are known"


def _may_reach(gap: Unseen, milestone: Milestone) -> bool:
    return gap.tool is None or gap.tool == milestone.tool
