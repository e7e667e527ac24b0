"""One call for one other, and as many in the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import judge_policies, judge_turn
from synth.policies.online import Prefix
from tests.support.policing import brief, judged, rules_file
from tests.synth.policies.test_hundred_sentences import run

OWN = "B must not happen more often than A."
OWN_SAME = "B must not happen more often than A with the same id."
EVEN = "A must happen as often as B."
EVEN_SAME = "A must happen as often as B with the same id."


@pytest.mark.parametrize(
    ("rule", "calls", "found"),
    [
        (OWN, "do_a do_b do_a do_b", ("ok", ())),
        (OWN, "do_a do_a do_b do_b", ("ok", ())),
        (OWN, "do_a do_b do_b", ("violated", (2,))),
        (OWN, "do_a! do_b", ("violated", (1,))),
        (OWN, "do_a do_b! do_b", ("violated", (2,))),
        (OWN, "do_a@10:00-10:05 do_b@10:04", ("violated", (1,))),
        (OWN, "do_a", ("not_applicable", ())),
        (OWN_SAME, "do_a(id=1) do_a(id=2) do_b(id=2) do_b(id=1)", ("ok", ())),
        (OWN_SAME, "do_a(id=1) do_a(id=2) do_b(id=1) do_b(id=1)", ("violated", (3,))),
        (OWN_SAME, "do_a(id=1) do_a do_b(id=1) do_b(id=1)", ("undecided", ())),
        (EVEN, "do_a do_b do_b do_a do_a!", ("ok", ())),
        (EVEN, "do_a do_b do_a", ("violated", ())),
        (EVEN_SAME, "do_a(id=1) do_b(id=2)", ("violated", ())),
        (EVEN_SAME, "do_a(id=1) do_a(id=2) do_b(id=2) do_a", ("violated", ())),
        (EVEN_SAME, "do_a(id=1) do_a(id=2) do_b(id=2) do_b", ("undecided", ())),
    ],
)
def test_each_has_one_of_its_own(rule: str, calls: str, found: tuple[str, tuple[int, ...]]) -> None:
    assert brief(rule, run(calls)) == found


def test_in_a_run_that_goes_on_nothing_is_uneven_yet() -> None:
    said = judged(EVEN, replace(run("do_a"), status="running"))
    assert (said.verdict, said.awaits) == ("undecided", True)


def test_a_success_that_nobody_saw_may_be_the_one() -> None:
    calls = (ToolCall(None, "do_a", {}), ToolCall(None, "do_b", {}), ToolCall(None, "do_b", {}))
    (found,) = judge_policies(rules_file(OWN), Run("r", calls, unseen=(Unseen("lost", 0, 1, 1),)))
    assert found.verdict == "undecided"
    (found,) = judge_policies(rules_file(OWN), Run("r", calls, unseen=(Unseen("lost", 2, None, 1),)))
    assert (found.verdict, found.violations) == ("violated", (2,))


@pytest.mark.parametrize(
    ("rule", "calls", "tools", "verdict"),
    [
        (EVEN, "do_a do_a", None, "violated"),
        (EVEN, "do_a do_b do_b", None, "undecided"),
        (EVEN, "do_a do_b do_b", ("do_b", "do_c"), "violated"),
        (EVEN, "do_a do_b", None, "undecided"),
        (EVEN, "do_a do_b", ("do_c",), "ok"),
        (EVEN_SAME, "do_a(id=1) do_b(id=2)", ("do_a",), "violated"),
        (EVEN_SAME, "do_a(id=1) do_a(id=2)", None, "violated"),
        (EVEN_SAME, "do_a(id=1) do_a(id=2) do_b(id=1)", None, "undecided"),
        (EVEN_SAME, "do_a(id=1) do_a(id=2) do_b", None, "undecided"),
    ],
)
def test_one_call_that_nobody_saw_makes_up_for_one(
    rule: str, calls: str, tools: tuple[str, ...] | None, verdict: str
) -> None:
    lost = replace(run(calls), tools=tools, unseen=(Unseen("lost", None, None, 1),))
    assert brief(rule, lost) == (verdict, ())


def test_what_an_earlier_run_of_the_conversation_used_up_is_used_up() -> None:
    rules = rules_file(OWN, head="scope: session\n")
    turns = [run("do_a do_b"), run("do_b")]
    found = [
        judge_turn(lambda p, r, part: judge_policies(p, r, part=part), rules, turns, at) for at in (0, 1)
    ]
    assert [(one.verdict, one.violations) for (one,) in found] == [("ok", ()), ("violated", (0,))]


def test_the_guard_refuses_what_has_none_of_its_own() -> None:
    prefix = Prefix(rules_file(OWN))
    assert prefix.would(ToolCall(None, "do_b", {})).refused
    prefix.ended(prefix.began(ToolCall(None, "do_a", {})))
    assert not prefix.would(ToolCall(None, "do_b", {})).refused
    prefix.ended(prefix.began(ToolCall(None, "do_b", {})))
    assert prefix.would(ToolCall(None, "do_b", {})).refused
