"""Values of the host -> bounded JSON text, by content mode.

A tool's arguments and results can be anything, and reading them must never run the host's code: no
`str`, `repr`, `len`, `==`, iteration protocol, property or `__class__` of a type we do not know. Types
are told by `type(value)`, containers are read through the built-in types' own methods, objects through
their instance dictionary. Plain JSON values, nearly all there are, take the fast way through orjson,
which reads the same built-in types only; everything else takes the bounded walk below.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import GetSetDescriptorType, MemberDescriptorType, SimpleNamespace, WrapperDescriptorType
from typing import Any

import orjson

from .harmless import note
from .settings import Redactor

MAX_DEPTH = 64
MAX_MESSAGE = 4_096
"""Longest error text kept, in characters."""

_STRICT = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS
_PLAIN_TEXT = {
    ("builtins", "complex"),
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("datetime", "time"),
    ("datetime", "timedelta"),
    ("decimal", "Decimal"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("pathlib", "PureWindowsPath"),
    ("pathlib", "WindowsPath"),
    ("uuid", "UUID"),
}
"""Types of the standard library whose `str` runs no foreign code; named, so as not to import them."""

_module_of = type.__dict__["__module__"].__get__
_qualname_of = type.__dict__["__qualname__"].__get__
_mro_of = type.__dict__["__mro__"].__get__
_namespace_of = type.__dict__["__dict__"].__get__
_SMALL_INT = 1 << 63
_joined, _dumps = b"".join, orjson.dumps


class Truncated(bytes):
    """JSON text of a value of which something was left out."""


def _read(text: str) -> Any:
    """What Python's own reader makes of JSON text, which also takes NaN and half surrogates."""
    try:
        return orjson.loads(text)
    except ValueError:
        import json  # late: hosts that only ever see plain JSON need not load it

        return json.loads(text)


class Capture:
    """What is kept of a value: the content mode, the size limit and the redactor of this process."""

    __slots__ = ("_key", "arguments", "limit", "mode", "redactor", "result")

    arguments: Callable[[Any], bytes | None]
    """JSON text of a call's arguments, taken before the call so that later changes do not show."""
    result: Callable[[Any], bytes | None]
    """JSON text of a call's result."""

    def __init__(
        self, mode: str = "full", limit: int = 65_536, hash_key: str = "", redactor: Redactor | None = None
    ) -> None:
        self.mode, self.limit, self.redactor = mode, limit, redactor
        self._key = hash_key.encode() if hash_key else os.urandom(32)
        if mode == "full" and redactor is None:
            self.arguments = self.result = json_writer(limit)
        else:
            self.arguments = functools.partial(self._kept, "arguments")
            self.result = functools.partial(self._kept, "result")

    def argument_text(self, text: Any) -> tuple[bytes | None, bool]:
        """(JSON text, whether it was well formed) of arguments that a model wrote as JSON text."""
        if type(text) is not str:
            return self.arguments(text), True
        try:
            value = _read(text) if text else {}
        except (ValueError, RecursionError):
            return self.arguments(text), False
        return self.arguments(value), True

    def query(self, text: str | None) -> str | None:
        """The user's query by content mode."""
        return self._text("query", text, self.limit) if text is not None else None

    def message(self, error: BaseException | str | None) -> str:
        """Text of an error by content mode; empty where nothing may be kept or nothing is safe to read."""
        if error is None:
            return ""
        text = error_text(error) if isinstance(error, BaseException) else error
        return self._text("error", text, MAX_MESSAGE) or ""

    def _text(self, kind: str, text: str, limit: int) -> str | None:
        if self.mode == "none":
            return None
        if self.mode == "shape":
            return self._shape_of_scalar(_clean(text)) if text else ""
        kept = _clean(text) if len(text) <= limit else _clean(text[:limit]) + "…"
        return kept if self.redactor is None else self._redacted(kind, kept)

    def _kept(self, kind: str, value: Any) -> bytes | None:
        if self.mode == "none":
            return None
        if self.mode == "shape":
            plain = _Walk(self.limit).plain(value, 0)
            return orjson.dumps(self._shape(plain, named=kind == "arguments"))
        text = json_text(value, self.limit)
        redacted = self._redacted(kind, text.decode())
        return None if redacted is None else _as_json(redacted)

    def _redacted(self, kind: str, text: str) -> str | None:
        """What the user's redactor leaves; where it fails, nothing is kept."""
        if self.redactor is None:
            return text
        try:
            redacted = self.redactor(kind, text)
        except Exception as error:
            note(self.redactor, error)
            return None
        return redacted if type(redacted) is str else None

    def _shape(self, value: Any, *, named: bool) -> Any:
        """Types, lengths and keyed hashes in place of values; parameter names (`named`) stay readable."""
        if value is None:
            return None
        if type(value) is list:
            return [self._shape(item, named=False) for item in value]
        if type(value) is dict:
            return {
                key if named else self._shape_of_scalar(key): self._shape(item, named=False)
                for key, item in value.items()
            }
        return self._shape_of_scalar(value)

    def _shape_of_scalar(self, value: Any) -> str:
        import hashlib

        key = hashlib.blake2b(self._key, digest_size=32).digest()
        digest = hashlib.blake2b(orjson.dumps(value), key=key, digest_size=8).hexdigest()
        length = f":{len(value)}" if type(value) is str else ""
        return f"{type(value).__name__}{length}:{digest}"


