"""A server that webhooks and events are sent to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from collector.notify import webhooks


class Receiver:
    """A server that keeps what it is sent; the first `failures` requests are answered with 500."""

    def __init__(self, failures: int = 0) -> None:
        self.got: list[tuple[str, bytes]] = []
        self.refused = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if outer.refused < failures:
                    outer.refused += 1
                    self.send_response(500)
                else:
                    outer.got.append((self.headers[webhooks.SIGNATURE], body))
                    self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_args: Any) -> None:
                """Nothing: the test looks at what came."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?x=1"


@contextmanager
def receiver(failures: int = 0) -> Iterator[Receiver]:
    made = Receiver(failures)
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()
