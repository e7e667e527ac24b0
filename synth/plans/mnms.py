"""m&m's metrics of tool plans, part by part (sections 5.2, D.2 and D.3), as its evaluator counts them.

The label of a step is, for each part: its tool; the tool with all its argument names; the same with values,
compared as lower-case text. So one wrong name or value spoils a step. An edge is two steps that follow each
other in the list. A tool that nobody knows is a wrong tool: it lowers the precision of a pair; the mean over
all tools (`tool_macro_*`) does not know it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from synth.plans.model import Plan, PlanStep
from synth.plans.scores import Score, averaged, edit_distance, pooled

Labels = tuple[Hashable, ...]
PARTS = ("tool", "argname", "argvalue")


@dataclass(frozen=True, slots=True)
class Pair:
    """A predicted plan and what it should have been."""

    gold: Plan
    prediction: Plan | None
    """None: what the planner said is no plan. Counts as an empty one."""
    alternatives: tuple[Plan, ...] = ()
    """Other right plans."""

    @property
    def predicted(self) -> Plan:
        return self.prediction or ()


@dataclass(frozen=True, slots=True)
class PlanScores:
    """How right one plan is, part by part; each from 0 to 1."""

    tool: Score
    argname: Score
    argvalue: Score
    edge: Score
    normalized_edit_distance: float
    """Of the tools in order; 0 is best."""
    tool_accuracy: bool
    """The same tools in the same order."""
    argname_accuracy: bool
    """And the same argument names."""
    argvalue_accuracy: bool
    """And the same values."""

    def to_json(self) -> dict[str, Any]:
        scores = ((name, getattr(self, name)) for name in (*PARTS, "edge"))
        said: dict[str, Any] = {
            f"{name}_{part}": getattr(score, part)
            for name, score in scores
            for part in ("precision", "recall", "f1")
        }
        said["tool_normalized_edit_distance"] = self.normalized_edit_distance
        return said | {f"plan_{name}_accuracy": getattr(self, f"{name}_accuracy") for name in PARTS}


def labels(plan: Plan, part: str) -> Labels:
    """One label a step: `part` is tool, argname or argvalue."""
    return tuple(_LABEL[part](step) for step in plan)


def edges(plan: Plan) -> Labels:
    """The tools of neighbouring steps."""
    return tuple((first.tool, then.tool) for first, then in pairwise(plan))


def plan_scores(gold: Plan, prediction: Plan | None, alternatives: Sequence[Plan] = ()) -> PlanScores:
    """The scores of one plan, by whichever right plan it is nearest to."""
    found = [_against(right, prediction or ()) for right in (gold, *alternatives)]
    return max(found, key=_nearness)


def nearest(pair: Pair) -> Plan:
    """Of the right plans the one that the prediction is nearest to; the first of several."""
    right = (pair.gold, *pair.alternatives)
    return max(right, key=lambda plan: _nearness(_against(plan, pair.predicted)))


def corpus_scores(pairs: Sequence[Pair], tools: Collection[str] | None = None) -> dict[str, float]:
    """The evaluator's numbers over a corpus in percent, by gold plans alone; `tools` are all there are.

    Without `tools` the mean is over those that occur. Without pairs all are as for equal plans.
    """
    return _corpus([(pair.gold, pair.predicted) for pair in pairs], pairs, tools)


def corpus_with_alternatives(pairs: Sequence[Pair], tools: Collection[str] | None = None) -> dict[str, float]:
    """The same, each prediction beside the right plan that it is nearest to."""
    return _corpus([(nearest(pair), pair.predicted) for pair in pairs], pairs, tools)


def _corpus(
    plans: Sequence[tuple[Plan, Plan]], pairs: Sequence[Pair], tools: Collection[str] | None
) -> dict[str, float]:
    names = [_sets(labels(gold, "tool"), labels(said, "tool")) for gold, said in plans]
    named = sorted({step.tool for pair in plans for plan in pair for step in plan})
    said: dict[str, float] = _percent("tool_macro", averaged(names, named if tools is None else list(tools)))
    for part in ("argname", "argvalue"):
        said |= _percent(part, pooled(_sets(labels(a, part), labels(b, part)) for a, b in plans))
    said |= _percent("edge", pooled(_sets(edges(a), edges(b)) for a, b in plans))
    distances = (edit_distance(labels(a, "tool"), labels(b, "tool")) for a, b in plans)
    said["tool_normalized_edit_distance"] = 100 * _mean(distances, len(plans), 0.0)
    for part in PARTS:
        same = (labels(a, part) == labels(b, part) for a, b in plans)
        said[f"plan_{part}_accuracy"] = 100 * _mean(same, len(plans), 1.0)
    return said | {"invalid_predictions": sum(pair.prediction is None for pair in pairs)}


def _against(gold: Plan, prediction: Plan) -> PlanScores:
    tools, names, values = ((labels(gold, part), labels(prediction, part)) for part in PARTS)
    return PlanScores(
        tool=pooled([_sets(*tools)]),
        argname=pooled([_sets(*names)]),
        argvalue=pooled([_sets(*values)]),
        edge=pooled([_sets(edges(gold), edges(prediction))]),
        normalized_edit_distance=edit_distance(*tools),
        tool_accuracy=tools[0] == tools[1],
        argname_accuracy=names[0] == names[1],
        argvalue_accuracy=values[0] == values[1],
    )


def _nearness(found: PlanScores) -> tuple[float, ...]:
    return (
        found.argvalue_accuracy, found.argvalue.f1, found.argname.f1, found.tool.f1, found.edge.f1,
        -found.normalized_edit_distance,
    )  # fmt: skip


def _percent(name: str, found: Score) -> dict[str, float]:
    return {f"{name}_{part}": 100 * getattr(found, part) for part in ("precision", "recall", "f1")}


def _mean(values: Iterator[float], count: int, of_none: float) -> float:
    return sum(values) / count if count else of_none


def _sets(gold: Labels, predicted: Labels) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
    return frozenset(gold), frozenset(predicted)


def _value_text(value: Any) -> str:
    """Numbers and text compare equal as text; lists and objects as JSON with sorted keys."""
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, sort_keys=True, default=str).lower()
    return str(value).lower()


_LABEL: dict[str, Callable[[PlanStep], Hashable]] = {
    "tool": lambda step: step.tool,
    "argname": lambda step: (step.tool, *sorted(step.arguments)),
    "argvalue": lambda step: (
        step.tool, *sorted((name, _value_text(value)) for name, value in step.arguments.items())
    ),
}  # fmt: skip
