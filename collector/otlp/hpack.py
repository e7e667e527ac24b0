"""Headers of HTTP/2 (RFC 7541): what a sender says, within bounds; and what it is answered, plainly."""

from __future__ import annotations

from collections import deque
from functools import lru_cache

Header = tuple[bytes, bytes]

TABLE_BYTES = 4096
"""Of the headers that a sender may refer to, for each connection; an entry counts 32 more than it has."""
ENTRY_BYTES = 32


class BadHeaders(Exception):
    """No headers, or more of them than may be."""


class Headers:
    """The headers of one connection, block after block: each may refer to what those before it said."""

    def __init__(self, most: int) -> None:
        """`most` is how many bytes a block may say; an entry counts 32 more than it has."""
        self._most = most
        self._known: deque[Header] = deque()
        self._size, self._limit = 0, TABLE_BYTES

    def read(self, block: bytes) -> list[Header]:
        """The headers of a whole block; raises BadHeaders, after which the connection can say no more."""
        try:
            return self._read(block)
        except IndexError:
            raise BadHeaders("a header is cut short") from None

    def _read(self, block: bytes) -> list[Header]:
        found: list[Header] = []
        at, left = 0, self._most
        while at < len(block):
            first = block[at]
            if first & 0x80:
                index, at = number(block, at, 7)
                header = self._entry(index)
            elif first & 0xE0 == 0x20:
                limit, at = number(block, at, 5)
                if limit > TABLE_BYTES or found:
                    raise BadHeaders("the table may not become as big as that, or not here")
                self._limit = limit
                self._forget()
                continue
            else:
                kept = bool(first & 0x40)
                index, at = number(block, at, 6 if kept else 4)
                if index:
                    name = self._entry(index)[0]
                else:
                    name, at = text(block, at)
                value, at = text(block, at)
                header = name, value
                if kept:
                    self._keep(header)
            left -= size_of(header)
            if left < 0:
                raise BadHeaders(f"the headers are over the limit of {self._most} bytes")
            found.append(header)
        return found

    def _entry(self, index: int) -> Header:
        if index <= len(STATIC):
            if not index:
                raise BadHeaders("there is no header 0")
            return STATIC[index - 1]
        if index > len(STATIC) + len(self._known):
            raise BadHeaders(f"there is no header {index}")
        return self._known[index - len(STATIC) - 1]

    def _keep(self, header: Header) -> None:
        self._known.appendleft(header)
        self._size += size_of(header)
        self._forget()

    def _forget(self) -> None:
        """The oldest, until the rest is small enough."""
        while self._size > self._limit:
            self._size -= size_of(self._known.pop())


def size_of(header: Header) -> int:
    return len(header[0]) + len(header[1]) + ENTRY_BYTES


MOST_DIGITS = 4
"""Of a number, each of 7 bits: no length or index has more."""


def number(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """(value, where it ends) of the number in the last `bits` of a byte and what follows; may run out."""
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    for digit in range(MOST_DIGITS):
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << 7 * digit
        if byte < 0x80:
            return value, at
    raise BadHeaders("a number has too many digits")


def text(block: bytes, at: int) -> tuple[bytes, int]:
    """(text, where it ends)."""
    packed = block[at] & 0x80
    length, at = number(block, at, 7)
    end = at + length
    if end > len(block):
        raise BadHeaders("a text is cut short")
    return (unpacked(block[at:end]) if packed else block[at:end]), end


def literal(name: bytes, value: bytes) -> bytes:
    """A header as it is answered: said in full, and remembered by nobody."""
    return b"\x00" + _long(len(name)) + name + _long(len(value)) + value


def _long(length: int) -> bytes:
    if length < 127:
        return bytes([length])
    made, left = bytearray([127]), length - 127
    while left >= 128:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*made, left])


# ---------------------------------------------------------------- Huffman's code (appendix B)

LENGTHS = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c060a0a0c0d06080b0a0a080b08060606"
    "0505050606060606060607080f060c0a0d06070707070707070707070707070707070707070707070807080d130d0e06"
    "0f05060506050606060507070606060506070605050607070707070f0b0e0d1c14161414161616171617171717171817"
    "181816171817171717151617161717181615141616171715171616181516171715151615171617171416161617161617"
    "1a1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b14181415161515171616191918181a17"
    "1a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a1e"
)
"""Bits of each byte's code, and of the end's. Codes of one length count up in the order of what they stand
for, and longer ones go on where shorter ones end, so that the lengths say all."""
END = 256
PADDING_BITS = 7


@lru_cache(maxsize=1)
def _codes() -> dict[tuple[int, int], int]:
    """(length, code) -> byte."""
    found: dict[tuple[int, int], int] = {}
    code = length = 0
    for symbol in sorted(range(len(LENGTHS)), key=lambda one: (LENGTHS[one], one)):
        code <<= LENGTHS[symbol] - length
        length = LENGTHS[symbol]
        found[length, code] = symbol
        code += 1
    return found


@lru_cache(maxsize=8192)
def _step(length: int, code: int, half: int) -> tuple[bytes, int, int]:
    """What four bits add to a code that has begun: (bytes that end, what has begun then)."""
    codes, done = _codes(), b""
    for bit in (8, 4, 2, 1):
        length, code = length + 1, code << 1 | bool(half & bit)
        symbol = codes.get((length, code))
        if symbol == END:
            raise BadHeaders("a text goes on after its end")
        if symbol is not None:
            done += bytes([symbol])
            length = code = 0
    return done, length, code


def unpacked(packed: bytes) -> bytes:
    done: list[bytes] = []
    length = code = 0
    for byte in packed:
        some, length, code = _step(length, code, byte >> 4)
        more, length, code = _step(length, code, byte & 15)
        done += (some, more)
    if length > PADDING_BITS or code != (1 << length) - 1:
        raise BadHeaders("a text ends in the middle of a byte")
    return b"".join(done)


# ---------------------------------------------------------------- what everybody knows (appendix A)

STATIC: tuple[Header, ...] = tuple(
    (name.encode(), value.encode())
    for line in """\
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate
""".splitlines()
    for name, _, value in (line.partition(" "),)
)
