"""In a row: how often an action may be done, or fail, with nothing else between."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar

from synth.counted import counted
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.policies.evidence import NO_GAPS, Evidence
from synth.policies.gaps import Gaps
from synth.policies.kinds.arguments import Values, lacking_in_words, values_of, with_the_same
from synth.policies.kinds.candidates import ran, without_arguments
from synth.policies.kinds.count import NUMBERS, number_of
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.ends import ANY
from synth.policies.kinds.kind import HAPPEN, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.sweeps import start_of
from synth.policies.kinds.tally import Edges, so_far, sure_of
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
                if open_ is None and row.longest() > self.most and row.has_own:
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
        unread = [i for i in attempts if not _is_known(values[i])]
        groups: dict[Any, list[int]] = {}
        for i in attempts:
            if _is_known(values[i]):
                groups.setdefault(values[i].key, []).append(i)
        for calls in groups.values():
            if self.same and failures.keys().isdisjoint(calls):
                continue
            tried = sorted([*calls, *unread], key=seen.rank.__getitem__) if unread else calls
            yield _Row(tried, failures, values, seen)
        if unread:
            yield _Row(unread, failures, values, seen)

    def _why_open(self, row: _Row, seen: Evidence) -> Judged | None:
        if len(row.late(self.most)):
            return None
        if row.unread:
            return lacking_in_words([(i, 0) for i in row.unread], self.same, seen)
        said = f"The recorded times leave open whether more than {counted(self.most, 'call')} came in a row."
        return Judged("undecided", (), said)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        late = {i for i in judged.violations if seen.gaps.can_begin_by(start_of(i, seen)[1])}
        mended = late and late.difference(sure_of(self._certain(seen)))
        return despite_gaps(
            judged, opens=partial(self._opens, judged, seen), mends=lambda call: call in mended
        )

    def _opens(self, judged: Judged, seen: Evidence) -> bool:
        possible = [tools for tools in self.what if seen.gaps.can_be(tools)]
        if judged.verdict == "not_applicable":
            return bool(possible)
        return any(self._longest(tools, seen) > self.most for tools in possible)

    def _longest(self, tools: Tools, seen: Evidence) -> float:
        """How many may have come in a row, with those that were not seen."""
        more = seen.gaps.of(tools)
        found = [row.longest(more) for row in self._rows(tools, seen)]
        if self.failed and (self.same or not found):
            found.append(more.most)  # with arguments that no call has that was seen
        return max(found)

    def _certain(self, seen: Evidence) -> Iterator[int]:
        """Those that went beyond it whatever was not seen: nothing else may have begun within their row."""
        for tools in self.what:
            others = self._others(tools, seen)
            for row in self._rows(tools, seen):
                late = row.late(self.most).items()
                yield from (i for i, span in late if not others.most_within(*span))

    def _others(self, tools: Tools, seen: Evidence) -> Gaps:
        """Those that were not seen and may end a row of these."""
        if self.failed:
            return seen.gaps.of(tools)
        return seen.gaps if self.same else seen.gaps.of(ANY, but=tools)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What goes beyond is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()


def _is_known(values: Values) -> bool:
    return values.whole and values.said is not None


def _placed(seen: Evidence) -> list[int]:
    """How many calls before each place of the order must keep theirs; counted once."""
    if "placed" not in seen.cache:
        seen.cache["placed"] = [0, *accumulate(i not in seen.unplaced for i in seen.order)]
    placed: list[int] = seen.cache["placed"]
    return placed


class _Row:
    """Calls in observed order, some of which count; what is not placed may come in any order.

    A call of which not all values are known may be of another row.
    """

    def __init__(
        self, calls: Sequence[int], counted: dict[int, bool], values: dict[int, Values], seen: Evidence
    ) -> None:
        self.calls, self.counted, self._values = calls, counted, values
        self._seen = seen
        seen.budget.spend(len(calls))
        self._blocks = list(self._in_blocks(calls, seen))

    @property
    def has_own(self) -> bool:
        """Is one that counts asked about?"""
        return any(i in self.counted and self._seen.owns(i) for i in self.calls)

    @property
    def unread(self) -> list[int]:
        """Calls that may be of another row."""
        return [i for i in self.calls if not self.is_known(i)]

    def is_known(self, call: int) -> bool:
        return call not in self._values or _is_known(self._values[call])

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
        placed = _placed(seen)
        return placed[first + 1] == placed[last]

    def late(self, most: int) -> dict[int, Edges]:
        """Those that surely went beyond so many in a row, and from when until when the last so many began."""
        found: dict[int, Edges] = {}
        row: list[float] = []
        value = object()
        for block in self._blocks:
            keys = {self._values[i].key for i in block if i in self.counted}
            sure = all(i in self.counted and self.is_known(i) for i in block)
            if not sure or len(keys) != 1:
                row, value = [], object()
                continue
            key = keys.pop()
            row, value = (row if key == value else []), key
            soonest, latest = self._span(block)
            for i in block:
                row.append(soonest)
                if len(row) > most:
                    found[i] = row[-most - 1], latest
        return found

    def longest(self, more: Gaps = NO_GAPS) -> float:
        """How many may have come in a row, these unseen ones among them."""
        best: float = 0
        length = unread = 0
        since = last = -math.inf
        value: Any = None
        for block in self._blocks:
            soonest, latest = self._span(block)
            mine = [i for i in block if i in self.counted]
            broken = any(i not in self.counted and self.is_known(i) for i in block)
            known = [self._values[i].key for i in mine if self.is_known(i)]
            if known and len(known) == len(mine) and len({*known}) == 1:
                if value is not None and known[0] != value:
                    best = max(best, length + more.most_within(since, latest))
                    length, since = unread, last
                value = known[0]
            elif known:
                value = None  # any of them may be the last
            length += len(mine)
            if broken:
                best = max(best, length + more.most_within(since, latest))
                length, since = len(mine), soonest
            if broken or known:
                unread, last = 0, soonest
            unread += 0 if known else len(mine)
        return max(best, length + more.most_within(since, math.inf))

    def _span(self, block: Sequence[int]) -> Edges:
        """The earliest and the latest instant at which one of these may have begun."""
        starts = [start_of(i, self._seen) for i in block]
        return min(lo for lo, _ in starts), max(hi for _, hi in starts)
