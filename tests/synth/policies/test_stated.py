"""Rules that a request itself states: judged in our own frame, else suggested; read only where clear."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from synth.cases.generate import Options, generate
from synth.language.query import phrase_from_tool_name, query_text
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, stated_policies, suggested_rules
from synth.policies.stated import MAX_SENTENCES, MAX_TEXT

TOOLS = ("fetch_profile", "bookFlight", "pay", "send_receipt")


def rules(query: str, tools: tuple[str, ...] = TOOLS) -> list[tuple[str, str]]:
    found = stated_policies(query, tools, anywhere=True)
    return [] if found is None else [(policy.text, policy.rule.kind) for policy in found.policies]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Fetch profile must happen before book flight.", ["precedence"]),
        (
            "Hi!\nfetch_profile must precede pay. Pay must be followed by send receipt\nThanks",
            ["precedence", "response"],
        ),
        ("Please pay and book flight. Pay must never happen after send receipt.", ["absence_after"]),
        ("* Pay must happen at most 1 time.\n* Pay must follow book flight.", ["count", "precedence"]),
    ],
)
def test_sentences_about_tools_are_rules(query: str, found: list[str]) -> None:
    assert [kind for _, kind in rules(query)] == found


@pytest.mark.parametrize(
    "query",
    [
        "", "Book me a flight to Oslo.", "You must be quick.",
        "Fetch profile must happen before pay unless it is late.",
        "Fetch profile must happen before pay. This does not apply at night.",
        "Ignore this: fetch profile must happen before pay.",
        "You must pay. Fetch profile must happen before pay.",
        "Pay must happen before 15:00.",
        "Fetch the profile must happen before pay soon.",
        "Reboot server must happen before pay.",
        "Fetch profile must happen before pay. " + "x" * MAX_TEXT,
    ],
)  # fmt: skip
def test_doubt_anywhere_means_no_rule_at_all(query: str) -> None:
    assert rules(query) == []


def test_words_that_stand_for_two_tools_name_neither() -> None:
    both = ("send_mail", "sendMail", "pay")
    assert rules("Send mail must happen before pay.", both) == []
    assert rules("send_mail must precede pay.", both) == [("send_mail must precede pay.", "precedence")]


def test_a_synthesized_query_states_its_own_paragraph() -> None:
    """With the tools named after the activities, as a user's own tools are."""
    read = 0
    for case in generate(10, 3, Options(actions=(3, 5))):
        tools = tuple(action.phrase.replace(" ", "_") for action in case.actions)
        if any(
            phrase_from_tool_name(tool) != action.phrase
            for tool, action in zip(tools, case.actions, strict=True)
        ):
            continue
        found = stated_policies(case.query, tools)
        if found is None:
            continue
        read += 1
        pairs = {(a.names[0], b.names[0]) for policy in found.policies for a, b in policy.rule.pairs}  # type: ignore[attr-defined]
        tool = {action.id: name for action, name in zip(case.actions, tools, strict=True)}
        assert pairs == {(tool[c.first], tool[c.then]) for c in case.constraints}  # type: ignore[union-attr]
    assert read >= 3


QUOTED = (
    "Old rule of my predecessor, no longer valid:\nPay must happen before book flight.",
    "Do not obey rules like these:\nPay must happen before book flight.",
    "Pay must happen before book flight. Forget that rule, just pay.",
    "If the amount is over 500:\nPay must happen before book flight.",
    "Pay must happen before book flight.\nonly for amounts over 500.",
)


@pytest.mark.parametrize("query", QUOTED)
def test_a_rule_that_a_request_may_quote_or_withdraw_is_suggested_and_not_judged(query: str) -> None:
    assert stated_policies(query, TOOLS) is None
    assert suggested_rules(query, TOOLS) == ("Pay must happen before book flight.",)


@pytest.mark.parametrize(
    ("query", "suggested"),
    [
        ("", ()), ("Book me a flight to Oslo.", ()), ("You must be quick.", ()), ("You must pay.", ()),
        ("Pay must precede everything.", ()),
        ("* Pay must follow book flight.\n* Pay must follow book flight.", ("Pay must follow book flight.",)),
        ("Ignore it: pay. Pay must happen at most 1 time.", ("Pay must happen at most 1 time.",)),
        ("Pay must happen before 15:00.", ("Pay must happen before 15:00.",)),
        ("Pay must happen at most 1 time. " + "x" * MAX_TEXT, ()),
    ],
)  # fmt: skip
def test_each_sentence_that_can_be_read_is_suggested(query: str, suggested: tuple[str, ...]) -> None:
    assert suggested_rules(query, TOOLS) == suggested


def test_suggestions_are_bounded() -> None:
    query = "\n".join(f"Pay must happen at most {n} times." for n in range(2, 200))
    assert len(suggested_rules(query, TOOLS)) == MAX_SENTENCES
    assert stated_policies(query, TOOLS, anywhere=True) is None


def test_beside_our_own_frame_sentences_are_suggested_and_inside_it_they_are_judged() -> None:
    own = query_text("Fetch profile must happen before pay.", "a traveller", 2)
    query = f"Pay must never happen after send receipt.\n\n{own}"
    for anywhere in (False, True):
        found = stated_policies(query, TOOLS, anywhere=anywhere)
        assert found is not None
        assert [policy.text for policy in found.policies] == ["Fetch profile must happen before pay."]
    assert suggested_rules(query, TOOLS) == ("Pay must never happen after send receipt.",)
    assert suggested_rules(own, TOOLS) == ()


def test_what_was_not_asked_for_need_not_happen() -> None:
    found = stated_policies("Fetch profile must happen before pay.", TOOLS, anywhere=True)
    assert found is not None
    verdicts = [
        judge_policies(found, Run("r", tuple(ToolCall(None, tool) for tool in tools)))[0].verdict
        for tools in (("fetch_profile",), (), ("pay",), ("fetch_profile", "pay"))
    ]
    assert verdicts == ["not_applicable", "not_applicable", "violated", "ok"]


def test_a_request_without_rules_costs_next_to_nothing() -> None:
    query = "Book me a flight to Oslo please. " * 100
    began = time.process_time()
    for _ in range(1000):
        stated_policies(query, TOOLS)
        suggested_rules(query, TOOLS)
    assert time.process_time() - began < 1.0


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=4))
@hypothesis_settings(max_examples=150, deadline=None)
def test_no_text_and_no_tool_name_breaks_it(text: str, tools: list[str]) -> None:
    for query in (text, f"{text} must happen before pay.", f"Pay must precede {text}"):
        found = stated_policies(query, (*tools, "pay"), anywhere=True)
        assert found is None or len(found.policies) >= 1
        suggested = suggested_rules(query, (*tools, "pay"))
        assert found is None or suggested
