"""A value of one call against that of another."""

from __future__ import annotations

import math
import operator
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import PolicyResult, judge_policies
from synth.policies.evidence import Evidence
from synth.policies.kinds.latest import Asked, Latest, Side, answers
from synth.policies.kinds.sweeps import start_of
from synth.policies.online import Prefix
from tests.support.gapped_runs import blurred, complete_run
from tests.support.policing import rules_file

MOST = "The amount of B must be at most the amount of A."
SAME = "The amount of B must not exceed that of A with the same id."


def a(**arguments: Any) -> ToolCall:
    return ToolCall(None, "do_a", arguments)


def b(**arguments: Any) -> ToolCall:
    return ToolCall(None, "do_b", arguments)


FAILED = ToolCall(None, "do_a", {"amount": 9}, error="no")


def test_the_number_of_an_action_is_no_argument() -> None:
    with pytest.raises(BadInput):
        rules_file("The number of B must equal that of A.")
    assert (
        judged("The args.number of B must equal that of A.", a(number=1), b(number=2)).verdict == "violated"
    )


def judged(rule: str, *calls: ToolCall, **fields: Any) -> PolicyResult:
    (result,) = judge_policies(rules_file(rule), Run("r", calls, **fields))
    return result


@pytest.mark.parametrize(
    ("rule", "calls", "found"),
    [
        (MOST, (a(amount=5), b(amount=5.0)), ("ok", ())),
        (MOST, (a(amount=9), a(amount=5), b(amount=6)), ("violated", (2,))),
        (MOST, (a(amount=5), FAILED, b(amount=6)), ("violated", (2,))),
        (MOST, (b(amount=6), a(amount=5)), ("ok", ())),
        (MOST, (a(amount=5),), ("not_applicable", ())),
        (MOST, (a(amount=5), b(amount="6")), ("undecided", ())),
        (MOST, (a(amount=5), b(amonut=6)), ("unsupported", ())),
        (SAME, (a(id=1, amount=5), a(id=2, amount=9), b(id=2, amount=6)), ("ok", ())),
        (SAME, (a(id=1, amount=5), a(id=2, amount=9), b(id=1, amount=6)), ("violated", (2,))),
        (SAME, (a(id=1, amount=5), a(amount=9), b(id=1, amount=6)), ("undecided", ())),
        ("The name of B must equal the name of A.", (a(name="x"), b(name="y")), ("violated", (1,))),
        ("The name of B must differ from that of A.", (a(name="x"), b(name="x")), ("violated", (1,))),
        ("The amount of B must be more than that of A.", (a(amount=1), b(amount=1)), ("violated", (1,))),
    ],
)  # fmt: skip
def test_the_latest_success_before_it_decides(
    rule: str, calls: tuple[ToolCall, ...], found: tuple[str, tuple[int, ...]]
) -> None:
    said = judged(rule, *calls)
    assert (said.verdict, said.violations) == found


def test_a_call_that_nobody_saw_may_have_been_the_latest() -> None:
    calls = (a(amount=5), b(amount=6))
    assert judged(MOST, *calls, unseen=(Unseen("lost", 0, 1, 1),)).verdict == "undecided"
    assert judged(MOST, *calls, tools=("do_c",), unseen=(Unseen("lost", 0, 1, 1),)).verdict == "violated"


def test_the_guard_refuses_what_is_too_much() -> None:
    prefix = Prefix(rules_file(MOST))
    prefix.ended(prefix.began(a(amount=5)))
    assert prefix.would(b(amount=6)).refused
    assert not prefix.would(b(amount=4)).refused


SECOND = 10**9


def test_a_call_is_not_before_itself() -> None:
    """One that took no time ended when it began."""
    more = "The amount of B must be more than that of B."
    bids = [
        ToolCall(None, "do_b", {"amount": n}, start=(n * SECOND,) * 2, end=(n * SECOND,) * 2) for n in (1, 2)
    ]
    assert judged(more, *bids).verdict == "ok"
    wide = [ToolCall(None, "do_b", {"amount": n}, start=(0, SECOND), end=(0, SECOND)) for n in (1, 2)]
    assert judged(more, *wide).verdict == "undecided"
    assert judged(more, wide[0]).verdict == "ok"


SIDES: dict[Side, Callable[[int, int], bool]] = {
    "below": operator.lt, "up to": operator.le, "equal": operator.eq,
}  # fmt: skip


def compared(other: int | None, value: int | None, side: Side) -> bool | None:
    return None if other is None or value is None else SIDES[side](other, value)


@pytest.mark.parametrize("side", SIDES)
def test_the_calls_that_may_be_the_latest_are_counted_as_if_each_was_looked_at(side: Side) -> None:
    r = random.Random(f"latest {side}")
    told: Counter[object] = Counter()
    for _ in range(400):
        seen = Evidence(blurred(complete_run(r), r))
        values = {i: r.choice((1, 2, 3, None)) for i in seen.order}
        calls = [i for i in seen.order if r.random() < 0.8]
        latest = Latest(calls, seen)
        asked = [Asked(j, values[j], start_of(j, seen)[1], latest.since(j)) for j in seen.order]
        found = answers(asked, calls, values.get, side, True, seen)
        for j in seen.order:
            before = latest.before(j)
            each = {compared(values[i], values[j], side) for i in before}
            assert found[j] == each
            assert latest.last(j) == (before[-1] if before else None)
            told += Counter([len(each), "sure" if latest.since(j) > -math.inf else "not sure"])
    assert {0, 1, 2, 3, "sure", "not sure"} <= {*told}
