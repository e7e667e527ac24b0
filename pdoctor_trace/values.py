"""Values of the host -> bounded JSON text.

A tool's arguments and results can be anything, and reading them must never run the host's code (`reading`).
Plain JSON values, nearly all there are, take the fast way through orjson, which reads the built-in types
only; everything else, and what is too long, takes a walk that stops where the limit is reached: a large
value costs what is kept of it.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from itertools import islice
from types import MappingProxyType, SimpleNamespace
from typing import Any

import orjson

from .reading import error_text, field, in_mro, instance_dict, module_of, qualname_of, type_name
from .tables import UNREAD, Entries, Part, unpacked

MAX_DEPTH = 64
_STRICT = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_CHUNK, _FEW, _PIECE = 64, 8, 16_384
"""Items that the walk takes in one go if it can, and few enough to go one by one; most bytes in one go."""
_LARGE = 1_000
"""Items or characters beyond which a value is looked at before it is encoded."""
_CONTAINERS = frozenset((dict, list, tuple))
_SIZED = _CONTAINERS | {str}
_SCALARS = frozenset((int, float, bool, type(None)))
_TRUST = 200
"""Values in a row that must have been short before lengths of parts of parts are taken on trust."""
_PLAIN_TEXT = {
    ("builtins", "complex"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("pathlib", "PureWindowsPath"),
    ("pathlib", "WindowsPath"),
    ("uuid", "UUID"),
}
"""Types of the standard library whose `str` runs no foreign code; named, so as not to import them."""
_CLOCKS = ("datetime", "zoneinfo", "pytz", "dateutil")
"""Packages whose time zones are asked for their offset."""
_PARTS = {
    datetime: ("year", "month", "day", "hour", "minute", "second", "microsecond"),
    time: ("hour", "minute", "second", "microsecond"),
}
_U = ord("u")
"""Looked for before `null`, which takes ten times as long."""
_SMALL_INT, _SHORT = 1 << 63, 64
_joined, _dumps = b"".join, orjson.dumps


NOT_KEPT = _dumps("…")
"""JSON text that stands for what the host said and nobody may know."""


class Truncated(bytes):
    """JSON text of a value of which something was left out."""


class Cut(str):
    """A text that stands for a longer one, or for other things that were left out."""

    length: int | None = None
    """Characters of the text it stands for."""


def json_writer(limit: int) -> Callable[[Any], bytes]:
    """`json_text` with this limit, in one function: it runs twice per tool call.

    To look at every part of a value costs more than to encode it. So that is done only until many values
    in a row were short; then only what a value holds itself is looked at, until something is too long again.
    """
    doubt = _TRUST

    def write(value: Any) -> bytes:
        if doubt:
            return look_and_write(value)
        outer, odd = type(value), True
        try:
            if outer is str:
                odd = False
                if len(value) > _LARGE:
                    return look_and_write(value)
            elif outer is dict and len(value) <= _LARGE:
                odd = False
                for item in value.values():
                    kind = type(item)
                    if kind is str:
                        if len(item) > _LARGE:
                            return look_and_write(value)
                    elif kind is not int:
                        odd = True
                        if kind not in _SCALARS and (kind not in _CONTAINERS or len(item) > _LARGE):
                            return look_and_write(value)
            elif outer not in _SCALARS and _is_odd(value):
                return look_and_write(value)
            text = _dumps(value, None, _STRICT)
        except Exception:
            # Not an error: the value is no plain JSON (or runs too deep), so it takes the long way.
            return _walked(value, limit)
        if len(text) > limit:
            return look_and_write(value)
        if odd and _U in text and text.rfind(b"null") >= 0 and _has_no_number(value):
            return _walked(value, limit)
        return _joined((text, b""))  # a copy, as in `json_bytes`

    def look_and_write(value: Any) -> bytes:
        nonlocal doubt
        try:
            text = _dumps(value, None, _STRICT) if _may_fit(value, limit) else None
        except Exception:
            return _walked(value, limit)
        if text is None or len(text) > limit:
            doubt = _TRUST
            return _walked(value, limit)
        doubt = max(doubt - 1, 0)
        return _walked(value, limit) if b"null" in text and _has_no_number(value) else _joined((text, b""))

    return write


def json_text(value: Any, limit: int = 65_536) -> bytes:
    """Valid JSON text of any value whatever it does, at most about `limit` bytes long."""
    return json_writer(limit)(value)


def json_bytes(plain: Any) -> bytes:
    """JSON text of a plain value, to be kept: a copy, for orjson's own object holds a buffer of kilobytes."""
    return _joined((_dumps(plain), b""))


