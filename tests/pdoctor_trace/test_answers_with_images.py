"""Answers of tools that are more than text: what is no text is said as such."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pdoctor_trace.frameworks import mcp
from pdoctor_trace.raw_loops import anthropic, openai, openai_responses
from pdoctor_trace.raw_loops.reading import answer_of

IMAGE = {"type": "image", "source": {"data": "iVBORw0KGgo"}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("text", "text"),
        (None, None),
        ({"a": 1}, {"a": 1}),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text", "text": "a map: "}, IMAGE], "a map: <image>"),
        ([{"type": "input_image", "image_url": "data:"}], "<input_image>"),
        ([{"type": "text", "text": ""}], ""),
        ([7, {"no": "type"}], ""),
    ],
)
def test_of_an_image_it_is_said_that_it_is_one(content: Any, said: Any) -> None:
    assert answer_of(content) == said


def test_in_every_spelling_of_a_raw_loop() -> None:
    chat = {"role": "tool", "tool_call_id": "c", "content": [IMAGE]}
    asked = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    (answer,) = openai.outgoing_chat({"messages": [asked, chat]}, "openai").answers
    assert answer.content == "<image>"
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [IMAGE]}]}
    (answer,) = anthropic._outgoing({"messages": [use, result]}).answers
    assert answer.content == "<image>"
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image"}]}
    (answer,) = openai_responses._outgoing("openai", {"input": [call, output]}, None).answers
    assert answer.content == "<input_image>"


def test_mcp_says_it_of_its_own() -> None:
    """The adapter reads attributes: the library's own classes are not needed."""
    image, text = SimpleNamespace(type="image", data=""), SimpleNamespace(type="text", text="a map")
    for parts, said in (([text, image], ["a map", "<image>"]), ([image], "<image>"), ([text], "a map")):
        assert mcp._content(SimpleNamespace(content=parts, structured_content=None)) == said
