"""Two clocks: what they may differ by, what is known all the same."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from synth.observed.clocks import clocks_of
from synth.observed.run import Run, ToolCall
from synth.policies.evidence import Evidence
from synth.policies.kinds.kind import answer
from synth.policies.load import load_policies
from synth.policies.model import Policy
from tests.support.building import call

MS = 10**6
SKEW = 50 * MS


def on(clock: str, name: str, start: float, end: float, step: int | None = None) -> ToolCall:
    """Milliseconds."""
    return call(name, start / 1000, end / 1000, step=step, extra={"clock": clock})


def offs(*calls: ToolCall) -> list[Any]:
    found = clocks_of(calls, SKEW) or ()
    return [(clock.number, (round(clock.off[0] / MS), round(clock.off[1] / MS))) for clock in found]


def rules(*sentences: str) -> tuple[Policy, ...]:
    head = "actions: {a: do_a, b: do_b, c: do_c}\npolicies:\n"
    lines = (f"  - {{id: P{i}, rule: {said!r}}}\n" for i, said in enumerate(sentences))
    return load_policies(head + "".join(lines)).policies


def verdict(sentence: str, *calls: ToolCall, z3: str = "off") -> str:
    from synth.judge import Rules

    rule = rules(sentence)[0].rule
    return answer(rule, Evidence(Run("r", calls), skew_ns=SKEW), Rules(z3=z3)).verdict


def test_one_clock_or_none_is_exact() -> None:
    assert clocks_of([on("h1", "a", 0, 1), on("h1", "b", 2, 3)], SKEW) is None
    assert clocks_of([call("a", 0, 1), call("b", 2, 3)], SKEW) is None
    assert clocks_of([on("h1", "a", 0, 1), on("h2", "b", 2, 3)], 0) is None


def test_another_clock_is_off_by_what_is_allowed() -> None:
    assert offs(on("h1", "a", 0, 1), on("h2", "b", 9, 10)) == [(0, (0, 0)), (1, (-50, 50))]


@pytest.mark.parametrize(
    ("calls", "off"),
    [
        ([on("h1", "a", 0, 100, 0), on("h2", "b", 88, 120, 1)], (12, 50)),
        ([on("h1", "a", 0, 100, 0), on("h2", "b", 130, 140, 1)], (-30, 50)),
        ([on("h2", "b", 0, 100, 0), on("h1", "a", 110, 120, 1)], (-50, 10)),
        ([on("h1", "a", 0, 100, 0), on("h2", "b", 88, 120, 1), on("h1", "c", 140, 150, 2)], (12, 20)),
        ([on("h1", "a", 0, 100, 0), on("h2", "b", 88, 120, 0)], (-50, 50)),
        ([on("h1", "a", 0, 100), on("h2", "b", 88, 120, 1)], (-50, 50)),
        ([on("h1", "a", 0, 100, 0), on("h2", "b", 20, 30, 1)], (-50, 50)),
    ],
)  # fmt: skip
def test_the_order_of_model_messages_narrows_it(calls: list[ToolCall], off: tuple[int, int]) -> None:
    first = next(place for place, made in enumerate(calls) if made.extra["clock"] == "h1")
    swapped = calls[0].extra["clock"] == "h2"
    found = dict(offs(*calls))
    assert found[0] == (0, 0)
    assert found[1] == ((-off[1], -off[0]) if swapped else off), first


def test_calls_of_one_other_clock_keep_their_order() -> None:
    calls = on("h1", "c", 0, 1), on("h2", "a", 100, 101), on("h2", "b", 103, 104)
    assert verdict("A must happen before B.", *calls) == "ok"
    assert verdict("B must happen before A.", *calls) == "violated"
    assert verdict("A must start within 10 seconds after B.", *calls) == "violated"
    assert verdict("B must start within 1 seconds after A.", *calls) == "ok"


@pytest.mark.parametrize("z3", ["off", "all"])
def test_calls_of_two_clocks_nearer_than_they_may_differ_are_open(z3: str) -> None:
    for lead in (12, -12):
        near = on("h1", "a", 0, 100), on("h2", "b", 100 + lead, 120)
        assert verdict("A must happen before B.", *near, z3=z3) == "undecided"
    far = on("h1", "a", 0, 100), on("h2", "b", 151, 160)
    assert verdict("A must happen before B.", *far, z3=z3) == "ok"


def test_messages_that_overlap_by_more_than_clocks_differ_order_nothing() -> None:
    assert (
        verdict("A must happen before B.", on("h1", "a", 0, 100, 0), on("h2", "b", 40, 50, 1)) == "violated"
    )
    near = on("h1", "a", 0, 100, 0), on("h2", "b", 40, 50, 1), on("h2", "c", 110, 120, 2)
    assert verdict("A must happen before C.", *near) == "undecided"


def test_what_never_ended_runs_beside_later_messages() -> None:
    hung = replace(on("h1", "a", 0, 0, 0), end=None, finished=False)
    assert verdict("A must not overlap B.", hung, on("h2", "b", 5, 6, 1)) == "violated"


def test_messages_of_any_clocks_that_overlap_order_nothing() -> None:
    others = on("h1", "c", 0, 1, 0), on("h2", "a", 100, 300, 1), on("h3", "b", 150, 160, 2)
    assert verdict("A must not overlap B.", *others) == "undecided"
    assert verdict("B must happen after A.", *others) == "violated", "A ended well after B began"
    overlapping = on("h1", "c", 0, 50, 0), on("h1", "c", 10, 20, 1)
    near = on("h1", "a", 60, 90, 2), on("h2", "b", 85, 95, 3)
    assert verdict("A must not overlap B.", *near) == "ok"
    assert verdict("A must not overlap B.", *overlapping, *near) == "undecided"


def test_a_later_message_orders_them() -> None:
    near = on("h1", "a", 0, 100, 0), on("h2", "b", 88, 120, 1)
    assert verdict("A must happen before B.", *near) == "ok"
    assert verdict("B must happen before A.", *near) == "violated"


SENTENCES = (
    "A must happen before B.", "B must never happen after A.", "A must be followed by B.",
    "A must happen immediately before B.", "A must not overlap B.", "C must start within 1 seconds after A.",
)  # fmt: skip


def some_calls(r: random.Random) -> list[ToolCall]:
    at, step = 0, 0
    calls = []
    for _ in range(r.randint(2, 5)):
        lasted = r.choice((1, 10, 30))
        step += r.random() < 0.7
        calls.append(on(r.choice(("h1", "h2")), r.choice("abc"), at, at + lasted, step))
        at += lasted + r.choice((0, 5, 20, 60, 900))
    return calls


def shifted(calls: list[ToolCall], by: int) -> list[ToolCall]:
    """The same calls where the second clock shows another time (ms)."""

    def moved(at: Any) -> Any:
        return None if at is None else (at[0] + by * MS, at[1] + by * MS)

    return [
        replace(made, start=moved(made.start), end=moved(made.end)) if made.extra["clock"] == "h2" else made
        for made in calls
    ]


def differing(by: int, number: int, z3: str, *, exact: str) -> tuple[int, int, int]:
    """(verdicts, undecided ones, wrong ones) of runs whose second clock is off."""
    r = random.Random(by)
    counts = [0, 0, 0]
    for _ in range(number):
        calls = some_calls(r)
        for sentence in SENTENCES:
            true = verdict(sentence, *(replace(made, extra={}) for made in calls))
            said = verdict(sentence, *shifted(calls, by), z3=z3)
            counts[0] += 1
            counts[1] += said == exact
            counts[2] += said not in (true, exact)
    return counts[0], counts[1], counts[2]


@pytest.mark.parametrize("by", [-50, -20, 20, 50])
def test_clocks_that_differ_as_far_as_they_may_change_no_verdict(by: int) -> None:
    every, undecided, wrong = differing(by, 60, "all", exact="undecided")
    assert wrong == 0
    assert undecided < 0.25 * every


def test_clocks_that_differ_more_than_they_may_do_change_some() -> None:
    assert differing(400, 150, "off", exact="undecided")[2] > 0
