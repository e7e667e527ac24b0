"""The one edge to Z3: satisfiability, equivalence, the judge's list, witnesses, conflicts.

Z3 is imported when the first question is asked, so that everything else in `synth` works without it.
A Z3 context shared by threads crashes, so every question takes one lock; a service asks from a
process of its own (`synth.judge_process`), because Z3's own time limit is no bound.

Terms: in order mode action `a` has one integer `start(a)` and ends one later, so that a cycle has no
solution; in timed mode its end is `start + duration`, and tasks run one at a time. `sum of durations
<= horizon` is implied, but without saying so an over-full day of nine free tasks takes minutes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from itertools import combinations, pairwise
from operator import itemgetter
from time import thread_time
from typing import Any, ParamSpec, Protocol, TypeVar

from synth.errors import MissingExtra
from synth.formal.constraints import Bounded, Bounds, Constraint, Fixed, Truth
from synth.formal.model import Spec

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
    _leave_interrupts_to_python(module)
    return module


@lru_cache(maxsize=1)
def _leave_interrupts_to_python(module: Any) -> None:
    """Else Ctrl-C only makes Z3 say unknown, which would be taken for an answer."""
    module.set_param("ctrl_c", False)


def serial(question: Callable[P, R]) -> Callable[P, R]:
    """One question at a time: Z3's default context must never be used by two threads."""

    @wraps(question)
    def locked(*args: P.args, **kwargs: P.kwargs) -> R:
        with _ONE_AT_A_TIME:
            return question(*args, **kwargs)

    return locked


# Building terms through Python costs more than deciding them, so the common ones are kept (bounded;
# only used inside the lock). Names go by position, not by action: Z3 keeps every name it ever saw.


@lru_cache(maxsize=4096)
def _int(letter: str, position: int) -> Any:
    return z3().Int(f"{letter}{position}")


@lru_cache(maxsize=4096)
def _bool(letter: str, position: int) -> Any:
    return z3().Bool(f"{letter}{position}")


@lru_cache(maxsize=16384)
def _equal(letter: str, position: int, value: int) -> Any:
    return _int(letter, position) == value


class Symbols:
    """The symbolic world of a `Times`: integer terms for the start and end of every action."""

    __slots__ = ("_ends", "_scale", "_starts", "_z3")

    def __init__(self, starts: Mapping[Any, Any], ends: Mapping[Any, Any], scale: int = 1) -> None:
        self._starts, self._ends, self._scale, self._z3 = starts, ends, scale, z3()

    def start(self, who: Hashable) -> Any:
        return self._starts[who]

    def end(self, who: Hashable) -> Any:
        return self._ends[who]

    def until(self, time: int) -> Any:
        return (time + 1) * self._scale - 1

    def since(self, time: int) -> Any:
        return time * self._scale

    def later(self, instant: Any, by: int) -> Any:
        return (instant / self._scale + by + 1) * self._scale - 1 if self._scale > 1 else instant + by

    def values(self, model: Any) -> dict[Any, tuple[int, int]]:
        """Start and end of everyone in a model, in the unit of the clock."""
        return {
            who: tuple(
                model.eval(term, model_completion=True).as_long() // self._scale for term in (start, end)
            )
            for who, start, end in ((who, start, self._ends[who]) for who, start in self._starts.items())
        }

    def all(self, parts: Iterable[Truth]) -> Truth:
        return self._z3.And(list(parts))

    def any(self, parts: Iterable[Truth]) -> Truth:
        return self._z3.Or(list(parts))

    def no(self, part: Truth) -> Truth:
        return self._z3.Not(part)


def free_starts(actions: Sequence[str]) -> dict[str, Any]:
    """A term for the start of each."""
    return {action: _int("s", i) for i, action in enumerate(actions)}


def _unknown_durations(
    actions: Sequence[str], constraints: Iterable[Constraint]
) -> tuple[Symbols, list[Truth]]:
    """Any durations of at least one minute: what holds here holds whatever the tools report."""
    starts = free_starts(actions)
    ends = {action: _int("e", i) for i, action in enumerate(actions)}
    return day_symbols(starts, ends, constraints), [ends[a] >= starts[a] + 1 for a in actions]


def _order_terms(actions: Sequence[str]) -> Symbols:
    starts = free_starts(actions)
    return Symbols(starts, {a: term + 1 for a, term in starts.items()})


def day_symbols(
    starts: Mapping[str, Any], ends: Mapping[str, Any], constraints: Iterable[Constraint]
) -> Symbols:
    """Terms in minutes as instants.

    For order and clock limits minutes do. Another formula may ask whether one has ended when the other starts
    at that very minute: it has (as in `of_the_day`).
    """
    if all(constraint.exact for constraint in constraints):
        return Symbols(starts, ends)
    return Symbols({a: 2 * at + 1 for a, at in starts.items()}, {a: 2 * at for a, at in ends.items()}, 2)


