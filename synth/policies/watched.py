"""One rule of a guard, and what is kept of a run so that most calls are answered without its judge."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from synth.observed.run import Run, ToolCall
from synth.policies.cased import CaseRule
from synth.policies.evidence import MISSING, Evidence, key_of, value_at
from synth.policies.history import History, Read, read_result
from synth.policies.kinds import KINDS
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.count import Count
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.guard import Guard
from synth.policies.kinds.overlap import NoOverlap
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.provenance import Provenance
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.kinds.sources import Sources, values_at
from synth.policies.kinds.weekdays import Weekdays
from synth.policies.kinds.window import Window
from synth.policies.model import Policy
from synth.policies.names import Tools
from synth.policies.recalled import Recalled, keeps

MINUTE = 60 * 10**9
_OURS = frozenset(KINDS)


class Watched:
    """One rule, and what is kept of the run for quick answers about it."""

    __slots__ = (
        "_alone",
        "_every",
        "_quick",
        "_read",
        "_same",
        "_sources",
        "_subjects",
        "_tools",
        "_unread",
        "by_call",
        "calls",
        "ends",
        "failed",
        "minutes",
        "policy",
        "recalled",
        "running",
        "seen",
        "takes_success",
    )

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        rule, reads = policy.rule, policy.rule.traits.reads
        self._every = type(rule) not in _OURS or reads is None or reads.others or not rule.tools
        self._every = self._every or rule.traits.turns or rule.traits.messages
        more = () if reads is None else (*reads.arguments, *reads.results)
        offered = tuple(Tools(tool, (tool,)) for tool in policy.applies.tools)
        self._tools = (*rule.tools, *more, *policy.applies.calls, *offered)
        plain = all(tools.agent is None for tools in rule.tools)
        self._alone = isinstance(rule, Window | Weekdays) or (
            isinstance(rule, Guard) and not rule.history and not self._every and not policy.applies.calls
        )
        self._quick: Callable[[Watched, ToolCall, int], bool] | None = (
            QUICK.get(type(rule)) if plain else None
        )
        self.by_call = isinstance(rule, Guard | Provenance)
        """Is each call judged by itself, so that of those before nothing is asked again?"""
        self.takes_success = isinstance(rule, CaseRule)
        """Is the proposed call taken to do what it is made for, whatever comes of it?"""
        self._subjects = rule.what if isinstance(rule, Guard | Provenance) else None
        self._read: Read = ({}, {}, {})
        self._sources: Sources | None = None
        if isinstance(rule, Provenance) and all(tools.agent is None for tools in rule.sources):
            self._sources = Sources()
        self.recalled: Recalled | None = None
        if isinstance(rule, Guard) and rule.of_calls_alone:
            self.recalled = Recalled()
        self._unread: list[tuple[int, ToolCall]] = []
        """Successes whose results are not in the sources yet."""
        self._same: list[set[Any]] = [set() for _ in rule.pairs] if isinstance(rule, Precedence) else []
        """For each pair, the values that successes of its first action had."""
        self.seen: list[int] = []
        """Positions of the calls that the rule looks at."""
        self.calls: dict[str, int] = {}
        """How many each of their tools had."""
        self.ends: dict[str, int] = {}
        """Tool -> the instant at which it first succeeded."""
        self.failed: set[str] = set()
        """Tools of which a call failed."""
        self.minutes: dict[str, int] = {}
        """Tool -> the minute in which the judge last allowed a call of it."""
        self.running: set[int] = set()

    def asked_about(self, tool: str) -> bool:
        """May a call of the tool break the rule by its start?"""
        if self._subjects is not None:
            return any(tool in tools for tools in self._subjects)
        return self.concerns(tool)

    def concerns(self, tool: str) -> bool:
        """Does the rule look at calls of the tool?"""
        return self._every or any(tool in tools for tools in self._tools)

    def surely_allows(self, made: ToolCall, at: int) -> bool:
        return self._quick is not None and self._quick(self, made, at)

    def rest(self, run: Run) -> tuple[str, ...]:
        """The calls of a plan that works after this run, where the rule knows one."""
        rule: Any = self.policy.rule
        return rule.rest(run) if self.takes_success else ()

    @property
    def kept(self) -> Sequence[int]:
        """Positions of the calls that the rule looks at, with which the proposed one is judged."""
        return () if self._alone else self.seen

    def began(self, position: int, call: ToolCall) -> None:
        """A call that the rule looks at has begun."""
        for part in self._read:  # of one that was refused in its place
            part.pop(len(self.seen), None)
        self.seen.append(position)
        self.calls[call.tool] = self.calls.get(call.tool, 0) + 1
        self.running.add(position)

    def remind(self, seen: Evidence) -> None:
        """Give the judge what was read of the earlier calls before."""
        if self.by_call:
            History.going_on(seen, self._read)
        if (sources := self.sources()) is not None:
            rule: Any = self.policy.rule
            seen.cache[rule.place] = sources

    def sources(self) -> Sources | None:
        """What the results hold so far in which a value must be found."""
        if self._sources is not None:
            rule: Any = self.policy.rule
            for position, call in self._unread:
                if any(call.tool in tools for tools in rule.sources):
                    place = bisect_left(self.seen, position)
                    result = read_result(call, f"the result of {call.tool} (call {place})")
                    rule.take(place, result, self._sources)
            self._unread.clear()
        return self._sources

    def has_same(self, pair: int, made: ToolCall) -> bool:
        """Has a success of the pair's first action had the values that the call has?"""
        values = self._values_of(made, 1)
        return values is not None and values in self._same[pair]

    def _values_of(self, call: ToolCall, side: int) -> Any:
        """None where not all of them are there and known."""
        rule: Any = self.policy.rule
        said = () if call.partly else tuple(value_at(call.arguments, pair[side]) for pair in rule.same)
        if len(said) < len(rule.same) or MISSING in said:
            return None
        return tuple(map(key_of, said))

    def _take(self, call: ToolCall) -> None:
        rule: Any = self.policy.rule
        for pair, (first, _) in enumerate(rule.pairs if rule.same else ()):
            if call.tool in first and (values := self._values_of(call, 0)) is not None:
                self._same[pair].add(values)

    def ended(self, position: int, call: ToolCall, end: int) -> None:
        """One of those is over."""
        self.running.discard(position)
        if not call.succeeded:
            self.failed.add(call.tool)
            return
        self.ends.setdefault(call.tool, end)
        if self._same:
            self._take(call)
        elif self._sources is not None:
            self._unread.append((position, call))
        elif self.recalled is not None:
            self.recalled.take(position, call)

    def succeeded_before(self, tools: Tools, at: int) -> bool:
        return any(end <= at and tool in tools for tool, end in self.ends.items())

    def started(self, tools: Tools) -> int:
        return sum(calls for tool, calls in self.calls.items() if tool in tools)


