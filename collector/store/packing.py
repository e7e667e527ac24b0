"""Stored payloads are compressed per segment: a third of the disk for a third of the write's own cost."""

from __future__ import annotations

import threading

import zstandard

LARGEST = 256 * 1024 * 1024
"""Never unpack more than this, whatever a damaged header says."""
HEADER_BYTES = 18
"""Of a packed payload: enough to know its size."""
_threads = threading.local()  # the compressor objects are not thread-safe


def pack(payload: bytes) -> bytes:
    if not hasattr(_threads, "compressor"):
        _threads.compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)
    return bytes(_threads.compressor.compress(payload))


def size_of(packed: bytes) -> int:
    """Bytes that a payload has unpacked, by the first `HEADER_BYTES` of it or more; 0 where it is damaged."""
    try:
        return max(0, int(zstandard.frame_content_size(packed)))
    except zstandard.ZstdError:
        return 0


def unpack(packed: bytes) -> bytes:
    """Raises ValueError on damaged data (each frame carries a checksum)."""
    if not hasattr(_threads, "decompressor"):
        _threads.decompressor = zstandard.ZstdDecompressor()
    try:
        return bytes(_threads.decompressor.decompress(packed, max_output_size=LARGEST))
    except zstandard.ZstdError as flaw:
        raise ValueError(f"a stored segment is damaged: {flaw}") from None