def json_writer(limit: int) -> Callable[[Any], bytes]:
    """`json_text` with this limit, in one function: it runs twice per tool call."""

    def write(value: Any) -> bytes:
        try:
            text = _dumps(value, None, _STRICT)
        except Exception:
            # Not an error: the value is no plain JSON (or runs too deep), so it takes the long way.
            return _walked(value, limit)
        # The copy: orjson's own object keeps its whole buffer of at least a kilobyte alive.
        return _joined((text, b"")) if len(text) <= limit else _walked(value, limit)

    return write


def json_text(value: Any, limit: int = 65_536) -> bytes:
    """Valid JSON text of any value whatever it does, at most about `limit` bytes long."""
    return json_writer(limit)(value)


def error_text(error: BaseException) -> str:
    """The message of an exception without running its code; empty where that is not possible."""
    cls = type(error)
    if _qualname_of(cls) == "ValidationError" and _module_of(cls) == "pydantic_core._pydantic_core":
        return _validation_text(error)
    arguments = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    scalar = all(type(item) in (str, int, float, bool, type(None)) for item in arguments)
    slot = _in_mro(cls, "__str__")
    if scalar and type(slot) is WrapperDescriptorType:
        return str(slot(error))
    return " ".join(str.__str__(item) for item in arguments if issubclass(type(item), str))


def type_name(value: Any) -> str:
    """Name of a value's class, with its module unless built in."""
    module, name = _module_of(type(value)), _qualname_of(type(value))
    return name if module == "builtins" else f"{module}.{name}"


def field(holder: Any, name: str, default: Any = None) -> Any:
    """`holder[name]` of a dict or `holder.name` of an object, read without running the holder's code."""
    cls = type(holder)
    if issubclass(cls, dict):
        return dict.get(holder, name, default)
    found = _instance_dict(holder)
    if found is not None and name in found:
        return found[name]
    slot = _in_mro(cls, name)
    if type(slot) is MemberDescriptorType:
        return _slot_value(slot, holder, default)
    extras = _in_mro(cls, "__pydantic_extra__")  # where pydantic keeps fields that a model does not declare
    if type(extras) is MemberDescriptorType:
        values = _slot_value(extras, holder, None)
        return values.get(name, default) if type(values) is dict else default
    return default


def _validation_text(error: Any) -> str:
    """Without inputs: printing those would call their `repr`."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems)


def _as_json(text: str) -> bytes:
    """The text itself if it is JSON, else the JSON string of it."""
    encoded = text.encode("utf-8", "replace")
    try:
        orjson.loads(encoded)
    except ValueError:
        return orjson.dumps(_clean(text))
    return encoded


def _clean(text: str) -> str:
    """UTF-8 cannot hold lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def _walked(value: Any, limit: int) -> bytes:
    walk = _Walk(limit)
    text = orjson.dumps(walk.plain(value, 0))
    if len(text) > 2 * limit:
        return Truncated(orjson.dumps(_clean(text[:limit].decode("utf-8", "ignore")) + "…"))
    return Truncated(text) if walk.truncated else text


