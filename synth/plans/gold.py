"""The plan that a run carried out, as its tool calls show it, beside the gold plan of its case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth.cases.case import Case
from synth.errors import BadInput
from synth.observed.lines import parse_json
from synth.observed.run import Run
from synth.plans.execute import CannotRun, resolved
from synth.plans.mnms import PlanScores, plan_scores
from synth.plans.model import Plan, PlanStep, readable_plan


def gold_plans(case: Case) -> tuple[Plan, ...]:
    """The gold plan of a case, then its alternatives; none where it states none."""
    said = () if case.gold_plan is None else (case.gold_plan, *case.alternative_plans)
    return tuple(plan for plan in map(readable_plan, map(list, said)) if plan is not None)


def plan_of_run(run: Run, gold: Sequence[Plan] = ()) -> Plan:
    """Every call that the model asked for as a step, in order; its arguments are those that it ran with.

    A run has values where a plan has references: where a gold plan refers to an output in the same argument
    of the same tool, and an earlier call gave that value, it is that reference.
    """
    expected = _values(gold)
    results: dict[int, Any] = {}
    steps = []
    for at, call in enumerate(run.calls):
        given = call.arguments if isinstance(call.arguments, Mapping) else {}
        arguments = {
            str(name): _referred(value, expected.get((call.tool, str(name)), ()), results)
            for name, value in given.items()
        }
        steps.append(PlanStep(at, call.tool, arguments))
        results[at] = _parsed(call.result)
    return tuple(steps)


def run_scores(run: Run, case: Case | None) -> tuple[PlanScores, PlanScores] | None:
    """By the gold plan alone, and by the nearest of the alternatives too; None without a gold plan."""
    plans = () if case is None else gold_plans(case)
    if not plans:
        return None
    done = plan_of_run(run, plans)
    return plan_scores(plans[0], done), plan_scores(plans[0], done, plans[1:])


def run_passed(run: Run) -> bool:
    """Did it call tools, and did every call succeed? The share of such runs is m&m's pass rate."""
    return bool(run.calls) and all(call.succeeded for call in run.calls)


def _values(gold: Sequence[Plan]) -> dict[tuple[str, str], list[Any]]:
    """(tool, argument) -> the different values that gold plans give to it."""
    found: dict[tuple[str, str], list[Any]] = {}
    for step in (step for plan in gold for step in plan):
        for name, value in step.arguments.items():
            known = found.setdefault((step.tool, name), [])
            known.extend([] if value in known else [value])
    return found


def _referred(value: Any, expected: Sequence[Any], results: Mapping[int, Any]) -> Any:
    """The value, or what a gold plan writes for it."""
    return next((wanted for wanted in expected if _stands_for(wanted, value, results)), value)


def _stands_for(wanted: Any, value: Any, results: Mapping[int, Any]) -> bool:
    try:
        return bool(wanted == value or resolved(wanted, results) == value)
    except CannotRun:
        return False


def _parsed(result: Any) -> Any:
    """What a tool gave; JSON text as its value."""
    if not isinstance(result, str) or not result.lstrip().startswith("{"):
        return result
    try:
        return parse_json(result)
    except BadInput:
        return result
