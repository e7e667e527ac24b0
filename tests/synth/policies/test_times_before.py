"""How often something must, or may, have happened before an action begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import judge_policies, load_policies
from synth.policies.online import Prefix
from tests.support.policing import brief, judged, rules_file
from tests.synth.policies.test_hundred_sentences import run

TWO = "A must happen at least 2 times before B."
TWO_PEOPLE = "A must happen at least 2 times before B with the same id and different by."


@pytest.mark.parametrize(
    ("rule", "calls", "found"),
    [
        (TWO, "do_a do_a do_b do_b", ("ok", ())),
        (TWO, "do_a do_b do_a do_b", ("violated", (1,))),
        (TWO, "do_a do_a! do_b", ("violated", (2,))),
        (TWO, "do_a", ("not_applicable", ())),
        (TWO, "do_a@10:00-10:05 do_a@10:00-10:05 do_b@10:04", ("violated", (2,))),
        (TWO_PEOPLE, "do_a(id=1,by=x) do_a(id=1,by=y) do_b(id=1)", ("ok", ())),
        (TWO_PEOPLE, "do_a(id=1,by=x) do_a(id=1,by=x) do_b(id=1)", ("violated", (2,))),
        (TWO_PEOPLE, "do_a(id=1,by=x) do_a(id=2,by=y) do_b(id=1)", ("violated", (2,))),
        (TWO_PEOPLE, "do_a(id=1,by=x) do_a(id=1) do_b(id=1)", ("undecided", ())),
        ("A must happen at most twice before B.", "do_a do_a! do_b do_a do_b", ("ok", ())),
        ("A must happen at most twice before B.", "do_a do_a do_a", ("not_applicable", ())),
        ("A must happen at most twice before B.", "do_a do_a! do_a do_b do_b", ("violated", (3,))),
        (
            "A must happen at most once before B with the same id.",
            "do_a(id=1) do_a(id=2) do_b(id=1)",
            ("ok", ()),
        ),
        ("If A fails twice, B must never happen.", "do_a! do_a do_a! do_b", ("violated", (3,))),
        ("If A fails twice, B must never happen.", "do_a! do_b do_a!", ("ok", ())),
        ("B must never happen after A succeeds 2 times.", "do_a do_b do_a do_b", ("violated", (3,))),
    ],
)
def test_what_counts_and_when(rule: str, calls: str, found: tuple[str, tuple[int, ...]]) -> None:
    assert brief(rule, run(calls)) == found


def test_a_misspelt_argument_is_told() -> None:
    said = judged(
        "A must happen at least 2 times before B with different approver.", run("do_a(aprover=1) do_b")
    )
    assert said.verdict == "violated"  # one call is not two, whatever its arguments are called
    calls = "do_a(aprover=1) do_a(aprover=2) do_b"
    said = judged("A must happen at least 2 times before B with different approver.", run(calls))
    assert said.verdict == "unsupported"
    assert said.explanation.endswith("did you mean 'aprover'?")


def test_a_call_that_nobody_saw_may_have_been_the_second_one() -> None:
    calls = (ToolCall(None, "do_a", {}), ToolCall(None, "do_b", {}))
    early, late = (Run("r", calls, unseen=(Unseen("lost", *at, 1),)) for at in ((0, 1), (1, None)))
    (found,) = judge_policies(rules_file(TWO), early)
    assert found.verdict == "undecided"
    (found,) = judge_policies(rules_file(TWO), late)
    assert (found.verdict, found.violations) == ("violated", (1,))


AT_MOST = "A must happen at most 1 time before B."
AFTER_TWO = "If A fails twice, B must never happen."


@pytest.mark.parametrize(
    ("rule", "calls", "gap", "found"),
    [
        (TWO, "do_b", Unseen("lost", None, 0, 1), ("violated", (0,))),
        (TWO, "do_b", Unseen("lost", None, 0, 2), ("undecided", ())),
        (TWO, "do_a do_a do_b", Unseen("lost", 1, None, None), ("ok", ())),
        (TWO, "do_a do_a do_b", Unseen("lost", 0, None, None), ("undecided", ())),
        (f"{TWO[:-1]} with different id.", "do_a(id=1) do_a(id=2)", Unseen("lost", 1), ("undecided", ())),
        (
            f"{TWO[:-1]} with different id.",
            "do_a(id=1) do_a(id=2) do_b",
            Unseen("lost", 1, None, 1),
            ("ok", ()),
        ),
        (TWO_PEOPLE, "do_a(id=1,by=x) do_b(id=1)", Unseen("lost", 0, 1, 1), ("undecided", ())),
        (TWO_PEOPLE, "do_a(id=1,by=x) do_b(id=2)", Unseen("lost", 0, 1, 1), ("violated", (1,))),
        (AT_MOST, "do_b", Unseen("lost", None, 0, 1), ("ok", ())),
        (AT_MOST, "do_a do_b", Unseen("lost", 0, 1, 1), ("undecided", ())),
        (AT_MOST, "do_a do_b", Unseen("lost", 1, None, 5), ("ok", ())),
        (AT_MOST, "do_a do_a do_b", Unseen("lost", 1, 2, 1), ("violated", (2,))),
        (AT_MOST, "do_a do_a do_b", Unseen("lost", 0, 1, 1), ("undecided", ())),
        (AT_MOST, "do_a do_a", Unseen("lost", 1, None, 1), ("undecided", ())),
        (AFTER_TWO, "do_b do_b", Unseen("lost", None, None, 1), ("not_applicable", ())),
        (AFTER_TWO, "do_a! do_b", Unseen("lost", None, None, 1), ("undecided", ())),
        (AFTER_TWO, "do_b do_a! do_a!", Unseen("lost", None, 0, 1), ("ok", ())),
        (AFTER_TWO, "do_b do_a! do_a!", Unseen("lost", 2, None, 1), ("undecided", ())),
    ],
)
def test_what_too_few_calls_that_nobody_saw_can_change_stays(
    rule: str, calls: str, gap: Unseen, found: tuple[str, tuple[int, ...]]
) -> None:
    assert brief(rule, replace(run(calls), unseen=(gap,))) == found


def test_the_guard_refuses_until_there_were_enough() -> None:
    prefix = Prefix(rules_file(TWO))
    for enough in (False, False, True):
        assert prefix.would(ToolCall(None, "do_b", {})).refused is not enough
        prefix.ended(prefix.began(ToolCall(None, "do_a", {})))


def test_the_same_cannot_be_different() -> None:
    with pytest.raises(BadInput, match="'id' cannot be the same and different"):
        rules_file("A must happen at least 2 times before B with different id with the same id.")


def test_once_is_plain_order() -> None:
    text = "actions: {A: a, B: b}\npolicies: [{id: P, rule: A must happen at least once before B.}]\n"
    assert load_policies(text).policies[0].rule.kind == "precedence"
