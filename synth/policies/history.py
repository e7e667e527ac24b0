"""What was known before a call: earlier results by tool and by value, and the last user message."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

import orjson

from synth.formal.cel import CannotEvaluate, normal
from synth.formal.constraints import Fixed
from synth.policies.evidence import MISSING, Evidence, key_of

MAX_EARLIER = 2_000
"""Most calls that `earlier` gives to one condition."""
MAX_GIVEN = 100_000
"""Most calls that `earlier` gives to all evaluations of one guard on one run."""


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
        self._pools: dict[tuple[str, ...], list[int]] = {}
        self._arguments: dict[int, Any] = {}
        self._by_value: dict[Any, list[int]] | None = None
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

    def arguments(self, call: int) -> Any:
        if call not in self._arguments:
            self._arguments[call] = normal(self._seen.calls[call].arguments)
        return self._arguments[call]

    def result(self, call: int) -> Any:
        """The result; text that is a JSON object or list is read as such."""
        if call not in self._results:
            self._results[call] = normal(_parsed(self._seen.calls[call].result))
        return self._results[call]

    def lookup(self, before: int, name: str, tools: Any, *key: Any) -> Any:
        """Answer `last`, `last_call` or `earlier` as of the call `before`."""
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
        if len(found) > MAX_EARLIER:
            raise CannotEvaluate(f"earlier() would give more than {MAX_EARLIER} calls")
        return [self._call(i) for i in reversed(found)]

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
        pool = self._values().get((*key[:-1], key_of(key[-1])), []) if key else self._pool(tools)
        for k in range(self._cut(pool, before) - 1, -1, -1):
            i = pool[k]
            if key and not _named(self._seen.calls[i].tool, tools):
                continue
            ended = ended_before(self._seen, i, before)
            if ended is None:
                self.open = f"{self._seen.calls[i].tool} (call {i}) may have ended only after this call began"
                raise CannotEvaluate(self.open)
            if ended:
                yield i

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
            found = [i for tool, calls in self._by_tool.items() if _named(tool, tools) for i in calls]
            self._pools[name] = sorted(found, key=self._seen.rank.__getitem__)
        return self._pools[name]

    def _values(self) -> dict[Any, list[int]]:
        """(value) and (field, value) of every success -> its calls; a field of the result comes first."""
        if self._by_value is None:
            self._by_value = {}
            for i in self._seen.order:
                if not self._seen.calls[i].succeeded:
                    continue
                result, arguments = self.result(i), self.arguments(i)
                fields = {**_fields(arguments), **_fields(result)}
                keys: set[Any] = {(name, key_of(value)) for name, value in fields.items()}
                keys |= {(key_of(value),) for part in (arguments, result) for value in _fields(part).values()}
                for key in keys:
                    self._by_value.setdefault(key, []).append(i)
        return self._by_value

    def user(self, before: int) -> str | None:
        """What the user said last before a call; None where the run has no messages."""
        messages = self._seen.run_field(self._seen.aliases.get("messages", "messages"))
        if messages is MISSING or not isinstance(messages, list):
            return None
        said = ""
        for message in messages:
            if not isinstance(message, Mapping) or message.get("role") != "user":
                continue
            place = message.get("before_call")
            if isinstance(place, int) and place <= before:
                said = _text_of(message.get("content"))
        return said


def ended_before(seen: Evidence, call: int, before: int) -> bool | None:
    """Had a call ended when another one started? None where bounded times leave it open."""
    times = seen.times
    if isinstance(times, Fixed):
        return seen.rank[call] < seen.rank[before] and times.end(call) <= times.start(before)
    return call != before and (times.end(call) <= times.start(before))


def _named(tool: str, patterns: Sequence[Any]) -> bool:
    return any(isinstance(p, str) and (p == tool or ("*" in p and fnmatchcase(tool, p))) for p in patterns)


def _fields(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    return {name: child for name, child in value.items() if not isinstance(child, list | Mapping)}


def _parsed(result: Any) -> Any:
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(result)
        except orjson.JSONDecodeError:
            return result
    return result


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
