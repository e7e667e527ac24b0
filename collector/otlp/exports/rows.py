"""The rows of an export, whatever the file has them in."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from synth.errors import BadInput
from synth.observed import kind_of, parse_json

Row = Mapping[str, Any]
Place = str
"""`line 3`, `item 3`, `row 3`: where a row stands in its file."""
Refused = Callable[[Place, str], None]
"""Is told what was not taken, and why."""

MOST_MIB = 512
"""Of one file, all of which is read."""
PARQUET = b"PAR1"
LISTS = ("data", "items", "observations", "runs", "spans", "traces")
"""Fields of one object that may hold the rows."""


def rows_in(stream: IO[bytes], file: str, refused: Refused) -> Iterator[tuple[Place, Any]]:
    """Every row with its place, from the beginning of a seekable stream; BadInput for no JSON.

    Of JSON lines, those that are none are `refused`.
    """
    stream.seek(0)
    if stream.read(len(PARQUET)) == PARQUET:
        yield from _parquet(stream, file)
        return
    stream.seek(0)
    text = stream.read((MOST_MIB << 20) + 1)
    if len(text) > MOST_MIB << 20:
        raise BadInput(f"over {MOST_MIB} MiB: export fewer runs at once", file=file)
    text = text.removeprefix(codecs.BOM_UTF8)
    try:
        whole = parse_json(text, file=file)
    except BadInput:
        first, *others = text.strip().splitlines()[:2]
        if not others or not _is_json(first):
            raise
        yield from _lines(text, refused)
        return
    yield from unwrapped(whole, "item")


def _lines(text: bytes, refused: Refused) -> Iterator[tuple[Place, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                value = parse_json(line)
            except BadInput as bad:
                refused(f"line {number}", str(bad))
                continue
            several = list(unwrapped(value, "item"))
            for place, row in several:
                yield (f"line {number}" if len(several) == 1 else f"line {number}, {place}"), row


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except BadInput:
        return False
    return True


def unwrapped(value: Any, word: str) -> Iterator[tuple[Place, Any]]:
    """The rows of one JSON value: itself, a list, an object with a list in it, or a data frame's columns."""
    if isinstance(value, list):
        yield from ((f"{word} {number}", row) for number, row in enumerate(value, 1))
    elif isinstance(value, dict) and (inner := _inside(value)) is not None:
        yield from ((f"{word} {number}", row) for number, row in enumerate(inner, 1))
    else:
        yield f"{word} 1", value


def _inside(value: Mapping[str, Any]) -> list[Any] | None:
    columns, data = value.get("columns"), value.get("data")
    if isinstance(columns, list) and isinstance(data, list):  # orient="split"
        return [dict(zip(columns, row, strict=False)) if isinstance(row, list) else row for row in data]
    ids = value.get("context.span_id")
    if isinstance(ids, dict):  # orient="columns", pandas' own
        named = {name: column for name, column in value.items() if isinstance(column, dict)}
        return [{name: column.get(key) for name, column in named.items()} for key in ids]
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list) and "object" not in value:
            own = {key: said for key, said in value.items() if key != name}
            return [{**row, "trace": own} if name == "observations" and isinstance(row, dict) else row
                    for row in found]  # fmt: skip
    if value and all(isinstance(row, dict) and "context.span_id" in row for row in value.values()):
        return list(value.values())  # orient="index"
    return None


def first_row(stream: IO[bytes]) -> Row | None:
    """The first row that is an object; None where there is none, or what is there is no JSON of ours."""
    try:
        stream.seek(0)
        if stream.read(len(PARQUET)) == PARQUET:
            return {"context.span_id": ""}
        stream.seek(0)
        found = _first_value(stream)
        return (
            None if found is None else next((r for _, r in unwrapped(found, "") if isinstance(r, dict)), None)
        )
    except (BadInput, OSError):
        return None
    finally:
        stream.seek(0)


def _first_value(stream: IO[bytes]) -> Any:
    """Of the first line that has anything, else (a document over several lines) of the whole stream."""
    line = b""
    while not line.strip():
        line = stream.readline((MOST_MIB << 20) + 1)
        if not line:
            return None
    try:
        return parse_json(line.removeprefix(codecs.BOM_UTF8))
    except BadInput:
        if line.lstrip().removeprefix(codecs.BOM_UTF8)[:1] not in (b"[", b"{"):
            return None
        stream.seek(0)
        return parse_json(stream.read(MOST_MIB << 20).removeprefix(codecs.BOM_UTF8))


def _parquet(stream: IO[bytes], file: str) -> Iterator[tuple[Place, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise BadInput(
            "reading Parquet needs pyarrow: pip install pyarrow, or export the frame with to_json()",
            file=file,
        ) from None
    stream.seek(0)
    try:
        table = parquet.read_table(stream)
        rows = table.to_pylist()
    except (ArrowException, OSError, ValueError) as problem:
        raise BadInput(f"no Parquet that can be read: {str(problem).splitlines()[0]}", file=file) from None
    yield from ((f"row {number}", row) for number, row in enumerate(rows, 1))


def as_row(value: Any) -> Row:
    """An object, or BadInput."""
    if not isinstance(value, dict):
        raise BadInput(f"expected an object, got {kind_of(value)}")
    return value
