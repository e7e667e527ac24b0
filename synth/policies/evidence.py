"""One run, indexed for many policies: calls by tool, instants, values of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from synth.formal.constraints import Bounded, Fixed
from synth.observed.instants import has_times, instants, observed_order
from synth.observed.run import Run, ToolCall
from synth.policies.gaps import Gaps
from synth.policies.names import Tools

NO_GAPS = Gaps(Run("", ()), Fixed({}, {}), ())
_RUN_FIELDS = {"id", "agent", "source", "model", "query", "status", "case_id", "labels", "iterations"}

MISSING = object()
"""Stands for a value that is not there; JSON has no such value."""


@dataclass(slots=True)
class Evidence:
    """What a run shows. Policies only read it; each index is made when the first policy needs it."""

    run: Run
    timezone: str = "UTC"
    aliases: Mapping[str, str] = field(default_factory=dict)
    skew_ns: int = 0
    _by_tool: dict[str, list[int]] | None = None
    _by_action: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    _times: Fixed | Bounded | None = None
    _rank: list[int] | None = None
    _order: list[int] | None = None
    _gaps: Gaps | None = None
    cache: dict[str, Any] = field(default_factory=dict)
    """What single kinds keep about this run, by their own key."""

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
    def times(self) -> Fixed | Bounded:
        """Instants of every call by position: wall-clock ns, or places in the order where times miss."""
        if self._times is None:
            self._times = instants(self.calls, self.order, skew_ns=self.skew_ns)
        return self._times

    @property
    def has_times(self) -> bool:
        return has_times(self.calls)

    @property
    def gaps(self) -> Gaps:
        """The calls that nobody saw."""
        if self._gaps is None:
            self._gaps = Gaps(self.run, self.times, self.rank) if self.run.gaps else NO_GAPS
        return self._gaps

    def attempts(self, tools: Tools) -> list[int]:
        """Calls of these tools that ran, in observed order; what never ran did nothing."""
        found = self._by_action.get(tools.names)
        if found is None:
            found = self._by_action[tools.names] = self._find(tools)
        return found

    def successes(self, tools: Tools) -> list[int]:
        return [i for i in self.attempts(tools) if self.calls[i].succeeded]

    def _find(self, tools: Tools) -> list[int]:
        if self._by_tool is None:
            self._by_tool = {}
            calls = self.run.calls
            for i in self.order:
                if calls[i].executed:
                    self._by_tool.setdefault(calls[i].tool, []).append(i)
        lists = [calls for tool, calls in self._by_tool.items() if tool in tools]
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
        value = MISSING if value is None else value
        return value_at(value, rest.split(".")) if rest and value is not MISSING else value

    def call_field(self, position: int, name: str) -> Any:
        """A field of a call (`step`, `with_text`, ...), through the aliases, or MISSING."""
        call = self.calls[position]
        alias = self.aliases.get(name)
        if alias is not None and alias in call.extra:
            return call.extra[alias]
        value = getattr(call, name, None) if name in ("step", "with_text") else None
        return call.extra.get(name, MISSING) if value is None else value

    def argument(self, position: int, path: Sequence[str]) -> Any:
        """A value in the arguments of a call, or MISSING."""
        return value_at(self.calls[position].arguments, path)


def value_at(value: Any, path: Sequence[str]) -> Any:
    """The value inside objects at a path of keys, or MISSING."""
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return MISSING
        value = value[key]
    return value


def key_of(value: Any) -> Any:
    """Something hashable that is equal exactly for equal JSON values; 4 and 4.0 are the same number."""
    if isinstance(value, str | bool) or value is None:
        return (type(value).__name__, value)
    if isinstance(value, int | float):
        return ("number", value)
    return ("json", orjson.dumps(_plain_numbers(value), option=orjson.OPT_SORT_KEYS))


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_numbers(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(child) for child in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def made_by(call: int, seen: Evidence) -> str:
    """A call in words: its tool and position."""
    return f"{seen.calls[call].tool} (call {call})"
