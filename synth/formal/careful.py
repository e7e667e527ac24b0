"""CEL conditions over values of which not everything is known.

CEL's `&&`, `||`, `all` and `exists` already pass over a side that fails where the other side decides. So a
condition is rewritten such that whatever looks at something missing fails, and nothing else changes: the
compiled expression (the message CheckedExpr of CEL's specification) is taken apart, functions are put
around its operands, and it is compiled again. What is missing travels through CEL as a marked text.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import orjson

from synth.formal.partly import HIDDEN, REST, Unknown, equal, unknowns

MARK = f"{HIDDEN}{secrets.token_hex(8)}"
"""How the texts begin that stand for an `Unknown`; no input can know it."""
_FIELDS = tuple(field.name for field in fields(Unknown))


NOT_KNOWN = "not known: "


class Missing(ValueError):
    """A condition looks at something that is not known."""

    def __init__(self, unknown: Unknown) -> None:
        super().__init__(f"{NOT_KNOWN}{unknown}")


# ---------------------------------------------------------------- values on their way through CEL


def marked(value: Any) -> Any:
    """The value with marked texts for what is missing."""
    if isinstance(value, Unknown):
        return MARK + orjson.dumps([getattr(value, name) for name in _FIELDS]).decode()
    if isinstance(value, Mapping):
        return {key: marked(child) for key, child in value.items()}
    return [marked(child) for child in value] if isinstance(value, list) else value


def unmarked(value: Any) -> Any:
    """The value with what is missing as `Unknown` again."""
    if isinstance(value, str) and value.startswith(MARK):
        return Unknown(**dict(zip(_FIELDS, orjson.loads(value[len(MARK) :]), strict=True)))
    if isinstance(value, str) and value.startswith(HIDDEN):
        return Unknown("cut", where="the key of a value")
    if isinstance(value, Mapping):
        return {key: unmarked(child) for key, child in value.items()}
    return [unmarked(child) for child in value] if isinstance(value, list) else value


def _known(value: Any) -> Any:
    """The value itself is known, maybe not all inside."""
    if isinstance(value, str) and value.startswith(HIDDEN):
        raise Missing(unmarked(value))
    return value


def told(value: Any) -> Any:
    """A value to look for: one value, of which not all may be known."""
    for unknown in () if isinstance(value, Unknown) and not value.rest else unknowns(value):
        raise Missing(unknown)
    return value


def _whole(value: Any) -> Any:
    _known(value)
    for unknown in unknowns(unmarked(value)):
        raise Missing(unknown)
    return value


def _counted(value: Any) -> Any:
    """It is known how many values there are in it."""
    _known(value)
    last = value.get(REST) if isinstance(value, Mapping) else (value or [None])[-1]
    unknown = unmarked(last) if isinstance(last, str) else None
    if isinstance(unknown, Unknown) and unknown.rest:
        raise Missing(unknown)
    return value


def _kept(value: Any) -> Any:
    """What is known of the elements of a list or the keys of an object."""
    if isinstance(value, list):
        return [one for one in value if next(unknowns(unmarked(one)), None) is None]
    return {key: one for key, one in _known(value).items() if not str(key).startswith(HIDDEN)}


def _listed(value: Any) -> Any:
    """All elements of a list or all keys of an object are known."""
    return _whole(value) if isinstance(value, list) else _counted(value)


def _is_one(value: Any) -> bool:
    """It stands for one value, and not for any number of them."""
    unknown = unmarked(value)
    if isinstance(unknown, Unknown) and (unknown.rest or value == REST):
        raise Missing(unknown)
    return True


def _has(value: Mapping[str, Any], name: str) -> bool:
    if name not in value:
        _counted(value)
    return name in value


def _equal(both: list[Any]) -> bool:
    a, b = map(unmarked, both)
    answer = equal(a, b) if _is_json(a) and _is_json(b) else a == b
    for one in (a, b) if answer is None else ():
        _whole(marked(one))
    return bool(answer)


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | list | Mapping | Unknown)


def _starts_with(both: list[Any]) -> bool:
    text, start = unmarked(both[0]), _whole(both[1])
    if not isinstance(text, Unknown) or text.begins is None:
        return str(_text(_whole(both[0]))).startswith(_text(start))
    if len(start) <= len(text.begins):
        return text.begins.startswith(start)
    if start.startswith(text.begins) and (text.length is None or len(start) <= text.length):
        raise Missing(text)
    return False


def _contains(both: list[Any]) -> bool:
    text, part = unmarked(both[0]), _text(_whole(both[1]))
    if isinstance(text, Unknown) and text.begins is not None and part in text.begins:
        return True
    return part in _text(_whole(both[0]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no matching overload")
    return value


_OF_ONE: Mapping[str, Callable[[Any], Any]] = {
    "known_": _known,
    "whole_": _whole,
    "counted_": _counted,
    "kept_": _kept,
    "listed_": _listed,
    "is_one_": _is_one,
}
_OF_TWO: Mapping[str, Callable[..., bool]] = {
    "equal_": _equal,
    "starts_": _starts_with,
    "contains_": _contains,
}


def functions(cel: Any) -> list[Any]:
    """The functions that rewritten conditions call, declared for every type: CEL takes none for any."""
    names = "STRING INT UINT DOUBLE BOOL NULL LIST MAP BYTES TIMESTAMP DURATION TYPE"
    kinds = [getattr(cel.Type, name) for name in names.split()]
    declared = [
        cel.FunctionDecl(
            name,
            [
                cel.Overload(
                    id=f"{name}{kind.name()}", return_type=cel.Type.DYN, parameters=[kind], impl=function
                )
                for kind in kinds
            ],
        )
        for name, function in _OF_ONE.items()
    ]
    shapes = [(name, [cel.Type.LIST], function) for name, function in _OF_TWO.items()]
    shapes.append(("has_", [cel.Type.MAP, cel.Type.STRING], _has))
    declared += [
        cel.FunctionDecl(
            name,
            [cel.Overload(id=f"{name}1", return_type=cel.Type.BOOL, parameters=shape, impl=function)],
        )
        for name, shape, function in shapes
    ]
    return declared


# ---------------------------------------------------------------- the expression, rewritten

ID, CONSTANT, IDENT, SELECT, CALL, LIST, STRUCT, COMPREHENSION = range(2, 10)
"""Fields of the message Expr."""
EXPR = 4
"""Field of the message CheckedExpr; the others tell of types, which change."""
_LOGIC = {b"_&&_", b"_||_", b"!_", b"@not_strictly_false"}

_LOOK_UPS = {b"last", b"last_call", b"earlier"}
"""Their last argument, a value to look for, may be missing in part."""
_PASSES_ON = {b"_[_]", b"_?_:_", *_LOOK_UPS}
"""Calls whose value may be missing, wholly or in part; others get whole values and give whole ones."""

Message = list[tuple[int, int, Any]]
"""(field, wire type, value) each."""
Parts = Mapping[int, Callable[[bytes], bytes]]
"""Field -> what is made of its value."""


def rewritten(serialized: bytes) -> bytes:
    """A compiled expression, as `serialize` gives it, that fails where it looks at what is missing."""
    packed = _read(serialized)
    checked = next(value for field, _, value in packed if field == 2)
    body = next(value for field, _, value in _read(checked) if field == EXPR)
    new = _write([(EXPR, 2, _Rewriter().expression(body))])
    return _write([(field, wire, new if field == 2 else value) for field, wire, value in packed])


class _Rewriter:
    """Gives every new expression an id of its own."""

    def __init__(self) -> None:
        self._id = 1 << 20

    def expression(self, said: bytes) -> bytes:
        """The expression, whose value may be a marked text."""
        message = _read(said)
        kind = next((field for field, _, _ in message if field != ID), CONSTANT)
        inner = _read(next((value for field, _, value in message if field == kind), b""))
        if kind == SELECT:
            return self._select(message, inner)
        if kind == CALL:
            return self._call(message, inner)
        if kind == LIST:
            return self._with(message, kind, inner, {1: self.expression})
        if kind == STRUCT:
            return self._with(message, kind, inner, {2: self._entry})
        if kind == COMPREHENSION:
            return self._comprehension(message, inner)
        return said

    def _with(self, message: Message, kind: int, inner: Message, parts: Parts) -> bytes:
        """The expression with some fields of its inner message changed."""
        new = _write([(f, wire, parts[f](value) if f in parts else value) for f, wire, value in inner])
        return _write([(f, wire, new if f == kind else value) for f, wire, value in message])

    def _made(self, function: str, *arguments: bytes) -> bytes:
        self._id += 1
        call: Message = [(2, 2, function.encode()), *((3, 2, argument) for argument in arguments)]
        return _write([(ID, 0, self._id), (CALL, 2, _write(call))])

    def _listed(self, *elements: bytes) -> bytes:
        self._id += 1
        return _write([(ID, 0, self._id), (LIST, 2, _write([(1, 2, element) for element in elements]))])

    def _around(self, function: str, said: bytes) -> bytes:
        inner = _read(next((value for field, _, value in _read(said) if field == CALL), b""))
        called = next((value for field, _, value in inner if field == 2), None)
        made = self.expression(said)
        return made if called is not None and called not in _PASSES_ON else self._made(function, made)

    def _select(self, message: Message, inner: Message) -> bytes:
        if not any(field == 3 and value for field, _, value in inner):
            return self._with(message, SELECT, inner, {1: partial(self._around, "known_")})
        operand, name = (next(value for field, _, value in inner if field == wanted) for wanted in (1, 2))
        self._id += 1
        text = _write([(ID, 0, self._id), (CONSTANT, 2, _write([(6, 2, name)]))])
        return self._made("has_", self._around("known_", operand), text)

    def _call(self, message: Message, inner: Message) -> bytes:
        function = next(value for field, _, value in inner if field == 2)
        operands = [value for field, _, value in inner if field in (1, 3)]
        both = partial(map, self.expression, operands)
        if function == b"_==_":
            return self._made("equal_", self._listed(*both()))
        if function == b"_!=_":
            return self._made("!_", self._made("equal_", self._listed(*both())))
        if function in (b"startsWith", b"contains") and len(operands) == 2:
            name = "starts_" if function == b"startsWith" else "contains_"
            return self._made(name, self._listed(*both()))
        if function == b"@in":
            return self._in(*operands)
        if function == b"_?_:_":
            condition, *branches = operands
            taken = map(self.expression, branches)
            return self._made("_?_:_", self._around("known_", condition), *taken)
        if function in _LOOK_UPS and len(operands) > 1:
            *sure, key = operands
            made = [*map(partial(self._around, "whole_"), sure), self.expression(key)]
            return self._made(function.decode(), *made)
        wrapped = "known_" if function in _LOGIC or function == b"_[_]" else "whole_"
        if function == b"size":
            wrapped = "counted_"
        around = partial(self._around, wrapped)
        return self._with(message, CALL, inner, {1: around, 3: around})

    def _in(self, value: bytes, container: bytes) -> bytes:
        def found(look: str) -> bytes:
            return self._made("@in", self._around("whole_", value), self._around(look, container))

        return self._made("_||_", found("kept_"), found("listed_"))

    def _comprehension(self, message: Message, inner: Message) -> bytes:
        step = _read(next(value for field, _, value in inner if field == 6))
        call = _read(next((value for field, _, value in step if field == CALL), b""))
        logical = any(field == 2 and value in (b"_&&_", b"_||_") for field, _, value in call)
        over = partial(self._around, "known_" if logical else "counted_")
        parts: dict[int, Callable[[bytes], bytes]] = {2: over, **dict.fromkeys((4, 5, 6, 7), self.expression)}
        if logical:
            name = next(value for field, _, value in inner if field == 1)
            parts[6] = lambda _: self._step(name, call)
        return self._with(message, COMPREHENSION, inner, parts)

    def _step(self, name: bytes, call: Message) -> bytes:
        """One step of `all` or `exists`, in which values that may not be there decide nothing."""
        function = next(value for field, _, value in call if field == 2)
        so_far, condition = (self._around("known_", value) for field, _, value in call if field == 3)
        self._id += 1
        is_one = self._made("is_one_", _write([(ID, 0, self._id), (IDENT, 2, _write([(1, 2, name)]))]))
        if function == b"_||_":
            return self._made("_||_", so_far, self._made("_&&_", is_one, condition))
        return self._made("_&&_", so_far, self._made("_||_", self._made("!_", is_one), condition))

    def _entry(self, said: bytes) -> bytes:
        parts: Parts = {
            3: partial(self._around, "whole_"),
            4: self.expression,
        }
        return _write([(f, wire, parts[f](value) if f in parts else value) for f, wire, value in _read(said)])


def _read(message: bytes) -> Message:
    return list(_fields_of(message))


def _fields_of(message: bytes) -> Iterator[tuple[int, int, Any]]:
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        wire = tag & 7
        if wire == 0:
            value, at = _number(message, at)
            yield tag >> 3, wire, value
            continue
        size = {1: 8, 5: 4}.get(wire)
        if size is None:
            size, at = _number(message, at)
        yield tag >> 3, wire, message[at : at + size]
        at += size


def _write(message: Message) -> bytes:
    out = bytearray()
    for field, wire, value in message:
        out += _spelled(field << 3 | wire)
        if wire == 0:
            out += _spelled(value)
        else:
            out += (_spelled(len(value)) if wire == 2 else b"") + value
    return bytes(out)


def _number(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def _spelled(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