def clean(text: str) -> str:
    """UTF-8 cannot hold lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def beginning(text: str, room: int) -> str:
    """As much of a text as takes no more than `room` bytes in JSON."""
    kept = clean(text[:room])
    while (size := len(_dumps(kept)) - 2) > room:
        kept = kept[: len(kept) * room // size]
    return kept


def _is_odd(value: Any) -> bool:
    """Whether the value, or something that it holds itself, is large or no plain JSON."""
    if type(value) not in _SIZED or len(value) > _LARGE:
        return True
    if type(value) is str:
        return False
    return any(
        type(item) not in _SCALARS and (type(item) not in _SIZED or len(item) > _LARGE) for item in value
    )


def _may_fit(value: Any, room: int) -> bool:
    """Whether it is plain JSON and may be that short; no more is looked at than it takes to say no.

    orjson takes enumerations too, and ends the process where one of them raises; so they are none here.
    """
    open_: list[Any] = [(value,)]
    for node in open_:
        for item in node.values() if type(node) is dict else node:
            cls = type(item)
            if cls is str:
                room -= len(item) + 1
            elif cls in _CONTAINERS:
                room -= (5 if cls is dict else 2) * len(item) + 1
                if room < 0:
                    return False
                open_.append(item)
            elif cls not in _SCALARS:
                return False
        if room < 0:
            return False
    return True


def _has_no_number(value: Any) -> bool:
    """Whether somewhere a float is none, which orjson takes for null."""
    open_ = [value]
    for node in open_:
        cls = type(node)
        if cls is float and node - node != 0.0:
            return True
        if cls is dict:
            open_ += node.values()
        elif cls is list or cls is tuple:
            open_ += node
    return False


def _walked(value: Any, limit: int) -> bytes:
    walk = Walk(limit)
    plain = walk.plain(value)
    try:
        text = _dumps(plain)
    except Exception:
        # Not an error: some thread has changed the value meanwhile, and nobody knows what it was.
        return Truncated(NOT_KEPT)
    if len(text) > 2 * limit:
        return Truncated(_dumps(clean(text[:limit].decode("utf-8", "ignore")) + "…"))
    return Truncated(text) if walk.truncated else _joined((text, b""))


class Walk:
    """One bounded walk over a value; makes it out of None, bool, int, float, str, list and dict only."""

    __slots__ = ("left", "open", "truncated")

    def __init__(self, limit: int) -> None:
        self.left = limit
        """Bytes of JSON that may still be kept."""
        self.open: set[int] = set()
        self.truncated = False

    def plain(self, value: Any, depth: int = 0) -> Any:
        """What is kept of a value; what was left out is marked by a `Cut`."""
        cls = type(value)
        if value is None or cls is bool:
            self.left -= 5
            return value
        if issubclass(cls, str):
            return self._text(str.__str__(value))
        if issubclass(cls, int):
            return self._integer(int.__int__(value))
        if issubclass(cls, float):
            return self._float(float.__float__(value))
        text = None if cls in _CONTAINERS else _said(value, cls)
        return self._nested(value, cls, depth) if text is None else self._text(text)

    def _text(self, text: str) -> str:
        room = max(self.left - 3, 0)
        if len(text) <= min(room, _SHORT) and text.isascii():
            self.left -= len(text) + 3
            return text
        kept = beginning(text, room)
        self.left -= len(_dumps(kept)) + 1
        if len(kept) == len(text):
            return kept
        self.truncated = True
        cut = Cut(f"{kept}… (+{len(text) - len(kept)} characters)")
        cut.length = len(text)
        return cut

    def _integer(self, number: int) -> int | str:
        self.left -= 20
        if -_SMALL_INT <= number < _SMALL_INT:
            return number
        return str(number) if number.bit_length() < 4_096 else f"<int of {number.bit_length()} bits>"

    def _float(self, number: float) -> float | str:
        self.left -= 18
        if number - number == 0.0:
            return number
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"

    def _nested(self, value: Any, cls: type, depth: int) -> Any:
        if id(value) in self.open:
            return self._text("<circular>")
        if depth >= MAX_DEPTH or self.left <= 0:
            self.truncated = True
            return Cut("…")
        self.open.add(id(value))
        self.left -= 2
        try:
            return self._container(value, cls, depth)
        finally:
            self.open.discard(id(value))

    def _container(self, value: Any, cls: type, depth: int) -> Any:
        if issubclass(cls, dict):
            return self._mapping(iter(dict.items(value)), dict.__len__(value), depth)
        if issubclass(cls, list):
            return self._sequence(list.__iter__(value), list.__len__(value), depth)
        if cls is Part:
            return self._sequence(iter(value.items), value.total, depth)
        if cls is Entries:
            return self._mapping(iter(value.items), value.total, depth)
        if issubclass(cls, tuple):
            return self._sequence(tuple.__iter__(value), tuple.__len__(value), depth)
        if issubclass(cls, deque):
            return self._sequence(deque.__iter__(value), deque.__len__(value), depth)
        if issubclass(cls, set | frozenset):
            base: Any = set if issubclass(cls, set) else frozenset
            return self._set(base.__iter__(value), base.__len__(value), depth)
        if cls is MappingProxyType:
            return self.plain(gc.get_referents(value)[0], depth + 1)
        found = unpacked(value, cls, self.left // 2 + 1)
        if found is not UNREAD:
            return self.plain(found, depth + 1)
        held = instance_dict(value)
        if held is not None and "_value_" in held and "_name_" in held:  # an enumeration's
            return self.plain(held["_value_"], depth + 1)
        fields = _readable_fields(value, cls)
        if fields is None:
            return self._text(f"<{type_name(value)}>")
        shown, all_of_them = fields
        return self._mapping(iter(shown), all_of_them, depth)

    def _mapping(self, items: Iterator[tuple[Any, Any]], total: int, depth: int) -> dict[str, Any]:
        """Of a dictionary with so many entries the first ones."""
        out: dict[str, Any] = {}
        taken = 0
        for chunk in self._chunks(items):
            if all(type(key) is str for key, _ in chunk) and self._takes(as_it_is := dict(chunk)):
                out.update(as_it_is)
                taken += len(chunk)
                continue
            for key, item in chunk:
                name = self._key(key, depth)
                if self.left <= 0:
                    break
                out[name] = self.plain(item, depth + 1)
                taken += 1
        if taken < total:
            self.truncated = True
            out["…"] = Cut(f"+{total - taken} more")
        return out

    def _key(self, key: Any, depth: int) -> str:
        plain = self.plain(key, depth + 1)
        return str(plain) if isinstance(plain, str) else _dumps(plain).decode()

    def _sequence(self, items: Iterator[Any], total: int, depth: int) -> list[Any]:
        """Of a list of so many items the first ones."""
        out: list[Any] = []
        for chunk in self._chunks(items):
            self._add(chunk, out, depth)
        return self._marked(out, total)

    def _add(self, chunk: list[Any], out: list[Any], depth: int) -> None:
        """As it is, or a few at a time, or item by item."""
        if self._takes(chunk):
            out += chunk
        elif len(chunk) > _FEW:
            for start in range(0, len(chunk), _FEW):
                self._add(chunk[start : start + _FEW], out, depth)
        else:
            for item in chunk:
                if self.left > 0:
                    out.append(self.plain(item, depth + 1))

    def _chunks(self, items: Iterator[Any]) -> Iterator[list[Any]]:
        """As long as there is room; what another thread changes meanwhile ends here."""
        with suppress(RuntimeError):
            while self.left > 0 and (chunk := list(islice(items, _CHUNK))):
                yield chunk

    def _marked(self, out: list[Any], total: int) -> list[Any]:
        if len(out) < total:
            self.truncated = True
            out.append(Cut(f"… (+{total - len(out)} more)"))
        return out

    def _set(self, items: Iterator[Any], total: int, depth: int) -> list[Any]:
        """In the order of their JSON text, where all are kept: a set has none of its own."""
        out = self._sequence(items, total, depth)
        return out if len(out) != total else sorted(out, key=_dumps)

    def _takes(self, piece: Any) -> bool:
        """Whether a short list or dictionary of plain values can be kept as it is; its room is gone then."""
        if not _may_fit(piece, min(self.left, _PIECE)):
            return False
        try:
            text = _dumps(piece, None, _STRICT)
        except Exception:  # no plain JSON: item by item then
            return False
        if len(text) > self.left or (b"null" in text and _has_no_number(piece)):
            return False
        self.left -= len(text)
        return True


def _said(value: Any, cls: type) -> str | None:
    """The text of a value that is best told by one."""
    if issubclass(cls, datetime):
        return _moment(value)
    if issubclass(cls, date):
        return date.isoformat(value)
    if issubclass(cls, time):
        return time.isoformat(value if _is_known(_zone(value, time)) else _without_zone(value, time))
    if issubclass(cls, timedelta):
        return timedelta.__str__(value)
    if issubclass(cls, bytes | bytearray):
        base: Any = bytes if issubclass(cls, bytes) else bytearray
        return f"<bytes of length {base.__len__(value)}>"
    if cls is memoryview:
        return f"<memoryview of {value.nbytes} bytes>"
    return str(value) if _is_plain_text(cls) else None


def _moment(value: Any) -> str:
    """As orjson writes it; where a time zone is the host's own, without it."""
    if qualname_of(type(value)) == "NaTType":
        return "NaT"
    known = _is_known(_zone(value, datetime))
    return datetime.isoformat(value if known else _without_zone(value, datetime))


