"""What was known before a call: earlier results by tool and by value, and the last user message."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import accumulate, islice
from typing import Any

import orjson

from synth.formal.careful import told
from synth.formal.cel import CannotEvaluate, normal
from synth.formal.constraints import Fixed, edges_of
from synth.formal.partly import REST, WHYS, Unknown, equal
from synth.observed.clocks import ANY_TIME
from synth.observed.marks import known
from synth.observed.run import ToolCall
from synth.policies.evidence import MISSING, Evidence, key_of, made_by

TEXT_PER_STEP = 40
"""Characters of results that are read for a step. It takes longer, but serves all rules of a run."""
COMPARED = 4
"""Steps to compare a value that is known in part with those of one call."""
MAX_EARLIER = 2_000
"""Most calls that `earlier` gives to one condition."""
MAX_GIVEN = 100_000
"""Most calls that `earlier` gives to all evaluations of one guard on one run."""


Read = tuple[dict[int, Any], dict[int, Any], dict[int, float]]
"""What was read of calls: results, arguments, and what it takes to hand them to a condition."""


class History:
    """An index of the successful calls of one run, made once, asked at every call.

    `last(tools)`, `last(tools, key)` and `last(tools, field, value)` answer with the newest result
    before the call in hand; a key is a value on the first level of result or arguments.
    """

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen
        self.given = 0
        """Calls that `earlier` gave to the guard in hand; a guard starts at 0."""
        self.open = ""
        """Why a look-up for the call in hand has no certain answer."""
        self._results: dict[int, Any] = {}
        self._handed: dict[int, float] = {}
        self._pools: dict[tuple[str, ...], list[int]] = {}
        self._arguments: dict[int, Any] = {}
        self._by_value: dict[Any, list[int]] | None = None
        self._vague: dict[int, None] = {}
        """Successes of which not all fields are known; `_by_value` leaves them out."""
        self._ends: dict[int, list[int]] = {}
        """Of a list of calls, by its identity: the first end of those up to each place, if ends are known."""
        self._by_tool: dict[str, list[int]] = {}
        for i in seen.order:
            if seen.calls[i].succeeded:
                self._by_tool.setdefault(seen.calls[i].tool, []).append(i)

    @classmethod
    def of(cls, seen: Evidence) -> History:
        """The history of a run, made when first needed."""
        if "history" not in seen.cache:
            seen.cache["history"] = cls(seen)
        history: History = seen.cache["history"]
        return history

    @classmethod
    def going_on(cls, seen: Evidence, read: Read) -> History:
        """The history of a run whose calls but the last one have been read before, as far as they have."""
        history = seen.cache["history"] = cls(seen)
        history._results, history._arguments, history._handed = read
        for part in read:
            part.pop(len(seen.calls) - 1, None)
        return history

    def arguments(self, call: int) -> Any:
        if call not in self._arguments:
            self._arguments[call] = normal(self._seen.arguments(call))
        return self._arguments[call]

    def result(self, call: int) -> Any:
        """The result; text that is a JSON object or list is read as such."""
        if call not in self._results:
            result = self.read(call)
            if not isinstance(result, str):
                self._seen.budget.spend(weight(result))
            self._results[call] = normal(result)
        return self._results[call]

    def read(self, call: int) -> Any:
        """The result as it is, with numbers of any size."""
        return read_result(self._seen.calls[call], f"the result of {made_by(call, self._seen)}")

    def lookup(self, before: int, name: str, tools: Any, *key: Any) -> Any:
        """Answer `last`, `last_call` or `earlier` as of a call; the key may be known in part."""
        for value in key:
            told(value)
        newest_first = self._matching(before, tools if isinstance(tools, list) else [tools], key)
        if name == "earlier":
            return self._earlier(newest_first)
        found = next(newest_first, None)
        if found is None:
            return None
        return self.result(found) if name == "last" else self._call(found)

    def _earlier(self, newest_first: Iterator[int]) -> list[dict[str, Any]]:
        if self.given > MAX_GIVEN:
            raise CannotEvaluate(f"earlier() gave more than {MAX_GIVEN} calls to this guard")
        found = list(islice(newest_first, MAX_EARLIER + 1))
        self.given += len(found)
        self._seen.budget.spend(sum(map(self._handing, found)))
        if len(found) > MAX_EARLIER:
            raise CannotEvaluate(f"earlier() would give more than {MAX_EARLIER} calls")
        return [self._call(i) for i in reversed(found)]

    def _handing(self, i: int) -> float:
        """About how many steps it takes to hand a call to a condition."""
        if i not in self._handed:
            result = self.result(i)
            self._handed[i] = 0.5 + (len(result) / 1000 if isinstance(result, str) else weight(result) / 4)
        return self._handed[i]

    def _call(self, i: int) -> dict[str, Any]:
        return {
            "index": i,
            "name": self._seen.calls[i].tool,
            "args": self.arguments(i),
            "result": self.result(i),
        }

    def _matching(self, before: int, tools: Sequence[Any], key: Sequence[Any]) -> Iterator[int]:
        """Calls of `tools` that ended before `before` started, and carry `key`; the newest first.

        CannotEvaluate at one that only may have ended by then.
        """
        vague = bool(key) and isinstance(key[-1], Unknown)
        pool = self._pool(tools) if vague or not key else self._with_value(key)
        ends, start = [] if vague else self._first_ends(pool), edges_of(self._seen.times.start(before))[0]
        for k in range(self._cut(pool, before) - 1, -1, -1):
            if ends and ends[k] > start:
                return
            i = pool[k]
            self._seen.budget.spend(COMPARED if vague else 0.5)
            if key and not called_so(self._seen.calls[i].tool, tools):
                continue
            carries = self._carries(i, key) if key else True
            ended = ended_before(self._seen, i, before)
            if carries is False or ended is False:
                continue
            if carries is None:
                named = made_by(i, self._seen)
                said = f"{key[-1]}, and {named}" if vague else f"not all of {named} is known, and it"
                self.open = f"{said} may be the one looked up"
                raise CannotEvaluate(self.open)
            if ended is None:
                self.open = f"{self._seen.calls[i].tool} (call {i}) may have ended only after this call began"
                raise CannotEvaluate(self.open)
            yield i

    def _first_ends(self, pool: list[int]) -> list[int]:
        """The first end of the calls up to each place; empty where ends are bounds, or the list is new."""
        times = self._seen.times
        if self._vague or not pool or not isinstance(times, Fixed):
            return []
        if id(pool) not in self._ends:
            self._ends[id(pool)] = list(accumulate((times.end(i) for i in pool), min))
        return self._ends[id(pool)]

    def _cut(self, pool: Sequence[int], before: int) -> int:
        """How many calls of a pool (in observed order) can have begun before this one."""
        seen = self._seen
        if isinstance(seen.times, Fixed):
            return bisect_left(pool, seen.rank[before], key=seen.rank.__getitem__)
        latest = seen.calls[before].start or (0, 0)
        return bisect_right(
            pool, latest[1] + 2 * seen.skew_ns, key=lambda i: (seen.calls[i].start or (0, 0))[0]
        )

    def _pool(self, tools: Sequence[Any]) -> list[int]:
        """Successes of these tools in observed order."""
        name = tuple(map(str, tools))
        if name not in self._pools:
            found = [i for tool, calls in self._by_tool.items() if called_so(tool, tools) for i in calls]
            self._pools[name] = sorted(found, key=self._seen.rank.__getitem__)
        return self._pools[name]

    def _with_value(self, key: Sequence[Any]) -> list[int]:
        """Successes that carry a key, or for all that is known may carry it, in observed order."""
        sure = self._values().get((*key[:-1], key_of(key[-1])), [])
        if not self._vague:
            return sure
        vague = [i for i in self._vague if self._carries(i, key) is not False]
        return sorted([*sure, *vague], key=self._seen.rank.__getitem__)

    def _carries(self, i: int, key: Sequence[Any]) -> bool | None:
        """Does a call found by a key carry it? None where what is missing decides."""
        if i not in self._vague and not isinstance(key[-1], Unknown):
            return True
        parts = (self.result(i), self.arguments(i))
        if len(key) == 1:
            return _any(_carried(part, key[0]) for part in parts)
        for part in parts:
            value = _field(part, key[0])
            if value is not MISSING:
                return None if isinstance(value, Unknown) and value.rest else equal(value, key[1])
        return False

    def _values(self) -> dict[Any, list[int]]:
        """(value) and (field, value) of every success -> its calls; a field of the result comes first."""
        if self._by_value is None:
            by_value: dict[Any, list[int]] = {}
            vague: dict[int, None] = {}
            for i in self._seen.order:
                if not self._seen.calls[i].succeeded:
                    continue
                result, arguments = self.result(i), self.arguments(i)
                if not (_fields_known(result) and _fields_known(arguments)):
                    vague[i] = None
                    continue
                fields = {**fields_of(arguments), **fields_of(result)}
                keys: set[Any] = {(name, key_of(value)) for name, value in fields.items()}
                keys |= {
                    (key_of(value),) for part in (arguments, result) for value in fields_of(part).values()
                }
                for key in keys:
                    by_value.setdefault(key, []).append(i)
            self._by_value, self._vague = by_value, vague
        return self._by_value

    def user(self, before: int) -> str | Unknown | None:
        """What the user said last before a call, an `Unknown` where that is not all known.

        None where the run has no messages.
        """
        messages = self._seen.run_field(self._seen.aliases.get("messages", "messages"))
        if messages is MISSING or not isinstance(messages, list):
            return None
        users = [one for one in messages if isinstance(one, Mapping) and one.get("role") == "user"]
        if len(users) > 1 and self._seen.calls[before].start == ANY_TIME:
            return Unknown("ambiguous", where="what the user said last")
        said: str | Unknown = ""
        for message in users:
            place = message.get("before_call")
            if isinstance(place, int) and place <= before:
                said = _said(message)
        return said


def read_result(call: ToolCall, where: str) -> Any:
    """The result; `where` it stands, in words, is said of what is not known of it."""
    if not call.partly:
        return _parsed(call.result)
    return _parsed(known(call.result, call.partly.get("result"), call.hash_key, where))


def weight(value: Any) -> float:
    """About how many steps it takes to read a JSON value."""
    if isinstance(value, str):
        return 1 + len(value) / TEXT_PER_STEP
    if isinstance(value, Mapping):
        return 1 + sum(map(weight, value.values()))
    if isinstance(value, list | tuple):
        return 1 + sum(map(weight, value))
    return 1


def ended_before(seen: Evidence, call: int, before: int) -> bool | None:
    """Had a call ended when another one started? None where bounded times leave it open."""
    times = seen.times
    if isinstance(times, Fixed):
        return seen.rank[call] < seen.rank[before] and times.end(call) <= times.start(before)
    return call != before and (times.end(call) <= times.start(before))


def called_so(tool: str, patterns: Sequence[Any]) -> bool:
    """Is the tool one of those that a condition asks for?"""
    return any(isinstance(p, str) and (p == tool or ("*" in p and fnmatchcase(tool, p))) for p in patterns)


def _fields_known(value: Any) -> bool:
    """Are all values on the first level known?"""
    if isinstance(value, Mapping):
        return not any(isinstance(child, Unknown) for child in value.values())
    return not isinstance(value, Unknown)


def _carried(part: Any, value: Any) -> bool | None:
    """Does a result, or do arguments, hold a value on the first level?"""
    if isinstance(part, Unknown):
        return None if part.begins is None else False
    return _any(
        None if isinstance(child, Unknown) and child.rest else equal(child, value)
        for child in fields_of(part).values()
    )


def _any(answers: Iterable[bool | None]) -> bool | None:
    found = set(answers)
    return True if True in found else (None if None in found else False)


def _field(part: Any, name: str) -> Any:
    """A value on the first level, MISSING, or an `Unknown` of any number of values."""
    if isinstance(part, Unknown):
        return MISSING if part.begins is not None else replace(part, rest=True)
    fields = fields_of(part)
    return fields.get(
        name, MISSING if isinstance(part, Mapping) and name in part else fields.get(REST, MISSING)
    )


def fields_of(value: Any) -> Mapping[str, Any]:
    """The plain values on the first level."""
    if not isinstance(value, Mapping):
        return {}
    return {name: child for name, child in value.items() if not isinstance(child, list | Mapping)}


def _parsed(result: Any) -> Any:
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(result)
        except orjson.JSONDecodeError:
            return result
    if isinstance(result, Unknown) and result.begins is not None and result.begins[:1] in ("{", "["):
        return known(result.begins, "cut", where=result.where)
    return result


def _said(message: Mapping[str, Any]) -> str | Unknown:
    """The text of a message; `partly` says that it is not all of it, and why."""
    content, why = _text_of(message.get("content")), message.get("partly")
    if why is None:
        return content
    where = "what the user said last"
    found = known(content, why, where=where) if why in ("cut", "hashed") else content
    return found if isinstance(found, Unknown) else Unknown(why if why in WHYS else "absent", where=where)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
