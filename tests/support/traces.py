"""Small builders of spans, export requests and cases for tests of the collector."""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.settings import Settings

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
PATIENCE = 120.0
"""Seconds after which what is waited for will not come; a machine that is busy takes long."""
NOBODY_TRUSTED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Over plain HTTP no certificate is shown; to read those of the system takes 30 ms for each client."""
T0 = 1_790_000_000_000_000_000
MS = 1_000_000


def settings(folder: Path, **others: object) -> Settings:
    """A collector in `folder` on a free port that waits only fractions of a second."""
    values: dict[str, object] = {
        "store_url": f"sqlite:///{folder / 'store.db'}",
        "http_port": 0,
        "grpc_port": None,
        "open_check_seconds": 0.1,
        "grace_seconds": 0.3,
        "idle_seconds": 60.0,
        **others,
    }
    return Settings(**values)  # type: ignore[arg-type]


def new_id() -> str:
    return os.urandom(16).hex()


def any_value(target: Any, value: Any) -> None:
    """Fill an AnyValue."""
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, bytes):
        target.bytes_value = value
    elif isinstance(value, list | tuple):
        target.array_value.SetInParent()
        for item in value:
            any_value(target.array_value.values.add(), item)
    elif value is not None:
        target.string_value = str(value)


def request(
    *spans: Mapping[str, Any], scope: str = "pdoctor_trace", resource: Mapping[str, Any] | None = None
) -> ExportTraceServiceRequest:
    """An export request; a span is a dict of trace, id, parent, name, start, end, error, at."""
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    for key, value in (resource or {"service.name": "test"}).items():
        any_value(resource_spans.resource.attributes.add(key=key).value, value)
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = scope
    for said in spans:
        one = scope_spans.spans.add(
            trace_id=bytes.fromhex(said["trace"]),
            span_id=int(said["id"]).to_bytes(8, "big"),
            parent_span_id=int(said["parent"]).to_bytes(8, "big") if said.get("parent") else b"",
            name=said.get("name", "span"),
            start_time_unix_nano=said.get("start", T0),
            end_time_unix_nano=said.get("end", T0 + MS),
        )
        for key, value in said.get("at", {}).items():
            any_value(one.attributes.add(key=key).value, value)
        for name, told in said.get("events", ()):
            event = one.events.add(name=name)
            for key, value in told.items():
                any_value(event.attributes.add(key=key).value, value)
        if said.get("error"):
            one.status.code, one.status.message = 2, said["error"]
    return message


def agent_spans(
    run: str,
    calls: Sequence[str | Mapping[str, Any]],
    *,
    trace: str | None = None,
    case: str | None = None,
    agent: str = "planner",
    announce: bool = True,
    root: bool = True,
    tools: Sequence[str] | None = None,
    query: str | None = None,
) -> list[dict[str, Any]]:
    """The spans our tracer sends for one run: a call each, the run's own span last."""
    trace = trace or run
    common = {"pdoctor.run.id": run, **({"pdoctor.case.id": case} if case else {})}
    spans = []
    for index, said in enumerate(calls):
        call = {"name": said} if isinstance(said, str) else dict(said)
        spans.append(
            {
                "trace": trace,
                "id": index + 2,
                "parent": 1,
                "name": f"execute_tool {call['name']}",
                "start": T0 + index * 10 * MS,
                "end": T0 + index * 10 * MS + 5 * MS,
                "error": call.get("error"),
                "at": {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call["name"],
                    "gen_ai.tool.call.id": call.get("id", f"call_{index}"),
                    "gen_ai.tool.call.arguments": orjson.dumps(call.get("arguments", {})).decode(),
                    "gen_ai.tool.call.result": orjson.dumps(call.get("result", "done")).decode(),
                    "pdoctor.step.index": index,
                    "pdoctor.turn.index": index,
                    **common,
                    **call.get("at", {}),
                },
            }
        )
    if root:
        own: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent, **common}
        if announce:
            own["pdoctor.run.calls"] = len(calls)
        if tools is not None:
            own["gen_ai.tool.definitions"] = orjson.dumps([{"name": name} for name in tools]).decode()
        if query is not None:
            parts = [{"type": "text", "content": query}]
            own["gen_ai.input.messages"] = orjson.dumps([{"role": "user", "parts": parts}]).decode()
        spans.append(
            {
                "trace": trace,
                "id": 1,
                "name": f"invoke_agent {agent}",
                "start": T0 - MS,
                "end": T0 + (len(calls) + 1) * 10 * MS,
                "at": own,
            }
        )
    return spans


def agent_request(run: str, calls: Sequence[str | Mapping[str, Any]], **options: Any) -> bytes:
    return request(*agent_spans(run, calls, **options)).SerializeToString()


def case_json(case_id: str = "case-1", *orders: str, actions: Sequence[str] = ("a", "b")) -> dict[str, Any]:
    """A case over actions a, b, ... whose tools are `do_a`, `do_b`, ...; orders as `a < b`."""
    sentences = [order.replace(" < ", " must precede ") + "." for order in orders or ("a < b",)]
    paragraph = " ".join(sentences)
    constraints = []
    at = 0
    for index, (order, sentence) in enumerate(zip(orders or ("a < b",), sentences, strict=True)):
        first, then = order.split(" < ")
        span = [at, at + len(sentence)]
        constraints.append({"kind": "before", "first": first, "then": then, "sentence": index, "span": span})
        at += len(sentence) + 1
    return {
        "id": case_id,
        "seed": 1,
        "mode": "order",
        "query": f"Use the tools. {paragraph} Begin.",
        "paragraph": paragraph,
        "topic": "test",
        "actions": [
            {"id": name, "phrase": name, "tool": f"do_{name}", "description": name} for name in actions
        ],
        "constraints": constraints,
        "valid_plans": None,
        "stop": "covered",
        "options": {},
    }


class Client:
    """A collector's HTTP side, as a user's program sees it."""

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url
        if url.startswith("http:"):
            options = {"verify": NOBODY_TRUSTED, **options}
        self.http = httpx.Client(base_url=url, timeout=30, trust_env=False, **options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.http.close()

    def send(self, body: bytes, headers: Mapping[str, str] = PROTOBUF) -> httpx.Response:
        return self.http.post("/v1/traces", content=body, headers=dict(headers))

    def get(self, path: str, **parameters: Any) -> Any:
        answer = self.http.get(f"/api/v1{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> httpx.Response:
        return self.http.post(f"/api/v1{path}", content=orjson.dumps(body), headers=JSON)

    def run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/runs/{run_id}")
        return found

    def judged(self, run_id: str, *, complete: bool = True, seconds: float = PATIENCE) -> dict[str, Any]:
        """The run once it has been judged (and has ended, unless told otherwise)."""
        for _ in until(seconds, pause=0.05):
            answer = self.http.get(f"/api/v1/runs/{run_id}")
            if answer.status_code == 200:
                found: dict[str, Any] = answer.json()
                if found["judged"] and (found["complete"] or not complete):
                    return found
        raise AssertionError(f"run {run_id} was not judged within {seconds} s: {answer.text[:2000]}")


def eventually(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until something is so; AssertionError where it never is."""
    for _ in until(seconds):
        if condition():
            return
    raise AssertionError("it never was so")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def metrics_of(client: Client) -> dict[str, float]:
    """The collector's own metrics, without the beginning that all of them have."""
    lines = client.http.get("/metrics").text.splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    return {name.removeprefix("pdoctor_"): float(value) for name, value in rows}


def until(seconds: float = PATIENCE, pause: float = 0.02) -> Iterator[None]:
    """Try again until time is up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(pause)
