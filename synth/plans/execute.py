"""Carrying a plan out, step by step: what tools give replaces the references to it."""

from __future__ import annotations

import graphlib
import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from synth.plans.graph import ToolGraph
from synth.plans.model import REFERENCE, Plan, PlanStep, references
from synth.plans.verify import verify

Call = Callable[[str, Mapping[str, Any]], Any]
"""(tool, arguments) -> what it gives, an object by output; raises what went wrong."""


class CannotRun(Exception):
    """A step cannot be carried out; the text says why."""


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of a plan."""

    results: Mapping[int, Any] = field(default_factory=dict)
    """Id of a step -> what its tool gave, in the order in which they ran."""
    error: str | None = None
    """Why it went no further; None = all steps ran."""
    failed: int | None = None
    """Id of the step that failed."""

    @property
    def passed(self) -> bool:
        """Did every step run without error? (m&m's pass rate is the share of plans that did.)"""
        return self.error is None

    @property
    def answer(self) -> Any:
        """What the last step gave; None where not all ran."""
        return list(self.results.values())[-1] if self.results and self.passed else None


def execute(plan: Plan, call: Call, given: Mapping[int, Any] | None = None) -> Executed:
    """Run every step after those that it refers to, until one fails; whatever a tool raises is that.

    `given` are results of steps that ran before, by id.
    """
    results: dict[int, Any] = dict(given or {})
    by_id = {step.id: step for step in plan}
    uses = {step.id: {one.node for one in references(step)} & by_id.keys() for step in plan}
    try:
        order = list(graphlib.TopologicalSorter(uses).static_order())
    except graphlib.CycleError:
        return Executed({}, "the steps wait for each other")
    for id in order:
        try:
            results[id] = run_step(by_id[id], results, call)
        except Exception as problem:
            return Executed(results, f"step {id} ({by_id[id].tool}): {problem}", id)
    return Executed(results)


def run_step(step: PlanStep, results: Mapping[int, Any], call: Call) -> Any:
    """One step, with what earlier ones gave in place of references. CannotRun where that is not there."""
    return call(step.tool, {name: resolved(value, results) for name, value in step.arguments.items()})


class SimulatedTools:
    """Tools of a graph that check what they are given, and give the same for the same arguments.

    A tool fails where it does not exist, lacks an argument or has one too many, gets a value that another
    type of tool made, or a file that is not there.
    """

    def __init__(self, graph: ToolGraph, files: Collection[str] = ()) -> None:
        """`files` are those that there are: a text that ends like a file is one of them."""
        self._graph = graph
        self._files = frozenset(files)

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = self._graph.tools.get(tool)
        step = PlanStep(0, tool, arguments)
        if known is None or verify((step,), self._graph):
            raise CannotRun(next(iter(verify((step,), self._graph))).text.removeprefix("step 0: "))
        for name, value in arguments.items():
            self._check(name, known.inputs[name], value)
        said = json.dumps([tool, sorted(arguments.items())], default=str)
        mark = hashlib.sha256(said.encode()).hexdigest()[:8]
        return {name: f"{type or name}#{mark}" for name, type in (known.outputs or {"result": None}).items()}

    def _check(self, name: str, type: str | None, value: Any) -> None:
        if not isinstance(value, str):
            return
        made, hash, _ = value.partition("#")
        if hash and type is not None and made != type:
            raise CannotRun(f"{name} is {type}, not {made}")
        if not hash and is_file(value) and value not in self._files:
            raise CannotRun(f"{name}: there is no file {value}")


def is_file(value: str) -> bool:
    """Does it end like one: a dot and two to four letters?"""
    stem, dot, end = value.rpartition(".")
    return bool(stem and dot) and end.isalnum() and 2 <= len(end) <= 4 and " " not in value


def resolved(value: Any, results: Mapping[int, Any]) -> Any:
    """A value with what steps gave in place of references. CannotRun where that is not there."""
    if isinstance(value, Mapping):
        return {name: resolved(one, results) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [resolved(one, results) for one in value]
    if not isinstance(value, str):
        return value
    whole = REFERENCE.fullmatch(value)
    if whole:
        return _output(int(whole[1]), whole[2], results)
    return REFERENCE.sub(lambda found: str(_output(int(found[1]), found[2], results)), value)


def _output(node: int, key: str | None, results: Mapping[int, Any]) -> Any:
    if node not in results:
        raise CannotRun(f"there is no result of step {node}")
    if key is None:
        return results[node]
    given = results[node]
    if not isinstance(given, Mapping) or key not in given:
        raise CannotRun(f"step {node} gives no {key!r}")
    return given[key]
