"""A peer that speaks HTTP/2 frame by frame, and may say what no library would."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
LAST = ACK = 1
END_HEADERS, PADDED, WITH_PRIORITY = 4, 8, 32
PATH = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header of less than 127 bytes, which no table keeps."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def head(path: bytes = PATH, *more: tuple[bytes, bytes], kept: bool = False) -> bytes:
    """The headers of a call; `kept` in the table, the last one first."""
    said = (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers"), *more,
    )  # fmt: skip
    return b"".join((b"\x40" if kept else b"\0") + literal(*one)[1:] for one in said)


def message(body: bytes) -> bytes:
    return b"\0" + len(body).to_bytes(4, "big") + body


def window(number: int, more: int) -> bytes:
    return frame(WINDOW, 0, number, struct.pack(">I", more))


class Frame(NamedTuple):
    """One that came."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> int:
        """Why a connection or a call ends."""
        return int.from_bytes(self.payload[4:8] if self.kind == GOAWAY else self.payload)


class Peer:
    """One connection; a context manager."""

    def __init__(self, port: int, *, address: str = "127.0.0.1", settings: bytes = b"") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30, source_address=(address, 0))
        self._left = b""
        self.say(PREFACE + frame(SETTINGS, 0, 0, settings))

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._socket.close()

    def say(self, frames: bytes) -> None:
        self._socket.sendall(frames)

    def heard(self) -> Iterator[Frame]:
        """Frames until the other side closes; raises TimeoutError."""
        while True:
            while len(self._left) >= 9 and len(self._left) >= 9 + int.from_bytes(self._left[:3], "big"):
                size = int.from_bytes(self._left[:3], "big")
                kind, flags, stream = struct.unpack_from(">BBI", self._left, 3)
                payload, self._left = self._left[9 : 9 + size], self._left[9 + size :]
                yield Frame(kind, flags, stream, payload)
            try:
                more = self._socket.recv(65_536)
            except ConnectionResetError:
                return
            if not more:
                return
            self._left += more

    def until(self, kind: int, stream: int = 0) -> Frame:
        """The next frame of a kind."""
        return next(one for one in self.heard() if one.kind == kind and stream in (0, one.stream))

    def told_to_leave(self) -> int:
        """The code that the connection was ended with."""
        said = [one.code for one in self.heard() if one.kind == GOAWAY]
        return said[-1] if said else -1

    def answer(self, stream: int) -> bytes:
        """The headers that a call ends with, as they were written."""
        return self.answers(stream)[0]

    def answers(self, *streams: int) -> list[bytes]:
        """Those of several, in whatever order they come."""
        found: dict[int, bytes] = {}
        for one in self.heard():
            assert not (one.stream in streams and one.kind == RESET), one
            if one.stream in streams and one.flags & LAST and one.kind == HEADERS:
                found[one.stream] = one.payload
                if len(found) == len(streams):
                    return [found[stream] for stream in streams]
        raise AssertionError("the connection was closed")