def _day_terms(spec: Spec) -> tuple[Symbols, list[Truth]]:
    """Terms of a timed spec and its ground rules: inside the day, one task at a time."""
    begin, end = spec.horizon or (0, 24 * 60)
    durations = {a: (spec.durations or {}).get(a, 1) for a in spec.actions}
    starts = free_starts(spec.actions)
    ends = {a: starts[a] + durations[a] for a in spec.actions}
    times = day_symbols(starts, ends, spec.constraints)
    if sum(durations.values()) > end - begin:
        return times, [z3().BoolVal(False)]
    inside = [term for a in spec.actions for term in (starts[a] >= begin, ends[a] <= end)]
    apart = [z3().Or(ends[a] <= starts[b], ends[b] <= starts[a]) for a, b in combinations(spec.actions, 2)]
    return times, inside + apart


def terms_of(spec: Spec) -> tuple[Symbols, list[Truth]]:
    """Symbols for every action of `spec`, and the rules that hold whatever its constraints say."""
    return _day_terms(spec) if spec.timed else (_order_terms(spec.actions), [])


def new_solver(timeout_ms: int) -> Any:
    """A solver for one question, with a limit."""
    solver = z3().SimpleSolver()
    solver.set("timeout", timeout_ms)
    return solver


def answer_of(solver: Any, *assumptions: Any) -> bool | None:
    """True = satisfiable, False = not, None = Z3 gave up within its limit."""
    said = solver.check(*assumptions)
    if said == z3().unknown:
        return None
    return bool(said == z3().sat)


@serial
def satisfiable(spec: Spec, *, timeout_ms: int = TIMEOUT_MS) -> bool | None:
    """Can any plan keep every constraint of `spec`? None where Z3 gave up within the limit."""
    times, rules = terms_of(spec)
    solver = new_solver(timeout_ms)
    solver.add(rules + [c.formula(times) for c in spec.constraints])
    return answer_of(solver)


@serial
def equivalent(a: Spec, b: Spec, *, timeout_ms: int = TIMEOUT_MS) -> bool | None:
    """Do two specs allow exactly the same plans? None where Z3 gave up within the limit.

    Timed specs are compared for all durations of at least one minute, because the agent does not
    know them; horizons and action sets must be the same.
    """
    if set(a.actions) != set(b.actions) or a.horizon != b.horizon:
        return False
    both = (*a.constraints, *b.constraints)
    times, rules = _unknown_durations(a.actions, both) if a.timed else (_order_terms(a.actions), [])
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
    solver = new_solver(timeout_ms)
    solver.add(rules + [c.formula(times) for c in given])
    solver.add(times.any([times.no(c.formula(times)) for c in wanted]))
    broken = answer_of(solver)
    return None if broken is None else not broken


def _both(first: bool | None, second: Callable[[], bool | None]) -> bool | None:
    """Three-valued `and` that does not ask the second question in vain."""
    if first is False:
        return False
    other = second()
    return False if other is False else (None if first is None or other is None else True)


class Claim(Protocol):
    """Anything with a formula over instants: a constraint of a case, a rule for one call of a run."""

    def formula(self, t: Any, /) -> Truth: ...


@dataclass(frozen=True, slots=True)
class Possibilities:
    """What bounds on instants leave open about a list of claims."""

    broken: tuple[int, ...]
    """Claims that hold under no assignment."""
    undecided: Mapping[int, tuple[Mapping[Any, tuple[int, int]], Mapping[Any, tuple[int, int]]]]
    """Claim -> one assignment under which it holds, one under which it fails: {who: (start, end)}."""
    core: tuple[int, ...] = ()
    """Where no single claim is broken but not all can hold together: a minimal set that cannot."""
    gave_up: tuple[int, ...] = ()
    """Claims for which Z3 reached its limit."""


@serial
def violated(claims: Sequence[Claim], times: Fixed, *, timeout_ms: int = TIMEOUT_MS) -> list[int] | None:
    """Positions of the claims that Z3 finds violated at exactly known instants; None if it gave up.

    An unsat core of a complete plan names one violated constraint, not all; so Z3 satisfies
    `literal == claim` for each and the model says which literals are false.
    """
    module = z3()
    solver = new_solver(timeout_ms)
    starts = {who: _int("s", i) for i, who in enumerate(times.starts)}
    ends = {who: _int("e", i) for i, who in enumerate(times.ends)}
    world = Symbols(starts, ends, times.scale)
    literals = [_bool("k", i) for i in range(len(claims))]
    solver.add(
        *(_equal("s", i, at) for i, at in enumerate(times.starts.values())),
        *(_equal("e", i, at) for i, at in enumerate(times.ends.values())),
        *(k == claim.formula(world) for k, claim in zip(literals, claims, strict=True)),
    )
    if not answer_of(solver):
        return None
    model = solver.model()
    return [i for i, k in enumerate(literals) if not module.is_true(model.eval(k, model_completion=True))]


