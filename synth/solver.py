"""The one edge to Z3: satisfiability, equivalence, the judge's full list, witnesses, cores, schedules.

Z3 is imported when the first question is asked, so that everything else in `synth` works without it.
A Z3 context shared by threads crashes, so every question takes one lock; a service asks from a
process of its own (`synth.solver_process`), because Z3's own time limit is no bound.

Terms: in order mode action `a` has one integer `start(a)` and ends one later, so that a cycle has no
solution; in timed mode its end is `start + duration`, and tasks run one at a time. `sum of durations
<= horizon` is implied, but without saying so an over-full day of nine free tasks takes minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import combinations
from typing import Any, ParamSpec, TypeVar

from synth.constraints import Constraint, Truth
from synth.errors import MissingExtra
from synth.model import Spec

TIMEOUT_MS = 2000
"""Limit of one question, milliseconds."""

P = ParamSpec("P")
R = TypeVar("R")
_ONE_AT_A_TIME = threading.RLock()


def z3() -> Any:
    """The z3 module, or MissingExtra."""
    try:
        import z3 as module
    except ImportError as missing:
        raise MissingExtra("Asking Z3", "synth") from missing
    return module


def _serial(question: Callable[P, R]) -> Callable[P, R]:
    """One question at a time: Z3's default context must never be used by two threads."""

    @wraps(question)
    def locked(*args: P.args, **kwargs: P.kwargs) -> R:
        with _ONE_AT_A_TIME:
            return question(*args, **kwargs)

    return locked


class Symbols:
    """The symbolic world of a `Times`: integer terms for the start and end of every action."""

    __slots__ = ("_ends", "_starts", "_z3")

    def __init__(self, starts: Mapping[Any, Any], ends: Mapping[Any, Any]) -> None:
        self._starts, self._ends, self._z3 = starts, ends, z3()

    def start(self, who: Hashable) -> Any:
        return self._starts[who]

    def end(self, who: Hashable) -> Any:
        return self._ends[who]

    def until(self, time: int) -> Any:
        return time

    def since(self, time: int) -> Any:
        return time

    def later(self, instant: Any, by: int) -> Any:
        return instant + by

    def all(self, parts: Iterable[Truth]) -> Truth:
        return self._z3.And(list(parts))

    def any(self, parts: Iterable[Truth]) -> Truth:
        return self._z3.Or(list(parts))

    def no(self, part: Truth) -> Truth:
        return self._z3.Not(part)


def _free_starts(actions: Sequence[str]) -> dict[str, Any]:
    # Names by position, not by action: Z3 keeps every name it ever saw.
    return {action: z3().Int(f"s{i}") for i, action in enumerate(actions)}


def _unknown_durations(actions: Sequence[str]) -> tuple[Symbols, list[Truth]]:
    """Any durations of at least one minute: what holds here holds whatever the tools report."""
    starts = _free_starts(actions)
    ends = {action: z3().Int(f"e{i}") for i, action in enumerate(actions)}
    return Symbols(starts, ends), [ends[a] >= starts[a] + 1 for a in actions]


def _order_terms(actions: Sequence[str]) -> Symbols:
    starts = _free_starts(actions)
    return Symbols(starts, {a: term + 1 for a, term in starts.items()})


def _day_terms(spec: Spec) -> tuple[Symbols, list[Truth]]:
    """Terms of a timed spec and its ground rules: inside the day, one task at a time."""
    begin, end = spec.horizon or (0, 24 * 60)
    durations = {a: (spec.durations or {}).get(a, 1) for a in spec.actions}
    starts = _free_starts(spec.actions)
    ends = {a: starts[a] + durations[a] for a in spec.actions}
    if sum(durations.values()) > end - begin:
        return Symbols(starts, ends), [z3().BoolVal(False)]
    inside = [term for a in spec.actions for term in (starts[a] >= begin, ends[a] <= end)]
    apart = [z3().Or(ends[a] <= starts[b], ends[b] <= starts[a]) for a, b in combinations(spec.actions, 2)]
    return Symbols(starts, ends), inside + apart


def terms_of(spec: Spec) -> tuple[Symbols, list[Truth]]:
    """Symbols for every action of `spec`, and the rules that hold whatever its constraints say."""
    return _day_terms(spec) if spec.timed else (_order_terms(spec.actions), [])


def _solver(timeout_ms: int) -> Any:
    solver = z3().SimpleSolver()
    solver.set("timeout", timeout_ms)
    return solver


def _answer(solver: Any, *assumptions: Any) -> bool | None:
    """True = satisfiable, False = not, None = Z3 gave up within its limit."""
    said = solver.check(*assumptions)
    if said == z3().unknown:
        return None
    return bool(said == z3().sat)


@_serial
def satisfiable(spec: Spec, *, timeout_ms: int = TIMEOUT_MS) -> bool | None:
    """Can any plan keep every constraint of `spec`? None where Z3 gave up within the limit."""
    times, rules = terms_of(spec)
    solver = _solver(timeout_ms)
    solver.add(rules + [c.formula(times) for c in spec.constraints])
    return _answer(solver)


@_serial
def equivalent(a: Spec, b: Spec, *, timeout_ms: int = TIMEOUT_MS) -> bool | None:
    """Do two specs allow exactly the same plans? None where Z3 gave up within the limit.

    Timed specs are compared for all durations of at least one minute, because the agent does not
    know them; horizons and action sets must be the same.
    """
    if set(a.actions) != set(b.actions) or a.horizon != b.horizon:
        return False
    times, rules = _unknown_durations(a.actions) if a.timed else (_order_terms(a.actions), [])
    return _both(
        _implies(times, rules, a.constraints, b.constraints, timeout_ms),
        lambda: _implies(times, rules, b.constraints, a.constraints, timeout_ms),
    )


def _implies(
    times: Symbols,
    rules: list[Truth],
    given: Sequence[Constraint],
    wanted: Sequence[Constraint],
    timeout_ms: int,
) -> bool | None:
    """Does `given` leave no room for a plan that breaks `wanted`?"""
    solver = _solver(timeout_ms)
    solver.add(rules + [c.formula(times) for c in given])
    solver.add(times.any([times.no(c.formula(times)) for c in wanted]))
    broken = _answer(solver)
    return None if broken is None else not broken


def _both(first: bool | None, second: Callable[[], bool | None]) -> bool | None:
    """Three-valued `and` that does not ask the second question in vain."""
    if first is False:
        return False
    other = second()
    return False if other is False else (None if first is None or other is None else True)
