"""Two runs side by side: which calls are the same, moved, have other arguments, or stand in one only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import orjson

from collector.model import ToolCall


@dataclass(frozen=True, slots=True)
class Pair:
    """A call of one run and the call of the other that it corresponds to; positions, None = it has none."""

    a: int | None
    b: int | None
    how: str
    """`same`, `result` (only that differs), `arguments`, `moved`, `dropped` (not in b) or `inserted`."""
    tool: str

    def to_json(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b, "how": self.how, "tool": self.tool}


def aligned(a: Sequence[ToolCall], b: Sequence[ToolCall]) -> list[Pair]:
    """The calls of both in order: the longest common order of tools, then what was moved."""
    first, second = [call.tool for call in a], [call.tool for call in b]
    pairs: list[Pair] = []
    for op, i, i_end, j, j_end in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if op == "equal":
            pairs += (Pair(k, j + k - i, _how(a[k], b[j + k - i]), first[k]) for k in range(i, i_end))
        else:
            pairs += (Pair(k, None, "dropped", first[k]) for k in range(i, i_end))
            pairs += (Pair(None, k, "inserted", second[k]) for k in range(j, j_end))
    return list(_moved(pairs, a, b))


def _key(value: Any) -> bytes:
    """Equal for equal JSON values."""
    return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def _how(one: ToolCall, other: ToolCall) -> str:
    if _key(one.arguments) != _key(other.arguments):
        return "arguments"
    same = _key(one.result) == _key(other.result) and one.error == other.error
    return "same" if same else "result"


def _moved(pairs: Sequence[Pair], a: Sequence[ToolCall], b: Sequence[ToolCall]) -> Iterator[Pair]:
    """A call that was dropped in one place and inserted in another with the same arguments has moved."""
    dropped: dict[Any, list[int]] = {}
    for pair in pairs:
        if pair.how == "dropped" and pair.a is not None:
            dropped.setdefault((pair.tool, _key(a[pair.a].arguments)), []).append(pair.a)
    taken: set[int] = set()
    found: list[Pair] = []
    for pair in pairs:
        if pair.how == "inserted" and pair.b is not None:
            places = dropped.get((pair.tool, _key(b[pair.b].arguments)))
            if places:
                taken.add(places[0])
                pair = replace(pair, a=places.pop(0), how="moved")
        found.append(pair)
    return (pair for pair in found if pair.how != "dropped" or pair.a not in taken)


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Name -> both values, of what is not equal."""
    return {name: [a.get(name), b.get(name)] for name in sorted({*a, *b}) if a.get(name) != b.get(name)}