@serial
def possibilities(
    claims: Sequence[Claim], times: Bounded, *, timeout_ms: int = TIMEOUT_MS, total_ms: int | None = None
) -> Possibilities:
    """Decide, over every assignment that the bounds allow, what bounds alone could not."""
    left = partial(_left, timeout_ms, math.inf if total_ms is None else thread_time() + total_ms / 1e3)
    symbols, rules = _bounded_terms(times)
    solver = new_solver(timeout_ms)
    solver.add(rules)
    formulas = [claim.formula(symbols) for claim in claims]
    broken: list[int] = []
    undecided: dict[int, Any] = {}
    gave_up: list[int] = []
    for i, formula in enumerate(formulas):
        holds = _witness(solver, formula, symbols, left())
        fails = _witness(solver, symbols.no(formula), symbols, left()) if holds else None
        if holds is not None and not holds:
            broken.append(i)
        elif holds is None or fails is None:
            gave_up.append(i)
        elif fails:
            undecided[i] = (holds, fails)
    core = () if broken or gave_up else _joint_conflict(solver, formulas, sorted(undecided), left())
    return Possibilities(tuple(broken), undecided, core, tuple(gave_up))


def _left(timeout_ms: int, deadline: float) -> int:
    """Milliseconds that the next of several questions may take; 0 = it is not to be asked.

    The deadline is CPU time of this thread. Z3's own limit goes by the wall clock, which is no measure where
    other programs run: it is twice as wide.
    """
    return max(0, int(min(timeout_ms, 2 * (deadline - thread_time()) * 1e3)))


