"""Reading values that were cut or hashed: the marks that tracers leave, and JSON text that ends early.

Our tracer ends a cut text with `… (+12 characters)`, a cut list with the text `… (+3 more)`, a cut
object with the key `…`, and what lies too deep is `…`. In shape mode a value is `type:length:digest`.
Whoever cuts JSON text as it stands leaves the beginning of it. What OpenInference hides is
`__REDACTED__`, what Logfire scrubs is `[Scrubbed due to '...']`, what our collector redacts `[redacted]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from synth.formal.partly import HIDDEN, REST, Unknown, Why

ELLIPSIS = "…"
MAX_DEPTH = 200
"""Nesting of JSON text that ends early; what lies deeper counts as cut."""
_LEFT_OUT = re.compile(r"__REDACTED__|\[Scrubbed due to '[^']*'\]|\[redacted(?:: [^\]]*)?\]")
_TEXT = re.compile(r"(.*)… \(\+(\d+) characters\)", re.DOTALL)
_LIST = re.compile(r"… \(\+\d+ more\)")
_HASH = re.compile(r"(str|int|float|bool)(?::(\d+))?:([0-9a-f]{16}|cut)")
_OPENS = ("{", "[", '"')
_HALVES = "".join(map(chr, range(0xD800, 0xDC00)))
"""First halves of characters that JSON may spell as two escapes."""

_scan = json.JSONDecoder(strict=False).raw_decode
_SPACE = re.compile(r"[ \t\r\n]*")
_LITERAL = re.compile(r"-?[\d.eE+-]*|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?")


def known(value: Any, why: Why | None, key: str | None = None, where: str = "") -> Any:
    """The value with an `Unknown` wherever something is missing; `key` says what hashes were made with."""
    if why is None:
        return value
    if why == "hashed":
        return _unhashed(value, key or "", where)
    if why == "cut" and value is not None:
        found = _cut(value, where, top=True)
        return found if has_marks(value) or isinstance(value, str) else _open_ended(found, where)
    return Unknown(why, rest=True, where=where)


def has_marks(value: Any) -> bool:
    """Does a mark say that something was cut here?"""
    if isinstance(value, str):
        marks = (_TEXT.fullmatch(value), _LIST.fullmatch(value), _LEFT_OUT.search(value))
        return value.endswith(ELLIPSIS) or any(marks)
    if isinstance(value, Mapping):
        return any(map(has_marks, value)) or any(map(has_marks, value.values()))
    return isinstance(value, list) and any(map(has_marks, value))


def is_left_out(value: Any) -> bool:
    """Was some text of the value hidden, scrubbed or redacted?"""
    if isinstance(value, str):
        return "[redacted" in value or "__REDACTED__" in value or "[Scrubbed" in value
    if isinstance(value, Mapping):
        return any(map(is_left_out, value.values()))
    return isinstance(value, list) and any(map(is_left_out, value))


def ends_early(text: str) -> bool:
    """Is this the beginning of JSON text, and not all of it?"""
    if not text.lstrip().startswith(_OPENS):
        return False
    try:
        return _prefix(text, "")[1]
    except ValueError:
        return False


def _cut(value: Any, where: str, *, top: bool = False) -> Any:
    if isinstance(value, str):
        return _cut_text(value, where, top=top)
    if isinstance(value, Unknown) and value.begins is not None:
        begins = value.begins.partition(ELLIPSIS)[0]  # a mark may itself have been cut
        return replace(value, begins=begins or None)
    if isinstance(value, list):
        found = [_cut(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if value and isinstance(value[-1], str) and _LIST.fullmatch(value[-1]):
            found[-1] = Unknown("cut", rest=True, where=where)
        return found
    if isinstance(value, Mapping):
        whole = [name for name in value if name != ELLIPSIS and not _TEXT.fullmatch(name)]
        inner = {name: _cut(value[name], _inside(where, name)) for name in whole}
        if len(whole) == len(value):
            return inner
        hidden = [_cut(value[name], where) for name in value if name not in inner and name != ELLIPSIS]
        return inner | _without_keys(hidden, Unknown("cut", rest=True, where=where))
    return value


def _cut_text(text: str, where: str, *, top: bool) -> Any:
    if text == ELLIPSIS:
        return Unknown("cut", where=where)
    if marked := _TEXT.fullmatch(text):
        return Unknown("cut", begins=marked[1], length=len(marked[1]) + int(marked[2]), where=where)
    if left_out := _LEFT_OUT.search(text):
        begins = text[: left_out.start()]
        return Unknown("cut", begins=begins or None, where=where)
    if not top:
        return text
    text = text.removesuffix(ELLIPSIS)
    if text.lstrip().startswith(_OPENS):
        try:
            return _cut(_prefix(text, where)[0], where)
        except ValueError:
            pass
    return Unknown("cut", begins=text, where=where)


def _open_ended(value: Any, where: str) -> Any:
    """A value said to be cut, without a mark: its end is where more may have been."""
    if isinstance(value, list):
        head = [*value[:-1], _open_ended(value[-1], f"{where}[{len(value) - 1}]")] if value else []
        return [*head, Unknown("cut", rest=True, where=where)]
    if isinstance(value, Mapping):
        last = {name: _open_ended(item, _inside(where, name)) for name, item in list(value.items())[-1:]}
        return {**value, **last, REST: Unknown("cut", rest=True, where=where)}
    return Unknown("cut", begins=value if isinstance(value, str) else None, where=where)


def _unhashed(value: Any, key: str, where: str) -> Any:
    if isinstance(value, str):
        found = _HASH.fullmatch(value)
        if found is None:
            return Unknown("cut", where=where)
        size, digest = found[2], "" if found[3] == "cut" else found[3]
        return Unknown(
            "hashed",
            length=int(size) if size else None,
            type=found[1],
            digest=digest,
            key=key,
            where=where,
        )
    if isinstance(value, list):
        return [_unhashed_item(item, key, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        named = [name for name in value if name != ELLIPSIS and not _HASH.fullmatch(name)]
        inner = {name: _unhashed(value[name], key, _inside(where, name)) for name in named}
        if len(named) == len(value):
            return inner
        hidden = [_unhashed(value[name], key, where) for name in value if _HASH.fullmatch(name)]
        return inner | _without_keys(hidden, Unknown("hashed", rest=True, where=where))
    return value


def _unhashed_item(item: Any, key: str, where: str) -> Any:
    """What is no hash in a list stands for the entries that were cut."""
    found = _unhashed(item, key, where)
    return replace(found, rest=True) if isinstance(found, Unknown) and found.why == "cut" else found


def _without_keys(values: list[Any], rest: Unknown) -> dict[str, Any]:
    """Values of an object whose keys are not known."""
    return {f"{HIDDEN}{i}": value for i, value in enumerate(values)} | {REST: rest}


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


# ---------------------------------------------------------------- JSON text that ends early


def _prefix(text: str, where: str) -> tuple[Any, bool]:
    """(value with what is missing, did it end early?); ValueError where it is no beginning of JSON."""
    value, at, ended = _value(text, _skip(text, 0), where, 0)
    if not ended and _skip(text, at) < len(text):
        raise ValueError("more than one value")
    return value, ended


def _value(text: str, at: int, where: str, depth: int) -> tuple[Any, int, bool]:
    """(value, place after it, did the text end in it?)."""
    try:
        value, after = _scan(text, at)
        if not _LITERAL.fullmatch(text, at) or value is None or isinstance(value, bool):
            return value, after, False
    except (ValueError, RecursionError):
        pass
    opening = text[at : at + 1]
    if depth < MAX_DEPTH and opening == "{":
        return _object(text, at + 1, where, depth + 1)
    if depth < MAX_DEPTH and opening == "[":
        return _list(text, at + 1, where, depth + 1)
    if opening == '"':
        return Unknown("cut", begins=_text(text, at + 1), where=where), len(text), True
    if depth >= MAX_DEPTH or _LITERAL.fullmatch(text, at):
        return Unknown("cut", where=where), len(text), True
    raise ValueError("no JSON")


def _object(text: str, at: int, where: str, depth: int) -> tuple[Any, int, bool]:
    found: dict[str, Any] = {}
    rest = {REST: Unknown("cut", rest=True, where=where)}
    while (at := _skip(text, at)) < len(text):
        if text[at] == "}" and not found:
            return found, at + 1, False
        if text[at] != '"':
            raise ValueError("no JSON")
        try:
            name, at = _scan(text, at)
        except ValueError:
            break
        at = _skip(text, at)
        if at >= len(text):
            break
        if text[at] != ":":
            raise ValueError("no JSON")
        at = _skip(text, at + 1)
        if at >= len(text):
            found[name] = Unknown("cut", where=_inside(where, name))
            break
        found[name], at, ended = _value(text, at, _inside(where, name), depth)
        at = _skip(text, at)
        if ended or at >= len(text):
            break
        if text[at] == "}":
            return found, at + 1, False
        if text[at] != ",":
            raise ValueError("no JSON")
        at += 1
    return found | rest, len(text), True


def _list(text: str, at: int, where: str, depth: int) -> tuple[Any, int, bool]:
    found: list[Any] = []
    while (at := _skip(text, at)) < len(text):
        if text[at] == "]" and not found:
            return found, at + 1, False
        value, at, ended = _value(text, at, f"{where}[{len(found)}]", depth)
        found.append(value)
        at = _skip(text, at)
        if ended or at >= len(text):
            break
        if text[at] == "]":
            return found, at + 1, False
        if text[at] != ",":
            raise ValueError("no JSON")
        at += 1
    return [*found, Unknown("cut", rest=True, where=where)], len(text), True


def _text(text: str, at: int) -> str:
    """The known beginning of a JSON text without its end, whose last escape may be broken."""
    for end in range(len(text), max(at, len(text) - 12) - 1, -1):
        try:
            found: str = json.loads(f'"{text[at:end]}"', strict=False)
        except ValueError:
            continue
        return found.rstrip(_HALVES)
    raise ValueError("no JSON")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
