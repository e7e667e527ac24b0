"""Calls of tools and of models whose longest parts are read when somebody looks at them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.dialects import Message, Request, deferred
from collector.dialects.deferred import deferred_call
from collector.dialects.genai import read_model
from collector.dialects.reading import SeenModel
from collector.model import Span, ToolCall
from collector.rebuild.gaps import cut_messages
from collector.rebuild.requested import with_requests

SAID = {"gen_ai.tool.call.arguments": '{"city": "Bern"}', "pdoctor.tool.attempts": 3, "pdoctor.turn.index": 7}
ELSEWHERE: dict[str, Any] = {"step": 4, "start": (5, 5), "end": (6, 6), "extra": {"note": "x"}}


def call(**changes: Any) -> ToolCall:
    made = deferred_call("id", "search", "refused", (1, 2), (3, 4), False, SAID)
    return replace(made, **changes) if changes else made


@pytest.mark.parametrize("changes", [{}, {"finished": False}], ids=["as it was read", "made again"])
def test_a_call_at_another_place_is_the_same_otherwise(changes: dict[str, Any]) -> None:
    there = call(**changes).moved(*ELSEWHERE.values())
    assert there == replace(call(**changes), **ELSEWHERE)
    assert (there.arguments, there.attempts, there.step) == ({"city": "Bern"}, 3, 4)


def test_moving_a_call_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        deferred, "LATER", {name: lambda said, name=name: read.append(name) for name in deferred.LATER}
    )
    there = call().moved(*ELSEWHERE.values())
    assert (there.tool, there.end, read) == ("search", (6, 6), [])
    assert (there.result, read) == (None, ["result"])


ASKED = (
    '[{"role": "assistant", "parts": [{"type": "text", "content": "I look."}, '
    '{"type": "tool_call", "id": "c", "name": "search", "arguments": {"city": "Bern"}}]}]'
)
GIVEN = '[{"role": "user", "content": "Rooms?"}, {"role": "tool", "tool_call_id": "c", "content": "full"}]'


def model(given: str | None, made: str | None) -> SeenModel:
    said = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7}
    told = {"gen_ai.input.messages": given, "gen_ai.output.messages": made}
    said |= {name: text for name, text in told.items() if text is not None}
    found = read_model(Span("t", "s", None, "chat", 1, 2, "unset", "", said))
    assert found is not None
    return found


def test_a_model_call_says_what_its_messages_say() -> None:
    seen = model(GIVEN, ASKED)
    assert (seen.requests, seen.with_text, seen.said) == (
        (Request("c", "search", {"city": "Bern"}),), True, "I look.",
    )  # fmt: skip
    assert (seen.query, seen.answers, seen.given) == ("Rooms?", {"c": "full"}, (Message("user", "Rooms?"),))
    assert seen.read_whole == {"gen_ai.input.messages", "gen_ai.output.messages"}
    assert (seen.tools, seen.model, seen.session, seen.input_tokens, seen.output_tokens) == (
        None, None, None, 7, None,
    )  # fmt: skip
    assert seen == model(GIVEN, ASKED) == replace(seen)
    assert seen != model(GIVEN, None)


def test_messages_that_were_cut_are_not_whole() -> None:
    assert model(GIVEN[:-9], ASKED).read_whole == {"gen_ai.output.messages"}
    assert [gap.problem for gap in cut_messages([model(None, ASKED), model(GIVEN[:-9], ASKED)])] == [
        "the messages of a model call were cut: calls may be missing from them"
    ]
    assert not list(cut_messages([model(GIVEN, ASKED), model("Rooms?", "Full.")]))


def test_of_models_that_ask_for_nothing_no_history_is_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(name: str) -> Any:
        made = OF_MESSAGES[name]
        return lambda seen: read.append(name) or made(seen)

    OF_MESSAGES = deferred.OF_MESSAGES
    monkeypatch.setattr(deferred, "OF_MESSAGES", {name: reading(name) for name in OF_MESSAGES})
    several = [model(GIVEN, '{"role": "assistant", "content": "Full."}') for _ in range(3)]
    assert with_requests([], several) == []
    assert not list(cut_messages(several))
    assert {"answers", "given", "query", "said"}.isdisjoint(read)
    assert "requests" in read
