"""Equal fields: order, answers, bans and counts among calls that are given the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from synth.formal.partly import key_of
from synth.observed.run import Run
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.mining.mined import FEWEST, Mined, bits, is_name, moved, one_more, shuffled
from synth.policies.mining.seen import MOST_SEARCHED, Seen, some

CHAINED = ("precedence_same", "response_same")
"""Kinds of which two rules may make a third."""
MOST_FIELDS = 6
"""Of one tool, the most frequent."""

Given = list[tuple[int, bool, Any]]
"""(place, did it succeed, the value) of each attempt at a tool."""


def equal_fields(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """Rules among calls with the same value of one field, of which the strongest field is taken."""
    seen = some(seen, MOST_SEARCHED)
    fields = _fields(seen, frozenset(tools))
    best: dict[tuple[str, tuple[str, ...]], Mined] = {}
    for field in sorted({name for names in fields.values() for name in names}):
        own = frozenset(tool for tool, names in fields.items() if field in names)
        for one in _of_field(field, own, seen):
            if one is not None and one.surprise > (
                best[key].surprise if (key := (one.kind, one.tools)) in best else 0
            ):
                best[key] = one
            yield None
    yield from (one for one in best.values() if not _follows(one, best))


def _follows(one: Mined, best: Mapping[tuple[str, tuple[str, ...]], Mined]) -> bool:
    """Does it follow from two others, as `a` before `c` does from `a` before `b` and `b` before `c`?"""
    if one.kind not in CHAINED:
        return False
    first, then = one.tools
    return any(
        kind == one.kind
        and by[0] == first
        and half.same == one.same
        and (rest := best.get((kind, (by[-1], then)))) is not None
        and rest.same == one.same
        for (kind, by), half in best.items()
    )


def _fields(seen: Sequence[Seen], tools: frozenset[str]) -> dict[str, list[str]]:
    """The arguments that calls of each tool have, texts and whole numbers."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in seen:
        for tool, calls in one.attempts.items():
            said = one.run.calls[calls[0]].arguments
            if tool in tools and isinstance(said, dict):
                found[tool].update(
                    name for name, value in said.items()
                    if isinstance(value, str | int) and not isinstance(value, bool) and is_name(name)
                )  # fmt: skip
    return {tool: [name for name, _ in names.most_common(MOST_FIELDS)] for tool, names in found.items()}


def _of_field(field: str, tools: frozenset[str], seen: Sequence[Seen]) -> Iterator[Mined | None]:
    runs = [_given(one, field, tools) for one in seen]
    bare = {tool for one in runs for tool, calls in one.items() if calls is None}
    known: list[dict[str, Given]] = [
        {tool: calls for tool, calls in one.items() if calls is not None and tool not in bare} for one in runs
    ]
    tools = tools - bare
    yield from _once(field, tools, known)
    values: dict[str, set[Any]] = defaultdict(set)
    for one in known:
        for tool, calls in one.items():
            values[tool].update(value for _, _, value in calls)
    pairs: dict[tuple[str, str], _Pair] = {}
    for one in known:
        for first, early in one.items():
            for then, late in one.items():
                if first != then:
                    pairs.setdefault((first, then), _Pair()).look(early, late)
        for then, late in one.items():
            for first in tools - one.keys():
                pairs.setdefault((first, then), _Pair()).alone(late)
                pairs.setdefault((then, first), _Pair()).unanswered(late)
    for (first, then), pair in sorted(pairs.items()):
        pool = len(values[first] | values[then])
        yield from pair.rules(field, first, then, pool)


def _given(one: Seen, field: str, tools: frozenset[str]) -> dict[str, Given | None]:
    """tool -> its attempts; None where one of them lacks the field."""
    found: dict[str, Given | None] = {}
    for tool, calls in one.attempts.items():
        if tool in tools:
            values = [one.argument(i, field) for i in calls]
            found[tool] = (
                None
                if any(not isinstance(value, str | int | float) for value in values)
                else [
                    (one.rank(i), one.run.calls[i].succeeded, key_of(v))
                    for i, v in zip(calls, values, strict=True)
                ]
            )
    return found


