"""Where a value may have come from: whole values and whole words of results, numbers by their value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from synth.formal.partly import HIDDEN, REST, Unknown, is_whole, key_of

Path = Sequence[str]
"""Keys; `[]` after a key stands for every element of a list."""

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,29})(?:\.\d{1,30})?")
_BARE = re.compile(r"\w+(?:[-_.@/]\w+)*")
_TOKEN = re.compile(r"[^\s,;:()\[\]{}\"']+")
_NUMERIC = frozenset("-0123456789")
_EXACT = 1 << 53
"""Larger numbers are compared as JSON readers keep them, as doubles."""


def form(value: Any) -> Any:
    """Something hashable that is the same for values that match: `123`, `"123"` and `123.0` do.

    What is not known matches nothing, not even itself, unless it is a hash.
    """
    if isinstance(value, Unknown):
        return ("hash", value.key, value.digest) if value.digest and value.key else object()
    if isinstance(value, str):
        if value[:1] not in _NUMERIC or not _NUMBER.fullmatch(value):
            return value
        return _number(float(value) if "." in value else int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    return key_of(value) if is_whole(value) else object()


def _number(value: float) -> Any:
    return ("number", value if -_EXACT < value < _EXACT else float(value))


@dataclass(slots=True)
class Sources:
    """The results in which values are looked for; sources are the positions of their calls."""

    values: dict[Any, list[int]] = field(default_factory=dict)
    """Form of a value or word -> its sources."""
    names: dict[Any, list[int]] = field(default_factory=dict)
    """The same for what stands only as the key of an object."""
    texts: dict[int, list[str]] = field(default_factory=dict)
    missing: dict[int, list[Unknown]] = field(default_factory=dict)
    """What is not known of a result."""

    def add(self, source: int, result: Any, inside: Path) -> None:
        """Take in a result; only what lies at `inside`, where the keys are values too."""
        found: set[Any] = set()
        names: set[Any] = set()
        for part in values_at(result, inside):
            for name, value in everything(part):
                if name is not None:
                    (found if inside else names).update(forms(name))
                elif isinstance(value, Unknown):
                    self.missing.setdefault(source, []).append(value)
                    found.update(self._known_of(source, value))
                else:
                    found.update(forms(value))
                    if isinstance(value, str):
                        self.texts.setdefault(source, []).append(value)
        for one in found:
            self.values.setdefault(one, []).append(source)
        for one in names - found:
            self.names.setdefault(one, []).append(source)

    def _known_of(self, source: int, value: Unknown) -> Iterator[Any]:
        yield form(value)
        if value.begins is not None:
            known = _without_last_word(value.begins)
            self.texts.setdefault(source, []).append(known)
            yield from map(form, words(known))

    def with_value(self, value: Any) -> Iterator[int]:
        """The sources that certainly hold it; some may come twice."""
        yield from self.values.get(form(value), ())
        if not isinstance(value, str) or _BARE.fullmatch(value):
            return
        inner = [self.values.get(form(word), ()) for word in _BARE.findall(value)]
        if inner and all(inner):
            phrase = re.compile(rf"(?<!\w)(?<!\w[-_.@/]){re.escape(value)}(?![-_.@/]?\w)")
            yield from (i for i in min(inner, key=len) if any(map(phrase.search, self.texts.get(i, ()))))

    def with_name(self, value: Any) -> Sequence[int]:
        """The sources that have it as a key only."""
        return self.names.get(form(value), ())

    def perhaps(self, value: Any, source: int) -> Unknown | None:
        """What may be that value in this source, for all that is known."""
        return next((one for one in self.missing.get(source, ()) if _may_hold(one, value)), None)

    def may_be(self, value: Unknown, source: int) -> bool:
        """May something in this source be a value of which only a part is known?"""
        texts = self.texts.get(source, ())
        if value.begins is None or _NUMBER.match(value.begins) or value.begins in ("", "-"):
            return True
        return any(value.begins in text for text in texts)


def forms(value: Any) -> Iterator[Any]:
    """The forms of a value and of the words in it."""
    yield form(value)
    if isinstance(value, str):
        yield from map(form, set(words(value)))


def words(text: str) -> Iterable[str]:
    """Tokens of a text: an order number in a sentence counts as seen."""
    return _TOKEN.findall(text) + _BARE.findall(text)


def _without_last_word(text: str) -> str:
    """A text that goes on: its last word may be longer than it is."""
    return re.sub(r"[^\s,;:()\[\]{}\"']+$", "", text)


def _may_hold(missing: Unknown, value: Any) -> bool:
    if missing.type == "bool" or (isinstance(value, Mapping | list) and missing.is_text):
        return False
    if missing.type in ("int", "float") and not isinstance(value, Unknown):
        kind = form(value)
        return isinstance(kind, tuple) and kind[0] == "number"
    if missing.type == "str" and missing.begins is None and missing.length is not None:
        return isinstance(value, Unknown | int | float) or missing.length >= len(str(value))
    return True


def values_at(value: Any, path: Path) -> Iterator[Any]:
    """Every value at a path; `key[]` goes through a list. An empty path is the value itself.

    What may be there and was not kept is an `Unknown` of any number of values.
    """
    if not path:
        yield value
        return
    if isinstance(value, Unknown):
        yield replace(value, rest=True)
        return
    key, each = path[0].removesuffix("[]"), path[0].endswith("[]")
    if not isinstance(value, Mapping) or (key not in value and REST not in value):
        return
    inner = value[key] if key in value else value[REST]
    for child in inner if each and isinstance(inner, list) else [inner]:
        yield from values_at(child, path[1:])


def everything(value: Any) -> Iterator[tuple[str | None, Any]]:
    """Every key, as (key, None), and every value inside, as (None, value), however deep."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            yield from ((key, None) for key in node if not key.startswith(HIDDEN))
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
        yield None, node
