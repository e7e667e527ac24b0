"""Simulated planners with faults, driven through a framework under the guard of their own task.

Whether a call was in its place is read off the tools' own log and the task, without the guard and without
what judges verdicts.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pdoctor_trace
from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.formal.constraints import Before
from synth.language.query import describe
from tests.frameworks.conformance import Driver, Entry, ToolLog
from tests.frameworks.refusals import ending
from tests.support.models import FINAL, FakeModels
from tests.support.soak import new_seed, soaks, tell

FAULTS = ("swaps", "forgets", "loops")
WAYS = ("", "+parallel")
FEW, MANY = 2, 50
"""Runs of each planner, half of which ask for calls in parallel: everywhere, and where they are recorded."""


def campaign(
    driver: Driver,
    models: FakeModels,
    fault: str,
    mode: str | None,
    heeds: str = "never",
    *,
    made: Callable[[list[Any]], Any] = list,
) -> Counter[str]:
    """Runs of a planner under the guard of its task, or without one where `mode` is None, in all modes of
    the driver in turn: how many `passed`, how many calls were `violating` and `refused`, and how many
    runs ended `odd`, unlike one whose tool failed."""
    seed, found = new_seed(), Counter[str]()
    for number in range(MANY if soaks() else FEW):
        (case,) = generate(1, seed + number // 2, Options(actions=(3, 4)), confirm=False)
        case = named(case, driver.named)
        planner = f"simulated-{fault}{WAYS[number % 2]}+{heeds}:{number}"
        through = driver.modes[(seed + number) % len(driver.modes)]
        found += one_run(driver, models, case, planner, mode, through, made)
    tell(f"{fault} {mode or 'without'} {heeds}", found)
    return found


def one_run(
    driver: Driver, models: FakeModels, case: Case, planner: str, mode: str | None, through: str, made: Any
) -> Counter[str]:
    log, before = ToolLog(), len(models.requests)
    guard = pdoctor_trace.guard(case, mode=mode) if mode else None
    with guard or nullcontext(), asking(driver, case.query):
        outcome = driver.run(models, planner, made(tools_of(case, driver, log)), through)
    violating, passed = judged(case, log.entries)
    told = guard.told()["decisions"] if guard else {}
    del models.requests[before:]
    return Counter(
        runs=1,
        passed=passed,
        violating=violating,
        refused=told.get(mode, 0),
        odd=not ends_as_it_would(driver, outcome, mode),
    )


def ends_as_it_would(driver: Driver, outcome: Any, mode: str | None) -> bool:
    """After a tool that failed; only an exception that blocks may end a run before its planner has."""
    if (outcome.text, outcome.error) == (FINAL, None):
        return True
    return mode == "block" and driver.blocked != "tells" and ending(outcome) == "ends"


def judged(case: Case, entries: list[Entry]) -> tuple[int, bool]:
    """How many calls were out of their place, and whether the task was done as it was asked for."""
    tools = {action.id: action.tool for action in case.actions}
    first = [(tools[c.first], tools[c.then]) for c in case.constraints if isinstance(c, Before)]
    ended: dict[str, int] = {}
    violating = 0
    for entry in sorted(entries, key=lambda entry: entry.start):
        needed = [tool for tool, then in first if then == entry.tool]
        in_place = all(tool in ended and ended[tool] <= entry.start for tool in needed)
        violating += entry.tool in ended or not in_place
        ended.setdefault(entry.tool, entry.end)
    return violating, not violating and set(ended) == set(tools.values())


def tools_of(case: Case, driver: Driver, log: ToolLog) -> list[Callable[[], str]]:
    """A function for each task, which says that it is done."""
    return [_tool(action, driver, log) for action in case.actions]


def _tool(action: Any, driver: Driver, log: ToolLog) -> Callable[[], str]:
    def call() -> str:
        said = f"Success: {action.phrase} is done."
        return str(log.record(action.tool, {}, lambda: said))

    call.__name__ = call.__qualname__ = action.tool.removeprefix(driver.named.format(""))
    call.__doc__ = describe(action.phrase)
    return call


def named(case: Case, name: str) -> Case:
    """The case with tools as the model hears of them."""
    return replace(case, actions=tuple(replace(a, tool=name.format(a.tool)) for a in case.actions))


@contextmanager
def asking(driver: Driver, query: str) -> Iterator[None]:
    """What the drivers of a file ask for, in place of what they always do."""
    module: Any = sys.modules[type(driver).__module__]
    usual, module.QUERY = module.QUERY, query
    try:
        yield
    finally:
        module.QUERY = usual
