"""Answers of Z3 that are kept by the order of what was asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from synth.formal import check
from synth.formal.check import DISAGREEMENTS, broken_claims, decide
from synth.formal.constraints import Fixed
from synth.formal.proofs import Proofs, shape_of
from synth.formal.solver import violated


@dataclass(frozen=True)
class Says:
    """A claim made of a function."""

    of: Callable[[Any], Any]

    def formula(self, t: Any) -> Any:
        return self.of(t)


def any_formula(r: random.Random, calls: int, depth: int = 3) -> Callable[[Any], Any]:
    """Comparisons of instants under `all`, `any` and `no`."""
    if depth == 0 or r.random() < 0.3:
        a, b = (
            (r.choice(("start", "end")), r.randrange(calls)),
            (r.choice(("start", "end")), r.randrange(calls)),
        )
        sign = r.choice(("__le__", "__lt__", "__ge__", "__gt__", "__eq__", "__ne__"))
        return lambda t: getattr(getattr(t, a[0])(a[1]), sign)(getattr(t, b[0])(b[1]))
    parts = [any_formula(r, calls, depth - 1) for _ in range(r.randint(1, 3))]
    if r.random() < 0.3:
        return lambda t: t.no(parts[0](t))
    join = r.choice(("all", "any"))
    return lambda t: getattr(t, join)([part(t) for part in parts])


def some_times(r: random.Random, calls: int) -> Fixed:
    starts = {call: r.randrange(calls) for call in range(calls)}
    return Fixed(starts, {call: at + r.randint(0, 2) for call, at in starts.items()})


def stretched(times: Fixed) -> Fixed:
    """Other instants in the same order."""
    return Fixed(
        *({who: at**3 * 1000 - 7 for who, at in edge.items()} for edge in (times.starts, times.ends))
    )


def counting(claims: Sequence[Says], asked: list[Fixed]) -> Callable[[Fixed], list[int] | None]:
    def ask(times: Fixed) -> list[int] | None:
        asked.append(times)
        return violated(claims, times)

    return ask


def test_a_kept_answer_is_that_of_z3_for_the_instants_themselves() -> None:
    r = random.Random("kept")
    proofs, asked = Proofs(), []
    for _ in range(150):
        calls = r.randint(1, 4)
        claims = [Says(any_formula(r, calls)) for _ in range(r.randint(1, 4))]
        for times in ((first := some_times(r, calls)), stretched(first), some_times(r, calls)):
            shape = shape_of(claims, times)
            assert shape is not None
            answer = proofs.answer(shape, counting(claims, asked))
            assert list(answer or ()) == violated(claims, times) == list(broken_claims(claims, times))
    assert 150 < len(asked) <= 300, "of two runs in the same order the second asks nothing"


def test_a_tie_another_sign_and_another_pair_are_other_questions() -> None:
    apart, tie = Fixed({0: 0, 1: 9}, {0: 3, 1: 12}), Fixed({0: 0, 1: 3}, {0: 3, 1: 12})

    def key(of: Callable[[Any], Any], times: Fixed = apart) -> bytes:
        shape = shape_of([Says(of)], times)
        assert shape is not None
        return shape.key

    keys = {
        key(lambda t: t.end(0) <= t.start(1)), key(lambda t: t.end(0) <= t.start(1), tie),
        key(lambda t: t.end(0) < t.start(1)), key(lambda t: t.end(1) <= t.start(0)),
        key(lambda t: t.no(t.end(0) <= t.start(1))), key(lambda t: t.all([t.end(0) <= t.start(1)])),
        key(lambda t: t.any([t.end(0) <= t.start(1)])),
    }  # fmt: skip
    assert len(keys) == 7
    assert key(lambda t: t.end(0) <= t.start(1)) == key(lambda t: t.end(0) <= t.start(1), stretched(apart))
    assert key(lambda t: t.end(0) <= t.start(1)) == key(lambda t: t.start(0) <= t.end(1)), (
        "who does not matter"
    )


@pytest.mark.parametrize(
    "of",
    [
        lambda t: t.start(1) <= t.later(t.end(0), 5),
        lambda t: t.end(0) <= t.until(600),
        lambda t: t.since(60) <= t.start(0),
        lambda t: t.start(1) <= t.end(0) + 5,
        lambda t: t.start(0) <= 7,
        lambda t: t.end(0) <= t.start(1) if t.start(0) else True,
    ],
)
def test_what_asks_for_more_than_the_order_is_asked_as_it_is(of: Callable[[Any], Any]) -> None:
    assert shape_of([Says(of)], Fixed({0: 0, 1: 9}, {0: 3, 1: 12})) is None


def test_more_minutes_apart_is_another_answer_of_z3() -> None:
    soon = [Says(lambda t: t.start(1) <= t.later(t.end(0), 5))]
    near, far = (decide(soon, Fixed({0: 0, 1: at}, {0: 3, 1: 99}), z3=True) for at in (8, 9))
    assert ((near.violated, near.decided_by), (far.violated, far.decided_by)) == (
        ((), "both"),
        ((0,), "both"),
    )


def test_no_answer_is_not_kept_and_the_oldest_go() -> None:
    proofs, times = Proofs(keep=2), Fixed({0: 0, 1: 9}, {0: 3, 1: 12})
    signs = ("__le__", "__lt__", "__eq__")
    shapes = [
        shape_of([Says(lambda t, sign=sign: getattr(t.end(1), sign)(t.start(0)))], times) for sign in signs
    ]
    answers = iter([None, [0], [0], [0], [0]])
    asked: list[int] = []

    def ask(number: int) -> list[int] | None:
        asked.append(number)
        return next(answers)

    for number in (0, 0, 0, 1, 2, 2, 0):
        shape = shapes[number]
        assert shape is not None
        proofs.answer(shape, lambda _, number=number: ask(number))
    assert asked == [0, 0, 1, 2, 0]


def test_a_direct_answer_that_differs_from_a_kept_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    claims, times = [Says(lambda t: t.end(1) <= t.start(0))], Fixed({0: 0, 1: 9}, {0: 3, 1: 12})
    assert decide(claims, times, z3=True).violated == (0,)
    before = DISAGREEMENTS.count
    monkeypatch.setattr(check, "violated", lambda *_, **__: pytest.fail("Z3 is not asked again"))
    decision = decide(claims, stretched(times), z3=True, known=[True])
    assert (decision.disagreement, DISAGREEMENTS.count) == (True, before + 1)
