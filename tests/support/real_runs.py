"""The real runs as the spans of an instrumented program: what was said, what is known, its tool calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from collector.model import Span
from synth.observed.run import Run, ToolCall, read_runs
from tests.support.evidence import HOSTS, resource
from tests.support.traces import MS, T0

HERE = Path(__file__).parent.parent / "real_data"
FILES = (
    "tau_airline/runs.jsonl", "tau_airline/mutants.jsonl", "bfcl_sessions/runs.jsonl", "planbench/runs.jsonl",
    "planbench/verification.jsonl",
)  # fmt: skip
SCOPE = "instrumented.program"
THINKING, WORKING = 1000 * MS, 200 * MS
"""How long a model message and a tool call take."""


def real_runs() -> Iterator[tuple[str, Run]]:
    """(name of the policy file, run) of each."""
    for file in FILES:
        yield from ((file.partition("/")[0], run) for run in read_runs(HERE / file))


def spans_of(run: Run, trace: str) -> list[Span]:
    """GenAI spans: a model call before each message that asks for tools, the tools, the run itself last."""
    told = _Teller(run, trace)
    for number, turn in enumerate(_turns(run)):
        told.model(turn)
        for place in turn:
            told.tool(place, number)
    told.model(())
    facts = {
        name: json.dumps(value)
        for name, value in run.extra.items()
        if name not in ("messages", "expected", "variant")
    }
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent", **facts}
    if run.tools is not None:
        said["gen_ai.tool.definitions"] = json.dumps([{"name": name} for name in run.tools])
    own = Span(trace, "f" * 16, None, "invoke_agent agent", T0 - MS, told.now + MS, "unset", "", said)
    return [span._replace(scope=SCOPE, resource=resource(HOSTS[0])) for span in (*told.spans, own)]


def _turns(run: Run) -> Iterator[list[int]]:
    """Positions of calls that belong to one message; where that is not known each is alone."""
    turn: list[int] = []
    for place, call in enumerate(run.calls):
        if turn and (_step(call) is None or _step(call) != _step(run.calls[turn[0]])):
            yield turn
            turn = []
        turn.append(place)
    if turn:
        yield turn


def _step(call: ToolCall) -> Any:
    return call.extra.get("assistant_step")


class _Teller:
    def __init__(self, run: Run, trace: str) -> None:
        self.run, self.trace, self.now = run, trace, T0
        self.spans: list[Span] = []
        self.history: list[dict[str, Any]] = []
        self.said: Sequence[Mapping[str, Any]] = run.extra.get("messages", ())
        self.heard = 0

    def model(self, turn: Sequence[int]) -> None:
        """A model call that was given all that was said so far, and asks for these calls."""
        place = turn[0] if turn else len(self.run.calls)
        while self.heard < len(self.said) and self.said[self.heard]["before_call"] <= place:
            said = self.said[self.heard]
            self.history.append(_message(said["role"], {"type": "text", "content": said["content"]}))
            self.heard += 1
        asked = [_request(at, self.run.calls[at]) for at in turn]
        text = [{"type": "text", "content": "."}] if turn and self.run.calls[turn[0]].with_text else []
        answer = _message("assistant", *text, *asked)
        at = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(self.history),
            "gen_ai.output.messages": json.dumps([answer]),
        }
        self._span("chat", THINKING, at)
        if turn:
            self.history.append(answer)

    def tool(self, place: int, turn: int) -> None:
        call = self.run.calls[place]
        at = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.call.id": f"c{place}",
            "gen_ai.tool.call.arguments": json.dumps(call.arguments),
            **({} if call.result is None else {"gen_ai.tool.call.result": json.dumps(call.result)}),
        }
        self._span(f"execute_tool {call.tool}", WORKING, at, call.error)
        given = {"type": "tool_call_response", "id": f"c{place}", "response": call.result or call.error}
        self.history.append(_message("tool", given))

    def _span(self, name: str, takes: int, at: Mapping[str, Any], error: str | None = None) -> None:
        number = f"{len(self.spans) + 1:016x}"
        status, words = ("unset", "") if error is None else ("error", str(error))
        ends = self.now + takes
        self.spans.append(Span(self.trace, number, "f" * 16, name, self.now, ends, status, words, at))
        self.now = ends + MS


def _message(role: str, *parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _request(place: int, call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"c{place}", "name": call.tool, "arguments": call.arguments}
