"""What conditions look up of a run that goes on: its successes, taken in one by one as they end.

`History` answers the same of a run that is there as a whole. Here every call that is known has ended before
whatever is proposed now, so that nothing has to be placed in time, and nothing is read twice.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from synth.formal.cel import CannotEvaluate, normal
from synth.formal.partly import key_of
from synth.observed.run import ToolCall
from synth.policies.history import called_so, fields_of, read_result
from synth.policies.kinds.guard import Guard

MOST = 100
"""Calls that one look-up gives; where there are more, the judge is asked, who counts what that takes."""


class Recalled:
    """The successes of a run whose arguments and results are known; `vague` where one is not."""

    __slots__ = ("_by_value", "_calls", "_named", "_order", "_rule", "_unread", "_unsorted", "vague")

    def __init__(self, rule: Guard) -> None:
        self._rule, self._named = rule, rule.named
        self.vague = False
        self._unread: list[tuple[int, ToolCall]] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._order: list[int] = []
        self._unsorted: list[int] = []
        """Those whose values are not in `_by_value` yet."""
        self._by_value: dict[Any, list[int]] = {}

    def take(self, position: int, call: ToolCall) -> None:
        """A call has succeeded."""
        if call.partly or call.arguments is None:
            self.vague = True
        else:
            self._unread.append((position, call))

    def _read(self) -> None:
        for position, call in self._unread:
            result, arguments = normal(read_result(call, call.tool)), normal(call.arguments)
            self._calls[position] = {
                "index": position, "name": call.tool, "args": arguments, "result": result,
            }  # fmt: skip
            insort(self._order, position)
            self._unsorted.append(position)
        self._unread.clear()

    def _places(self, key: Sequence[Any]) -> Sequence[int]:
        """Positions of the calls that carry the key."""
        for position in self._unsorted:
            parts = self._calls[position]["args"], self._calls[position]["result"]
            fields = {name: value for part in parts for name, value in fields_of(part).items()}
            keys: set[Any] = {(name, key_of(value)) for name, value in fields.items()}
            keys |= {(key_of(value),) for part in parts for value in fields_of(part).values()}
            for one in keys:
                insort(self._by_value.setdefault(one, []), position)
        self._unsorted.clear()
        return self._by_value.get((*key[:-1], key_of(key[-1])), ())

    def lookup(self, name: str, tools: Any, *key: Any) -> Any:
        """The answer to `last`, `last_call` or `earlier`."""
        newest_first = self._matching(tools if isinstance(tools, list) else [tools], key)
        if name == "earlier":
            found = [*islice(newest_first, MOST + 1)]
            if len(found) > MOST:
                raise CannotEvaluate("too many calls")
            return found[::-1]
        call = next(newest_first, None)
        return call if call is None or name == "last_call" else call["result"]

    def _matching(self, tools: Sequence[Any], key: Sequence[Any]) -> Iterator[dict[str, Any]]:
        self._read()
        places = self._places(key) if key else self._order
        found = map(self._calls.__getitem__, reversed(places))
        return (call for call in found if called_so(call["name"], tools))

    def allows(self, made: ToolCall) -> bool:
        """Does the call certainly keep the rule? False where only the judge can tell."""
        rule, named, arguments = self._rule, self._named, made.arguments
        if made.partly or arguments is None or self.vague:
            return False
        values: dict[str, Any] = {}
        if "args" in named:
            values["args"] = normal(arguments)
        if "call" in named:
            values["call"] = {"name": made.tool, "id": made.id, "step": made.step, "error": None}
        lookup = self.lookup if rule.history else None
        try:
            for name, part in rule.let:
                values[name] = part.value(values, lookup)
            applies = rule.when is None or rule.when.holds(values, lookup)
            return not applies or rule.check.holds(values, lookup)
        except CannotEvaluate:
            return False
