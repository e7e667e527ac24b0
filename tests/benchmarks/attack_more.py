"""Attacks on both ports at once, on the tables and windows of HTTP/2, and on what pages and searches cost."""

from __future__ import annotations

import gzip
import itertools
import json
import socket
import struct
import time
from contextlib import suppress
from urllib.parse import quote

from attack_load import COUNTER, HERE, JSON, MIB, Attack, getting, one_span, posting
from attack_wire import (
    CALL,
    DATA,
    HEADERS,
    PREFACE,
    SETTINGS,
    frame,
    literal,
    over_http2,
    raw,
)


def crowd(connections: int) -> Attack:
    """Silent connections to both ports, each greeted once."""

    def attack(port: int, seconds: float) -> str:
        end, opened = time.monotonic() + seconds, []
        says = ((port, b"GET / HTTP/1.1\r\n"), (port + 1, PREFACE + frame(SETTINGS, 0, 0)))
        for (to, said), _ in zip(itertools.cycle(says), range(connections)):
            with suppress(OSError):
                one = socket.create_connection(("127.0.0.1", to), 2, source_address=(HERE, 0))
                one.sendall(said)
                opened.append(one)
        time.sleep(max(0.0, end - time.monotonic()))
        for one in opened:
            one.close()
        return f"{len(opened)} opened"

    return attack


def call(number: int, message: bytes, head: bytes = CALL) -> bytes:
    """A whole call, in frames of at most 16 kB."""
    parts = [message[at : at + 16_000] for at in range(0, len(message), 16_000)]
    data = [frame(DATA, part is parts[-1], number, part) for part in parts]
    return frame(HEADERS, 4, number, head) + b"".join(data)


def compressed(body: bytes) -> bytes:
    packed = gzip.compress(body, 9)
    return b"\1" + struct.pack(">I", len(packed)) + packed


BOMB = b"\x40\x01a\x7f\xd1\x1e" + b"x" * 4048 + b"\xbe" * 3
"""A header that the table keeps, said four times; more of them are over the limit."""
SLOW = b"\0\x01x\xff\x81\x7b" + b"\xff\xff\xff\xfc" * 3_968
"""15 kB of the longest codes of Huffman's."""
TAKES_NOTHING = frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0))
GZIP = CALL + literal(b"grpc-encoding", b"gzip")
ZEROS = compressed(bytes(19 * MIB))
TINY = b"".join(frame(DATA, 0, 1, b"\0" * 64) for _ in range(3_000))


def odd_numbers(number: int, count: int) -> range:
    return range(2 * count * number + 1, 2 * count * (number + 1) + 1, 2)


def searches() -> str:
    at = next(COUNTER)
    words = " ".join(f"tool:x{at}_{part}" for part in range(60))
    return "/runs?" + f"q={quote(words)}&tool=x{at}&since=1&until={at}&cursor={'e' * 400}"


def upgrades(number: int) -> bytes:
    key = f"sec-websocket-key: {number:022d}==\r\nsec-websocket-version: 13\r\n"
    asks = "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    return f"{asks}{key}\r\n".encode()


def same_keys(count: int) -> bytes:
    """JSON of one span whose fields are said again and again."""
    span = f'"name": "{"n" * 20}", ' * count
    head = '{"resourceSpans": [{"scopeSpans": [{"spans": [{'
    ids = f'"traceId": "{next(COUNTER):032x}", "spanId": "{next(COUNTER):016x}"'
    return f"{head}{span}{ids}}}]}}]}}]}}".encode()


def members(count: int) -> bytes:
    """A gzip body of so many parts, each of which says a megabyte."""
    return gzip.compress(bytes(MIB // 6), 9) * count


MORE: dict[str, Attack] = {
    "more: 2,000 connections": crowd(2_000),
    "more: tables of headers": over_http2(
        lambda number: b"".join(frame(HEADERS, 5, one, BOMB) for one in odd_numbers(number, 20)),
        connections=16,
    ),
    "more: heads that unpack slowly": over_http2(
        lambda number: b"".join(frame(HEADERS, 5, one, SLOW) for one in odd_numbers(number, 20)),
        connections=16,
    ),
    "more: answers that nobody takes": over_http2(
        lambda number: (b"" if number else TAKES_NOTHING)
        + b"".join(call(one, b"\0\0\0\0\0") for one in odd_numbers(number, 50)),
        connections=40, pause=0.1,
    ),
    "more: bombs over gRPC": over_http2(
        lambda number: b"".join(call(one, ZEROS, GZIP) for one in odd_numbers(number, 4)),
        connections=16,
    ),
    "more: messages in small pieces": over_http2(
        lambda number: TINY if number else frame(HEADERS, 4, 1, CALL) + frame(DATA, 0, 1, b"\0\0\x3f\0\0"),
        connections=16,
    ),
    "more: upgrades": raw(tuple(map(upgrades, range(8)))),
    "more: searches": getting(searches, threads=16),
    "more: fields said again and again": posting(lambda: same_keys(20_000), kind=JSON, threads=16),
    "more: gzip of many parts": posting(lambda: members(99), packed=False, threads=16),
    "more: requests in one go": raw(
        (b"GET /runs HTTP/1.1\r\nhost: localhost\r\n\r\n" * 16 + json.dumps({}).encode(),), threads=32
    ),
    "more: one span, many senders": posting(
        lambda: one_span(next(COUNTER), 1).SerializeToString(), packed=False, threads=128, distinct=300
    ),
}  # fmt: skip
