"""One run, indexed for many policies: calls by tool, instants, values of arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile
from typing import Any

from synth.formal.budget import Budget
from synth.formal.constraints import Bounded, Fixed, edges_of
from synth.formal.partly import REST, Unknown, Why, key_of
from synth.frozen import quick
from synth.observed.clocks import by_any_clock
from synth.observed.instants import instants, observed_order, tell_times
from synth.observed.marks import has_marks, known
from synth.observed.run import FIELDS_LOST, Run, ToolCall
from synth.policies.gaps import Gaps
from synth.policies.names import Key, Tools
from synth.policies.nouns import Each, It, Noun
from synth.policies.where import Of, Where

__all__ = ["MISSING", "NO_GAPS", "Each", "Evidence", "It", "Noun", "Pair", "key_of", "made_by", "value_at"]

NO_GAPS = Gaps(Run("", ()), Fixed({}, {}), ())
_RUN_FIELDS = {
    "id", "agent", "source", "model", "query", "versions", "environment", "status", "case_id", "labels",
    "iterations",
}  # fmt: skip

_OF_THE_RUN = ("latest start", "partly known", "steps", "swept")
"""What is kept in the cache and is the same whatever is taken to be so."""
Pair = tuple[tuple[str, ...], tuple[str, ...]]
"""Paths of arguments that must hold equal values: of the earlier call, of the later one."""
MISSING = object()
"""Stands for a value that is not there; JSON has no such value."""


@quick
@dataclass(frozen=True, slots=True)
class Part:
    """One of the runs that were joined: what is found is asked of its calls alone."""

    calls: range
    """Their positions."""
    last: bool = True
    """Is it also asked what all calls together owe, such as a minimum of calls?"""


@dataclass(slots=True)
class Evidence:
    """What a run shows. Policies only read it; each index is made when the first policy needs it."""

    run: Run
    timezone: str = "UTC"
    aliases: Mapping[str, str] = field(default_factory=dict)
    skew_ns: int = 0
    part: Part | None = None
    until: int | None = None
    """Wall-clock ns: every call that began by then has been seen. None = not known of an open run."""
    _by_tool: dict[str, list[int]] | None = None
    _by_action: dict[tuple[Key, bool], list[int]] = field(default_factory=dict)
    _times: Fixed | Bounded | None = None
    _rank: list[int] | None = None
    _order: list[int] | None = None
    _unplaced: set[int] | None = None
    _gaps: Gaps | None = None
    _known: dict[int, Any] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    """What the policy in hand may still cost; `judge_policies` gives each its own."""
    cache: dict[str, Any] = field(default_factory=dict)
    """What single kinds keep about this run, by their own key."""
    taken: Mapping[tuple[Where, int], bool] = field(default_factory=dict)
    """Calls of which it is open whether they meet a condition -> how it is taken here."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self.run.calls

    @property
    def order(self) -> list[int]:
        """Positions of the calls in observed order."""
        if self._order is None:
            self._order = observed_order(self.calls)
        return self._order

    @property
    def rank(self) -> list[int]:
        """Position of a call -> its place in observed order."""
        if self._rank is None:
            self._rank = [0] * len(self.calls)
            for k, i in enumerate(self.order):
                self._rank[i] = k
        return self._rank

    @property
    def unplaced(self) -> set[int]:
        """Calls of which it is open which call of the run they are: their place among the others."""
        if self._unplaced is None:
            self._unplaced = set(_in_doubt(self.rank, self.times))
        return self._unplaced

    @property
    def times(self) -> Fixed | Bounded:
        """Instants of every call by position: wall-clock ns, or places in the order where times miss."""
        if self._times is None:
            self._times = instants(self.calls, self.order, skew_ns=self.skew_ns)
        return self._times

    @property
    def latest_start(self) -> float:
        """The latest instant at which a call is known to have started already."""
        if "latest start" not in self.cache:
            starts = self.times.starts.values()
            self.cache["latest start"] = max((edges_of(start)[0] for start in starts), default=-math.inf)
        latest: float = self.cache["latest start"]
        return latest

    @property
    def has_times(self) -> bool:
        return tell_times(self.calls)

    def by_the_time_of_day(self) -> Evidence:
        """The same calls, for who asks what time it was: of several clocks nobody knows which is right."""
        calls = by_any_clock(self.calls, self.skew_ns)
        if calls is self.calls:
            return self
        run = replace(self.run, calls=tuple(calls))
        return Evidence(
            run, self.timezone, self.aliases, part=self.part, budget=self.budget, taken=self.taken
        )

    @property
    def gaps(self) -> Gaps:
        """The calls that nobody saw."""
        if self._gaps is None:
            self._gaps = Gaps(self.run, self.times, self.rank) if self.run.gaps else NO_GAPS
        return self._gaps

    def owns(self, call: int) -> bool:
        """Is what is found asked of this call?"""
        return self.part is None or call in self.part.calls

    @property
    def tells_end(self) -> bool:
        """Is what all calls together owe asked here?"""
        return self.part is None or self.part.last

    def passed(self, instant: int) -> bool:
        """Can no call begin by this instant (on the scale of `times`) any more, as far as was seen?"""
        if self.until is not None and instant < self.until * self.times.scale:
            return True
        return self.latest_start > instant

    def attempts(self, tools: Tools) -> list[int]:
        """Calls of these tools that ran, in observed order; what never ran did nothing."""
        key = tools.key, tools.where is not None and tools.where.by_nouns
        found = self._by_action.get(key)
        if found is None:
            found = self._find(tools)
            if tools.agent is not None:
                found = [i for i in found if tools.is_made_by(self.agent_of(i))]
            if tools.where is not None:
                found = [i for i in found if self._meets(tools.where, i)]
            self._by_action[key] = found
        return found

    def agent_of(self, position: int) -> str | None:
        """Whose call it is; None where nothing says it."""
        return self.calls[position].agent or self.run.agent

    def of_nobody(self, tools: Tools) -> list[int]:
        """Calls of these tools that may be the agent's, or another's."""
        if tools.agent is None:
            return []
        return [i for i in self._find(tools) if self.agent_of(i) is None]

    def is_of(self, position: int, tools: Tools) -> bool:
        """Is it a call of the action, whether it ran or not?"""
        if self.calls[position].tool not in tools or not tools.is_made_by(self.agent_of(position)):
            return False
        return tools.where is None or self._meets(tools.where, position)

    def unclear(self, tools: Tools) -> list[int]:
        """Calls of the tools of which it is open whether their arguments are those of the action."""
        where = tools.where
        if where is None:
            return []
        return [
            i
            for i, call in enumerate(self.calls)
            if call.tool in tools
            and tools.is_made_by(self.agent_of(i))
            and (where, i) not in self.taken
            and where.holds(self.given(i)) is None
        ]

    def given(self, position: int) -> Of:
        """The arguments of a call, for who asks for one by its path."""

        def of(path: tuple[str, ...]) -> Any:
            value = self.argument(position, path)
            return None if value is MISSING else value

        if self.calls[position].arguments is None:
            return lambda path: Unknown("absent", where="args")
        return of

    def taking(self, taken: Mapping[tuple[Where, int], bool]) -> Evidence:
        """The same evidence, with what is open taken so."""
        shared = {name: self.cache[name] for name in _OF_THE_RUN if name in self.cache}
        return Evidence(
            self.run, self.timezone, self.aliases, self.skew_ns, self.part, self.until, self._by_tool,
            {}, self._times, self._rank, self._order, self._unplaced, self._gaps, self._known, self.budget,
            shared, taken,
        )  # fmt: skip

    def _meets(self, where: Where, position: int) -> bool:
        taken = self.taken.get((where, position))
        return where.holds(self.given(position)) is True if taken is None else taken

    def successes(self, tools: Tools) -> list[int]:
        return [i for i in self.attempts(tools) if self.calls[i].succeeded]

    def failures(self, tools: Tools) -> list[int]:
        """Calls of these tools that ran and ended with an error; of one that has no end nobody knows it."""
        return [i for i in self.attempts(tools) if self.calls[i].finished and self.calls[i].error is not None]

    def ended_so(self, tools: Tools, failed: bool) -> list[int]:
        """The failures, or else the successes."""
        return self.failures(tools) if failed else self.successes(tools)

    def _find(self, tools: Tools) -> list[int]:
        if self._by_tool is None:
            self._by_tool = {}
            calls = self.run.calls
            for i in self.order:
                if calls[i].executed:
                    self._by_tool.setdefault(calls[i].tool, []).append(i)
        named = tools.names if tools.in_full else [tool for tool in self._by_tool if tool in tools]
        lists = [self._by_tool[tool] for tool in dict.fromkeys(named) if tool in self._by_tool]
        if len(lists) == 1:
            return lists[0]
        return sorted((i for calls in lists for i in calls), key=self.rank.__getitem__)

    def offers(self, tool: str) -> bool:
        """Did the run offer or call a tool of this name?"""
        return tool in (self.run.tools or ()) or any(call.tool == tool for call in self.calls)

    def run_field(self, name: str) -> Any:
        """A field of the run by the name in its record, or MISSING; dots lead inside."""
        head, _, rest = name.partition(".")
        own = {"run_id": "id"}.get(head, head)
        value = getattr(self.run, own) if own in _RUN_FIELDS else self.run.extra.get(head, MISSING)
        if head == "version" and self.run.version is not None:
            value = self.run.version
        value = MISSING if value is None else value
        return value_at(value, rest.split(".")) if rest and value is not MISSING else value

    def known_field(self, name: str) -> Any:
        """As `run_field`, with an `Unknown` for what was lost, cut or hashed."""
        value, where = self.run_field(name), f"run.{name}"
        if value is MISSING:
            return Unknown("absent", where=where) if self.lost_fields else MISSING
        return known(value, "cut" if has_marks(value) else self._why_hidden(name), where=where)

    def _why_hidden(self, name: str) -> Why | None:
        return self.hides_texts if name == "query" else None

    def call_field(self, position: int, name: str) -> Any:
        """A field of a call (`step`, `with_text`, ...), through the aliases, or MISSING."""
        call = self.calls[position]
        alias = self.aliases.get(name)
        if alias is not None and alias in call.extra:
            return call.extra[alias]
        value = getattr(call, name, None) if name in ("step", "with_text") else None
        return call.extra.get(name, MISSING) if value is None else value

    def argument(self, position: int, path: Sequence[str]) -> Any:
        """A value in the arguments of a call, or MISSING; at the empty path all of them."""
        arguments = self.arguments(position)
        if not path and arguments is None:
            return Unknown("absent", where="args")
        return value_at(arguments, path)

    @property
    def is_partly_known(self) -> bool:
        """Is something missing from an argument or a result?"""
        if "partly known" not in self.cache:
            self.cache["partly known"] = any(call.partly for call in self.calls)
        return bool(self.cache["partly known"])

    @property
    def hides_texts(self) -> Why | None:
        """How the tracer of the run hides all texts, where it does."""
        whys = (call.partly.get("arguments") for call in self.calls) if self.is_partly_known else ()
        return next((why for why in whys if why is not None and why != "cut"), None)

    @property
    def lost_fields(self) -> bool:
        """May the run have fields that are not known?"""
        return self.run.extra.get(FIELDS_LOST) is True

    def arguments(self, position: int) -> Any:
        """The arguments of a call with an `Unknown` wherever something is missing."""
        call = self.calls[position]
        if not call.partly:
            return call.arguments
        if position not in self._known:
            self._known[position] = known(call.arguments, call.partly.get("arguments"), call.hash_key, "args")
        return self._known[position]


