"""Z3 and direct evaluation name the same violated claims, for every kind; seeded bugs are caught.

Instants are small integers, so that ties and zero durations are common. The oracle is Z3 with
`literal == claim`; the brute-force half below does without any of our evaluation.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from synth.formal import solver
from synth.formal.check import DISAGREEMENTS, broken_claims, decide
from synth.formal.constraints import KINDS, Before, Bounded, Bounds, Constraint, EndsBy, Fixed, StartsFrom
from synth.judge.timed_mode import NotAfterDay, NotBeforeDay, OneByOne
from synth.policies.kinds.formulas import (
    Apart,
    DirectlyAfter,
    DirectlyBefore,
    InWindow,
    NoneEndedBefore,
    SomeEndedBefore,
    SomeStartsAfter,
    StartsAtLeast,
    StartsWithin,
)
from tests.support.soak import tries

Claim = Any
Making = Callable[[random.Random, Sequence[Any]], Claim]


def some(r: random.Random, who: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(r.sample(list(who), r.randint(0, len(who))))


MAKERS: dict[str, Making] = {
    "before": lambda r, who: Before(*r.choices(who, k=2)),
    "ends_by": lambda r, who: EndsBy(r.choice(who), r.randint(0, 9)),
    "starts_from": lambda r, who: StartsFrom(r.choice(who), r.randint(0, 9)),
    "day_begin": lambda r, who: NotBeforeDay(r.choice(who), r.randint(0, 4)),
    "day_end": lambda r, who: NotAfterDay(r.choice(who), r.randint(3, 9)),
    "one_by_one": lambda r, who: OneByOne(r.choice(who), some(r, who)),
    "precedence": lambda r, who: SomeEndedBefore(r.choice(who), some(r, who)),
    "absence_after": lambda r, who: NoneEndedBefore(r.choice(who), some(r, who)),
    "response": lambda r, who: SomeStartsAfter(r.choice(who), some(r, who), r.choice((None, 0, 1, 3))),
    "gap_within": lambda r, who: StartsWithin(r.choice(who), some(r, who), r.randint(0, 3)),
    "gap_at_least": lambda r, who: StartsAtLeast(r.choice(who), some(r, who), r.randint(1, 3)),
    "adjacency": lambda r, who: DirectlyBefore(r.choice(who), some(r, who), tuple(who)),
    "next_call": lambda r, who: DirectlyAfter(r.choice(who), some(r, who), tuple(who)),
    "overlap": lambda r, who: Apart(r.choice(who), some(r, who)),
    "window": lambda r, who: InWindow(
        r.choice(who), r.choice((None, r.randint(0, 6))), r.choice((None, r.randint(0, 9)))
    ),
}


def world(r: random.Random, who: Sequence[Any]) -> Fixed:
    """Exact instants with sequence numbers; ties and zero durations are common."""
    scale = 2 * len(who) + 2
    seq = {name: k for k, name in enumerate(r.sample(list(who), len(who)))}
    starts, ends = {}, {}
    for name in who:
        start = r.randint(0, 6)
        starts[name] = start * scale + 2 * seq[name]
        ends[name] = (start + r.choice((0, 0, 1, 2, 3))) * scale + 2 * seq[name] + 1
    return Fixed(starts, ends, scale)


def trials(kind: str, count: int, claims: int = 6) -> Iterator[tuple[list[Claim], Fixed]]:
    r = random.Random(f"agreement {kind}")
    for _ in range(count):
        who = [f"x{i}" for i in range(r.randint(2, 5))]
        yield [MAKERS[kind](r, who) for _ in range(r.randint(1, claims))], world(r, who)


def test_every_constraint_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} <= set(MAKERS)


@pytest.mark.parametrize("kind", MAKERS)
def test_z3_and_direct_evaluation_agree(kind: str) -> None:
    agree(kind, 150)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", MAKERS)
def test_z3_and_direct_evaluation_agree_on_many_cases(kind: str) -> None:
    agree(kind, tries(30_000))


def agree(kind: str, count: int) -> None:
    broken = kept = 0
    for claims, times in trials(kind, count):
        direct = broken_claims(claims, times)
        assert solver.violated(claims, times) == list(direct), (claims, times.starts, times.ends)
        broken += len(direct)
        kept += len(claims) - len(direct)
    assert broken > count // 20
    assert kept > count // 20


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_order_of_up_to_four_actions(size: int) -> None:
    names = "abcd"[:size]
    claims = [Before(a, b) for a in names for b in names if a != b]
    for order in itertools.permutations(names):
        rank = {name: k for k, name in enumerate(order)}
        times = Fixed(rank, {name: k + 1 for name, k in rank.items()})
        expected = [i for i, c in enumerate(claims) if rank[c.first] > rank[c.then]]
        assert list(broken_claims(claims, times)) == expected
        assert (solver.violated(claims, times) if claims else []) == expected


# ---------------------------------------------------------------- seeded bugs


class Strict(Fixed):
    """Reads `until` and `since` as strict."""

    def until(self, time: int) -> int:
        return super().until(time - 1)


class StrictSince(Fixed):
    def since(self, time: int) -> int:
        return super().since(time + 1)


class LateUntil(Fixed):
    """Lets in the first step of the next minute."""

    def until(self, time: int) -> int:
        return (time + 1) * self.scale + 1


class ShortLater(Fixed):
    def later(self, instant: int, by: int) -> int:
        return super().later(instant, by - 1)


class RawLater(Fixed):
    """Adds a time to an instant that has a sequence number in it."""

    def later(self, instant: int, by: int) -> int:
        return instant + by * self.scale


class AnyIsAll(Fixed):
    def any(self, parts: Any) -> bool:
        return all(parts)


class AllIsAny(Fixed):
    def all(self, parts: Any) -> bool:
        return any(parts)


class NoIsYes(Fixed):
    def no(self, part: bool) -> bool:
        return part


def no_duration(t: Fixed) -> Fixed:
    return Fixed(t.starts, {who: at + 1 for who, at in t.starts.items()}, t.scale)


def no_sequence(t: Fixed) -> Fixed:
    """Equal clock readings are simply equal."""
    return Fixed(
        {who: at // t.scale * t.scale for who, at in t.starts.items()},
        {who: at // t.scale * t.scale for who, at in t.ends.items()},
        t.scale,
    )


def swapped(t: Fixed) -> Fixed:
    return Fixed(t.ends, t.starts, t.scale)


def reversed_sequence(t: Fixed) -> Fixed:
    last = t.scale - 2
    return Fixed(
        {who: at // t.scale * t.scale + last - at % t.scale for who, at in t.starts.items()},
        {who: at // t.scale * t.scale + last + 2 - at % t.scale for who, at in t.ends.items()},
        t.scale,
    )


def as_world(kind: type[Fixed]) -> Callable[[Fixed], Fixed]:
    return lambda t: kind(t.starts, t.ends, t.scale)


@dataclass(frozen=True)
class SwapEnds:
    """A constraint read the wrong way round."""

    claim: Before

    def formula(self, t: Any) -> Any:
        return t.end(self.claim.then) <= t.start(self.claim.first)


@dataclass(frozen=True)
class StartInsteadOfEnd:
    claim: EndsBy

    def formula(self, t: Any) -> Any:
        return t.start(self.claim.action) <= t.until(self.claim.time)


@dataclass(frozen=True)
class EndInsteadOfStart:
    claim: StartsFrom

    def formula(self, t: Any) -> Any:
        return t.end(self.claim.action) >= t.since(self.claim.time)


Evaluate = Callable[[list[Claim], Fixed], tuple[int, ...]]


def through(change: Callable[[Fixed], Fixed]) -> Evaluate:
    return lambda claims, times: broken_claims(claims, change(times))


def reading(kind: Any) -> Evaluate:
    return lambda claims, times: broken_claims([kind(claim) for claim in claims], times)


def first_only(claims: list[Claim], times: Fixed) -> tuple[int, ...]:
    return broken_claims(claims, times)[:1]


SEEDED: tuple[tuple[str, str, Evaluate], ...] = (
    ("ends_by", "strict deadline", through(as_world(Strict))),
    ("starts_from", "strict release", through(as_world(StrictSince))),
    ("ends_by", "one instant too late", through(as_world(LateUntil))),
    ("response", "limit one too short", through(as_world(ShortLater))),
    ("gap_within", "limit counts sequence numbers", through(as_world(RawLater))),
    ("precedence", "any is all", through(as_world(AnyIsAll))),
    ("overlap", "all is any", through(as_world(AllIsAny))),
    ("absence_after", "negation lost", through(as_world(NoIsYes))),
    ("before", "durations ignored", through(no_duration)),
    ("before", "sequence numbers ignored", through(no_sequence)),
    ("before", "sequence numbers reversed", through(reversed_sequence)),
    ("before", "start and end swapped", through(swapped)),
    ("before", "first and then swapped", reading(SwapEnds)),
    ("ends_by", "start instead of end", reading(StartInsteadOfEnd)),
    ("starts_from", "end instead of start", reading(EndInsteadOfStart)),
    ("before", "stops at the first violation", first_only),
    ("adjacency", "any is all", through(as_world(AnyIsAll))),
    ("one_by_one", "all is any", through(as_world(AllIsAny))),
    ("gap_at_least", "limit one too short", through(as_world(ShortLater))),
    ("window", "strict deadline", through(as_world(Strict))),
)


@pytest.mark.parametrize(("kind", "bug", "evaluate"), SEEDED, ids=[f"{k}: {b}" for k, b, _ in SEEDED])
def test_a_seeded_bug_is_caught(kind: str, bug: str, evaluate: Evaluate) -> None:
    caught = (
        number
        for number, (claims, times) in enumerate(trials(kind, 400))
        if evaluate(claims, times) != tuple(solver.violated(claims, times) or ())
    )
    assert next(caught, None) is not None, f"{bug} survived 400 cases of {kind}"


@dataclass(frozen=True)
class Fickle:
    """A claim with a bug: direct evaluation and Z3 see different formulas."""

    claim: Before

    def formula(self, t: Any) -> Any:
        return True if isinstance(t, Fixed) else self.claim.formula(t)


def test_a_disagreement_is_undecided_counted_and_kept() -> None:
    before = DISAGREEMENTS.count
    times = Fixed({"a": 1, "b": 0}, {"a": 2, "b": 1})
    decision = decide([Fickle(Before("a", "b")), Before("b", "a")], times, z3=True)
    assert (decision.disagreement, dict(decision.undecided), decision.violated) == (True, {0: None}, ())
    assert DISAGREEMENTS.count == before + 1
    assert (DISAGREEMENTS.kept[-1].direct, DISAGREEMENTS.kept[-1].z3) == ((), (0,))


# ---------------------------------------------------------------- bounds, against all assignments


def bounded_world(r: random.Random, who: Sequence[str]) -> tuple[Bounded, list[Fixed]]:
    """Small bounds, and every exact world inside them."""
    scale = 2 * len(who) + 2
    starts, ends, choices = {}, {}, []
    for k, name in enumerate(who):
        lo = r.randint(0, 3)
        start = (lo, lo + r.choice((0, 0, 1)))
        end = (start[0] + r.choice((0, 1)), start[1] + r.choice((0, 1, 2)))
        end = (min(end), max(end))
        starts[name] = Bounds(start[0] * scale + 2 * k, start[1] * scale + 2 * k)
        ends[name] = Bounds(end[0] * scale + 2 * k + 1, end[1] * scale + 2 * k + 1)
        choices.append(
            [
                (s * scale + 2 * k, e * scale + 2 * k + 1)
                for s in range(start[0], start[1] + 1)
                for e in range(end[0], end[1] + 1)
                if s <= e
            ]
        )
    exact = [
        Fixed(
            dict(zip(who, (s for s, _ in pick), strict=True)),
            dict(zip(who, (e for _, e in pick), strict=True)),
            scale,
        )
        for pick in itertools.product(*choices)
    ]
    return Bounded(starts, ends, scale), exact


def check_bounds(count: int, seed: int) -> None:
    r = random.Random(seed)
    outcomes = {"pass": 0, "fail": 0, "undecided": 0}
    for _ in range(count):
        who = ["x0", "x1", "x2"][: r.randint(2, 3)]
        times, exact = bounded_world(r, who)
        claims = [MAKERS[r.choice(list(MAKERS))](r, who) for _ in range(r.randint(1, 4))]
        truth = [[bool(c.formula(t)) for c in claims] for t in exact]
        decision = decide(claims, times, z3=True)
        never = tuple(i for i in range(len(claims)) if not any(row[i] for row in truth))
        assert decision.violated == never
        jointly = not any(all(row) for row in truth)
        assert bool(decision.failed) == jointly
        if decision.core:
            assert not any(all(row[i] for i in decision.core) for row in truth)
            for left_out in decision.core:
                rest = [i for i in decision.core if i != left_out]
                assert any(all(row[i] for i in rest) for row in truth)
        open_ = {i for i in range(len(claims)) if len({row[i] for row in truth}) == 2}
        assert set(decision.undecided) == open_ - set(decision.core)
        outcomes["fail" if jointly else ("undecided" if open_ else "pass")] += 1
    assert min(outcomes.values()) > count // 50, outcomes


def test_bounds_are_decided_as_by_trying_every_assignment() -> None:
    check_bounds(150, 1)


@pytest.mark.heavy
def test_bounds_are_decided_as_by_trying_every_assignment_on_many() -> None:
    check_bounds(tries(30_000), 2)


def test_witnesses_show_both_sides() -> None:
    times = Bounded({"a": Bounds(0, 0), "b": Bounds(0, 6)}, {"a": Bounds(3, 3), "b": Bounds(9, 9)})
    decision = decide([Before("a", "b")], times, z3=True)
    pair = decision.undecided[0]
    assert pair is not None
    holds, fails = pair
    assert holds["a"][1] <= holds["b"][0]
    assert fails["a"][1] > fails["b"][0]


def moved(constraint: Constraint) -> Constraint:
    return replace(constraint, sentence=3, span=(1, 9))


def test_where_a_constraint_was_said_does_not_change_what_it_says() -> None:
    r = random.Random(3)
    for _ in range(50):
        who = ["x", "y", "z"]
        times = world(r, who)
        for kind in ("before", "ends_by", "starts_from"):
            claim = MAKERS[kind](r, who)
            assert claim.formula(times) == moved(claim).formula(times)
