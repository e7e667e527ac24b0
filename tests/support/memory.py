"""What a child is asked to do with its memory; as text, because a child cannot import the tests."""

from __future__ import annotations

FILL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
kept = sys.__dict__.setdefault("kept", [])
for size in (16 << 20, 1 << 20, 1 << 16):
    try:
        while True:
            kept.append(bytearray(size))
    except MemoryError:
        pass
while room > 0:
    room -= len(kept.pop())
"""
"""Take all that there is but `room` bytes."""