def _in_doubt(rank: Sequence[int], times: Fixed | Bounded) -> Iterator[int]:
    """Each call that may have begun on the other side of another than `rank` says."""
    if isinstance(times, Fixed):
        return
    order = sorted(range(len(rank)), key=lambda i: edges_of(times.start(i)))
    starts, ranks = [times.start(i) for i in order], [rank[i] for i in order]
    highest, lowest = [*accumulate(ranks, max)], [*accumulate(reversed(ranks), min)][::-1]
    latest = [*accumulate((edges_of(start)[1] for start in starts), max)]
    for k, own in enumerate(ranks):
        placed = lowest[k] == own == highest[k] and all(
            (starts[k] <= starts[at]) is (own < ranks[at]) for at in _overlapping(k, starts, latest)
        )
        if not placed:
            yield order[k]


def _overlapping(k: int, starts: Sequence[Any], latest: Sequence[int]) -> Iterator[int]:
    """Places of the instants whose bounds meet those of the k-th; `latest` is the latest edge until each."""
    first, last = edges_of(starts[k])
    yield from takewhile(lambda at: edges_of(starts[at])[0] <= last, range(k + 1, len(starts)))
    yield from takewhile(lambda at: latest[at] >= first, range(k - 1, -1, -1))


def value_at(value: Any, path: Sequence[str]) -> Any:
    """The value inside objects at a path of keys, or MISSING; an `Unknown` where it may be missing."""
    for key in path:
        if isinstance(value, Unknown):
            return value
        if isinstance(key, Noun) and isinstance(value, Mapping):
            key = key.key_in(value)
        if not isinstance(value, Mapping) or (key not in value and REST not in value):
            return MISSING
        value = value[key] if key in value else value[REST]
    return value


def made_by(call: int, seen: Evidence) -> str:
    """A call in words: its tool and position."""
    return f"{seen.calls[call].tool} (call {call})"
