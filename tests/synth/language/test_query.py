"""The query texts, and reading them back."""

from __future__ import annotations

from synth.language.query import (
    describe,
    horizon_of,
    names_of_tools,
    paragraph_of,
    phrase_from_tool_name,
    query_text,
    tool_name,
)

PARAGRAPH = "The audit must precede the briefing."


def test_the_order_query_asks_for_every_tool_once():
    text = query_text(PARAGRAPH, "a baker", 2)
    assert text.count(PARAGRAPH) == 1
    assert "call each of the 2 tools exactly once" in text
    assert "start_time" not in text
    assert (paragraph_of(text), horizon_of(text)) == (PARAGRAPH, None)


def test_the_timed_query_states_the_day_and_the_rules_of_the_game():
    text = query_text(PARAGRAPH, "a baker", 2, (540, 1080))
    assert text.count(PARAGRAPH) == 1
    for part in (
        "from 09:00 to 18:00",
        'start_time, written "HH:MM"',
        "only the answer of its tool tells",
        "halt",
        "start over",
    ):
        assert part in text
    assert (paragraph_of(text), horizon_of(text)) == (PARAGRAPH, (540, 1080))


def test_a_foreign_text_has_no_paragraph():
    assert paragraph_of("Please call the tools in any order.") is None
    assert horizon_of("Please call the tools in any order.") is None


def test_names_come_back_from_tools():
    tools = [
        {"name": "thank_you_letter", "description": describe("the thank-you letter")},
        {"name": "get_userDetails", "description": "Returns a user."},
        {"name": "ping"},
        {"name": "t9", "description": "Does the task: seat change."},
    ]
    assert [name["phrase"] for name in names_of_tools(tools)] == [
        "the thank-you letter",
        "get user details",
        "ping",
        "seat change",
    ]
    assert names_of_tools(tools)[0] == {
        "id": "thank_you_letter", "phrase": "the thank-you letter", "tool": "thank_you_letter",
    }  # fmt: skip


def test_tool_names_and_phrases_follow_from_each_other():
    assert tool_name("the stand-up meeting") == "stand_up_meeting"
    assert phrase_from_tool_name("HTTPServer.restart-now") == "httpserver restart now"
    assert phrase_from_tool_name("__") == "__"
