"""An OpenAI-compatible endpoint on loopback that serves the simulated model, until it is told how to fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from synth.agents.usage import Usage
from synth.simulated_model import SimulatedModel


@dataclass(frozen=True)
class Refusal:
    """An error answer in OpenAI's shape."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        said = {"message": self.message, "type": "error", "param": None, "code": None}
        return json.dumps({"error": said}).encode()


Failure = Refusal | Literal["hang", "close"]
"""Hanging lasts until the server is closed; closing ends the connection without an answer."""


class Provider:
    """Starts with `with`; `base_url` is what an OpenAI client wants."""

    def __init__(self, fails: Callable[[Mapping[str, Any]], Failure | None] = lambda body: None) -> None:
        """`fails` says how to fail a request, by its body; it may be exchanged while the server runs."""
        self.fails = fails
        self.asked: list[Mapping[str, Any]] = []
        """Bodies of all requests."""
        self.usage = Usage()
        """Of all answers, as they say: what is charged for."""
        self._lock = threading.Lock()
        self._model = SimulatedModel()
        self._ending = threading.Event()
        self._server: _Server = _Server(("127.0.0.1", 0), self)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._model.__enter__()
        self._serve()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self.go_down()
        self._model.__exit__(kind, error, trace)

    def go_down(self) -> None:
        """Refuse connections."""
        self._server.shutdown()
        self._server.server_close()

    def come_back(self) -> None:
        """Listen again, at the same address."""
        self._server = _Server(("127.0.0.1", self._server.server_address[1]), self)
        self._serve()

    def _serve(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, path: str, body: Mapping[str, Any]) -> Refusal | bytes | None:
        """What to send; None = nothing at all."""
        self.asked.append(body)
        failure = self.fails(body)
        if failure == "hang":
            self._ending.wait()
        if failure is not None:
            return failure if isinstance(failure, Refusal) else None
        key = {"Authorization": "Bearer any"}
        answer = httpx.post(f"{self._model.base_url}{path}", json=body, headers=key, timeout=30).content
        told = (json.loads(answer) if answer.startswith(b"{") else {}).get("usage") or {}
        with self._lock:
            self.usage += Usage(told.get("prompt_tokens", 0), told.get("completion_tokens", 0), 1)
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], provider: Provider) -> None:
        super().__init__(address, _Handler)
        self.provider = provider


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        made = self.server.provider.answer(self.path.removeprefix("/v1"), body)
        if made is None:
            return
        refusal = made if isinstance(made, Refusal) else None
        self.send_response(200 if refusal is None else refusal.status)
        for name, value in {} if refusal is None else refusal.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(made if isinstance(made, bytes) else made.body)
