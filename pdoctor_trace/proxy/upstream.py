"""HTTP/1.1 towards the MCP server: the least that a proxy needs, read by the parser that uvicorn reads with.

A general client takes ten times as long for each request as all else that the proxy does with it. Connections
are kept for the next request; one that ended in any other way than after a whole answer is closed.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

Headers = list[tuple[bytes, bytes]]

CONNECT_SECONDS = 10.0
KEPT = 100
"""Connections that wait for another request."""
MOST_HEAD = 128 * 1024
"""Bytes of an answer's headers, and of those of its trailer."""
HELD_BACK = 256 * 1024
"""Bytes of an answer that are taken before the client has taken those before them."""
PORTS = {"http": 80, "https": 443}


class Away(Exception):
    """The server cannot be reached, breaks off, or does not speak HTTP."""


class Server:
    """The connections to one server; of one event loop."""

    def __init__(self, url: str) -> None:
        """Raises ValueError for an address that is none, ImportError without the parser."""
        import httptools  # of the extra `proxy`

        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError(f"expected an address such as http://127.0.0.1:8000/mcp, got {url!r}")
        self.host = parts.netloc.rpartition("@")[2]
        self._place = parts.hostname, parts.port or PORTS[parts.scheme]
        self._ssl = ssl.create_default_context() if parts.scheme == "https" else None
        self._http: Any = httptools
        self._idle: list[_Connection] = []

    @asynccontextmanager
    async def request(
        self, method: str, target: bytes, headers: Headers, body: bytes
    ) -> AsyncIterator[Answer]:
        """The answer, once its head is there; `Away` also while its body is read."""
        connection = self._kept() or await self._connected()
        try:
            yield await connection.asked(method, target, headers, body)
        finally:
            if connection.free and len(self._idle) < KEPT:
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.free:
                return connection
        return None

    async def _connected(self) -> _Connection:
        loop = asyncio.get_running_loop()
        connecting = loop.create_connection(lambda: _Connection(self._http), *self._place, ssl=self._ssl)
        try:
            return (await asyncio.wait_for(connecting, CONNECT_SECONDS))[1]
        except TimeoutError:
            raise Away(f"no connection within {CONNECT_SECONDS:g} s") from None
        except (OSError, UnicodeError) as problem:
            raise Away(f"{type(problem).__name__}: {problem}") from None


class Answer:
    """What the server answers; its body comes piece by piece."""

    def __init__(self, connection: _Connection, status: int, headers: Headers) -> None:
        self._connection, self.status, self.headers = connection, status, headers
        """Names of headers are in small letters."""

    async def pieces(self) -> AsyncIterator[bytes]:
        while (piece := await self._connection.piece()) is not None:
            yield piece


class _Connection(asyncio.Protocol):
    """One request after the other, each with its answer."""

    _paused: bool
    """Is reading held back?"""

    def __init__(self, http: Any) -> None:
        self._http = http
        self._transport: Any = None
        self._lost: str | None = None
        self._drained: asyncio.Event = asyncio.Event()
        self._drained.set()
        self._come = asyncio.Event()
        self._over = self._keep = True
        self._begin()

    @property
    def free(self) -> bool:
        """Can it take another request?"""
        return self._over and self._keep and self._lost is None and not self._transport.is_closing()

    def close(self) -> None:
        self._transport.abort()

    # ------------------------------------------------------------ what is asked

    async def asked(self, method: str, target: bytes, headers: Headers, body: bytes) -> Answer:
        self._begin()
        self._bodiless = method == "HEAD"
        self._over = False
        head = [b"%s %s HTTP/1.1" % (method.encode(), target), *(b"%s: %s" % one for one in headers)]
        self._transport.write(b"\r\n".join([*head, b"", body]))
        await self._drained.wait()
        while not self._headed:
            await self._wait()
        return Answer(self, self._status, self._headers)

    async def piece(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        while not self._pieces:
            if self._over:
                return None
            await self._wait()
        piece = self._pieces.popleft()
        self._held -= len(piece)
        if self._paused and self._held < HELD_BACK:
            self._paused = False
            self._transport.resume_reading()
        return piece

    async def _wait(self) -> None:
        if self._lost is not None:
            raise Away(self._lost)
        self._come.clear()
        await self._come.wait()

    def _begin(self) -> None:
        """Ready for an answer."""
        self._parser: Any = self._http.HttpResponseParser(self)
        self._headers: Headers = []
        self._status, self._head, self._held = 0, 0, 0
        self._pieces: deque[bytes] = deque()
        self._headed = self._paused = self._bodiless = False

    # ------------------------------------------------------------ what comes

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    def data_received(self, data: bytes) -> None:
        if self._over:  # nobody has asked
            self._fail("an answer to no request")
            return
        try:
            self._parser.feed_data(data)
        except self._http.HttpParserError as problem:
            self._fail(f"no HTTP: {problem.__context__ or problem}")
        if self._held > HELD_BACK and not self._paused and not self._over:
            self._paused = True
            self._transport.pause_reading()
        self._come.set()

    def connection_lost(self, problem: Exception | None) -> None:
        if self._headed and not self._over and problem is None and self._lasts_to_the_end():
            self._over = True
        self._lost = self._lost or f"the connection broke off{f' ({problem})' if problem else ''}"
        self._drained.set()
        self._come.set()

    def _lasts_to_the_end(self) -> bool:
        """Is the end of the answer that of the connection?"""
        return not {b"content-length", b"transfer-encoding"} & {name for name, _ in self._headers}

    def _fail(self, why: str) -> None:
        self._lost = self._lost or why
        self._transport.abort()

    # ------------------------------------------------------------ what the parser finds

    def on_message_begin(self) -> None:
        if self._headed:
            raise ValueError("an answer to no request")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head += len(name) + len(value)
        if self._head > MOST_HEAD:
            raise ValueError("headers without end")
        if not self._headed:  # else it is the trailer's
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if self._status == 101:
            raise ValueError("another protocol")
        if self._status >= 200:
            self._headed, self._keep = True, self._parser.should_keep_alive()
            if self._bodiless:
                self._over, self._keep = True, False

    def on_body(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)

    def on_message_complete(self) -> None:
        if self._headed:
            self._over = True
        else:  # 1xx: another answer follows
            self._headers, self._head = [], 0
