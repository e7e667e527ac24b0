"""`pdoctor mcp-proxy --url`: who is answered, what passes, what is told when the server fails."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

import pdoctor_trace
from pdoctor_trace.proxy.http import Changing, Events, Proxy
from tests.support.sink import OtlpSink

RULES = """
actions: {verify: verify, refund: refund}
policies: [{id: FIRST, rule: Verify must happen before refund.}]
"""


class Upstream(BaseHTTPRequestHandler):
    """A server that answers with JSON, or with a stream that breaks off, by the tool's name."""

    got: list[dict[str, Any]]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.got.append({"path": self.path, "body": body, "headers": dict(self.headers)})
        said = json.loads(body)
        params = said.get("params", {}) if isinstance(said, dict) else {}
        tool = params.get("name")
        if tool == "broken":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"9\r\ndata: {}\n\r\n")
            self.wfile.flush()
            self.close_connection = True
            return
        text = "x" * params.get("arguments", {}).get("bytes", 1)
        result = {"content": [{"type": "text", "text": text}]}
        answer = json.dumps({"jsonrpc": "2.0", "id": said.get("id"), "result": result}, indent=2).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json; charset=utf-8")
        self.send_header("content-length", str(len(answer)))
        self.send_header("mcp-session-id", "s-1")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *parts: Any) -> None:
        """Say nothing."""


@contextmanager
def upstream() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    got: list[dict[str, Any]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Upstream,), {"got": got}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", got
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def answering(kind: str, body: bytes) -> Iterator[str]:
    """A server that says the same to everything."""

    class Here(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *parts: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Here)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()


def posted(
    url: str, *contents: Any, most: int = 100_000, hides: bool = False, **headers: str
) -> list[httpx.Response]:
    """What the proxy in front of that address answers to each."""

    async def main() -> list[httpx.Response]:
        proxy = Proxy(url, most, asks=False, hides=hides)
        sent = {"host": "127.0.0.1:4319", "content-type": "application/json", **headers}
        transport = httpx.ASGITransport(app=proxy)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:4319") as client:
            answers = [
                await client.post(
                    "/mcp?a=1", content=one if isinstance(one, bytes) else json.dumps(one), headers=sent
                )
                for one in contents
            ]
        proxy.close()
        return answers

    return asyncio.run(main())


def call(tool: str, id_: Any = 1, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def test_what_is_allowed_passes_as_it_is_and_what_is_refused_does_not(sink: OtlpSink) -> None:
    with upstream() as (url, got), pdoctor_trace.guard(RULES, mode="block"):
        odd = json.dumps(call("verify", 2), indent=3).encode()
        refused, verified, done = posted(url, call("refund"), odd, call("refund", 3))
    assert refused.status_code == 200
    assert refused.json()["result"]["isError"] is True
    assert [one["body"] for one in got] == [odd, json.dumps(call("refund", 3)).encode()]
    assert got[0]["path"] == "/mcp?a=1"
    assert "\n" in verified.text
    assert verified.headers["mcp-session-id"] == "s-1"
    assert "isError" not in done.json()["result"]
    pdoctor_trace.flush()
    spans = [(one.tool, one.executed, one["pdoctor.guard.decision"]) for one in sink.calls]
    assert spans == [("refund", False, "refused"), ("verify", True, "allowed"), ("refund", True, "allowed")]


@pytest.mark.parametrize(("header", "ids"), [("mcp-session-id", {"a", "b"}), ("authorization", {None})])
def test_sessions_do_not_know_of_each_other(header: str, ids: set[str | None], sink: OtlpSink) -> None:
    """By the server's name for them; without one, clients are told apart by their keys, too."""

    async def main(url: str) -> list[bool]:
        proxy, answers = Proxy(url, 100_000, asks=False), []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=proxy)) as client:  # type: ignore[arg-type]
            for session, tool in (("a", "verify"), ("b", "refund"), ("a", "refund")):
                headers = {header: session}
                said = await client.post("http://localhost/mcp", json=call(tool), headers=headers)
                answers.append("isError" in said.json()["result"])
        proxy.close()
        return answers

    with upstream() as (url, _), pdoctor_trace.guard(RULES, mode="block"):
        assert asyncio.run(main(url)) == [False, True, False]
    pdoctor_trace.flush()
    assert {run["gen_ai.conversation.id"] for run in sink.runs} == ids


