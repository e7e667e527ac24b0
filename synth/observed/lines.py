"""JSON, and JSON lines, from outside: of bounded length and depth."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import IO, Any

import orjson

from synth.errors import BadInput

MAX_LINE_BYTES = 64 << 20
Refused = Callable[[BadInput], None]
"""Is told of a record that cannot be read, and where it stands, so that others are read all the same."""
MAX_DEPTH = 200
"""Nesting of one record; deeper JSON is refused before anything walks through it."""


def json_lines(stream: IO[bytes], file: str, refused: Refused | None = None) -> Iterator[tuple[int, Any]]:
    """(line number, value) for every non-empty line; BadInput for what is too long, too deep or no JSON.

    With `refused` that is told of such a line, and the reading goes on behind it.
    """
    for number, line in enumerate(_bounded_lines(stream), 1):
        try:
            if len(line) > MAX_LINE_BYTES:
                raise BadInput(
                    f"longer than {MAX_LINE_BYTES >> 20} MiB: one record a line", file=file, line=number
                )
            value = parse_json(line, file=file, line=number) if line.strip() else None
        except BadInput as bad:
            if refused is None:
                raise
            refused(bad)
            continue
        if line.strip():
            yield number, value


def parse_json(text: bytes | str, *, file: str | None = None, line: int | None = None) -> Any:
    """JSON text as a value of bounded depth, or BadInput."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise BadInput(_no_text(text) or f"not JSON: {problem}", file=file, line=line) from None
    opening = (text.count(b"{") + text.count(b"[")) if isinstance(text, bytes) else MAX_DEPTH + 1
    if opening > MAX_DEPTH and deeper_than(value, MAX_DEPTH):
        raise BadInput(f"nested deeper than {MAX_DEPTH} levels", file=file, line=line)
    return value


def _no_text(text: bytes | str) -> str | None:
    """What is wrong with bytes that are no UTF-8; None where they are."""
    try:
        text.encode() if isinstance(text, str) else text.decode()
    except UnicodeEncodeError:
        return "no text that UTF-8 can hold"
    except UnicodeDecodeError as problem:
        if problem.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "UTF-16 and not UTF-8: save it as UTF-8"
        return f"not UTF-8 (byte 0x{problem.object[problem.start]:02x} at {problem.start}): save it as UTF-8"
    return None


def _bounded_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines; of one that is too long as much as shows that it is."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 1)


def deeper_than(value: Any, limit: int) -> bool:
    """Do lists and objects of a JSON value lie in each other more than `limit` deep?"""
    layer = [value]
    for _ in range(limit):
        layer = [
            child
            for node in layer
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not layer:
            return False
    return True
