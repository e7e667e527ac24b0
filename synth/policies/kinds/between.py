"""Between: what must not be called after one action and before another, or until that has succeeded."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from math import inf
from operator import itemgetter
from typing import ClassVar

from synth.errors import BadInput
from synth.formal.constraints import Fixed, Times, Truth, edges_of
from synth.formal.solver import PlanRule, Slots
from synth.judge.rules import Rules
from synth.observed.run import Unseen
from synth.policies.evidence import Evidence
from synth.policies.kinds.arguments import Alike, Compared, judge_compared, values_of, with_the_same
from synth.policies.kinds.candidates import Ended, besides, owned, unseen_besides, without_arguments
from synth.policies.kinds.duty import NOT_APPLICABLE, Duty, Judged, despite_gaps
from synth.policies.kinds.edits import Drop, Edit, Move, call_of, first_broken
from synth.policies.kinds.kind import FAILS, HAPPEN, IF, MUST, Form, Paths, Reads, Sentence, Traits
from synth.policies.kinds.plans import Slot, slots_of
from synth.policies.kinds.sweeps import Some, Sweep, end_of, is_swept, start_of
from synth.policies.names import Names, Tools, TwoReadings

_NEVER = rf"(?P<a>.+?) {MUST} (?:never|not) {HAPPEN}(?: again)?"
_DONE = r"(?: succeeds| has succeeded| (?:happens|has happened)(?: again)?)?"
_UNTIL = r"(?:until|unless|before)"


def _between(m: re.Match[str], names: Names, same: Paths) -> Between:
    """The two stand on both sides of the one `and` that leaves actions there."""
    words = re.split(r"(\s+and\s+)", m["both"])
    sides = [("".join(words[:k]), "".join(words[k + 1 :])) for k in range(1, len(words), 2)]
    fit = [(b, c) for b, c in sides if all(map(partial(_reads, names), (b, c)))]
    if len(fit) > 1:
        raise TwoReadings(
            f"'between {m['both']}' can be split at two places; write a policy for each of the actions"
        )
    (b, c) = fit[0] if fit else sides[0]
    return Between(_triples(m["a"], b, c, names), same=same)


def _until(m: re.Match[str], names: Names, same: Paths) -> Between:
    return Between(_triples(m["a"], m["b"], m["c"], names), same, until=True, failed=bool(m["fails"]))


def _reads(names: Names, text: str) -> bool:
    try:
        return bool(names.list(text))
    except BadInput:
        return False


def _triples(what: str, opens: str, closes: str, names: Names) -> tuple[tuple[Tools, Tools, Tools], ...]:
    return tuple((b, a, c) for b in names.list(opens) for a in names.list(what) for c in names.list(closes))


@dataclass(frozen=True, slots=True)
class Between:
    """Once `opens` has succeeded, `what` must not be called before `closes` has.

    It is forbidden where `opens` had ended when it started, and no `closes` that started after that end and
    succeeded had ended. `between` forbids it only where a `closes` that succeeds starts later; `until` in any
    case. A call of `closes` is never forbidden. With `failed` it is a failure of `opens` that forbids.
    """

    kind: ClassVar[str] = "between"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(rf"{_NEVER} between (?!\d)(?P<both>.+? and .+)", _between, same=True),
        Sentence(
            rf"{_NEVER} after (?!\d)(?P<b>.+?)(?P<fails> {FAILS})? until (?!\d)(?P<c>.+?){_DONE}",
            _until,
            same=True,
        ),
        Sentence(
            rf"{IF} (?!\d)(?P<b>.+?)(?P<fails> {FAILS})?, {_NEVER} until (?!\d)(?P<c>.+?){_DONE}",
            _until,
            same=True,
        ),
    )
    triples: tuple[tuple[Tools, Tools, Tools], ...]
    """(opens, what, closes) each."""
    same: Paths = ()
    until: bool = False
    failed: bool = False

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(tools for triple in self.triples for tools in triple)

    @property
    def traits(self) -> Traits:
        return Traits(
            subjects=tuple(opens for opens, _, _ in self.triples),
            reads=Reads(self.tools if self.same else ()),
        )

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        opened = [triple for triple in self.triples if seen.ended_so(triple[0], self.failed)]
        if not opened:
            return NOT_APPLICABLE
        if self.same and without_arguments(seen, [tools for triple in opened for tools in triple]):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        duties = [duty for triple in opened for duty in self._duties(*triple, seen)]
        if not duties:
            return Judged("ok", (), "Nothing that is forbidden was called.")
        return judge_compared(duties, self.same, seen, rules)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return despite_gaps(judged, opens=partial(self._opens, seen), mends=partial(self._mends, seen))

    def _opens(self, seen: Evidence) -> bool:
        return any(self._may_open(*triple, seen) for triple in self.triples)

    def _may_open(self, opens: Tools, what: Tools, closes: Tools, seen: Evidence) -> bool:
        """May calls that nobody saw, as many as there were, bring one of `what` between the others?"""
        opened, called = seen.gaps.of(opens), unseen_besides(what, opens, seen)
        if opened and not any(seen.ended_so(triple[0], self.failed) for triple in self.triples):
            return True  # it would be ok instead of not applicable
        attempts, closing = seen.attempts(what), set(seen.attempts(closes))
        forbidden = [a for a in besides(attempts, what, opens, seen) if a not in closing and seen.owns(a)]
        closers = _Closers(None if self.until else closes, seen)
        first = sorted(zip(opened.spans, opened.known, strict=True), key=lambda place: place[0])[:3]
        for (lo, _), gap in first:
            first_start = min(
                (start_of(a, seen)[0] for a in forbidden if lo <= start_of(a, seen)[1]), default=inf
            )
            if first_start < inf and closers.may_follow(first_start + 1, gap):
                return True
        stretches = self._stretches(opens, closes, seen)
        for (lo, hi), gap in zip(called.spans, called.known, strict=True):
            start = _start_within(stretches, lo)
            if start is not None and start <= hi and closers.may_follow(start, gap):
                return True
            for (begun, _), other in first:
                able = other is not gap or _holds(gap, 2)
                if able and max(lo, begun) <= hi and closers.may_follow(max(lo, begun), gap, other):
                    return True
        return not self.until and self._closed_later(closes, forbidden, seen)

    def _stretches(self, opens: Tools, closes: Tools, seen: Evidence) -> list[tuple[float, float]]:
        """From when to when it may be forbidden after calls that were seen to open, one after the other."""
        over = sorted((start_of(c, seen)[0], end_of(c, seen)[1]) for c in seen.successes(closes))
        starts = [] if self.same else [start for start, _ in over]
        first = [*accumulate((end for _, end in reversed(over)), min)][::-1]
        found: list[tuple[float, float]] = []
        for lo, hi in sorted(end_of(b, seen) for b in seen.ended_so(opens, self.failed)):
            place = bisect_left(starts, hi)
            until = first[place] if place < len(starts) else inf
            if found and lo <= found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], until)
            else:
                found.append((lo, until))
        return found

    def _closed_later(self, closes: Tools, forbidden: Sequence[int], seen: Evidence) -> bool:
        """May an unseen one of `closes` have made one that was called come between?"""
        latest = max((hi for _, hi in seen.gaps.of(closes).spans), default=-inf)
        if not any(start_of(a, seen)[0] <= latest for a in forbidden):
            return False
        left_open = replace(self, until=True).judge(seen, Rules(z3="off"))
        if left_open.verdict != "violated":
            return left_open.verdict not in ("ok", "not_applicable")
        return any(start_of(a, seen)[0] <= latest for a in left_open.violations)

    def _mends(self, seen: Evidence, call: int) -> bool:
        return any(
            self._may_close(opens, closes, call, seen)
            for opens, what, closes in self.triples
            if seen.calls[call].tool in what
        )

    def _may_close(self, opens: Tools, closes: Tools, call: int, seen: Evidence) -> bool:
        """May an unseen one of `closes` have ended before this call, and begun after what opened?"""
        begun = seen.ended_so(opens, self.failed)
        if self.same:
            begun = Alike(begun, 0, self.same, seen).surely(values_of(call, 0, self.same, seen))
        lo, hi = start_of(call, seen)
        opened = max((end_of(b, seen)[0] for b in begun if end_of(b, seen)[1] <= lo), default=-inf)
        return any(first <= hi and opened <= last for first, last in seen.gaps.of(closes).spans)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """It comes before what opens, or after what closes; or that is done first; or it is left out."""
        call = first_broken(judged, seen)
        if call is None:
            return
        for opens, what, closes in self.triples:
            if seen.calls[call].tool not in what:
                continue
            before = [i for i in seen.ended_so(opens, self.failed) if seen.rank[i] < seen.rank[call]]
            after = [i for i in seen.successes(closes) if seen.rank[i] > seen.rank[call]]
            for i in before[-1:]:
                yield Move(call, i)
            for i in after[:1]:
                yield Move(call, i + 1)
            if self.until:
                yield from call_of(closes, call, seen)
        yield Drop(call)

    def plan_rules(self, slots: Sequence[Slot]) -> Iterator[PlanRule]:
        if self.failed or self.same:
            return  # in a plan every call succeeds, and nothing is known of arguments
        for opens, what, closes in self.triples:
            ends = slots_of(closes, slots)
            for b in slots_of(opens, slots):
                for a in slots_of(what, slots):
                    if a != b and a not in ends:
                        yield partial(_not_between, b, a, ends, self.until)

    def flaws(self) -> tuple[str, ...]:
        return ()

    def _duties(self, opens: Tools, what: Tools, closes: Tools, seen: Evidence) -> Iterator[Compared]:
        """Where arguments count, certain are only those of all three that are surely equal."""
        begun, over = seen.ended_so(opens, self.failed), seen.successes(closes)
        alike = Alike(begun, 0, self.same, seen), Alike(over, 0, self.same, seen)
        made: dict[tuple[int, ...], _Spans] = {}

        def spans(first: Sequence[int], done: Sequence[int], later: Sequence[int]) -> _Spans:
            key = id(first), id(done), id(later)
            if key not in made:
                made[key] = _Spans(first, done, None if self.until else later, seen)
            return made[key]

        pools: dict[object, tuple[Sequence[int], ...]] = {}
        since = f"{opens.phrase} had failed" if self.failed else opens.phrase
        until = f"after {since}, before a success of {closes.phrase}"
        span = until if self.until else f"between {since} and {closes.phrase}"
        closing = set(seen.attempts(closes))
        attempts = [j for j in besides(seen.attempts(what), what, opens, seen) if j not in closing]
        for j in owned(attempts, seen):
            name = what.phrase if "*" not in what.names else seen.calls[j].tool
            said = f"{name} (call {j}) came {span}{with_the_same(self.same)}."
            values = values_of(j, 0, self.same, seen)
            if values.said is None:
                strict = spans(begun, _NONE, over)
                lacking = ((j, 0),) if begun else ()
                yield Compared(strict.duty(j, said), None, lambda lacking=lacking: lacking)  # type: ignore[misc]
                continue
            if values.key not in pools:
                pools[values.key] = (
                    *(one.surely(values) for one in alike),
                    *(_both(one.surely(values), one.perhaps(values), seen) for one in alike),
                )
            first, done, firsts, dones = pools[values.key]
            if len(first) == len(firsts) and len(done) == len(dones):
                duty = spans(first, done, done).duty(j, said)
                yield Compared(duty, duty)
                continue
            strict, lenient = spans(firsts, done, dones), spans(first, dones, done)
            unknown = tuple((i, 0) for i in (*firsts, *dones) if i not in {*first, *done})
            yield Compared(
                strict.duty(j, said),
                lenient.duty(j, said),
                lambda unknown=unknown: unknown,  # type: ignore[misc]
            )


_NONE: tuple[int, ...] = ()


class _Closers:
    """Those that close, seen to succeed or unseen: is there one after what was called?"""

    def __init__(self, closes: Tools | None, seen: Evidence) -> None:
        """None: there needs to be none."""
        self._latest: float | None = inf
        self._unseen: list[tuple[float, Unseen]] = []
        if closes is not None:
            self._latest = max((start_of(c, seen)[1] for c in seen.successes(closes)), default=None)
            gaps = seen.gaps.of(closes)
            self._unseen = [(hi, gap) for (_, hi), gap in zip(gaps.spans, gaps.known, strict=True)]
            self._unseen.sort(key=itemgetter(0), reverse=True)

    def may_follow(self, start: float, *used: Unseen) -> bool:
        """Where one call of each of `used` is something else."""
        seen = self._latest is not None and start <= self._latest
        free = (hi for hi, gap in self._unseen if _holds(gap, 1 + sum(gap is one for one in used)))
        latest = next(free, None)
        return seen or (latest is not None and start <= latest)


def _holds(gap: Unseen, calls: int) -> bool:
    return gap.calls is None or gap.calls >= calls


def _start_within(stretches: Sequence[tuple[float, float]], lo: float) -> float | None:
    """The first instant of one of these, not before `lo`."""
    place = bisect_right(stretches, (lo, inf))
    if place and stretches[place - 1][1] >= lo:
        return lo
    return stretches[place][0] if place < len(stretches) else None


def _both(surely: Sequence[int], perhaps: Sequence[int], seen: Evidence) -> Sequence[int]:
    return sorted({*surely, *perhaps}, key=seen.rank.__getitem__) if perhaps else surely


class _Spans:
    """Calls that open and calls that close, to find out whether another call came between."""

    __slots__ = ("_begun", "_done", "_ends", "_last", "_later", "_latest", "_opens", "_seen", "_sweep")

    def __init__(
        self, opens: Sequence[int], done: Sequence[int], later: Sequence[int] | None, seen: Evidence
    ) -> None:
        """`done` close what is open; one of `later` must come after, None = nothing must."""
        self._seen, self._opens, self._later = seen, opens, later
        self._begun = Ended(opens, seen)
        by_end = sorted((edges_of(seen.times.end(i))[0], i) for i in done)
        self._ends, self._done = [end for end, _ in by_end], [i for _, i in by_end]
        started = ((edges_of(seen.times.start(i))[0], i) for i in self._done)
        self._latest = [i for _, i in accumulate(started, max)]
        """Of those that ended first, up to each: the one that started last."""
        self._last = max(((edges_of(seen.times.start(i))[1], i) for i in later or ()), default=None)
        self._sweep = self._swept(done) if is_swept(seen) else None

    def duty(self, call: int, said: str) -> Duty:
        return Duty(call, _Free(call, self), said, sweep=self._sweep)

    def formula(self, call: int, t: Times) -> Truth:
        """Is the call not between?"""
        seen = self._seen
        start = t.start(call)
        exact = isinstance(seen.times, Fixed)
        opened = self._begun.last_before(call)
        done = self._closing(call, exact)
        later = self._closing_later(call, exact)
        seen.budget.spend(len(opened) * len(done) + len(later))
        open_ = t.any(
            t.all(
                [
                    t.end(b) <= start,
                    *(t.no(t.all((t.end(b) <= t.start(c), t.end(c) <= start))) for c in done),
                ]
            )
            for b in opened
        )
        if self._later is None:
            return t.no(open_)
        return t.no(t.all((open_, t.any(start <= t.start(c) for c in later))))

    def _closing(self, call: int, exact: bool) -> Sequence[int]:
        place = bisect_right(self._ends, edges_of(self._seen.times.start(call))[1])
        found = self._latest[place - 1 : place] if exact and place else self._done[:place]
        return [c for c in found if c != call]

    def _closing_later(self, call: int, exact: bool) -> Sequence[int]:
        if exact:
            return [] if self._last is None else [i for i in (self._last[1],) if i != call]
        lo = edges_of(self._seen.times.start(call))[0]
        return [i for i in self._later or () if i != call and edges_of(self._seen.times.start(i))[1] >= lo]

    def _swept(self, done: Sequence[int]) -> Sweep:
        """What bounds say, at the cost of log n."""
        seen = self._seen
        surely = sorted((end_of(b, seen)[1], end_of(b, seen)[0]) for b in self._opens)
        perhaps = sorted((end_of(b, seen)[0], end_of(b, seen)[1]) for b in self._opens)
        sure_by, sure_last = [hi for hi, _ in surely], [*accumulate((lo for _, lo in surely), max)]
        may_by, may_last = [lo for lo, _ in perhaps], [*accumulate((hi for _, hi in perhaps), max)]
        closing = Some((c, end_of(c, seen), start_of(c, seen)) for c in done)
        starts = [start_of(c, seen) for c in self._later or ()]
        surest, latest = (
            max((lo for lo, _ in starts), default=None),
            max((hi for _, hi in starts), default=None),
        )

        def free(call: int) -> bool | None:
            lo, hi = start_of(call, seen)
            may = bisect_right(may_by, hi)
            if not may or (self._later is not None and (latest is None or latest < lo)):
                return True
            last = may_last[may - 1]
            if closing.holds(call, (lo, lo), (last, last)) is True:
                return True
            sure = bisect_right(sure_by, lo)
            if not sure or (self._later is not None and (surest is None or surest < hi)):
                return None
            begun = sure_last[sure - 1]
            return False if closing.holds(call, (hi, hi), (begun, begun)) is False else None

        return free


@dataclass(frozen=True, slots=True)
class _Free:
    """`call` is not between those that open and those that close."""

    call: int
    spans: _Spans

    def formula(self, t: Times) -> Truth:
        return self.spans.formula(self.call, t)


def _not_between(b: Slot, a: Slot, ends: Sequence[Slot], until: bool, w: Slots) -> Truth:
    """In a plan: `a` is not made between `b` and one of `ends`."""
    closed = [w.all((w.made(c), w.before(b, c), w.before(c, a))) for c in ends if c not in (a, b)]
    later = [] if until else [w.any(w.all((w.made(c), w.before(a, c))) for c in ends if c not in (a, b))]
    return w.any([w.no(w.all((w.made(a), w.made(b), w.before(b, a), *later))), *closed])
