"""Simulated planners on the scripted server: what a request says, in whatever form a framework sends it.

A model whose name begins with `simulated-` is one of `synth.simulated_model`: it reads the task and the
answers of its calls from the request, and heeds what a guard told it as often as its name says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from synth.simulated_model import chat, responses
from synth.simulated_model.brain import DONE, Brain
from synth.simulated_model.dialogue import Asked, Dialogue, OfferedTool, text_of
from tests.support.models import FINAL, Message

MOST = 7
"""Messages with calls, after which a planner that would never end says that it has."""
_BRAIN = Brain()
_TASK = re.compile(r"Carries out [^.]+\.")
"""How tools of a task are described; others, such as one that gives the answer, are no part of it."""
_WRITTEN = "Calling tools:\n"
_LISTED = re.compile(r"\(\d+\) (\w+), whose description is <desc>(.*?)</desc>", re.DOTALL)
_FIELD = r"\[\[ ## {}_(\d+) ## \]\]\s*(.*?)\s*(?=\[\[ ##|\Z)"


def answer(kind: str, body: dict[str, Any], items: Sequence[Any] = ()) -> Message:
    """What the planner that a request names says to it; `items`: the conversation as Responses has it."""
    if kind == "responses":
        dialogue = responses.read(body, tuple(items), "")
    else:
        messages = body["messages"]
        if kind == "messages":
            body = {**body, "tools": [_function(tool) for tool in body.get("tools") or ()]}
            messages = list(_from_anthropic(messages))
        dialogue = chat.read({**body, "messages": list(_with_calls(messages))}, "")
    return said(dialogue)


def said(dialogue: Dialogue) -> Message:
    """The next calls, or the text that all is done."""
    tools = (replace(tool, description=_about(tool.description)) for tool in dialogue.tools)
    dialogue = replace(dialogue, tools=tuple(tool for tool in tools if tool.description))
    if len(dialogue.turns) >= MOST:
        return [], FINAL
    made, _ = _BRAIN.think(dialogue)
    if made.asks:
        return [(ask.id, ask.tool, ask.arguments) for ask in made.asks], None
    return [], FINAL if made.text == DONE else made.text


def of_fields(body: dict[str, Any]) -> Dialogue:
    """A request of DSPy's ReAct, whose tools and earlier calls stand in text."""
    system, *_, last = body["messages"]
    text = text_of(last["content"])
    told = {
        name: dict(re.findall(_FIELD.format(name), text, re.DOTALL)) for name in ("tool_name", "observation")
    }
    calls = ((Asked("", tool, "{}", told["observation"].get(at)),) for at, tool in told["tool_name"].items())
    tools = tuple(OfferedTool(name, about) for name, about in _LISTED.findall(text_of(system["content"])))
    return Dialogue(body["model"], text, tools, tuple(calls))


def _about(description: str) -> str:
    """The description that a tool of a task was given, whatever a framework wrote around it."""
    found = _TASK.search(description)
    return found[0] if found else ""


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    about = {"name": tool["name"], "description": tool.get("description"), "parameters": tool["input_schema"]}
    return {"type": "function", "function": about}


def _from_anthropic(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if block["type"] == "tool_result"]
        asked = [block for block in blocks if block["type"] == "tool_use"]
        for block in results:
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
        if not results:
            calls = [_call(block["id"], block["name"]) for block in asked]
            yield {"role": message["role"], "content": content, "tool_calls": calls}


def _call(id: str, tool: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": tool, "arguments": "{}"}}


def _with_calls(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages; calls that smolagents writes as text, and their answers, one a line, as what they are."""
    asked: list[Any] = []
    for message in messages:
        text = text_of(message.get("content"))
        if message["role"] == "assistant" and _WRITTEN in text:
            asked = ast.literal_eval(text.partition(_WRITTEN)[2])
            yield {"role": "assistant", "tool_calls": [_call(c["id"], c["function"]["name"]) for c in asked]}
        elif message["role"] == "tool" and "tool_call_id" not in message:
            lines = text.partition("\n")[2].splitlines()
            answers = lines if len(lines) == len(asked) else [text] * len(asked)
            for call, line in zip(asked, answers, strict=True):
                yield {"role": "tool", "tool_call_id": call["id"], "content": line}
        else:
            yield message
