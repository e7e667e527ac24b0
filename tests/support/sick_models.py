"""A model server on loopback that fails as told: OpenAI Chat Completions and Anthropic Messages.

Each request takes the next step of the script: `ask` (one call of `add`), `done` (text, no calls), a status
code, `close` (no answer at all), `break` (a stream that ends in the middle), `overload` (a stream that says
in the middle that the server is overloaded; `overload at once`: before anything else) or `hang` (until the
server ends).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = str | int
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
ANTHROPIC_TOOLS = [{"name": "add", "input_schema": {"type": "object"}}]


def words(status: int) -> str:
    """What the provider says."""
    return f"the provider's own words about {status}"


class SickModels:
    def __init__(self, *script: Step) -> None:
        self.script = list(script)
        self.requests = 0
        self.hanging = threading.Event()
        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def next(self) -> Step:
        self.requests += 1
        return self.script.pop(0)

    def hang(self) -> None:
        self.hanging.set()
        self._over.wait(60)

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def sick_models(*script: Step) -> Iterator[SickModels]:
    server = SickModels(*script)
    try:
        yield server
    finally:
        server.close()


def chat_reply(step: Step) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    said = {"content": "well"} if step == "done" else {"content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def message_reply(step: Step) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "c1", "name": "add", "input": {}}
    content = [{"type": "text", "text": "well"}] if step == "done" else [call]
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**head, "content": content, "stop_reason": "end_turn", "usage": usage}


def refusal(status: int, *, anthropic: bool) -> dict[str, Any]:
    error = {"type": "rate_limit_error" if status == 429 else "api_error", "message": words(status)}
    return {"type": "error", "error": error} if anthropic else {"error": error}


def chat_events(step: Step) -> list[str]:
    delta = {"role": "assistant", "content": "we"}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    overload = json.dumps({"error": {"type": "server_error", "message": words(500)}})
    if step == "overload at once":
        return [overload]
    first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    rest = {"done": [json.dumps(last), "[DONE]"], "overload": [overload]}.get(str(step), [])
    return [json.dumps(first), *rest]


def _handler(models: SickModels) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            step, anthropic = models.next(), self.path.endswith("/messages")
            if step == "close":
                self.close_connection = True
            elif step == "hang":
                models.hang()
            elif isinstance(step, int):
                self._answer(step, refusal(step, anthropic=anthropic))
            elif body.get("stream"):
                self._stream(step)
            else:
                self._answer(200, message_reply(step) if anthropic else chat_reply(step))

        def _answer(self, status: int, said: dict[str, Any]) -> None:
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, step: Step) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            if step == "break":
                self.send_header("Content-Length", "100000")
            self.send_header("Connection", "close")
            self.end_headers()
            for event in chat_events(step):
                self.wfile.write(f"data: {event}\n\n".encode())
            self.wfile.flush()
            self.close_connection = True

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
