"""Real model sessions of many frameworks (see openinference_runs/README.md), told in each message spelling.

The sessions are the arguments, ids and results of real traffic; the spans around them are made here, one
per model message with nothing recorded of the tools, as a raw loop under that vocabulary would send.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from synth.observed.run import Run, ToolCall, read_runs
from tests.support.traces import T0, new_id, request

RUNS = list(read_runs(Path(__file__).parents[1] / "openinference_runs" / "runs.jsonl"))
SECOND = 1_000_000_000
Turn = tuple[list[ToolCall], list[ToolCall]]
"""Of one model message: the calls whose results it was given, the calls that it asks for."""


def turns(run: Run) -> Iterator[Turn]:
    given: list[ToolCall] = []
    for _, calls in groupby(run.calls, key=lambda call: call.step):
        asked = list(calls)
        yield given, asked
        given = [call for call in asked if call.result is not None]
    yield given, []


def spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def openinference(run: Run, given: list[ToolCall], asked: list[ToolCall]) -> dict[str, Any]:
    at: dict[str, Any] = {"openinference.span.kind": "LLM"}
    at["llm.input_messages.0.message.role"] = "user"
    at["llm.input_messages.0.message.content"] = run.query
    for number, call in enumerate(given, 1):
        base = f"llm.input_messages.{number}.message"
        at |= {
            f"{base}.role": "tool",
            f"{base}.tool_call_id": call.id,
            f"{base}.content": spelled(call.result),
        }
    for number, call in enumerate(asked):
        base = f"llm.output_messages.0.message.tool_calls.{number}.tool_call"
        at |= {f"{base}.id": call.id, f"{base}.function.name": call.tool}
        at[f"{base}.function.arguments"] = json.dumps(call.arguments)
    for number, name in enumerate(run.tools or ()):
        at[f"llm.tools.{number}.tool.json_schema"] = json.dumps({"function": {"name": name}})
    return at


def genai(run: Run, given: list[ToolCall], asked: list[ToolCall]) -> dict[str, Any]:
    calls = [{"type": "tool_call", "id": c.id, "name": c.tool, "arguments": c.arguments} for c in asked]
    answers = [{"type": "tool_call_response", "id": c.id, "response": c.result} for c in given]
    said: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": run.query}]}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([*said, {"role": "tool", "parts": answers}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": calls}]),
        "gen_ai.tool.definitions": json.dumps([{"name": name} for name in run.tools or ()]),
    }


def vercel(run: Run, given: list[ToolCall], asked: list[ToolCall]) -> dict[str, Any]:
    answers = [
        {"type": "tool-result", "toolCallId": c.id, "output": {"type": "json", "value": c.result}}
        for c in given
    ]
    said: list[Any] = [{"role": "user", "content": run.query}, {"role": "tool", "content": answers}]
    calls = [{"toolCallId": c.id, "toolName": c.tool, "input": json.dumps(c.arguments)} for c in asked]
    return {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": json.dumps(said),
        "ai.response.toolCalls": json.dumps(calls),
        "ai.prompt.tools": [json.dumps({"name": name}) for name in run.tools or ()],
    }


def rebuilt(run: Run, spell: Callable[..., dict[str, Any]]) -> Run:
    trace = new_id()
    spans = [
        {
            "trace": trace, "id": n + 2, "parent": 1, "name": "chat", "start": T0 + n * SECOND,
            "end": T0 + n * SECOND + SECOND // 2, "at": spell(run, given, asked),
        }
        for n, (given, asked) in enumerate(turns(run))
    ]  # fmt: skip
    (segment,) = from_protobuf(request(*spans, scope="vendor").SerializeToString(), Limits()).segments
    return rebuild(segment.run_id, list(spans_of([segment.payload]))).run


@pytest.mark.parametrize("spell", [openinference, genai, vercel])
@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run.id))
def test_a_real_session_is_rebuilt_from_its_model_messages(
    run: Run, spell: Callable[..., dict[str, Any]]
) -> None:
    found = rebuilt(run, spell)
    assert [(c.id, c.tool, c.arguments, c.executed) for c in found.calls] == [
        (c.id, c.tool, c.arguments, c.result is not None or None) for c in run.calls
    ]
    assert [spelled(c.result) for c in found.calls] == [spelled(c.result) for c in run.calls]
    assert [c.step for c in found.calls] == [
        step for step, (_, calls) in enumerate(groupby(run.calls, key=lambda c: c.step)) for _ in calls
    ]
    assert found.query == run.query
    assert sorted(found.tools or ()) == sorted(run.tools or ())
