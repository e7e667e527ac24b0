"""HTTP connections whose request line and headers are bounded in size and time.

The server's own parser collects a header for as long as it comes: without this, one connection could fill
the memory, and many silent ones could use up every file that the process may open.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
"""Request line and headers together; more is answered with 431."""
HEAD_SECONDS = 20.0
"""From connecting, or from the first byte of a further request, to the end of its headers."""


class BoundedHeads(HttpToolsProtocol):
    """The HTTP side of one connection."""

    head_bytes = HEAD_BYTES
    head_seconds = HEAD_SECONDS
    _size = 0
    _in_head = True
    _heads = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self._heads
        super().data_received(data)
        if self._in_head and self._heads == before:
            self._size += len(data)
            if self._size > self.head_bytes:
                self._refuse(b"431 Request Header Fields Too Large")
            elif self._timer is None:
                self._start_timer()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head, self._size = True, 0
        self._heads += 1
        super().on_message_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._refuse, b"408 Request Timeout")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: bytes) -> None:
        if not self.transport.is_closing():
            headers = b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(b"HTTP/1.1 " + status + headers)
            self.transport.close()