def test_a_batch_with_a_refused_call_is_answered_here(sink: OtlpSink) -> None:
    with upstream() as (url, got), pdoctor_trace.guard(RULES, mode="feedback"):
        (said,) = posted(url, [call("refund", 1), call("verify", 2)])
    pdoctor_trace.flush()
    first, second = said.json()
    assert (first["id"], first["result"]["isError"]) == (1, True)
    assert (second["id"], second["error"]["code"]) == (2, -32600)
    assert got == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:4319"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "[::1]:4319"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "http://127.0.0.1:4319"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_pages_of_the_web_are_not_answered(sink: OtlpSink, headers: dict[str, str], status: int) -> None:
    with upstream() as (url, got):
        (said,) = posted(url, call("verify"), **headers)
    pdoctor_trace.flush()
    assert (said.status_code, len(got)) == (status, int(status == 200))


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [(b"{", 400, -32700), (b"[]", 400, -32600), (b"7", 400, -32600), (b" " * 200_000, 413, -32600)],
)
def test_what_is_no_message_is_an_error(content: bytes, status: int, code: int) -> None:
    with upstream() as (url, got):
        (said,) = posted(url, content)
    assert (said.status_code, said.json()["error"]["code"], got) == (status, code, [])


def test_a_server_that_is_not_there_is_an_error_to_each_request(sink: OtlpSink) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    asked, told = posted("http://127.0.0.1:9/mcp", call("verify", "a"), note)
    pdoctor_trace.flush()
    assert (asked.status_code, asked.json()["id"], asked.json()["error"]["code"]) == (200, "a", -32000)
    assert "does not answer" in asked.json()["error"]["message"]
    assert told.status_code == 502
    (span,) = sink.calls
    assert span.failed


def test_a_stream_that_breaks_off_ends_with_an_error(sink: OtlpSink) -> None:
    with upstream() as (url, _):
        (said,) = posted(url, call("broken", 4))
    pdoctor_trace.flush()
    *_, last = [line for line in said.text.splitlines() if line.startswith("data: ")]
    assert json.loads(last.removeprefix("data: "))["id"] == 4


def test_an_answer_that_is_too_long_is_an_error(sink: OtlpSink) -> None:
    with upstream() as (url, _):
        (said,) = posted(url, call("verify", 4, bytes=200_000))
    pdoctor_trace.flush()
    assert "more than 100,000 bytes" in said.json()["error"]["message"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_events_are_told_apart_however_they_are_cut(size: int) -> None:
    stream = (
        b'id: 1\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: ping\n\ndata:'
        + b"y" * 60
        + b"\n\nevent: message\ndata: {}\n\n"
    )
    events = Events(most=50)
    found = [data for at in range(0, len(stream), size) for data in events.feed(stream[at : at + size])]
    assert found == [b'{"a":\n1}', b"{}"]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("last", [b"data: {}", b"id: 7\ndata: {}", b"\r"])
def test_the_last_piece_of_an_event_that_is_too_long_is_no_event(size: int, last: bytes) -> None:
    stream = b"data: " + b"y" * 60 + b"\n" + last + b"\n\n" + b"data: {}\n\n" * 2
    events = Events(most=50)
    found = [data for at in range(0, len(stream), size) for data in events.feed(stream[at : at + size])]
    assert found == [b"{}"] * 2


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_events_whose_data_is_changed_keep_the_rest_as_it_was(size: int) -> None:
    stream = (
        b': ping\n\nid: 1\nevent: message\ndata: {"a":\ndata: 1}\n\nid: 2\r\ndata: {}\r\n\r\ndata: cut off'
    )
    changing = Changing(100, lambda data: b"[]" if data == b'{"a":\n1}' else None)
    found = b"".join(changing.feed(stream[at : at + size]) for at in range(0, len(stream), size))
    assert found == b": ping\n\nid: 1\nevent: message\ndata: []\n\nid: 2\r\ndata: {}\r\n\r\n"
    assert bytes(changing.held) == b"data: cut off"
    assert Changing(10, lambda data: b"").feed(b"data: " + b"y" * 20) == b"data: " + b"y" * 20


def test_lists_of_tools_over_http_leave_out_what_is_refused_whatever_comes(sink: OtlpSink) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    tools = [{"name": name} for name in ("verify", "refund", "die")]
    rules = RULES.replace("policies: [", "policies: [{id: NO, rule: Die must never happen.}, ")
    rules = rules.replace("refund: refund}", "refund: refund, die: die}")
    said = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "nextCursor": "2"}}).encode()
    for kind, before, after in (("application/json", b"", b""), ("text/event-stream", b"data: ", b"\n\n")):
        with answering(kind, before + said + after) as url, pdoctor_trace.guard(rules, mode="block"):
            (shown,) = posted(url, asked, hides=True)
        listed = json.loads(shown.text.removeprefix("data: "))["result"]
        assert listed == {"tools": tools[:2], "nextCursor": "2"}
        with answering(kind, before + said + after) as url, pdoctor_trace.guard(rules, mode="block"):
            (shown,) = posted(url, asked)
        assert shown.content == before + said + after
