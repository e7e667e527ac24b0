"""A real OTLP/HTTP receiver on loopback: what it gets is decoded with the official protobuf classes."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Span:
    """One received span; ids are hex."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    end: int
    failed: bool
    message: str
    attributes: dict[str, Any]
    resource: dict[str, Any]
    scope: str
    kind_of_span: int
    """1 = internal, 3 = client."""
    links: tuple[tuple[str, str], ...]
    """(trace id, span id)."""
    events: tuple[tuple[str, int, dict[str, Any]], ...] = ()
    """(name, nanoseconds, attributes)."""

    def __getitem__(self, key: str) -> Any:
        return self.attributes.get(key)

    @property
    def tool(self) -> str:
        return self.attributes["gen_ai.tool.name"]

    @property
    def call_id(self) -> str | None:
        return self.attributes.get("gen_ai.tool.call.id")

    @property
    def arguments(self) -> Any:
        return json.loads(self.attributes["gen_ai.tool.call.arguments"])

    @property
    def result(self) -> Any:
        text = self.attributes.get("gen_ai.tool.call.result")
        return None if text is None else json.loads(text)

    @property
    def executed(self) -> bool:
        return self.attributes["pdoctor.tool.executed"]

    @property
    def kind(self) -> str | None:
        return self.attributes.get("pdoctor.error.kind")

    @property
    def run_id(self) -> str:
        return self.attributes["pdoctor.run.id"]


def decode(body: bytes) -> list[Span]:
    """Spans of an OTLP protobuf request."""
    found = []
    for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            found += [_span(span, resource, scope_spans.scope.name) for span in scope_spans.spans]
    return found


def _span(span: Any, resource: dict[str, Any], scope: str) -> Span:
    return Span(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.code == 2,
        span.status.message,
        _attributes(span.attributes),
        resource,
        scope,
        span.kind,
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        tuple((event.name, event.time_unix_nano, _attributes(event.attributes)) for event in span.events),
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    if value.HasField("array_value"):
        return tuple(_value(one) for one in value.array_value.values)
    return getattr(value, value.WhichOneof("value"))


class OtlpSink:
    """`answers` scripts the statuses of the next requests, e.g. [(503, {"Retry-After": "1"}), 200]."""

    def __init__(self, port: int = 0) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[Any] = []
        self.rejected = 0
        self.health: tuple[int, bytes] = 200, b'{"status":"ok","service":"pdoctor"}'
        """Status and body of the answer to the question who listens here."""
        self.asked = 0
        """How often that was asked."""
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def take(self, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            answer = self.answers.pop(0) if self.answers else 200
            status, extra = answer if isinstance(answer, tuple) else (answer, {})
            if status == 200:
                self.bodies.append(body)
                self.headers.append(headers)
        response = ExportTraceServiceResponse()
        if self.rejected:
            response.partial_success.rejected_spans = self.rejected
            response.partial_success.error_message = "no"
        return status, extra, response.SerializeToString()

    @property
    def spans(self) -> list[Span]:
        """Without announcements: whether a run takes long enough for one is up to the machine."""
        return [span for span in self._all() if not span["pdoctor.run.going_on"]]

    @property
    def announcements(self) -> list[Span]:
        return [span for span in self._all() if span["pdoctor.run.going_on"]]

    def _all(self) -> list[Span]:
        with self._lock:
            return [span for body in self.bodies for span in decode(body)]

    @property
    def calls(self) -> list[Span]:
        """Tool-call spans in the order of their runs' steps."""
        calls = [span for span in self.spans if span["gen_ai.operation.name"] == "execute_tool"]
        return sorted(calls, key=lambda span: (span.run_id, span["pdoctor.step.index"]))

    @property
    def chats(self) -> list[Span]:
        chats = [span for span in self.spans if span["gen_ai.operation.name"] == "chat"]
        return sorted(chats, key=lambda span: span.start)

    @property
    def runs(self) -> list[Span]:
        runs = [span for span in self.spans if span["gen_ai.operation.name"] == "invoke_agent"]
        return sorted(runs, key=lambda span: span.start)

    @property
    def workflows(self) -> list[Span]:
        found = [span for span in self.spans if span["gen_ai.operation.name"] == "invoke_workflow"]
        return sorted(found, key=lambda span: span.start)

    def outside(self, run: Span) -> str:
        """Id of the span that a run stands in, whether there is a workflow's around it or not."""
        around = {span.span_id: span.parent_id for span in self.workflows}
        return around.get(run.parent_id, run.parent_id)

    def clear(self) -> None:
        with self._lock:
            self.bodies.clear()
            self.headers.clear()

    def close(self) -> None:
        """Gone as a process is that was killed: kept-alive connections end, too."""
        self._server.shutdown()
        self._server.server_close()
        self._server.end_connections()
        self._thread.join()

    def __enter__(self) -> OtlpSink:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that vanish are part of the tests."""


def _handler(sink: OtlpSink) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, extra, content = sink.take(body, dict(self.headers))
            self.send_response(status)
            for key, value in extra.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            sink.asked += 1
            status, content = sink.health
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
