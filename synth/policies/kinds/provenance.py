"""Provenance: a value the model passes must have come out of an earlier result, not out of its head."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from synth.formal.constraints import Bounded
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence, key_of, made_by
from synth.policies.history import History, ended_before
from synth.policies.kinds.duty import NOT_APPLICABLE, Judged, despite_gaps
from synth.policies.kinds.kind import Field, Form, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.names import Names, Tools
from synth.policies.source import Node, loose_in, read_actions

FIELDS = ("calls", "argument", "from", "in")

_PATH = re.compile(r"[^.\[\]]+(?:\[\])?(?:\.[^.\[\]]+(?:\[\])?)*")


def read_provenance(node: Node, names: Names) -> Provenance:
    """`{calls, argument: payment.methods[].id, from, in?}`; `calls` and `from` name actions."""
    node.only(FIELDS)
    inside = node.get("in")
    return Provenance(
        what=read_actions(node.need("calls"), names),
        argument=_path(node.need("argument")),
        sources=read_actions(node.need("from"), names),
        inside=() if inside is None else _path(inside),
    )


def _path(node: Node) -> tuple[str, ...]:
    if not _PATH.fullmatch(node.text()):
        raise node.bad(f"expected a path such as flights[].number, got {node.text()!r}")
    return tuple(node.text().split("."))


@dataclass(frozen=True, slots=True)
class Provenance:
    """Every value at `argument` must occur in a result of an earlier success of `sources`."""

    kind: ClassVar[str] = "provenance"
    forms: ClassVar[tuple[Form, ...]] = (Field("provenance", read_provenance),)
    what: tuple[Tools, ...]
    argument: tuple[str, ...]
    """Keys; `[]` after a key stands for every element of a list."""
    sources: tuple[Tools, ...]
    inside: tuple[str, ...] = ()
    """Where in the result to look; anywhere if empty."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return (*self.what, *self.sources)

    @property
    def traits(self) -> Traits:
        return Traits(subjects=self.what, loose=loose_in(self.tools))

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        attempts = sorted({i for tools in self.what for i in seen.attempts(tools)}, key=seen.rank.__getitem__)
        if not attempts:
            return NOT_APPLICABLE
        history = History.of(seen)
        values = {i: list(values_at(history.arguments(i), self.argument)) for i in attempts}
        invented = {i: self._unseen(i, values[i], seen, history, certain=False) for i in attempts}
        broken = [i for i, unseen in invented.items() if unseen]
        if broken:
            return self._broken(broken, invented[broken[0]][0], seen)
        blind = [i for i in attempts if not isinstance(history.arguments(i), Mapping)]
        if blind:
            return Judged("unsupported", (), f"{made_by(blind[0], seen)} has no readable arguments.")
        if not any(values.values()):
            return Judged("not_applicable", (), f"No call has a value at {'.'.join(self.argument)}.")
        for i in attempts if isinstance(seen.times, Bounded) else ():
            if unseen := self._unseen(i, values[i], seen, history, certain=True):
                said = f"{self._said(i, unseen[0], seen)} is in a result of {self._from()}"
                return Judged("undecided", (), f"{said}, but that result may have come too late.")
        return Judged("ok", (), "Every value came from an earlier result.")

    def _broken(self, broken: Sequence[int], value: Any, seen: Evidence) -> Judged:
        said = f"{self._said(broken[0], value, seen)} is in no earlier result of {self._from()}."
        if self._unrecorded(broken, seen):
            return _unproved(said)
        return Judged("violated", tuple(sorted(broken)), said)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(map(seen.gaps.can_be, self.what))

    def _mends(self, seen: Evidence, call: int) -> bool:
        return seen.gaps.can_precede(call) and any(map(seen.gaps.can_be, self.sources))

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _said(self, call: int, value: Any, seen: Evidence) -> str:
        return f"{made_by(call, seen)}: {'.'.join(self.argument)} = {value!r:.60}"

    def _unseen(
        self, call: int, values: Sequence[Any], seen: Evidence, history: History, *, certain: bool
    ) -> list[Any]:
        """Values that are in no result that was (or, unless `certain`, may have been) there already."""
        if not values:
            return []
        texts: set[Any] = set()
        words: set[str] = set()
        for source in self._earlier(call, seen, certain=certain):
            keys, tokens = self._content(source, seen, history)
            texts |= keys
            words |= tokens
        return [v for v in values if key_of(v) not in texts and not (isinstance(v, str) and v in words)]

    def _earlier(self, call: int, seen: Evidence, *, certain: bool) -> Iterator[int]:
        for tools in self.sources:
            for i in seen.successes(tools):
                ended = ended_before(seen, i, call)
                if ended or (ended is None and not certain):
                    yield i

    def _content(
        self, source: int, seen: Evidence, history: History
    ) -> tuple[frozenset[Any], frozenset[str]]:
        """Values and keys in a result, and the words of its texts; kept per call and place."""
        cache = seen.cache.setdefault(f"content {'.'.join(self.inside)}", {})
        if source not in cache:
            found = values_at(history.result(source), self.inside)
            values = [value for part in found for value in everything(part)]
            words = {word for v in values if isinstance(v, str) for word in _words(v)}
            cache[source] = frozenset(map(key_of, values)), frozenset(words)
        content: tuple[frozenset[Any], frozenset[str]] = cache[source]
        return content

    def _unrecorded(self, broken: Sequence[int], seen: Evidence) -> bool:
        sources = (i for call in broken for i in self._earlier(call, seen, certain=False))
        return any(seen.calls[i].result is None for i in sources)

    def _from(self) -> str:
        return " or ".join(tools.phrase for tools in self.sources)


def _unproved(said: str) -> Judged:
    return Judged("undecided", (), f"{said} But not every earlier result was seen.")


def _words(text: str) -> Iterable[str]:
    """Tokens of a text: an order number in a sentence counts as seen."""
    return re.findall(r"[^\s,;:()\[\]{}\"']+", text) + re.findall(r"\w+(?:[-_.@/]\w+)*", text)


def values_at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Every value at a path; `key[]` goes through a list. An empty path is the value itself."""
    if not path:
        yield value
        return
    key, each = path[0].removesuffix("[]"), path[0].endswith("[]")
    if not isinstance(value, Mapping) or key not in value:
        return
    inner = value[key]
    for child in inner if each and isinstance(inner, list) else [inner]:
        yield from values_at(child, path[1:])


def everything(value: Any) -> Iterator[Any]:
    """Every key and every value inside, however deep."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            yield from node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
        if not isinstance(node, Mapping):
            yield node
