"""What must come next: the answer before any other call of the run begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import judge_policies
from synth.policies.explain import explained
from synth.policies.online import Prefix
from tests.support.policing import brief, rules_file
from tests.synth.policies.test_hundred_sentences import run

NEXT = "A must be immediately followed by B."
SAME = "A must be immediately followed by B with the same id."
FAILED = "If A fails, the next call must be B."
SECOND = 10**9


@pytest.mark.parametrize(
    ("rule", "calls", "found"),
    [
        (NEXT, "do_a do_b do_c", ("ok", ())),
        (NEXT, "do_c do_b", ("not_applicable", ())),
        (NEXT, "do_a! do_c", ("not_applicable", ())),
        (NEXT, "do_a do_c do_b", ("violated", (0,))),
        (NEXT, "do_a do_c! do_b", ("violated", (0,))),
        (NEXT, "do_b do_a", ("violated", (1,))),
        (NEXT, "do_a do_a do_b", ("violated", (0,))),
        (NEXT, "do_a do_b! do_b", ("ok", ())),
        (NEXT, "do_a do_b! do_c do_b", ("violated", (0,))),
        (NEXT, "do_a do_b!", ("violated", (0,))),
        (SAME, "do_a(id=1) do_b(id=1)", ("ok", ())),
        (SAME, "do_a(id=1) do_b(id=2) do_b(id=1)", ("violated", (0,))),
        (SAME, "do_a(id=1) do_b do_b(id=1)", ("undecided", ())),
        (SAME, "do_a(id=1) do_c do_b", ("violated", (0,))),
        (FAILED, "do_a! do_b", ("ok", ())),
        (FAILED, "do_a do_c", ("not_applicable", ())),
        (FAILED, "do_a! do_c do_b", ("violated", (0,))),
        ("A must be immediately followed by B or C.", "do_a do_c do_a do_b", ("ok", ())),
        ("A and C must be immediately followed by B.", "do_a do_b do_c do_a do_b", ("violated", (2,))),
        ("Any tool must be immediately followed by B.", "do_a do_b do_c do_b", ("ok", ())),
    ],
)
def test_the_answer_comes_before_any_other_call(rule: str, calls: str, found: Any) -> None:
    assert brief(rule, run(calls)) == found


def at(tool: str, start: int, end: int) -> ToolCall:
    return ToolCall(None, f"do_{tool}", {}, start=(start, start), end=(end, end))


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [
        ((at("a", 0, 5), at("c", 1, 9), at("b", 6, 7)), "ok"),
        ((at("a", 0, 5), at("b", 1, 6)), "violated"),
        ((at("a", 0, 5), at("a", 1, 6), at("b", 7, 8)), "ok"),
        ((at("a", 0, 5), at("b", 6, 7), at("c", 6, 8)), "ok"),
        ((at("a", 0, 5), at("c", 5, 6), at("b", 6, 7)), "violated"),
    ],
    ids=["began while it ran", "an answer at its side", "two at once", "at one instant", "right at its end"],
)
def test_what_calls_at_the_same_time_mean(calls: tuple[ToolCall, ...], verdict: str) -> None:
    assert brief(NEXT, Run("r", calls))[0] == verdict


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [("do_a", "undecided"), ("do_a do_b!", "undecided"), ("do_a do_b", "ok"), ("do_a do_c", "violated")],
)
def test_a_run_that_goes_on_may_still_answer(calls: str, verdict: str) -> None:
    (found,) = judge_policies(rules_file(NEXT), replace(run(calls), status="running"))
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("calls", "gap", "verdict"),
    [
        ("do_a do_b", Unseen("lost", after=0, before=1, calls=1), "undecided"),
        ("do_a do_b", Unseen("lost", after=0, before=1, calls=1, tool="do_b"), "ok"),
        ("do_c do_a do_b", Unseen("lost", after=0, before=1, calls=1, tool="do_c"), "ok"),
        ("do_a do_c", Unseen("lost", after=0, before=1, calls=1), "undecided"),
        ("do_a do_c", Unseen("lost", after=0, before=1, calls=1, tool="do_c"), "violated"),
        ("do_a do_c do_c", Unseen("lost", after=1, before=2, calls=1, tool="do_b"), "violated"),
        ("do_c", Unseen("lost", after=0, calls=1), "undecided"),
    ],
)
def test_calls_that_nobody_saw_leave_open_what_they_may_change(calls: str, gap: Unseen, verdict: str) -> None:
    (found,) = judge_policies(rules_file(NEXT), replace(run(calls), problems=("lost",), unseen=(gap,)))
    assert found.verdict == verdict


def test_a_guard_refuses_every_other_call_while_the_answer_is_owed() -> None:
    course = Prefix(rules_file(NEXT))

    def refused(tool: str) -> bool:
        return course.would(ToolCall(None, tool, {})).refused

    first = course.began(ToolCall(None, "do_a", {}))
    assert not refused("do_c")
    course.ended(first)
    assert refused("do_c")
    assert refused("do_a")
    assert not refused("do_b")
    assert course.owed()
    answer = course.began(ToolCall(None, "do_b", {}))
    assert not refused("do_c")
    course.ended(answer, error="no")
    assert refused("do_c")
    again = course.began(ToolCall(None, "do_b", {}))
    course.ended(again)
    assert not refused("do_c")
    assert not course.owed()


def test_a_guard_tells_answers_of_other_things() -> None:
    course = Prefix(rules_file(SAME))
    course.ended(course.began(ToolCall(None, "do_a", {"id": 1})))
    assert course.would(ToolCall(None, "do_b", {"id": 2})).refused
    assert not course.would(ToolCall(None, "do_b", {"id": 1})).refused


def test_two_actions_cannot_both_be_next() -> None:
    with pytest.raises(BadInput, match="only one call is the next one"):
        rules_file("A must be immediately followed by B and C.")


def test_it_is_explained_with_a_run_that_keeps_and_one_that_breaks_it() -> None:
    (said,) = explained(rules_file(NEXT))
    assert (said.kept, said.broken) == ("do_a, do_b", "do_a")
    assert said.breaks == "another call than its answer begins after its end, or none does"