class _Walk:
    """One bounded walk over a value; makes it out of None, bool, int, float, str, list and dict only."""

    __slots__ = ("left", "open", "truncated")

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.open: set[int] = set()
        self.truncated = False

    def plain(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if value is None or cls is bool:
            self.left -= 5
            return value
        if issubclass(cls, str):
            return self._text(str.__str__(value))
        if issubclass(cls, int):
            return self._integer(int.__int__(value))
        if issubclass(cls, float):
            self.left -= 18
            return float.__float__(value)
        if _is_plain_text(cls):
            return self._text(str(value))
        if issubclass(cls, bytes | bytearray | memoryview):
            return self._bytes(value, cls)
        return self._nested(value, cls, depth)

    def _text(self, text: str) -> str:
        room = max(self.left, 0)
        self.left -= len(text) + 3
        if len(text) <= room:
            return _clean(text)
        self.truncated = True
        return f"{_clean(text[:room])}… (+{len(text) - room} characters)"

    def _integer(self, number: int) -> int | str:
        self.left -= 20
        if -_SMALL_INT <= number < _SMALL_INT:
            return number
        return str(number) if number.bit_length() < 4_096 else f"<int of {number.bit_length()} bits>"

    def _bytes(self, value: Any, cls: type) -> str:
        if cls is memoryview:
            return self._text(f"<memoryview of {value.nbytes} bytes>")
        raw = bytes.__getitem__(value, slice(None)) if issubclass(cls, bytes) else bytearray.copy(value)
        try:
            return self._text(raw.decode())
        except UnicodeDecodeError:
            return self._text(f"<bytes of length {len(raw)}>")

    def _nested(self, value: Any, cls: type, depth: int) -> Any:
        if id(value) in self.open:
            return self._text("<circular>")
        if depth >= MAX_DEPTH or self.left <= 0:
            self.truncated = True
            return "…"
        self.open.add(id(value))
        try:
            return self._container(value, cls, depth)
        finally:
            self.open.discard(id(value))

    def _container(self, value: Any, cls: type, depth: int) -> Any:
        if issubclass(cls, dict):
            return self._mapping(list(dict.items(value)), depth)
        if issubclass(cls, list):
            return self._sequence(list.__getitem__(value, slice(None)), depth)
        if issubclass(cls, tuple):
            return self._sequence(tuple.__getitem__(value, slice(None)), depth)
        if issubclass(cls, set | frozenset):
            base: Any = set if issubclass(cls, set) else frozenset
            return self._set(base.copy(value), depth)
        fields = _readable_fields(value, cls)
        return self._text(f"<{type_name(value)}>") if fields is None else self._mapping(fields, depth)

    def _mapping(self, items: list[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for count, (key, item) in enumerate(items):
            if self.left <= 0:
                self.truncated = True
                out["…"] = f"+{len(items) - count} more"
                break
            out[self._key(key, depth)] = self.plain(item, depth + 1)
        return out

    def _key(self, key: Any, depth: int) -> str:
        plain = self.plain(key, depth + 1)
        return plain if type(plain) is str else orjson.dumps(plain).decode()

    def _sequence(self, items: Any, depth: int) -> list[Any]:
        out: list[Any] = []
        for count, item in enumerate(items):
            if self.left <= 0:
                self.truncated = True
                out.append(f"… (+{len(items) - count} more)")
                break
            out.append(self.plain(item, depth + 1))
        return out

    def _set(self, items: Any, depth: int) -> list[Any]:
        """In the order of their JSON text: a set has none of its own."""
        return sorted(self._sequence(list(items), depth), key=orjson.dumps)


def _is_plain_text(cls: type) -> bool:
    module, name = _module_of(cls), _qualname_of(cls)
    return (module, name) in _PLAIN_TEXT and getattr(sys.modules.get(module), name, None) is cls


def _readable_fields(value: Any, cls: type) -> list[tuple[Any, Any]] | None:
    """Fields of a pydantic model, dataclass, attrs object, enum or namespace; None for anything else."""
    held = _instance_dict(value)
    if _in_mro(cls, "__dataclass_fields__") is not None:
        return [(name, field(value, name)) for name in _in_mro(cls, "__dataclass_fields__")]
    if _in_mro(cls, "__pydantic_fields__") is not None or _in_mro(cls, "__fields__") is not None:
        return list(dict.items(held)) if held is not None else None
    if _in_mro(cls, "__attrs_attrs__") is not None:
        return [(name, field(value, name)) for name in _attrs_names(cls)]
    if cls is SimpleNamespace:
        return list(dict.items(held)) if held is not None else None
    if held is not None and "_value_" in held and "_name_" in held:
        return [(_qualname_of(cls), held["_value_"])]
    if issubclass(cls, BaseException):
        return [(type_name(value), error_text(value))]
    return None


def _attrs_names(cls: type) -> list[str]:
    return [attribute.name for attribute in _in_mro(cls, "__attrs_attrs__")]


def _instance_dict(value: Any) -> dict[Any, Any] | None:
    """The real instance dictionary; a class's own `__dict__` property is not asked."""
    slot = _in_mro(type(value), "__dict__")
    if type(slot) is not GetSetDescriptorType:
        return None
    held = slot.__get__(value)
    return held if type(held) is dict else None


def _in_mro(cls: type, name: str) -> Any:
    for base in _mro_of(cls):
        namespace = _namespace_of(base)
        if name in namespace:
            return namespace[name]
    return None


def _slot_value(slot: MemberDescriptorType, holder: Any, default: Any) -> Any:
    try:
        return slot.__get__(holder)
    except AttributeError:
        return default
