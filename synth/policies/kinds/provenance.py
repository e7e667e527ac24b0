"""Provenance: a value the model passes must have come out of an earlier result, not out of its head."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from synth.formal.budget import GaveUp
from synth.formal.constraints import Bounded
from synth.formal.partly import Unknown, unknowns
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence, made_by
from synth.policies.history import History, ended_before, weight
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps, in_part
from synth.policies.kinds.kind import Field, Form, Reads, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sources import Sources, values_at
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
        reads = Reads(results=self.sources)
        return Traits(subjects=self.what, loose=loose_in(self.tools), words=self._words, reads=reads)

    @property
    def _words(self) -> str:
        inside = f" at {'.'.join(self.inside)}" if self.inside else ""
        calls = " or ".join(tools.phrase for tools in self.what)
        return f"{'.'.join(self.argument)} of {calls} from a result of {self._from()}{inside}"

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        attempts = sorted({i for tools in self.what for i in seen.attempts(tools)}, key=seen.rank.__getitem__)
        if not attempts:
            return NOT_APPLICABLE
        attempts = [i for i in attempts if seen.owns(i)]
        if not attempts:
            return NOT_ITS_OWN
        values = {i: list(values_at(seen.arguments(i), self.argument)) for i in attempts}
        doubts: list[tuple[int, bool, str]] = []
        gave_up: GaveUp | None = None
        try:
            for i in attempts:
                doubts += ((i, *doubt) for doubt in self._doubts(i, values[i], seen))
        except GaveUp as spent:
            if not any(certain for _, certain, _ in doubts):
                raise
            gave_up = spent
        if broken := [(i, said) for i, certain, said in doubts if certain]:
            return in_part(self._broken(broken), gave_up)
        blind = [i for i in attempts if not _is_readable(seen.arguments(i))]
        if blind:
            return Judged("unsupported", (), f"{made_by(blind[0], seen)} has no readable arguments.")
        if doubts:
            return Judged("undecided", (), doubts[0][2])
        if not any(values.values()):
            return Judged("not_applicable", (), f"No call has a value at {'.'.join(self.argument)}.")
        return self._in_time(values, seen)

    def _in_time(self, values: Mapping[int, Sequence[Any]], seen: Evidence) -> Judged:
        """Every value is in some result: was each there for certain when it was needed?"""
        for i, needed in values.items() if isinstance(seen.times, Bounded) else ():
            for value in needed:
                if not self._comes_from(self._sources(seen).with_value(value), i, seen, certain=True):
                    said = f"{self._said(i, value, seen)} is in a result of {self._from()}"
                    return Judged("undecided", (), f"{said}, but that result may have come too late.")
        return Judged("ok", (), "Every value came from an earlier result.")

    def _broken(self, broken: Sequence[tuple[int, str]]) -> Judged:
        calls = tuple(sorted({i for i, _ in broken}))
        return Judged("violated", calls, broken[0][1], clauses=((None, (0, len(self._words))),))

    def _doubts(self, call: int, values: Sequence[Any], seen: Evidence) -> Iterator[tuple[bool, str]]:
        """(is it certain?, in words) of the values that are not known to come from an earlier result."""
        sources = self._sources(seen)
        for value in values:
            if self._comes_from(sources.with_value(value), call, seen):
                continue
            said = f"{self._said(call, value, seen)} is in no earlier result of {self._from()}"
            if missing := next(unknowns(value), None):
                yield self._unknown(call, missing, said, seen)
            elif (at := self._first(sources.with_name(value), call, seen)) is not None:
                yield False, f"{said}, it is only a key in that of {made_by(at, seen)}; `in:` can say more."
            elif doubt := self._missing(call, value, seen):
                yield False, f"{said}, as far as results are known: {doubt}."
            else:
                yield True, f"{said}."

    def _missing(self, call: int, value: Any, seen: Evidence) -> str | None:
        """Why an earlier result may hold a value for all that is known of it."""
        sources = self._sources(seen)
        for i in sources.missing:
            if self._comes_from((i,), call, seen) and (missing := sources.perhaps(value, i)):
                return f"the result of {made_by(i, seen)} {missing.what}"
        return None

    def _unknown(self, call: int, value: Unknown, said: str, seen: Evidence) -> tuple[bool, str]:
        """What is to say of a value that is not known."""
        sources = self._sources(seen)
        earlier = [i for i in self._pool(seen) if self._comes_from((i,), call, seen)]
        if value.rest or any(i in sources.missing or sources.may_be(value, i) for i in earlier):
            argument = ".".join(self.argument)
            return False, f"The argument {argument} of {made_by(call, seen)} {value.what}."
        return True, f"{said}."

    def _comes_from(
        self, sources: Iterable[int], call: int, seen: Evidence, *, certain: bool = False
    ) -> bool:
        return self._first(sources, call, seen, certain=certain) is not None

    def _first(
        self, sources: Iterable[int], call: int, seen: Evidence, *, certain: bool = False
    ) -> int | None:
        """The first of them that had ended (or, unless `certain`, may have ended) when the call started."""
        for i in sources:
            seen.budget.spend()
            ended = ended_before(seen, i, call)
            if ended or (ended is None and not certain):
                return i
        return None

    def _pool(self, seen: Evidence) -> list[int]:
        return sorted({i for tools in self.sources for i in seen.successes(tools)}, key=seen.rank.__getitem__)

    @property
    def place(self) -> str:
        """Equal for rules that look into the same place of the same results: the key of what is read."""
        return f"sources {self.inside} {[tools.key for tools in self.sources]}"

    def _sources(self, seen: Evidence) -> Sources:
        """What the results hold, read once for all rules that look into the same place."""
        key = self.place
        if key not in seen.cache:
            seen.cache[key] = None
            found = Sources()
            history = History.of(seen)
            for i in self._pool(seen):
                result = history.read(i)
                seen.budget.spend(weight(result))
                self.take(i, result, found)
            seen.cache[key] = found
        sources: Sources | None = seen.cache[key]
        if sources is None:  # reading them was too much for an earlier rule
            seen.budget.exhaust()
        return sources

    def take(self, call: int, result: Any, into: Sources) -> None:
        """Add what the result of a call holds."""
        into.add(call, Unknown("absent", rest=True) if result is None else result, self.inside)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(map(seen.gaps.can_be, self.what))

    def _mends(self, seen: Evidence, call: int) -> bool:
        return any(seen.gaps.of(tools).can_precede(call) for tools in self.sources)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _said(self, call: int, value: Any, seen: Evidence) -> str:
        return f"{made_by(call, seen)}: {'.'.join(self.argument)} = {value!r:.60}"

    def _from(self) -> str:
        return " or ".join(tools.phrase for tools in self.sources)


def _is_readable(arguments: Any) -> bool:
    return isinstance(arguments, Mapping) or (isinstance(arguments, Unknown) and arguments.why != "absent")
