"""In a row: how often an action may be done, or fail, with nothing else between."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from synth.counted import counted
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Values, lacking_in_words, values_of, with_the_same
from synth.policies.kinds.candidates import ran, without_arguments
from synth.policies.kinds.count import NUMBERS, number_of
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import start_of
from synth.policies.kinds.tally import so_far
from synth.policies.names import Names, Tools

_TIMES = rf"(?P<n>[1-9]\d{{0,5}}|{'|'.join(NUMBERS)})(?: times?)?"


def _read(m: re.Match[str], names: Names, same: Paths) -> InARow:
    return InARow(names.list(m["a"]), number_of(m["n"]), m["do"].lower() == "fail", same)


@dataclass(frozen=True, slots=True)
class InARow:
    """An action is tried at most so often with no other call between; or fails with no other try between.

    What begins after another counts as the next, also where the two overlap. With `same`, calls in a row have
    equal arguments; failures are in a row among the tries with equal arguments.
    """

    kind: ClassVar[str] = "in_a_row"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} (?P<do>{HAPPEN}|fail) (?:at most|no more than) {_TIMES} in a row",
            _read,
            same=True,
        ),
    )
    what: tuple[Tools, ...]
    most: int
    failed: bool = False
    """Is it failures that count?"""
    same: Paths = ()

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        arguments = self.what if self.same else ()
        return Traits(
            subjects=self.what, order_alone=True, reads=Reads(arguments=arguments, others=not self.failed)
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if not any(so_far(seen.attempts(tools), seen) for tools in self.what):
            return NOT_APPLICABLE
        if self.same and without_arguments(seen, self.what):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        open_: Judged | None = None
        late: list[int] = []
        for tools in self.what:
            for row in self._rows(tools, seen):
                late += row.late(self.most)
                if open_ is None and row.longest() > self.most and any(map(seen.owns, row.calls)):
                    open_ = self._why_open(row, seen)
        own = tuple(sorted({i for i in late if seen.owns(i)}))
        if own:
            do = "fail" if self.failed else "happen"
            limit = f"{do} at most {counted(self.most, 'time')} in a row{with_the_same(self.same)}"
            phrase = next(tools.phrase for tools in self.what if seen.is_of(own[0], tools))
            return Judged("violated", own, f"{phrase} may {limit}; {calls_in_words(own)} went beyond that.")
        if late:
            return NOT_ITS_OWN
        return open_ or Judged("ok", (), "There are never too many in a row.")

    def _rows(self, tools: Tools, seen: Evidence) -> Iterator[_Row]:
        """The calls among which those of an action must lie next to each other."""
        attempts = seen.attempts(tools)
        values = {i: values_of(i, 0, self.same, seen) for i in attempts}
        if not self.failed:
            yield _Row(ran(seen), dict.fromkeys(attempts, True), values, seen)
            return
        failures = dict.fromkeys(seen.failures(tools), True)
        apart = all(one.whole and one.said is not None for one in values.values())
        groups: dict[Any, list[int]] = {}
        for i in attempts:
            groups.setdefault(values[i].key if apart else (), []).append(i)
        for calls in groups.values():
            yield _Row(calls, failures, values, seen, between=apart)

    def _why_open(self, row: _Row, seen: Evidence) -> Judged | None:
        if len(row.late(self.most)):
            return None
        if self.same and (lacking := [i for i in row.counted if not row.is_known(i)]):
            return lacking_in_words([(i, 0) for i in lacking], self.same, seen)
        said = f"The recorded times leave open whether more than {counted(self.most, 'call')} came in a row."
        return Judged("undecided", (), said)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(seen.gaps.can_be(tools) for tools in self.what)

    def _mends(self, seen: Evidence, call: int) -> bool:
        """One that was not seen may lie between."""
        tools = next(tools for tools in self.what if seen.is_of(call, tools))
        gaps = seen.gaps.of(tools) if self.failed else seen.gaps
        return gaps.can_begin_by(start_of(call, seen)[1])

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What goes beyond is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()


class _Row:
    """Calls in observed order, some of which count; what is not placed may come in any order."""

    def __init__(
        self,
        calls: Sequence[int],
        counted: dict[int, bool],
        values: dict[int, Values],
        seen: Evidence,
        *,
        between: bool = True,
    ) -> None:
        """Without `between` others of another value may not be of this row at all."""
        self.calls, self.counted, self._values, self._between = calls, counted, values, between
        self._seen = seen
        seen.budget.spend(len(calls))
        self._blocks = list(self._in_blocks(calls, seen))

    def is_known(self, call: int) -> bool:
        return self._values[call].whole and self._values[call].said is not None

    def _in_blocks(self, calls: Sequence[int], seen: Evidence) -> Iterator[list[int]]:
        """Each placed call alone; those that may change places together."""
        block: list[int] = []
        last = -1
        for i in calls:
            loose = i in seen.unplaced
            if not (loose and block and self._all_loose(last, seen.rank[i], seen)):
                if block:
                    yield block
                block = []
            block.append(i)
            last = seen.rank[i]
            if not loose:
                yield block
                block = []
        if block:
            yield block

    @staticmethod
    def _all_loose(first: int, last: int, seen: Evidence) -> bool:
        """May all calls between these places change theirs?"""
        return all(seen.order[place] in seen.unplaced for place in range(first + 1, last))

    def late(self, most: int) -> list[int]:
        """Those that surely went beyond so many in a row."""
        found: list[int] = []
        length, value = 0, object()
        for block in self._blocks:
            keys = {self._values[i].key for i in block if i in self.counted}
            sure = (
                self._between
                and all(i in self.counted and self.is_known(i) for i in block)
                and len(keys) == 1
            )
            if not sure:
                length, value = 0, object()
                continue
            key = keys.pop()
            length, value = (length if key == value else 0), key
            for i in block:
                length += 1
                if length > most:
                    found.append(i)
        return found

    def longest(self) -> int:
        """How many may have come in a row."""
        best = length = 0
        value: Any = None
        for block in self._blocks:
            mine = [i for i in block if i in self.counted]
            broken = self._between and len(mine) < len(block)
            keys = {self._values[i].key for i in mine if self.is_known(i)}
            if self._between and len(keys) == 1 and all(map(self.is_known, mine)):
                key = next(iter(keys))
                if value is not None and key != value:
                    length = 0
                value = key
            elif mine:
                value = None  # it may be of any row
            best = max(best, length + len(mine))
            length = len(mine) if broken else length + len(mine)
        return best
