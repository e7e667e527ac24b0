"""One rule of a guard, and what is kept of a run so that most calls are answered without its judge."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from typing import Any

from synth.observed.run import Run, ToolCall
from synth.policies.cased import CaseRule
from synth.policies.evidence import MISSING, Evidence, key_of, value_at
from synth.policies.happened import MOST_TOOLS, Happened
from synth.policies.history import History, Read, read_result
from synth.policies.kinds import KINDS
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.against import Against
from synth.policies.kinds.count import Count
from synth.policies.kinds.duration import Duration
from synth.policies.kinds.ends import FirstCall, LastCall
from synth.policies.kinds.failures import AfterFailures
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.guard import Guard
from synth.policies.kinds.in_a_row import InARow
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.overlap import NoOverlap
from synth.policies.kinds.paired import AsOften, Paired
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.provenance import Provenance
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.kinds.sources import Sources, values_at
from synth.policies.kinds.spent import Lasting, Spent
from synth.policies.kinds.times_before import TimesBefore
from synth.policies.kinds.timetable import Timetable
from synth.policies.kinds.variety import Variety
from synth.policies.kinds.weekdays import Weekdays
from synth.policies.kinds.window import Window
from synth.policies.model import Policy, PolicySet
from synth.policies.names import Tools
from synth.policies.recalled import Recalled

MINUTE = 60 * 10**9
_OURS = frozenset(KINDS)

Quick = Callable[[ToolCall, int], bool]
"""(call, instant) -> does it certainly not break the rule by its start? False: only the judge can tell."""
Make = Callable[["Watched"], Quick]


class Compiled:
    """What of a rule is the same for all runs; made once."""

    __slots__ = (
        "_applying",
        "_concerns",
        "_every",
        "_plain",
        "_reads",
        "_subjects",
        "_tools",
        "alone",
        "by_call",
        "policy",
    )

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        rule, reads = policy.rule, policy.rule.traits.reads
        every = type(rule) not in _OURS or reads is None or reads.others or not rule.tools
        self._every = every or rule.traits.turns or rule.traits.messages
        self._reads = reads
        more = () if reads is None else (*reads.arguments, *reads.results)
        offered = tuple(Tools(tool, (tool,)) for tool in policy.applies.tools)
        self._tools = (*rule.tools, *more, *policy.applies.calls, *offered)
        self._applying = tuple(group for group in (policy.applies.calls, offered) if group)
        """Groups of actions: the rule is one for runs with a call of each."""
        self._concerns: dict[str, bool] = {}
        self._plain = all(tools.is_whole for tools in rule.tools)
        self._subjects = rule.what if isinstance(rule, Guard | Provenance) else None
        self.by_call = isinstance(rule, Guard | Provenance)
        """Is each call judged by itself, so that of those before nothing is asked again?"""
        self.alone = not self._applying and (
            isinstance(rule, Window | Weekdays | Timetable | Spent)
            or (isinstance(rule, Guard) and not rule.history and not self._every)
        )
        """Are the calls before the proposed one nothing to the rule?"""

    def concerns(self, tool: str) -> bool:
        """Does the rule look at calls of the tool?"""
        found = self._concerns.get(tool)
        if found is None:
            _make_room(self._concerns)
            found = self._concerns[tool] = self._every or any(tool in tools for tools in self._tools)
        return found

    def may_break(self, tool: str) -> Make | None:
        """What makes, for a run, the quick answer about calls of the tool; None: none can break the rule."""
        make = self._may_break_what_applies(tool)
        if not any(tool in tools for group in self._applying for tools in group):
            return make

        def once_it_applies(watched: Watched) -> Quick:
            quick = None if make is None else make(watched)
            return lambda made, at: not watched.begins_with(made) and (quick is None or quick(made, at))

        return once_it_applies

    @property
    def needs_calls(self) -> bool:
        """Is the rule one only for runs that offer a tool, or have certain calls?"""
        return bool(self._applying)

    def begins_with(self, tool: str, started: Collection[str]) -> bool:
        """May a call of the tool make the rule one for a run that had only calls of these?"""
        lacking = [
            group
            for group in self._applying
            if not any(tools.is_whole and one in tools for tools in group for one in started)
        ]
        return any(tool in tools for group in lacking for tools in group)

    def _may_break_what_applies(self, tool: str) -> Make | None:
        about = any(tool in tools for tools in self._subjects) if self._subjects else self.concerns(tool)
        if not about:
            return None
        quick = QUICK.get(type(self.policy.rule)) if self._plain else None
        return _judged if quick is None else quick(self.policy.rule, tool)

    def hears(self, tool: str) -> bool:
        """Is something kept of successes of the tool?"""
        rule: Any = self.policy.rule
        if isinstance(rule, Precedence):
            return bool(rule.same) and any(tool in first for first, _ in rule.pairs)
        if isinstance(rule, Provenance):
            return any(tool in tools for tools in rule.sources)
        if not isinstance(rule, Guard):
            return False
        return self._reads is None or self._reads.others or any(tool in one for one in self._reads.results)


def _make_room(by_tool: dict[str, Any]) -> None:
    if len(by_tool) >= MOST_TOOLS:
        by_tool.clear()


class CompiledRules:
    """The rules of a file, with those that calls of each tool touch."""

    __slots__ = ("_breaking", "_hearing", "each")

    def __init__(self, policies: PolicySet) -> None:
        self.each = tuple(map(Compiled, policies.policies))
        self._breaking: dict[str, list[tuple[int, Make]]] = {}
        self._hearing: dict[str, list[int]] = {}

    @classmethod
    def of(cls, policies: PolicySet) -> CompiledRules:
        found: CompiledRules | None = policies.kept.get("watched")
        if found is None:
            found = policies.kept["watched"] = cls(policies)
        return found

    def breaking(self, tool: str) -> list[tuple[int, Make]]:
        """Those that a call of the tool may break by its start."""
        found = self._breaking.get(tool)
        if found is None:
            made = ((place, one.may_break(tool)) for place, one in enumerate(self.each))
            _make_room(self._breaking)
            found = self._breaking[tool] = [(place, make) for place, make in made if make is not None]
        return found

    def hearing(self, tool: str) -> list[int]:
        """Those that keep something of successes of the tool."""
        found = self._hearing.get(tool)
        if found is None:
            _make_room(self._hearing)
            found = self._hearing[tool] = [place for place, one in enumerate(self.each) if one.hears(tool)]
        return found


class Watched:
    """One rule, and what is kept of a run for quick answers about it."""

    __slots__ = (
        "_next",
        "_read",
        "_same",
        "_seen",
        "_sources",
        "_unread",
        "alone",
        "by_call",
        "compiled",
        "happened",
        "minutes",
        "policy",
        "recalled",
        "takes_success",
    )

    def __init__(self, compiled: Compiled, happened: Happened) -> None:
        self.compiled, self.happened, self.policy = compiled, happened, compiled.policy
        self.alone, self.by_call = compiled.alone, compiled.by_call
        rule = self.policy.rule
        self.takes_success = isinstance(rule, CaseRule)
        """Is the proposed call taken to do what it is made for, whatever comes of it?"""
        self._read: Read = ({}, {}, {})
        self._sources: Sources | None = None
        if isinstance(rule, Provenance) and all(tools.is_whole for tools in rule.sources):
            self._sources = Sources()
        self.recalled: Recalled | None = None
        if isinstance(rule, Guard) and rule.of_calls_alone:
            self.recalled = Recalled(rule)
        self._unread: list[tuple[int, ToolCall]] = []
        """Successes whose results are not in the sources yet."""
        self._same: list[set[Any]] = []
        """For each pair, the values that successes of its first action had."""
        if isinstance(rule, Precedence) and rule.same:
            self._same = [set() for _ in rule.pairs]
        self._seen: list[int] = []
        self._next = 0
        """The first position that is not looked at yet."""
        self.minutes: dict[str, int] = {}
        """Tool -> the minute in which the judge last allowed a call of it."""

    def rest(self, run: Run) -> tuple[str, ...]:
        """The calls of a plan that works after this run, where the rule knows one."""
        rule: Any = self.policy.rule
        return rule.rest(run) if self.takes_success else ()

    @property
    def seen(self) -> list[int]:
        """Positions of the calls that the rule looks at; always the same list."""
        calls = self.happened.calls
        for position in range(self._next, len(calls)):
            if self.compiled.concerns(calls[position].tool):
                for part in self._read:  # of one that was refused in its place
                    part.pop(len(self._seen), None)
                self._seen.append(position)
        self._next = len(calls)
        return self._seen

    @property
    def kept(self) -> Sequence[int]:
        """Positions of the calls that the rule looks at, with which the proposed one is judged."""
        return () if self.alone else self.seen

    def allowed(self, made: ToolCall, at: int, *, applies: bool) -> None:
        """The judge lets a call begin; `applies`: the rule is one for the run."""
        if at % MINUTE and (applies or not self.compiled.needs_calls):
            self.minutes[made.tool] = at // MINUTE

    def begins_with(self, made: ToolCall) -> bool:
        """May the rule be one for the run only since the proposed call? Then those before may break it."""
        return self.compiled.begins_with(made.tool, self.happened.started)

    def remind(self, seen: Evidence) -> None:
        """Give the judge what was read of the earlier calls before."""
        if self.by_call:
            History.going_on(seen, self._read)
        if (sources := self.sources()) is not None:
            rule: Any = self.policy.rule
            seen.cache[rule.place] = sources

    def sources(self) -> Sources | None:
        """What the results hold so far in which a value must be found."""
        if self._sources is not None and self._unread:
            rule: Any = self.policy.rule
            for position, call in self._unread:
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

    def succeeded(self, position: int, call: ToolCall) -> None:
        """Keep what is needed of a success that is heard of."""
        if self._same:
            rule: Any = self.policy.rule
            for pair, (first, _) in enumerate(rule.pairs):
                if call.tool in first and (values := self._values_of(call, 0)) is not None:
                    self._same[pair].add(values)
        elif self._sources is not None:
            self._unread.append((position, call))
        elif self.recalled is not None:
            self.recalled.take(position, call)


# ------------------------------- for calls of one tool: what says at once that one does not break the rule


def _never(made: ToolCall, at: int) -> bool:
    return False


def _judged(watched: Watched) -> Quick:
    return _never


def _those_of(tools: Tools) -> Callable[[Collection[str]], list[str]]:
    """Which of some names of tools stand for an action; those that it names in full are looked up."""
    names = tuple(dict.fromkeys(tools.names))
    if tools.in_full:
        return lambda there: [name for name in names if name in there]
    return lambda there: [name for name in there if name in tools]


def _precedence(rule: Any, tool: str) -> Make | None:
    asked = [pair for pair, (_, then) in enumerate(rule.pairs) if tool in then]
    firsts = [_those_of(rule.pairs[pair][0]) for pair in asked]

    def of_the_same(watched: Watched) -> Quick:
        return lambda made, at: all(watched.has_same(pair, made) for pair in asked)

    def of_any(watched: Watched) -> Quick:
        succeeded = watched.happened.succeeded
        return lambda made, at: all(any(succeeded[one] <= at for one in of(succeeded)) for of in firsts)

    return (of_the_same if rule.same else of_any) if asked else None


def _absence(rule: Any, tool: str) -> Make | None:
    if rule.but is not None and tool in rule.but:
        return None
    triggers = [_those_of(trigger) for trigger, what in rule.pairs if tool in what]

    def untriggered(watched: Watched) -> Quick:
        done: Collection[str] = watched.happened.failed if rule.failed else watched.happened.succeeded
        return lambda made, at: not any(of(done) for of in triggers)

    return untriggered if triggers else None


def _next_call(rule: Any, tool: str) -> Make | None:
    """Only where an answer may be owed can a call begin wrongly; the answer itself never does."""
    triggers = [_those_of(trigger) for trigger, answer in rule.pairs if rule.same or tool not in answer]

    def nothing_owed(watched: Watched) -> Quick:
        done: Collection[str] = watched.happened.failed if rule.failed else watched.happened.succeeded
        return lambda made, at: not any(of(done) for of in triggers)

    return nothing_owed if triggers else None


def _few(rule: Any, tool: str) -> Make | None:
    """Rules that limit how many calls of an action there are."""
    limited, most = [_those_of(tools) for tools in rule.what if tool in tools], rule.most
    if limited and isinstance(rule, Rate) and rule.each:
        limited = [_those_of(Tools(tool, (tool,)))]

    def few(watched: Watched) -> Quick:
        started = watched.happened.started
        return lambda made, at: all(sum(map(started.__getitem__, of(started))) < most for of in limited)

    return few if limited else None


def _count(rule: Any, tool: str) -> Make | None:
    return None if rule.most is None or rule.least is not None else _few(rule, tool)


def _by_the_clock(rule: Any, tool: str) -> Make | None:
    """What was allowed is allowed until the minute is over: limits of the clock are whole minutes."""

    def this_minute(watched: Watched) -> Quick:
        minutes = watched.minutes
        return lambda made, at: minutes.get(tool) == at // MINUTE and at % MINUTE > 0

    return this_minute


def _lasting(rule: Any, tool: str) -> Make | None:
    def in_time(watched: Watched) -> Quick:
        calls = watched.happened.calls
        return lambda made, at: (
            not calls or (calls[0].start is not None and at <= calls[0].start[0] + rule.most)
        )

    return in_time


def _spent(rule: Any, tool: str) -> Make | None:
    def affords(watched: Watched) -> Quick:
        used = watched.happened.used

        def quick(made: ToolCall, at: int) -> bool:
            counted = [rule.of(model, *tokens) for model, tokens in used.items()]
            return (
                bool(counted)
                and not any(why for _, why in counted)
                and sum(n for n, _ in counted) <= rule.most
            )

        return quick

    return affords


def _then(rule: Any, tool: str) -> Make | None:
    """Only calls of `then` can begin wrongly."""
    return _judged if any(tool in then for _, then in rule.pairs) else None


def _overlap(rule: Any, tool: str) -> Make | None:
    def nothing_runs(watched: Watched) -> Quick:
        running, concerns = watched.happened.running, watched.compiled.concerns
        return lambda made, at: not any(map(concerns, running.values()))

    return nothing_runs


def _response(rule: Any, tool: str) -> Make | None:
    return None


def _limited(rule: Any, tool: str) -> Make | None:
    """Only calls of what is limited can begin wrongly; those of a least number never do."""
    return _judged if rule.most is not None and any(tool in tools for tools in rule.what) else None


def _against(rule: Any, tool: str) -> Make | None:
    return _judged if tool in rule.what else None


def _first_call(rule: Any, tool: str) -> Make | None:
    """Only the first call can begin wrongly."""
    if tool in rule.what:
        return None
    return lambda watched: lambda made, at: bool(watched.happened.calls)


def _guard(rule: Any, tool: str) -> Make | None:
    def recalling(watched: Watched) -> Quick:
        recalled = watched.recalled
        return _never if recalled is None else lambda made, at: recalled.allows(made)

    return recalling


def _provenance(rule: Any, tool: str) -> Make | None:
    """A value that an earlier result certainly holds came from there."""

    def found(watched: Watched) -> Quick:
        def quick(made: ToolCall, at: int) -> bool:
            sources = None if made.partly or made.arguments is None else watched.sources()
            return sources is not None and all(
                next(iter(sources.with_value(value)), None) is not None
                for value in values_at(made.arguments, rule.argument)
            )

        return quick

    return found


QUICK: dict[type[Any], Callable[[Any, str], Make | None]] = {
    Precedence: _precedence,
    AbsenceAfter: _absence,
    Count: _count,
    Response: _response,
    Rate: _few,
    Adjacency: _then,
    NextCall: _next_call,
    Gap: _then,
    TimesBefore: _then,
    AfterFailures: _then,
    Paired: _then,
    Against: _against,
    AsOften: _response,
    Duration: _response,
    LastCall: _response,
    FirstCall: _first_call,
    InARow: _limited,
    Variety: _limited,
    NoOverlap: _overlap,
    Guard: _guard,
    Provenance: _provenance,
    Window: _by_the_clock,
    Weekdays: _by_the_clock,
    Timetable: _by_the_clock,
    Lasting: _lasting,
    Spent: _spent,
}
