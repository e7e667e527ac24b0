"""Record what an instrumentation sends while a real agent works against a scripted model on loopback.

Run in an environment of its own that has the instrumentation; the README beside the recordings says which
packages each script needs. Two files come out: NAME.json, the spans as one OTLP/JSON document, and
NAME.log.json, what the tools and the model server themselves saw, which knows nothing of any span.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.support import models

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]

QUERY = "What is the weather in Oslo and Rome? Then book a hotel in Oslo."
AGENT = "travel_agent"
OSLO, ROME = '{"city": "Oslo"}', '{"city": "Rome"}'

models.STEPS.update(
    weather=[("get_weather", OSLO), ("get_weather", ROME)],
    hotel=[("book_hotel", '{"city": "Oslo", "nights": 2}')],
    flight=[("find_flight", OSLO)],
    expert=[("ask_expert", '{"question": "Where is it warm?"}')],
)
STORY = "fake.weather.flight.hotel"
"""Two calls of one tool in one message, a tool that does not exist, one that fails, a text."""
SHORT_STORY = "fake.weather.hotel"
"""For what ends the run at an unknown tool."""
NESTED_STORY, EXPERT_STORY = "fake.expert.hotel", "fake.weather"
"""A tool that is itself an agent; its model uses the same call ids again."""


class Recording:
    """The scripted model, the tools with their log, and every span that arrives."""

    def __init__(self) -> None:
        self.models = models.FakeModels()
        self.requested: list[dict[str, Any]] = []
        self.executed: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.private = [sys.prefix, sys.base_prefix, str(ROOT), os.getcwd(), str(Path.home())]
        """Paths of this machine, which are taken out of the recording."""
        self.request = ExportTraceServiceRequest()
        self._lock = threading.Lock()
        self._sink = ThreadingHTTPServer(("127.0.0.1", 0), _sink_handler(self))
        self._sink.daemon_threads = True
        threading.Thread(target=self._sink.serve_forever, args=(0.02,), daemon=True).start()
        self.sink = f"http://127.0.0.1:{self._sink.server_address[1]}"
        self._log_requests()

    def _log_requests(self) -> None:
        answer = models.message_at
        said: set[tuple[str, int]] = set()

        def message_at(model: str, turn: int) -> Any:
            calls, text = answer(model, turn)
            if (model, turn) not in said:
                said.add((model, turn))
                self.requested += [{"id": i, "tool": n, "arguments": json.loads(a)} for i, n, a in calls]
            return calls, text

        models.message_at = message_at

    @contextmanager
    def running(self, tool: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The log's entry of one execution; the tool puts its `result` there."""
        entry: dict[str, Any] = {"tool": tool, "arguments": arguments, "start": time.time_ns()}
        with self._lock:
            self.executed.append(entry)
        try:
            yield entry
        except BaseException as error:
            entry["error"] = str(error)
            raise
        finally:
            entry["end"] = time.time_ns()

    def ran(self, tool: str, arguments: dict[str, Any], body: Callable[[], Any]) -> Any:
        """Execute `body` as the tool and log what it did."""
        with self.running(tool, arguments) as entry:
            entry["result"] = body()
        return entry["result"]

    def tools(self) -> list[Callable[..., Any]]:
        def get_weather(city: str) -> str:
            """Tell the weather in a city."""

            def body() -> str:
                time.sleep(0.02 if city == "Oslo" else 0.005)
                return f"sunny in {city}"

            return str(self.ran("get_weather", {"city": city}, body))

        def book_hotel(city: str, nights: int) -> str:
            """Book a hotel in a city."""

            def body() -> str:
                time.sleep(0.005)
                raise ValueError(f"no room in {city}")

            return str(self.ran("book_hotel", {"city": city, "nights": nights}, body))

        return [get_weather, book_hotel]

    def export(self, spans: Any) -> None:
        """Take finished SDK spans."""
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        self.take(encode_spans(spans))

    def take(self, request: Any) -> None:
        with self._lock:
            self.request.MergeFrom(request)

    def provider(self, **options: Any) -> Any:
        """A TracerProvider, made the global one, whose spans are recorded."""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

        taken = self

        class Exporter(SpanExporter):
            def export(self, spans: Any) -> SpanExportResult:
                taken.export(spans)
                return SpanExportResult.SUCCESS

        provider = TracerProvider(**options)
        provider.add_span_processor(SimpleSpanProcessor(Exporter()))
        trace.set_tracer_provider(provider)
        return provider

    def anonymous(self, text: str) -> str:
        """Without paths and names of this machine."""
        for path in self.private:
            if len(path) > 1:
                text = text.replace(path, "...")
        text = re.sub(r'File \\\\?"[^"]*?([\w.<>-]+)\\', r'File \\"\1\\', text)
        return text.replace(platform.node(), "host") if len(platform.node()) > 3 else text

    def write(self, name: str, *, offered: list[str] | None, text: str | None = None) -> None:
        document = (
            hex_ids(MessageToDict(self.request)) if self.request.resource_spans else {"resourceSpans": []}
        )
        for body in self.bodies:  # as they came
            document["resourceSpans"] += json.loads(body)["resourceSpans"]
        for resource_spans in document["resourceSpans"]:
            keep = ("telemetry.sdk.language", "service.name")
            said = resource_spans.get("resource", {}).get("attributes", [])
            resource_spans["resource"] = {"attributes": [pair for pair in said if pair["key"] in keep]}
        log = {"query": QUERY, "offered": offered, "requested": self.requested, "executed": self.executed}
        (HERE.parent / f"{name}.json").write_text(
            self.anonymous(json.dumps(document, separators=(",", ":"))) + "\n"
        )
        (HERE.parent / f"{name}.log.json").write_text(json.dumps(log, indent=1) + "\n")
        spans = [s for r in document["resourceSpans"] for c in r["scopeSpans"] for s in c["spans"]]
        sys.stdout.write(f"{name}: {len(spans)} spans, {len(self.executed)} calls executed\n")


def flush_mlflow() -> None:
    """MLflow's own flush leaves its OTLP exporter out."""
    from mlflow.tracing.provider import provider

    provider.get().force_flush()


@contextmanager
def recording() -> Iterator[Recording]:
    """A recording whose model server runs until the block ends."""
    os.environ.setdefault("OPENAI_API_KEY", "x")
    made = Recording()
    try:
        yield made
    finally:
        made.models.close()


def hex_ids(document: Any) -> Any:
    """Protobuf's JSON writes ids as base64, OTLP's as hex."""
    if isinstance(document, list):
        return [hex_ids(item) for item in document]
    if not isinstance(document, dict):
        return document
    return {
        key: base64.b64decode(value).hex() if key in ("traceId", "spanId", "parentSpanId") else hex_ids(value)
        for key, value in document.items()
    }


def _sink_handler(taken: Recording) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self._body()
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            kind = self.headers.get("Content-Type", "")
            if "json" in kind:
                taken.bodies.append(body)
                answer = b"{}"
            else:
                if self.path.endswith("/traces"):
                    taken.take(ExportTraceServiceRequest.FromString(body))
                answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