# ---------------------------------------------------------------- quick answers: it cannot break the rule


def _precedence(watched: Watched, made: ToolCall, at: int) -> bool:
    rule: Any = watched.policy.rule
    return all(
        made.tool not in then
        or (watched.has_same(pair, made) if rule.same else watched.succeeded_before(first, at))
        for pair, (first, then) in enumerate(rule.pairs)
    )


def _absence(watched: Watched, made: ToolCall, at: int) -> bool:
    rule: Any = watched.policy.rule
    done = watched.failed if rule.failed else watched.ends
    return not any(made.tool in what and any(t in trigger for t in done) for trigger, what in rule.pairs)


def _count(watched: Watched, made: ToolCall, at: int) -> bool:
    rule: Any = watched.policy.rule
    if rule.most is None or rule.least is not None:
        return True
    return all(made.tool not in tools or watched.started(tools) < rule.most for tools in rule.what)


def _rate(watched: Watched, made: ToolCall, at: int) -> bool:
    rule: Any = watched.policy.rule
    return all(made.tool not in tools or watched.started(tools) < rule.most for tools in rule.what)


def _by_the_clock(watched: Watched, made: ToolCall, at: int) -> bool:
    """What was allowed is allowed until the minute is over: limits of the clock are whole minutes."""
    return watched.minutes.get(made.tool) == at // MINUTE and at % MINUTE > 0


def _subjects(watched: Watched, made: ToolCall, at: int) -> bool:
    """Only calls of `then` can begin wrongly."""
    rule: Any = watched.policy.rule
    return not any(made.tool in then for _, then in rule.pairs)


def _overlap(watched: Watched, made: ToolCall, at: int) -> bool:
    return not watched.running


def _response(watched: Watched, made: ToolCall, at: int) -> bool:
    return True


def _guard(watched: Watched, made: ToolCall, at: int) -> bool:
    rule: Any = watched.policy.rule
    return watched.recalled is not None and keeps(rule, made, watched.recalled)


def _provenance(watched: Watched, made: ToolCall, at: int) -> bool:
    """A value that an earlier result certainly holds came from there."""
    rule: Any = watched.policy.rule
    sources = None if made.partly or made.arguments is None else watched.sources()
    return sources is not None and all(
        next(iter(sources.with_value(value)), None) is not None
        for value in values_at(made.arguments, rule.argument)
    )


QUICK: dict[type[Any], Callable[[Watched, ToolCall, int], bool]] = {
    Precedence: _precedence,
    AbsenceAfter: _absence,
    Count: _count,
    Response: _response,
    Rate: _rate,
    Adjacency: _subjects,
    Gap: _subjects,
    NoOverlap: _overlap,
    Guard: _guard,
    Provenance: _provenance,
    Window: _by_the_clock,
    Weekdays: _by_the_clock,
}