def _is_known(zone: Any) -> bool:
    return zone is None or module_of(type(zone)).partition(".")[0] in _CLOCKS


def _zone(value: Any, base: Any) -> Any:
    return base.tzinfo.__get__(value)


def _without_zone(value: Any, base: Any) -> Any:
    return base(*(getattr(base, name).__get__(value) for name in _PARTS[base]))


def _is_plain_text(cls: type) -> bool:
    module, name = module_of(cls), qualname_of(cls)
    return (module, name) in _PLAIN_TEXT and getattr(sys.modules.get(module), name, None) is cls


def _readable_fields(value: Any, cls: type) -> tuple[list[tuple[Any, Any]], int] | None:
    """(fields that may be shown, how many there are) of an object whose class declares them, or an error."""
    held = instance_dict(value)
    declared: Any = in_mro(cls, "__dataclass_fields__")
    if declared is not None:
        return _shown({name: field(value, name) for name in declared}, declared)
    declared = in_mro(cls, "__pydantic_fields__")
    declared = in_mro(cls, "__fields__") if declared is None else declared
    if declared is not None and held is not None:
        extra = field(value, "__pydantic_extra__")
        return _shown({**held, **extra} if type(extra) is dict else dict(held), declared)
    declared = in_mro(cls, "__attrs_attrs__")
    if declared is not None:
        by_name = {field(one, "name"): one for one in declared}
        return _shown({name: field(value, name) for name in by_name}, by_name)
    if cls is SimpleNamespace and held is not None:
        return list(held.items()), len(held)
    if issubclass(cls, BaseException):
        return [(type_name(value), error_text(value))], 1
    return None


def _shown(values: dict[str, Any], declared: Any) -> tuple[list[tuple[Any, Any]], int]:
    """Without the fields that the class itself keeps out of its `repr` or of what it gives away."""
    return [pair for pair in values.items() if not _is_hidden(field(declared, pair[0]))], len(values)


def _is_hidden(declaration: Any) -> bool:
    of_field = field(declaration, "field_info", declaration)  # where pydantic 1 has it
    return field(of_field, "repr") is False or field(of_field, "exclude") is True