def _bounded_terms(times: Bounded) -> tuple[Symbols, list[Truth]]:
    """An integer per instant inside its bounds, one per clock that is off; nothing ends before it starts.

    Clocks are off by parts of a unit too: of calls at equal readings of two clocks either may be first.
    """
    scale = times.scale
    rules: list[Truth] = []
    clocks: dict[int, Any] = {}

    def off(edge: Bounds) -> Any:
        if edge.clock not in clocks:
            amount = clocks[edge.clock] = _int("c", edge.clock)
            rules.extend((amount >= edge.off[0], amount <= edge.off[1]))
        return clocks[edge.clock]

    def terms(bounds: Mapping[Any, Bounds], letter: str) -> dict[Any, Any]:
        found = {}
        for i, (who, edge) in enumerate(bounds.items()):
            time, tick, own = _int(letter, i), edge.lo % scale, edge.by_its_clock
            rules.extend((time >= own.lo // scale, time <= own.hi // scale))
            found[who] = time * scale + tick + (off(edge) if edge.clock else 0)
        return found

    starts, ends = terms(times.starts, "s"), terms(times.ends, "e")
    rules.extend(starts[who] < ends[who] for who in starts)
    rules.extend(a < b for a, b in _in_rows([(times.starts, starts), (times.ends, ends)]))
    return Symbols(starts, ends, scale), rules


def _in_rows(instants: Sequence[tuple[Mapping[Any, Bounds], Mapping[Any, Any]]]) -> Iterator[tuple[Any, Any]]:
    """Each two terms that follow each other in a row."""
    placed = [(at.row, terms[who]) for bounds, terms in instants for who, at in bounds.items() if at.row]
    placed.sort(key=itemgetter(0))
    return ((a, b) for (row, a), (other, b) in pairwise(placed) if row[0] == other[0])


def _witness(
    solver: Any, part: Truth, symbols: Symbols, timeout_ms: int
) -> Mapping[Any, tuple[int, int]] | None:
    """An assignment under which `part` holds, {} if there is none, None if Z3 gave up."""
    if not timeout_ms:
        return None
    solver.push()
    try:
        solver.set("timeout", timeout_ms)
        solver.add(part)
        answer = answer_of(solver)
        return None if answer is None else (symbols.values(solver.model()) if answer else {})
    finally:
        solver.pop()


def _joint_conflict(
    solver: Any, formulas: Sequence[Truth], positions: Sequence[int], timeout_ms: int
) -> tuple[int, ...]:
    """A minimal set of claims that no assignment satisfies together; empty if there is none."""
    if len(positions) < 2 or not timeout_ms:
        return ()
    module = z3()
    literals = {i: _bool("k", i) for i in positions}
    solver.push()
    try:
        solver.set("timeout", timeout_ms)
        solver.set("core.minimize", True)
        solver.add([module.Implies(literals[i], formulas[i]) for i in positions])
        if answer_of(solver, *literals.values()) is not False:
            return ()
        core = {str(k) for k in solver.unsat_core()}
        return tuple(i for i in positions if f"k{i}" in core)
    finally:
        solver.pop()


@serial
def minimal_conflict(
    groups: Sequence[Sequence[Constraint]], spec: Spec, *, timeout_ms: int = TIMEOUT_MS
) -> list[int] | None:
    """Positions of a minimal set of groups (sentences) that cannot be kept together.

    Empty if all can; None if Z3 gave up. The ground rules of `spec` (day, one task at a time, known
    durations) always hold and are never part of the answer.
    """
    module = z3()
    times, rules = terms_of(spec)
    solver = new_solver(timeout_ms)
    solver.set("core.minimize", True)
    solver.add(rules)
    literals = [_bool("k", i) for i in range(len(groups))]
    for literal, group in zip(literals, groups, strict=True):
        solver.add([module.Implies(literal, c.formula(times)) for c in group])
    answer = answer_of(solver, *literals)
    if answer is None:
        return None
    if answer:
        return []
    return _minimal_core(solver, literals)


def _minimal_core(solver: Any, literals: Sequence[Any]) -> list[int]:
    """Deletion makes sure that the core is minimal, whatever Z3's own minimization left."""
    found = {str(k) for k in solver.unsat_core()}
    core = [i for i in range(len(literals)) if f"k{i}" in found]
    for i in list(core):
        rest = [j for j in core if j != i]
        if answer_of(solver, *(literals[j] for j in rest)) is False:
            core = rest
    return core


class Slots:
    """The world of plans that are still free: calls that may or may not be made, and when."""

    __slots__ = ("_made", "_times")

    DAY = 24 * 60

    def __init__(self, slots: Sequence[Any]) -> None:
        self._made = {who: _bool("m", i) for i, who in enumerate(slots)}
        starts = {who: _int("s", i) for i, who in enumerate(slots)}
        ends = {who: _int("e", i) for i, who in enumerate(slots)}
        self._times = Symbols(starts, ends)

    def made(self, who: Any) -> Truth:
        """Is the call made at all?"""
        return self._made[who]

    def before(self, first: Any, then: Any) -> Truth:
        """Does `first` end before `then` starts?"""
        return self._times.end(first) <= self._times.start(then)

    def no_later(self, first: Any, then: Any) -> Truth:
        """Does `first` start before `then` does, or together with it?"""
        return self._times.start(first) <= self._times.start(then)

    def gap(self, first: Any, then: Any, least: float, most: float | None) -> Truth:
        """Is the time from the end of `first` to the start of `then` in these limits (minutes)?"""
        between = self._times.start(then) - self._times.end(first)
        return self.all([between >= least, *([] if most is None else [between <= most])])

    def in_day(self, who: Any, since: int | None, until: int | None) -> Truth:
        """Does the call start at `since` or later and end by `until`, minutes of one day?"""
        start, end = self._times.start(who), self._times.end(who)
        day = start / self.DAY * self.DAY
        parts = [] if since is None else [start - day >= since]
        return self.all([*parts, *([] if until is None else [end - day <= until])])

    def all(self, parts: Iterable[Truth]) -> Truth:
        return self._times.all(parts)

    def any(self, parts: Iterable[Truth]) -> Truth:
        return self._times.any(parts)

    def no(self, part: Truth) -> Truth:
        return self._times.no(part)

    def rules(self, distinct: bool) -> list[Truth]:
        """Every call takes at least a minute; with `distinct`, no two overlap or start together."""
        spans = [self._times.end(who) >= self._times.start(who) + 1 for who in self._made]
        spans += [self._times.start(who) >= 0 for who in self._made]
        if distinct:
            spans += [
                self.any((self.before(a, b), self.before(b, a))) for a, b in combinations(self._made, 2)
            ]
        return spans


PlanRule = Callable[[Slots], Truth]


@serial
def plan_conflict(
    groups: Sequence[Sequence[PlanRule]],
    slots: Sequence[Any],
    wanted: PlanRule,
    *,
    distinct: bool = False,
    timeout_ms: int = TIMEOUT_MS,
) -> list[int] | None:
    """Positions of a minimal set of rule groups under which no plan does what is `wanted`.

    Empty if some plan keeps all groups and does it; None if Z3 gave up. A plan makes each of the
    `slots` at most once.
    """
    module = z3()
    world = Slots(slots)
    solver = new_solver(timeout_ms)
    solver.set("core.minimize", True)
    solver.add([*world.rules(distinct), wanted(world)])
    literals = [_bool("k", i) for i in range(len(groups))]
    for literal, group in zip(literals, groups, strict=True):
        solver.add([module.Implies(literal, rule(world)) for rule in group])
    answer = answer_of(solver, *literals)
    if answer is not False:
        return None if answer is None else []
    return _minimal_core(solver, literals)
