"""Whether arguments mean the same, by a judge of one's own (m&m's, section D.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from synth.errors import BadInput
from synth.plans.mnms import Pair
from synth.plans.model import Plan

Judge = Callable[[str, str, Any, Any], bool]
"""(tool, argument, gold value, predicted value) -> does the prediction entail the gold value?"""


def entailment(pairs: Sequence[Pair], judge: Judge) -> float | None:
    """Share of the gold plans' argument values that equal, or are entailed by, the predicted ones.

    The k-th step of a tool is compared with the k-th of that tool in the prediction; what is not there is
    not entailed. None without any argument. BadInput where the judge says something else than yes or no.
    """
    said = [one for pair in pairs for one in _judged(pair.gold, pair.predicted, judge)]
    return sum(said) / len(said) if said else None


def _judged(gold: Plan, predicted: Plan, judge: Judge) -> Iterator[bool]:
    left: dict[str, list[Any]] = {}
    for step in predicted:
        left.setdefault(step.tool, []).append(step.arguments)
    for step in gold:
        waiting = left.get(step.tool)
        given = waiting.pop(0) if waiting else {}
        for name, value in step.arguments.items():
            if name not in given:
                yield False
            else:
                yield value == given[name] or _asked(judge, step.tool, name, value, given[name])


def _asked(judge: Judge, tool: str, name: str, value: Any, given: Any) -> bool:
    answer = judge(tool, name, value, given)
    if not isinstance(answer, bool):
        raise BadInput(f"a judge answers True or False, not {answer!r}", field="judge")
    return answer
