"""How many parts an encoded request has, counted without decoding it.

For protobuf an empty resource of two bytes is an object of eighty: what is too many has to be known before.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.otlp.errors import too_large
from collector.settings import Limits

GROUP_START, GROUP_END = 3, 4
FIXED = {1: 8, 5: 4}
"""Wire type -> bytes of the value."""
SPARE_FIELDS = 4
"""So many fields for each span that is allowed: what else a request may hold, unknown to us or not."""


class _Counted:
    """What was met so far in one request."""

    def __init__(self, limits: Limits) -> None:
        self.most, self.fields = limits.spans, 0

    def field(self) -> None:
        self.fields += 1
        if self.fields > SPARE_FIELDS * self.most:
            raise too_large("the number of fields in one request", SPARE_FIELDS * self.most, "send less")


def count_parts(body: bytes, limits: Limits) -> None:
    """Raises ExportError where a request has more parts than are taken; broken frames end the counting."""
    counted = _Counted(limits)
    numbers = {"resourceSpans": 0, "scopeSpans": 0, "spans": 0}

    def one_more(what: str) -> None:
        numbers[what] += 1
        if numbers[what] > limits.spans:
            raise too_large(f"the number of {what} in one request", limits.spans, "send smaller batches")

    try:
        for resource in _inside(body, (0, len(body)), 1, counted):
            one_more("resourceSpans")
            for scope in _inside(body, resource, 2, counted):
                one_more("scopeSpans")
                for _ in _inside(body, scope, 2, counted):
                    one_more("spans")
    except IndexError:  # cut short, as protobuf will say
        return


def _inside(
    body: bytes, within: tuple[int, int], number: int, counted: _Counted
) -> Iterator[tuple[int, int]]:
    """(start, end) of every embedded message with this field number."""
    at, end = within
    while at < end:
        tag, at = _varint(body, at)
        counted.field()
        kind = tag & 7
        if kind == 2:
            size, at = _varint(body, at)
            if tag >> 3 == number:
                yield at, at + size
            at += size
        elif kind == 0:
            _, at = _varint(body, at)
        elif kind not in (GROUP_START, GROUP_END):
            at += FIXED.get(kind, 1)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """(value, where it ends)."""
    value = shift = 0
    while (byte := body[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return value | byte << shift, at + 1
