"""Headers of HTTP/2: the examples of RFC 7541 (appendix C), and what no sender should say."""

from __future__ import annotations

import contextlib
import random

import pytest

from collector.otlp.hpack import LENGTHS, BadHeaders, Headers, literal, unpacked

GET = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b":authority", b"www.example.com")]
SECURE = [
    (b":method", b"GET"), (b":scheme", b"https"), (b":path", b"/index.html"),
    (b":authority", b"www.example.com"), (b"custom-key", b"custom-value"),
]  # fmt: skip
REQUESTS = (GET, [*GET, (b"cache-control", b"no-cache")], SECURE)


@pytest.mark.parametrize(
    "blocks",
    [
        (
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ),
        (
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ),
    ],
    ids=["C.3 plain", "C.4 Huffman"],
)
def test_requests_of_the_standard_are_read(blocks: tuple[str, ...]) -> None:
    headers = Headers(4096)
    assert tuple(headers.read(bytes.fromhex(block)) for block in blocks) == REQUESTS


def test_the_oldest_headers_are_forgotten_once_there_are_too_many() -> None:
    headers = Headers(1 << 20)
    headers.read(b"".join(b"\x40\x01a\x7f\x81\x07" + bytes([65 + at]) * 1024 for at in range(4)))
    assert [headers.read(bytes([0x80 | at]))[0][1][:1] for at in (62, 63, 64)] == [b"D", b"C", b"B"]
    with pytest.raises(BadHeaders, match="no header 65"):
        headers.read(b"\xc1")


def test_a_sender_can_make_the_table_smaller_and_empty() -> None:
    headers = Headers(4096)
    headers.read(b"\x40\x01a\x01b")
    assert headers.read(b"\xbe") == [(b"a", b"b")]
    headers.read(b"\x20")
    with pytest.raises(BadHeaders, match="no header 62"):
        headers.read(b"\xbe")


BOMB = b"\x40\x01a\x7f\xd1\x1e" + b"x" * 4048
"""A header of 4 kB that the table keeps."""


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (BOMB + b"\xbe" * 100, "over the limit of 16384"),
        (b"\x82" * 1000, "over the limit of 16384"),
        (b"\x80", "no header 0"),
        (b"\xff\xff\xff\xff\xff\xff\xff\x7f", "too many digits"),
        (b"\x00\x7f\xff\xff\xff\x7f", "cut short"),
        (b"\x00\x05ab", "cut short"),
        (b"\x41", "cut short"),
        (b"\x3f\xe2\x1f", "the table may not"),
        (b"\x82\x20", "the table may not"),
        (b"\x00\x81\xfe\x00", "in the middle"),
        (b"\x00\x82\xff\xff\x00", "in the middle"),
        (b"\x00\x84\xff\xff\xff\xff\x00", "after its end"),
    ],
)
def test_what_is_wrong_with_headers_is_said(block: bytes, why: str) -> None:
    with pytest.raises(BadHeaders, match=why):
        Headers(16_384).read(block)


def test_the_code_of_every_byte_is_read() -> None:
    """Codes are made here as the standard says, one after the other."""
    codes, code, length = {}, 0, 0
    for symbol in sorted(range(256), key=lambda one: (LENGTHS[one], one)):
        code <<= LENGTHS[symbol] - length
        length = LENGTHS[symbol]
        codes[symbol] = f"{code:0{length}b}"
        code += 1
    assert (codes[ord("0")], codes[ord("&")], codes[249]) == ("00000", "11111000", "1" * 27 + "0")
    for seed in range(20):
        said = random.Random(seed).randbytes(40)
        bits = "".join(codes[byte] for byte in said)
        bits += "1" * (-len(bits) % 8)
        assert unpacked(int(bits, 2).to_bytes(len(bits) // 8)) == said


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 254, 255, 5_000])
def test_an_answer_is_read_as_it_was_written(size: int) -> None:
    assert Headers(1 << 20).read(literal(b"name", b"v" * size)) == [(b"name", b"v" * size)]


def test_bytes_at_random_are_headers_or_refused() -> None:
    dice = random.Random(7)
    for _ in range(2_000):
        with contextlib.suppress(BadHeaders):
            Headers(16_384).read(dice.randbytes(dice.randint(0, 60)))
