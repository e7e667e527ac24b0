"""A value of a YAML document that knows where it stands, so that errors can name line and field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from synth.errors import BadInput
from synth.policies.names import Names, Tools, some_of

T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True)
class Node:
    """One value: where it stands in the file, and under which name."""

    value: Any
    path: str
    line: int | None
    file: str | None = None

    @classmethod
    def of(cls, value: Any, file: str | None = None) -> Node:
        """The top of a document."""
        return cls(value, "", 1, file)

    def bad(self, message: str) -> BadInput:
        """An error at this place."""
        return BadInput(message, file=self.file, line=self.line, field=self.path or None)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors without a place, raised inside, are about this value."""
        try:
            yield
        except BadInput as bad:
            if bad.line is not None:
                raise
            where = f"{self.path}.{bad.field}" if bad.field else self.path
            raise BadInput(bad.message, file=self.file, line=self.line, field=where) from None

    def get(self, name: str) -> Node | None:
        """A field of an object; None where it is missing or null."""
        value = self._object().get(name)
        return None if value is None else Node(value, self._under(name), self._line_of(name), self.file)

    def need(self, name: str) -> Node:
        """A field that must be there."""
        found = self.get(name)
        if found is None:
            raise self.bad(f"the field {name!r} is missing")
        return found

    def only(self, names: Sequence[str]) -> None:
        """No fields but these."""
        for name, node in self.pairs():
            if name not in names:
                raise node.bad(f"no such field (expected one of {', '.join(names)})")

    def pairs(self) -> list[tuple[str, Node]]:
        """The fields of an object."""
        found = []
        for name, value in self._object().items():
            node = Node(value, self._under(str(name)), self._line_of(name), self.file)
            if not isinstance(name, str) or not name:
                raise node.bad(f"a name must be text, got {name!r}")
            found.append((str(name), node))
        return found

    def items(self) -> list[Node]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.bad(f"expected a list, got {brief(self.value)}")
        return [
            Node(value, f"{self.path}[{i}]", self._line_of(i), self.file)
            for i, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """Text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.bad(f"expected text, got {brief(self.value)}")
        return str(self.value).strip()

    def one_of(self, allowed: Sequence[T]) -> T:
        """One of some words."""
        for word in allowed:
            if self.value == word:
                return word
        raise self.bad(f"expected one of {some_of(allowed, 20)}, got {brief(self.value)}")

    def plain(self) -> Any:
        """The value as plain JSON types."""
        return _plain(self.value, self)

    def _object(self) -> Mapping[Any, Any]:
        if not isinstance(self.value, Mapping):
            raise self.bad(f"expected named fields, got {brief(self.value)}")
        return self.value

    def _under(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _line_of(self, key: Any) -> int | None:
        place = getattr(self.value, "lc", None)
        if place is None:
            return self.line
        try:
            at = place.value(key) if isinstance(self.value, Mapping) else place.item(key)
        except (KeyError, AttributeError, TypeError):
            return self.line
        return self.line if at is None else at[0] + 1


def _plain(value: Any, node: Node, depth: int = 0) -> Any:
    if depth > 50:
        raise node.bad("nested too deeply")
    if isinstance(value, Mapping):
        return {str(key): _plain(child, node, depth + 1) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain(child, node, depth + 1) for child in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if value is None:
        return None
    raise node.bad(f"expected text, a number, true or false, got {brief(value)}")


def brief(value: Any) -> str:
    """A value in a message."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "named fields"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_actions(node: Node, names: Names) -> tuple[Tools, ...]:
    """Actions by phrase: one sentence-like list (`book flight and change flights`) or a YAML list.

    A tool name stands for itself where no action has that phrase.
    """
    items = node.items() if isinstance(node.value, list) else [node]
    return tuple(tools for item in items for tools in _actions_of(item, names))


def _actions_of(node: Node, names: Names) -> tuple[Tools, ...]:
    text = node.text()
    try:
        return names.list(text)
    except BadInput as bad:
        if names.is_tool(text):
            return (Tools(text, (text,)),)
        hint = some_of(sorted(names.actions), 8)
        raise node.bad(f"{bad.message.split(' (')[0]} (expected one of {hint})") from None


def loose_in(actions: Sequence[Tools]) -> tuple[str, ...]:
    """The tool names among them that stand for themselves."""
    return tuple(name for action in actions if action.phrase in action.names for name in action.names)
