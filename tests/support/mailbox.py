"""A mail server on loopback that keeps the letters it is given, and an HTTP server that keeps bodies."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def mailbox() -> Iterator[tuple[int, list[Message]]]:
    """(port, letters that came)."""
    letters: list[Message] = []

    class Talk(socketserver.StreamRequestHandler):
        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

        def handle(self) -> None:
            self.say("220 mailbox")
            while line := self.rfile.readline():
                verb = line[:4].upper().strip()
                if verb == b"DATA":
                    self.say("354 go on")
                    lines = []
                    while (part := self.rfile.readline()) not in (b".\r\n", b""):
                        lines.append(part)
                    letters.append(message_from_bytes(b"".join(lines), policy=default))
                self.say("221 bye" if verb == b"QUIT" else "250 ok")
                if verb == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1], letters
        finally:
            server.shutdown()


@contextmanager
def hook(status: int = 200) -> Iterator[tuple[str, list[tuple[dict[str, str], Any]]]]:
    """(address, (headers, JSON) of what was posted there)."""
    told: list[tuple[dict[str, str], Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            told.append((dict(self.headers), json.loads(body)))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/hook", told
        finally:
            server.shutdown()
