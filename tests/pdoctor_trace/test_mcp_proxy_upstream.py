"""How the proxy speaks HTTP to the server that it stands in front of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pdoctor_trace.proxy import upstream
from pdoctor_trace.proxy.upstream import HELD_BACK, Away, Server

Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Asking = Callable[[Server], Awaitable[Any]]


def asked(serving: Serving, asking: Asking, scheme: str = "http") -> Any:
    """What asking gives while something serves."""

    async def main() -> Any:
        async def end_to_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await serving(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(end_to_end, "127.0.0.1", 0)
        async with server:
            mine = Server(f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
            try:
                async with asyncio.timeout(10):
                    return await asking(mine)
            finally:
                mine.close()

    return asyncio.run(main())


def scripted(*answers: bytes, close: bool = True) -> Serving:
    """Answers one request after the other on a connection; then it ends."""

    async def serving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
        if not close:
            await reader.read()

    return serving


async def whole(server: Server, method: str = "GET") -> tuple[int, bytes]:
    async with server.request(method, b"/mcp", [(b"host", b"here")], b"") as answer:
        return answer.status, b"".join([piece async for piece in answer.pieces()])


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (OK + b"Content-Length: 2\r\n\r\nhi", (200, b"hi")),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\nX-T: 1\r\n\r\n", (200, b"hi!")),
        (OK + b"\r\nuntil the end", (200, b"until the end")),
        (b"HTTP/1.0 200 OK\r\n\r\nold", (200, b"old")),
        (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", (202, b"")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
        (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx", (200, b"x")),
    ],
)
def test_an_answer_is_read_however_it_ends(answer: bytes, found: tuple[int, bytes]) -> None:
    assert asked(scripted(answer), whole) == found


def test_an_answer_to_head_has_no_body() -> None:
    serving = scripted(OK + b"Content-Length: 12\r\n\r\n", close=False)
    assert asked(serving, lambda server: whole(server, "HEAD")) == (200, b"")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "broke off"),
        (OK + b"Content-Length: 12\r\n\r\nhi", "broke off"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", "broke off"),
        (OK + b"Content-Le", "broke off"),
        (b"220 smtp.example.com\r\n", "no HTTP"),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "another protocol",
        ),
        (OK + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(300)), "headers without end"),
    ],
)
def test_what_is_no_whole_answer_is_told(answer: bytes, why: str) -> None:
    with pytest.raises(Away, match=why):
        asked(scripted(answer), whole)


@pytest.mark.parametrize(
    ("each", "number"),
    [
        ((OK + b"Content-Length: 1\r\n\r\na",) * 3, 1),
        ((OK + b"Content-Length: 1\r\n\r\na",), 3),  # the server has closed it meanwhile
        ((OK + b"Connection: close\r\nContent-Length: 1\r\n\r\na",) * 3, 3),
        ((OK + b"Content-Length: 1\r\n\r\na" + OK + b"Content-Length: 1\r\n\r\nb",) * 3, 3),
    ],
)
def test_a_connection_is_kept_while_it_can_be_used(each: tuple[bytes, ...], number: int) -> None:
    begun: list[int] = []

    async def serving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.append(1)
        await scripted(*each)(reader, writer)

    async def asking(server: Server) -> list[Any]:
        found = []
        for _ in range(3):
            found.append(await whole(server))
            await asyncio.sleep(0.02)
        return found

    assert asked(serving, asking) == [(200, b"a")] * 3
    assert len(begun) == number


def test_a_server_is_not_read_faster_than_the_client_takes() -> None:
    written: list[int] = []

    async def serving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"\r\n")
        for _ in range(100):
            writer.write(b"x" * 2**20)
            await writer.drain()
            written.append(1)

    async def asking(server: Server) -> int:
        async with server.request("GET", b"/mcp", [], b"") as answer:
            pieces = answer.pieces()
            size = len(await anext(pieces))
            await asyncio.sleep(0.3)
            assert len(written) < 50
            return size + sum([len(piece) async for piece in pieces])

    assert asked(serving, asking) == 100 * 2**20
    assert HELD_BACK < 2**20


def test_who_has_enough_ends_the_connection() -> None:
    over = []

    async def serving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"\r\npart")
        await writer.drain()
        try:
            over.append(await reader.read())
        except ConnectionError:
            over.append(b"")

    async def asking(server: Server) -> None:
        async with server.request("GET", b"/mcp", [], b"") as answer:
            await anext(answer.pieces())
        while not over:
            await asyncio.sleep(0.01)

    asked(serving, asking)
    assert over == [b""]


def test_a_body_is_sent_with_its_headers() -> None:
    got: list[bytes] = []

    async def serving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(2))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")

    async def asking(server: Server) -> None:
        headers = [(b"host", b"here"), (b"content-length", b"2")]
        async with server.request("POST", b"/mcp?a=1", headers, b"{}") as answer:
            assert answer.headers == [(b"content-length", b"0")]

    asked(serving, asking)
    assert got == [b"POST /mcp?a=1 HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\n\r\n{}"]


def test_a_server_that_takes_no_connection_in_time_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "CONNECT_SECONDS", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    with pytest.raises(Away, match=r"no connection within 0\.05 s"):  # the handshake has no answer
        asked(silent, whole, "https")


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://here/", "http:///mcp"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ValueError, match="expected an address such as"):
        Server(url)
