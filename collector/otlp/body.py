"""Headers and body of an export request: which encoding, and the bytes after decompression."""

from __future__ import annotations

import zlib

from collector.otlp.errors import INVALID_ARGUMENT, Encoding, ExportError, malformed, too_large

ENCODINGS: dict[str, Encoding] = {
    "application/x-protobuf": "protobuf",
    "application/protobuf": "protobuf",
    "application/json": "json",
}


MEMBERS = 100
"""Of one gzip body: after each, the rest is copied, so many small ones would cost hours."""


def encoding_of(content_type: str) -> Encoding:
    """The encoding that a Content-Type names; its parameters (charset) do not matter, UTF-8 is fixed."""
    media = content_type.partition(";")[0].strip().lower()
    if media not in ENCODINGS:
        raise ExportError(
            415,
            INVALID_ARGUMENT,
            f"Content-Type is {media or 'missing'}; expected application/x-protobuf or application/json",
        )
    return ENCODINGS[media]


def decompress(body: bytes, content_encoding: str, limit: int) -> bytes:
    """`body` without its content encoding; at most `limit` bytes are ever produced."""
    coding = content_encoding.strip().lower()
    if coding in ("", "identity"):
        return body
    if coding in ("gzip", "x-gzip"):
        return _inflate(body, 31, limit)
    if coding == "deflate":
        return _inflate(body, 15 if _has_zlib_header(body) else -15, limit)
    raise ExportError(
        415, INVALID_ARGUMENT, f"Content-Encoding is {coding}; expected gzip, deflate or no compression"
    )


def decompress_if_small(body: bytes, content_encoding: str, size: int) -> bytes | None:
    """`body` without its content encoding; None, after little work, where that has over `size` bytes."""
    if len(body) > size:
        return None
    try:
        return decompress(body, content_encoding, size)
    except ExportError as refusal:
        if refusal.http == 413:
            return None
        raise


def _has_zlib_header(body: bytes) -> bool:
    """RFC 1950: some clients send raw deflate under the same name."""
    return len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0


def _inflate(body: bytes, window: int, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while body:
        if len(parts) == MEMBERS:
            raise malformed(f"the body has more than {MEMBERS} gzip members; send it as one")
        engine = zlib.decompressobj(window)
        try:
            part = engine.decompress(body, limit - size + 1)
        except zlib.error as flaw:
            raise malformed(f"the compressed body is damaged: {flaw}") from None
        size += len(part)
        if size > limit:
            raise too_large("the decompressed body", limit, "send fewer spans per request")
        if not engine.eof:
            raise malformed("the compressed body is cut short")
        parts.append(part)
        body = engine.unused_data if window == 31 else b""
    return parts[0] if len(parts) == 1 else b"".join(parts)