class _Pair:
    """Two tools in the runs."""

    __slots__ = ("absence", "answered", "banned", "before", "follows", "forbade", "matched", "met", "order")

    def __init__(self) -> None:
        self.before = self.follows = self.absence = True
        """Which of the rules still hold."""
        self.matched: list[int] = []
        """How many values the first one was given, of each run in which the second needed one of them."""
        self.answered: list[int] = []
        self.order = [0.0, 0.0]
        """What speaks for the order alone, of a need and of an answer."""
        self.banned = 0.0
        self.forbade = 0
        self.met = 0
        """Runs in which the second came after the first with another value."""

    def look(self, early: Given, late: Given) -> None:
        done: dict[Any, int] = {}
        for place, good, value in early:
            if good:
                done.setdefault(value, place)
        if self.before:
            self.before = all(done.get(value, math.inf) < place for place, _, value in late)
            self.matched.append(len({value for place, _, value in early if place < late[0][0]}) or 1)
            self.order[0] += bits(max(1, sum(good for _, good, _ in early)) / (len(early) + len(late)))
        last: dict[Any, int] = {value: place for place, good, value in late if good}
        if self.follows and done:
            asked = {value: place for place, good, value in early if good}
            self.follows = all(last.get(value, -1) > place for value, place in asked.items())
            self.answered.append(len({value for _, _, value in late}))
            self.order[1] += bits(max(1, len(last)) / (len(early) + len(late)))
        if self.absence:
            both = {value for _, _, value in late} & done.keys()
            self.absence = all(place < done.get(value, math.inf) for place, _, value in late)
            for value in both:
                a, b = sum(v == value for _, _, v in late), sum(v == value and g for _, g, v in early)
                self.banned += math.log2(math.comb(a + b, b))
            self.forbade += bool(both)
            self.met += any(place > min(done.values()) for place, _, _ in late) if done else 0

    def alone(self, late: Given) -> None:
        """The second without the first."""
        self.before = False

    def unanswered(self, early: Given) -> None:
        """The first without the second."""
        self.follows = self.follows and not any(good for _, good, _ in early)

    def rules(self, field: str, first: str, then: str, pool: int) -> Iterator[Mined | None]:
        same = (((field,), (field,)),)

        def stated(kind: str, sentence: str, rule: type[Any], support: int, surprise: float) -> Mined:
            return Mined(
                kind, (first, then), support, surprise,
                lambda named: rule(((named(first), named(then)),), same=same),
                f"{sentence} with the same {field}.", f"{sentence.replace(' must', '')} same {field}",
                lambda run, chance: _other_value(run, chance.choice((first, then)), field, chance),
                "with another value", little=partial(_changed, (first, then), field), same=field,
            )  # fmt: skip

        order, after = (
            min(by_order, sum(bits(min(1.0, values / pool)) for values in given))
            for by_order, given in zip(self.order, (self.matched, self.answered), strict=True)
        )
        yield (
            stated("precedence_same", "{0} must happen before {1}", Precedence, len(self.matched), order)
            if self.before and len(self.matched) >= FEWEST
            else None
        )
        yield (
            stated("response_same", "{0} must be followed by {1}", Response, len(self.answered), after)
            if self.follows and len(self.answered) >= FEWEST
            else None
        )
        if self.absence and min(self.forbade, self.met) >= FEWEST:
            made = stated(
                "absence_same", "{1} must never happen after {0}", AbsenceAfter, self.forbade, self.banned
            )
            yield replace(made, breaks=shuffled, little=moved, copies="in another order")
        else:
            yield None


def _changed(tools: tuple[str, str], field: str, run: Run, chance: Random) -> Run:
    """One call fewer, or one with another value."""
    tool = chance.choice(tools)
    if chance.random() < 0.5:
        return _other_value(run, tool, field, chance)
    gone = chance.choice([k for k, call in enumerate(run.calls) if call.tool == tool])
    return replace(run, calls=tuple(call for k, call in enumerate(run.calls) if k != gone))


def _other_value(run: Run, tool: str, field: str, chance: Random) -> Run:
    """The first call of the tool with a value that no other call has."""
    first = min(k for k, call in enumerate(run.calls) if call.tool == tool)
    calls = list(run.calls)
    other = f"other-{chance.getrandbits(32)}"
    calls[first] = replace(calls[first], arguments={**calls[first].arguments, field: other})
    return replace(run, calls=tuple(calls))


def _once(field: str, tools: frozenset[str], runs: Sequence[Mapping[str, Given]]) -> Iterator[Mined | None]:
    """At most once with the same value, where the calls of other tools share values."""
    again: set[str] = set()
    several: Counter[str] = Counter()
    surprise: dict[str, float] = defaultdict(float)
    for one in runs:
        shared = Counter(value for calls in one.values() for _, _, value in calls)
        for tool, calls in one.items():
            if len({value for _, _, value in calls}) < len(calls):
                again.add(tool)
            elif len(calls) > 1:
                several[tool] += 1
                surprise[tool] += bits(_all_differ(len(calls), list(shared.values())))
    same = (((field,), (field,)),)
    for tool in sorted(tools):
        if tool in again or several[tool] < FEWEST:
            yield None
            continue
        yield Mined(
            "rate_same", (tool,), several[tool], surprise[tool],
            lambda named, tool=tool: Rate((named(tool),), 1, None, same),  # type: ignore[misc]
            f"{{0}} must happen at most 1 time with the same {field}.", f"{{0}} at most 1 same {field}",
            lambda run, _, tool=tool: one_more(run, tool), "with one call more",  # type: ignore[misc]
        )  # fmt: skip


def _all_differ(calls: int, counts: Sequence[int]) -> float:
    """How likely so many calls differ in value, taken from all that have a value so many times each."""
    ways = [1, *[0] * calls]
    for count in counts:
        for k in range(calls, 0, -1):
            ways[k] += ways[k - 1] * count
    return ways[calls] / math.comb(sum(counts), calls)
