"""Deterministic load: agent runs as OTLP requests, and the error type that each run must be given.

One run is an `invoke_agent` span, 2 to 20 `execute_tool` spans and a `chat` span around each turn, the
root last as a batch processor sends it. Arguments, results and messages are JSON of 50 to 2,000 bytes.
Every tenth run books before it searches, which the policy of `POLICY` forbids. The same seed gives the
same bytes.
"""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

WORDS = tuple(
    word
    for line in (
        "agent plan search flight hotel price order refund user city date time budget meeting room invoice",
        "status confirmed pending cancelled retry schedule weather report table row query result item total",
    )
    for word in line.split()
)
TOOLS = ("get_weather", "sql_query", "send_email", "calendar_add", "read_file", "lookup_user", "geo_distance")
START = 1_790_000_000_000_000_000
BAD_EVERY = 10
POLICY = """\
actions: {search: search_flights, book: book_hotel}
policies:
  - id: search-first
    text: Search before you book.
    rule: Search must happen before book.
"""

Span = tuple[bytes, bytes, str, int, int, dict[str, Any]]
"""(span id, parent, name, start, end, attributes)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One export request."""

    body: bytes
    runs: tuple[str, ...]
    spans: int

    @property
    def packed(self) -> bytes:
        return gzip.compress(self.body, 6, mtime=0)


def blob(dice: random.Random) -> str:
    """JSON of 50 to 2,000 bytes, small ones being as frequent as big ones on a logarithmic scale."""
    target = int(math.exp(dice.uniform(math.log(50), math.log(2000))))
    value: dict[str, Any] = {}
    size = 2
    while size < target:
        key = dice.choice(WORDS) + str(len(value))
        said: Any = " ".join(dice.choices(WORDS, k=dice.randint(1, 12)))[: max(4, target - size)]
        if dice.random() < 0.3:
            said = dice.randint(0, 10**6)
        value[key] = said
        size += len(key) + len(str(said)) + 6
    return json.dumps(value)


def run_spans(dice: random.Random, index: int, *, announce: bool = True) -> list[Span]:
    """The spans of run `index`, root last; other vendors' do not `announce` how many calls there were."""
    root = dice.randbytes(8)
    tools = ["search_flights", *dice.choices(TOOLS, k=dice.randint(0, 18)), "book_hotel"]
    if index % BAD_EVERY == 0:
        tools[0], tools[-1] = tools[-1], tools[0]
    at = begin = START + index * 7_919_000_000
    spans: list[Span] = []
    for number, tool in enumerate(tools):
        if number % 2 == 0:
            chat = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m",
                "gen_ai.output.messages": blob(dice),
            }
            spans.append((dice.randbytes(8), root, "chat m", at, at + 800_000_000, chat))
            at += 800_000_000
        call = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call_{index}_{number}",
            "gen_ai.tool.call.arguments": blob(dice),
            "gen_ai.tool.call.result": blob(dice),
        }
        spans.append((dice.randbytes(8), root, f"execute_tool {tool}", at, at + 50_000_000, call))
        at += 50_000_000
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": f"agent-{index % 17}",
        "gen_ai.input.messages": blob(dice),
        **({"pdoctor.run.calls": len(tools)} if announce else {}),
    }
    return [*spans, (root, b"", agent["gen_ai.agent.name"], begin, at, agent)]


def tiny_spans(dice: random.Random, index: int) -> list[Span]:
    """The spans of a run of two short calls, which it does not announce; root last."""
    root = dice.randbytes(8)
    tools = ["search_flights", "book_hotel"][:: -1 if index % BAD_EVERY == 0 else 1]
    at = begin = START + index * 1_000_000_000
    spans: list[Span] = []
    for number, tool in enumerate(tools):
        call = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call_{number}",
            "gen_ai.tool.call.arguments": '{"city": "Rome"}',
            "gen_ai.tool.call.result": '{"ok": true}',
        }
        spans.append((dice.randbytes(8), root, f"execute_tool {tool}", at, at + 50_000_000, call))
        at += 50_000_000
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"agent-{index % 17}"}
    return [*spans, (root, b"", agent["gen_ai.agent.name"], begin, at, agent)]


def requests(
    runs: int, *, seed: int = 7, spans: int = 512, announce: bool = True, tiny: bool = False
) -> Iterator[Request]:
    """`runs` runs in requests of at least `spans` spans (whole runs each)."""
    dice = random.Random(seed)
    group: list[tuple[bytes, list[Span]]] = []
    count = 0
    for index in range(runs):
        trace = dice.randbytes(16)
        made = tiny_spans(dice, index) if tiny else run_spans(dice, index, announce=announce)
        group.append((trace, made))
        count += len(group[-1][1])
        if count >= spans or index == runs - 1:
            yield Request(encoded(group), tuple(trace.hex() for trace, _ in group), count)
            group, count = [], 0


def encoded(group: Sequence[tuple[bytes, list[Span]]]) -> bytes:
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    resource_spans.resource.attributes.add(key="service.name").value.string_value = "bench"
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "bench"
    for trace, spans in group:
        for span_id, parent, name, start, end, attributes in spans:
            span = scope_spans.spans.add(
                trace_id=trace, span_id=span_id, parent_span_id=parent, name=name,
                start_time_unix_nano=start, end_time_unix_nano=end,
            )  # fmt: skip
            for key, value in attributes.items():
                target = span.attributes.add(key=key).value
                if isinstance(value, str):
                    target.string_value = value
                else:
                    target.int_value = value
    return message.SerializeToString()
