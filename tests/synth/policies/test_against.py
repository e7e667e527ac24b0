"""A value of one call against that of another."""

from __future__ import annotations

from typing import Any

import pytest

from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import PolicyResult, judge_policies
from synth.policies.online import Prefix
from tests.support.policing import rules_file

MOST = "The amount of B must be at most the amount of A."
SAME = "The amount of B must not exceed that of A with the same id."


def a(**arguments: Any) -> ToolCall:
    return ToolCall(None, "do_a", arguments)


def b(**arguments: Any) -> ToolCall:
    return ToolCall(None, "do_b", arguments)


FAILED = ToolCall(None, "do_a", {"amount": 9}, error="no")


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
