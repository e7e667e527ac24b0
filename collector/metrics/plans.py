"""How near a run came to the gold plan of its case, part by part: m&m's metrics of one plan."""

from __future__ import annotations

from collections.abc import Callable

from collector.metrics.metric import Metric, Observed
from synth.plans import PlanScores, run_passed, run_scores


def scores(seen: Observed) -> PlanScores | None:
    """By whichever of the case's right plans is nearest; None without a gold plan."""
    found = run_scores(seen.run, seen.case)
    return None if found is None else found[1]


def _measure(
    of: Callable[[PlanScores], float], *, values: bool = False
) -> Callable[[Observed], float | None]:
    """A score; where it is about arguments (`values`), None for a run whose arguments are not all known."""

    def measure(seen: Observed) -> float | None:
        found = scores(seen)
        if found is None or (values and any("arguments" in call.partly for call in seen.run.calls)):
            return None
        return float(of(found))

    return measure


def passed(seen: Observed) -> float | None:
    return None if scores(seen) is None else float(run_passed(seen.run))


_NEEDS = "null without a gold plan"
_KNOWN = f"{_NEEDS}, or where arguments are not known"

METRICS = (
    Metric(
        "plan_tool_f1", f"F1 of the tools called, by the nearest right plan of the case; {_NEEDS}",
        _measure(lambda found: found.tool.f1), highest=1, better="high",
    ),
    Metric(
        "plan_argname_f1", f"the same of tools with their argument names; {_KNOWN}",
        _measure(lambda found: found.argname.f1, values=True), highest=1, better="high",
    ),
    Metric(
        "plan_argvalue_f1", f"the same with argument values; {_KNOWN}",
        _measure(lambda found: found.argvalue.f1, values=True), highest=1, better="high",
    ),
    Metric(
        "plan_edge_f1", f"F1 of tools that follow each other; {_NEEDS}",
        _measure(lambda found: found.edge.f1), highest=1, better="high",
    ),
    Metric(
        "plan_edit_distance", f"share of tools to insert and delete; {_NEEDS}",
        _measure(lambda found: found.normalized_edit_distance), highest=1, better="low",
    ),
    Metric(
        "plan_accuracy", f"1 = the right tools, arguments and values in order, else 0; {_KNOWN}",
        _measure(lambda found: found.argvalue_accuracy, values=True), highest=1, better="high",
    ),
    Metric(
        "plan_passed", f"1 = every call succeeded, else 0 (its mean is m&m's pass rate); {_NEEDS}",
        passed, highest=1, better="high",
    ),
)  # fmt: skip
