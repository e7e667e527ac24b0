"""Frames of HTTP/2 (RFC 9113)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OTHER_PROTOCOL = (
    b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n"
    b"This port speaks gRPC; OTLP over HTTP goes to the port of --http-port.\n"
)
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS, PADDED, WITH_PRIORITY = 4, 8, 32
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED = 0, 1, 3, 5
FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CALM_DOWN = 6, 7, 8, 9, 11
MAX_STREAMS, FIRST_WINDOW, MOST_FRAME, MOST_HEADERS = 3, 4, 5, 6
"""Numbers of settings."""
FRAME = struct.Struct(">HBBBI")
"""Length (in 16 and 8 bits), kind, flags, stream."""
SETTING = struct.Struct(">HI")
FRAME_BYTES = 16 * 1024
WINDOW_BYTES, MOST_WINDOW = 65_535, 2**31 - 1


class Ending(Exception):
    """The connection cannot go on; its peer is told one of HTTP/2's codes."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    size = len(payload)
    return FRAME.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def first_windows(settings: bytes) -> Iterator[int]:
    """The windows that settings give to each stream; raises Ending where a setting cannot be."""
    for setting, value in SETTING.iter_unpack(settings):
        if setting == FIRST_WINDOW:
            if value > MOST_WINDOW:
                raise Ending(FLOW_CONTROL_ERROR, "a window is too big")
            yield value
        elif setting == MOST_FRAME and not FRAME_BYTES <= value < 2**24:
            raise Ending(PROTOCOL_ERROR, "no such size of frames")


def without_padding(flags: int, payload: bytes) -> bytes:
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise Ending(PROTOCOL_ERROR, "padding without end")
    return payload[1 : len(payload) - payload[0]]
