"""An OpenAI-compatible chat server on loopback whose answers a test writes down."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai

Messages = list[dict[str, Any]]


class Script:
    """What to answer, and what was asked."""

    def __init__(self, answer: Callable[[Messages], str]) -> None:
        self.answer = answer
        self.usage: dict[str, int] | None = None
        """What each answer says it took."""
        self.asked: list[Messages] = []


def in_turn(*answers: str) -> Script:
    """Each answer once, in this order."""
    left = list(answers)
    return Script(lambda messages: left.pop(0))


@contextmanager
def serving(script: Script) -> Iterator[openai.OpenAI]:
    """A client of a server that follows the script."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.asked.append(request["messages"])
            message = {"role": "assistant", "content": script.answer(request["messages"])}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = json.dumps(
                {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 0,
                    "model": request["model"],
                    "choices": [choice],
                    "usage": script.usage,
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        with openai.OpenAI(api_key="none", base_url=base_url, max_retries=0) as client:
            yield client
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
