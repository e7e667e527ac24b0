"""An MCP server over streamable HTTP: requests pass to the same path of its address, answers as they come.

What a request says decides what is done with it; headers, status codes, sessions and streams are the
server's. Answers are read along while they pass: a JSON body as a whole, a stream event by event.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ipaddress
import re
import socket
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from .messages import INTERNAL_ERROR, INVALID_REQUEST, Malformed, error, is_answer, read, version, written
from .session import CANCEL, Session
from .upstream import Answer, Away, Headers, Server

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

MAX_SESSIONS = 1_024
SESSION, JSON, STREAM = b"mcp-session-id", "application/json", "text/event-stream"
OF_THE_HOP = {
    b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
}  # fmt: skip
"""Headers that are not passed on."""
OF_ARGUMENTS = b"mcp-param-"
"""Headers that say some of a call's arguments once more."""
_END = re.compile(rb"\r?\n\r?\n")
READ_ALONG = (b"accept-encoding", b"identity")


class TooMuch(Exception):
    """A body that is longer than was agreed."""


class Proxy:
    """The ASGI application."""

    def __init__(self, url: str, most: int, asks: bool, loopback: bool = True, hides: bool = False) -> None:
        self.most, self.asks, self.loopback, self.hides = most, asks, loopback, hides
        self.server = Server(url)
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        wrong = self._foreign(headers)
        if wrong is not None:
            await answer(send, 403, error(None, INVALID_REQUEST, wrong))
        elif scope["method"] == "POST":
            await self._post(scope, headers, receive, send)
        else:
            session = self._session(scope, headers)
            await self._pass(scope, b"", [], session, receive, send)
            if scope["method"] == "DELETE" and SESSION in headers:
                self._sessions.pop(headers[SESSION].decode("latin-1"), session).close()

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self.server.close()

    # ------------------------------------------------------------ who asks

    def _foreign(self, headers: dict[bytes, bytes]) -> str | None:
        """Why a request is not answered: a page of the web can send to this machine, too."""
        host = headers.get(b"host", b"").decode("latin-1")
        if self.loopback and not is_loopback(urlsplit(f"//{host}").hostname):
            return f"Host {host!r} is not this machine; pdoctor mcp-proxy listens on loopback only"
        origin = headers.get(b"origin")
        if origin is None:
            return None
        from_ = urlsplit(origin.decode("latin-1"))
        known = from_.netloc == host or (self.loopback and is_loopback(from_.hostname))
        return None if known else f"Origin {origin.decode('latin-1')!r} may not use this server"

    def _session(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> Session:
        """By the server's name for it; clients without one are told apart by address, program and key."""
        named = headers.get(SESSION)
        if named is not None:
            return self._kept(named.decode("latin-1"), named.decode("latin-1"))
        peer = (scope.get("client") or ("",))[0]
        parts = (peer.encode(), headers.get(b"user-agent", b""), headers.get(b"authorization", b""))
        return self._kept(" " + hashlib.sha256(b"\0".join(parts)).hexdigest(), None)

    def _kept(self, key: str, name: str | None) -> Session:
        found = self._sessions.get(key)
        if found is None:
            found = self._sessions[key] = Session(name, self.hides)
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)[1].close()
        self._sessions.move_to_end(key)
        return found

    # ------------------------------------------------------------ requests

    async def _post(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        try:
            body = await whole(parts_of(receive), self.most)
            messages = read(body)
        except TooMuch:
            text = f"pdoctor mcp-proxy passes messages of at most {self.most:,} bytes (--max-message)"
            await answer(send, 413, error(None, INVALID_REQUEST, text))
            return
        except Malformed as problem:
            await answer(send, 400, error(problem.id, problem.code, f"pdoctor mcp-proxy: {problem}"))
            return
        begins = any(message.get("method") == "initialize" for message in messages)
        session = (
            Session(hides=self.hides) if begins and SESSION not in headers else self._session(scope, headers)
        )
        changeable = not any(name.startswith(OF_ARGUMENTS) for name in headers)
        said = [await self._asked(session, message, changeable) for message in messages]
        if not any(map(is_answer, said)):
            if any(said):
                passing = [other or message for message, other in zip(messages, said, strict=True)]
                body = written(passing if body.lstrip()[:1] == b"[" else passing[0])
            await self._pass(scope, body, messages, session, receive, send)
        elif len(messages) == 1:
            one = said[0]
            await (
                answer(send, 200, one) if one is not None and "id" in messages[0] else answer(send, 202, None)
            )
        else:
            await answer(send, 200, self._batch(session, messages, said))

    async def _asked(
        self, session: Session, message: dict[str, Any], changeable: bool
    ) -> dict[str, Any] | None:
        if self.asks:
            return await asyncio.to_thread(session.from_client, message, changeable)
        return session.from_client(message, changeable)

    @staticmethod
    def _batch(session: Session, messages: list[dict[str, Any]], said: list[Any]) -> list[dict[str, Any]]:
        """Answers to a batch with a refused call: none of it reaches the server."""
        why = "not sent: a call of the same batch was refused; send it by itself"
        answers = [one for one in said if is_answer(one) and "id" in one]
        for message, one in zip(messages, said, strict=True):
            if not is_answer(one) and "id" in message and "method" in message:
                answers += session.lost(why, INVALID_REQUEST, message["id"])
        return answers

    async def _pass(
        self,
        scope: dict[str, Any],
        body: bytes,
        messages: list[dict[str, Any]],
        session: Session,
        receive: Receive,
        send: Send,
    ) -> None:
        """The request to the server, and its answer to the client, until either of them has enough."""
        gone = asyncio.ensure_future(until_gone(receive))
        work = asyncio.ensure_future(self._exchange(scope, body, messages, session, send))
        try:
            await asyncio.wait((gone, work), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                for message in messages:  # from 2026-07-28 on this is how a request is cancelled
                    if version(message) is not None:
                        session.from_client({"method": CANCEL, "params": {"requestId": message.get("id")}})
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.gather(gone, work, return_exceptions=True)

    async def _exchange(
        self,
        scope: dict[str, Any],
        body: bytes,
        messages: list[dict[str, Any]],
        session: Session,
        send: Send,
    ) -> None:
        begun = False

        async def sending(event: dict[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(event)

        try:
            asked = scope["method"], _target(scope), self._headers(scope, body), body
            async with self.server.request(*asked) as response:
                name = dict(response.headers).get(SESSION)
                if name is not None and any(message.get("method") == "initialize" for message in messages):
                    session.name = name.decode("latin-1")
                    self._sessions[session.name] = session
                await self._answer(response, session, sending)
        except Away as problem:
            why = f"the MCP server at {self.server.host} does not answer ({problem})"
            await self._failed(why, messages, session, send, begun)
        except TooMuch:
            why = f"the MCP server's answer has more than {self.most:,} bytes (--max-message)"
            await self._failed(why, messages, session, send, False)

    def _headers(self, scope: dict[str, Any], body: bytes) -> Headers:
        left_out = {*OF_THE_HOP, b"host", b"accept-encoding", b"content-length"}
        kept = [(name, value) for name, value in scope["headers"] if name not in left_out]
        size = [(b"content-length", b"%d" % len(body))] if body or scope["method"] == "POST" else []
        return [(b"host", self.server.host.encode()), *kept, *size, READ_ALONG]

    async def _answer(self, response: Answer, session: Session, send: Send) -> None:
        kind = (
            dict(response.headers)
            .get(b"content-type", b"")
            .decode("latin-1")
            .partition(";")[0]
            .strip()
            .lower()
        )
        left_out = OF_THE_HOP if kind == STREAM else {*OF_THE_HOP, b"content-length"}
        headers = [(name, value) for name, value in response.headers if name not in left_out]
        head = {"type": "http.response.start", "status": response.status, "headers": headers}
        if kind != STREAM:
            body = await whole(response.pieces(), self.most)
            if kind == JSON:
                body = self._read(body, session) or body
            headers.append((b"content-length", str(len(body)).encode()))
            await send(head)
            await send({"type": "http.response.body", "body": body})
            return
        await send(head)
        events = Events(self.most)
        changing = Changing(self.most, lambda data: self._read(data, session)) if self.hides else None
        async for chunk in response.pieces():
            if changing is not None:
                chunk = changing.feed(chunk)
            else:
                for data in events.feed(chunk):
                    self._read(data, session)
            if chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"" if changing is None else bytes(changing.held)})

    @staticmethod
    def _read(raw: bytes, session: Session) -> bytes | None:
        """Read along; what passes in its place, where that is something else."""
        with contextlib.suppress(Malformed):
            messages = read(raw)
            others = [session.from_server(message) for message in messages]
            if any(others):
                said = [other or message for other, message in zip(others, messages, strict=True)]
                return written(said if raw.lstrip()[:1] == b"[" else said[0])
        return None

    async def _failed(
        self, why: str, messages: list[dict[str, Any]], session: Session, send: Send, begun: bool
    ) -> None:
        """Tell the client of each request that waits; within the stream, where that has begun."""
        sys.stderr.write(f"pdoctor mcp-proxy: {why}\n")
        asked = [message["id"] for message in messages if "id" in message and "method" in message]
        answers = [one for id_ in asked for one in session.lost(why, only=id_)]
        if begun:
            events = b"".join(b"event: message\ndata: " + written(one) + b"\n\n" for one in answers)
            await send({"type": "http.response.body", "body": events})
        elif answers:
            await answer(send, 200, answers[0] if len(messages) == 1 else answers)
        else:
            await answer(send, 502, error(None, INTERNAL_ERROR, why))


class Events:
    """The data of server-sent events, as they come; of one longer than `most` nothing is kept."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._line = bytearray()
        self._cut = False
        """Has the line lost bytes?"""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        found: list[bytes] = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            whole_line, cut = bytes(self._line).rstrip(b"\r"), self._cut
            self._line.clear()
            self._cut = False
            if cut:
                continue
            if whole_line.startswith(b"data:"):
                self._data.append(whole_line[5:].removeprefix(b" "))
            elif not whole_line:
                if self._data and self._size <= self.most:
                    found.append(b"\n".join(self._data))
                self._data, self._size = [], 0
        self._keep(rest)
        return found

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self.most:
            self._line += part
        else:
            self._data, self._cut = [], self._cut or part not in (b"", b"\r")


def _target(scope: dict[str, Any]) -> bytes:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path + (b"?" + scope["query_string"] if scope["query_string"] else b"")


class Changing:
    """Server-sent events that pass one by one, some of them with other data; one too long passes as it is."""

    def __init__(self, most: int, change: Callable[[bytes], bytes | None]) -> None:
        self.most, self.change = most, change
        self.held = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """What passes now."""
        self.held += chunk
        passes = bytearray()
        while (end := _END.search(self.held)) is not None:
            passes += self._changed(bytes(self.held[: end.end()]))
            del self.held[: end.end()]
        if len(self.held) > self.most:
            passes += self.held
            self.held.clear()
        return bytes(passes)

    def _changed(self, event: bytes) -> bytes:
        lines = event.splitlines()
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        other = self.change(b"\n".join(data)) if data else None
        if other is None:
            return event
        rest = [line for line in lines if line and not line.startswith(b"data:")]
        return b"\n".join([*rest, b"data: " + other, b"", b""])


def is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


async def parts_of(receive: Receive) -> AsyncIterator[bytes]:
    """The body of a request, as it comes."""
    while True:
        event = await receive()
        yield event.get("body", b"")
        if not event.get("more_body"):
            return


async def whole(parts: AsyncIterator[bytes], most: int) -> bytes:
    held = bytearray()
    async for part in parts:
        held += part
        if len(held) > most:
            raise TooMuch
    return bytes(held)


async def until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def answer(send: Send, status: int, message: Any) -> None:
    body = b"" if message is None else written(message)
    headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def serve(url: str, host: str, port: int, most: int, asks: bool, hides: bool = False) -> int:
    """Until it is told to end. Raises OSError where it cannot listen, ValueError for no address,
    ImportError without libraries."""
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, proto=socket.IPPROTO_TCP) as listening:  # asyncio asks for no delay then
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        address = listening.getsockname()
        proxy = Proxy(url, most, asks, is_loopback(address[0]), hides)
        config = uvicorn.Config(
            proxy, log_level="warning", lifespan="off", timeout_graceful_shutdown=1, access_log=False
        )
        shown = f"[{address[0]}]" if ":" in host else address[0]
        path = urlsplit(url).path or "/"
        sys.stderr.write(f"pdoctor mcp-proxy: http://{shown}:{address[1]}{path} stands in front of {url}\n")
        sys.stderr.flush()

        async def main() -> None:
            await uvicorn.Server(config).serve(sockets=[listening])
            proxy.close()

        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(main())
    return 0
