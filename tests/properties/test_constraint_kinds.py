"""Every constraint kind: its outline against its formula, its JSON; seeded bugs are caught.

Soundness and exactness are proved by Z3 for all durations, not sampled: the outline is asked as a claim.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from synth.errors import BadInput
from synth.formal.constraints import (
    KINDS,
    Before,
    Constraint,
    EndsBy,
    Outline,
    Reader,
    StartsFrom,
    action_id,
    constraint_from_json,
    constraint_to_json,
    of_the_day,
    outline_of,
)
from synth.formal.model import Spec
from synth.formal.solver import equivalent
from tests.support.outside_kinds import MODULE, installed

DAY = (0, 9)
WHO = ("w", "x", "y", "z")

Making = Callable[[random.Random], Constraint]

MAKERS: dict[str, Making] = {
    "before": lambda r: Before(*r.sample(WHO, 2)),
    "ends_by": lambda r: EndsBy(r.choice(WHO), r.randint(1, 12)),
    "starts_from": lambda r: StartsFrom(r.choice(WHO), r.randint(0, 8)),
    "apart": lambda r: constraint_from_json(
        {"kind": "apart", **dict(zip("ab", r.sample(WHO, 2), strict=True)), "minutes": r.randint(1, 3)}
    ),
}


@pytest.fixture(autouse=True)
def with_a_kind_from_outside(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path) as put:
        put(f"apart = {MODULE}:Apart")
        yield


def test_every_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} < set(MAKERS)


@dataclass(frozen=True)
class Kept:
    """All that an outline says, as one claim."""

    outline: Outline
    exact: ClassVar[bool] = True

    def formula(self, t: Any) -> Any:
        names, outline = self.outline.actions, self.outline
        says = [t.end(names[a]) <= t.start(names[b]) for a, b in outline.edges]
        says += [t.start(name) >= t.since(at) for name, at in zip(names, outline.earliest, strict=True)]
        says += [t.end(name) <= t.until(at) for name, at in zip(names, outline.latest, strict=True)]
        return t.all(says)


IN_THE_DAY = Kept(outline_of(WHO, (), DAY))


def holds(*claims: Any) -> Spec:
    return Spec(WHO, (*claims, IN_THE_DAY), None, DAY)


def is_sound(constraints: Sequence[Constraint]) -> bool:
    """Does the outline follow from the constraints?"""
    outline = Kept(outline_of(WHO, constraints, DAY))
    return equivalent(holds(*constraints), holds(*constraints, outline)) is True  # type: ignore[return-value]


def is_exact(constraints: Sequence[Constraint]) -> bool:
    """Do the constraints follow from the outline?"""
    outline = Kept(outline_of(WHO, constraints, DAY))
    return equivalent(holds(outline), holds(outline, *constraints)) is True


def trials(
    kind: str, count: int, change: Callable[[Any], Any] = lambda made: made
) -> Iterator[list[Constraint]]:
    """Some of one kind, changed, among some of all."""
    r = random.Random(f"outline {kind}")
    for _ in range(count):
        own = [change(MAKERS[kind](r)) for _ in range(r.randint(1, 2))]
        yield r.sample(own + [MAKERS[r.choice(list(MAKERS))](r) for _ in range(2)], len(own) + 2)


@pytest.mark.parametrize("kind", MAKERS)
def test_what_keeps_the_constraints_keeps_the_outline(kind: str) -> None:
    for constraints in trials(kind, 30):
        assert is_sound(constraints), constraints


@pytest.mark.parametrize("kind", MAKERS)
def test_what_keeps_an_exact_outline_keeps_the_constraints(kind: str) -> None:
    some = [constraints for constraints in trials(kind, 60) if all(c.exact for c in constraints)]
    assert bool(some) is all(c.exact for c in next(trials(kind, 1)) if c.kind == kind)
    for constraints in some:
        assert is_exact(constraints), constraints
    for constraints in trials(kind, 30):
        assert outline_of(WHO, constraints, DAY).exact is all(c.exact for c in constraints)


def test_an_outline_names_who_set_each_limit() -> None:
    limits = [EndsBy("x", 7), EndsBy("x", 5), EndsBy("x", 6), StartsFrom("y", 2), EndsBy("z", 11)]
    outline = outline_of(WHO, [*limits, Before("x", "y", 0), Before("x", "y", 1)], DAY)
    at = outline.position
    assert outline.until == {at["x"]: limits[1]}
    assert outline.since == {at["y"]: limits[3]}
    assert outline.edges == {(at["x"], at["y"]): Before("x", "y", 0)}


def test_a_circle_is_told_with_its_reasons_and_the_order_stays_one() -> None:
    around = [Before("w", "x", 0), Before("x", "y", 1), Before("y", "w", 2), Before("x", "w", 3)]
    outline = outline_of(WHO, around)
    assert outline.circular
    assert outline.circle() == [("w", "x", around[0]), ("x", "w", around[3])]
    assert outline.order.edges() == [(0, 1), (0, 2), (1, 2)]


# ---------------------------------------------------------------- seeded bugs


@dataclass(frozen=True)
class TooTight(EndsBy):
    """Tells the outline a minute less than it demands."""

    def narrow(self, outline: Outline) -> bool:
        return outline.ends_by(self.action, self.time - 1, self)


@dataclass(frozen=True)
class WrongWay(Before):
    def narrow(self, outline: Outline) -> bool | None:
        return outline.before(self.then, self.first, self)


@dataclass(frozen=True)
class SaysNothing(StartsFrom):
    """Claims to be exact, and tells the outline nothing."""

    def narrow(self, outline: Outline) -> bool:
        return False


def as_kind(kind: Any) -> Callable[[Any], Any]:
    return lambda made: kind(*(getattr(made, name) for name in made.fields))


@pytest.mark.parametrize(
    ("kind", "bug", "check"),
    [("ends_by", TooTight, is_sound), ("before", WrongWay, is_sound), ("starts_from", SaysNothing, is_exact)],
)
def test_a_wrong_outline_is_caught(
    kind: str, bug: Any, check: Callable[[Sequence[Constraint]], bool]
) -> None:
    made = (c for c in trials(kind, 60, as_kind(bug)) if all(constraint.exact for constraint in c))
    assert not all(check(constraints) for constraints in made)


# ---------------------------------------------------------------- JSON


def round_trips(kind: str, count: int, change: Callable[[Any], Any] = lambda made: made) -> bool:
    r = random.Random(f"json {kind}")
    return all(
        constraint_from_json(constraint_to_json(made)) == made
        for made in (
            change(replace(MAKERS[kind](r), sentence=r.randint(0, 3), span=(1, 4))) for _ in range(count)
        )  # type: ignore[type-var]
    )


@pytest.mark.parametrize("kind", MAKERS)
def test_json_reads_back(kind: str) -> None:
    assert round_trips(kind, 20)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("wrong", [None, -1, [], True])
def test_each_field_is_asked_for_by_its_name(kind: str, wrong: Any) -> None:
    said = constraint_to_json(MAKERS[kind](random.Random(1)))
    for name in said.keys() - {"kind"}:
        with pytest.raises(BadInput) as refused:
            constraint_from_json({**said, name: wrong})
        assert refused.value.field == name


def test_a_reader_that_ignores_its_field_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: Mapping[str, Reader] = {"action": action_id, "time": lambda value: 600}
    monkeypatch.setattr(EndsBy, "fields", readers)
    assert not round_trips("ends_by", 20)


# ---------------------------------------------------------------- minutes as instants


def test_what_ends_at_a_minute_has_ended_when_the_next_starts() -> None:
    times = of_the_day({"x": 0, "y": 5}, {"x": 5, "y": 6})
    assert Before("x", "y").formula(times)
    assert not times.start("y") <= times.end("x")
    assert EndsBy("x", 5).formula(times)
    assert not EndsBy("x", 4).formula(times)
    assert StartsFrom("y", 5).formula(times)
    assert not StartsFrom("y", 6).formula(times)
