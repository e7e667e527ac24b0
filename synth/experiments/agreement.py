"""The traced calls of a run against the mock tools' own log: did each arrive exactly once?

Of a call that was asked for and never heard of again, the log knows whether it ran.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synth.cases.case import Case
from synth.judge import judge
from synth.observed.run import Run, ToolCall, run_from_json


def calls_agree(run: Mapping[str, Any], tool_log: Sequence[Mapping[str, Any]]) -> list[str]:
    """What differs between the traced calls and the tools' own log; nothing = each arrived exactly once.

    Calls that never executed (unknown tool, malformed arguments) have no entry in the log, and calls that
    failed, or of which it is not known whether they ran, need none: the tool may have refused before it did
    anything. Calls of one model message may run at once, so their order says nothing.
    """
    logged = [_shown(call) for call in tool_log]
    turns = _turns_that_must_be_logged(run["calls"], logged)
    traced = [call for turn in turns for call in turn]
    missing, extra = _without(logged, traced), _without(traced, logged)
    if missing or extra:
        lost = [f"not traced: {call}" for call in missing]
        return lost + [f"traced without execution: {call}" for call in extra]
    if traced != _in_turns(logged, turns):
        return [f"the order differs: traced {traced}, executed {logged}"]
    return []


def decided_by_log(run: dict[str, Any], case: Case, tool_log: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The judged run, judged again where it depends on calls of which only the log knows whether they ran."""
    verdict = run.get("verdict")
    if verdict is None or verdict["outcome"] != "undecided":
        return run
    seen = run_from_json(run["record"])
    if not seen.possible:
        return run
    found = judge(case, with_log(seen, tool_log))
    return {**run, "verdict": found.to_json(), "outcome": found.outcome, "error_type": found.error_type}


def with_log(run: Run, tool_log: Sequence[Mapping[str, Any]]) -> Run:
    """The run where every call ran or did not, as the log of its tools says."""
    ran = [call for call in run.calls if call.executed]
    free = [dict(entry) for entry in tool_log]
    for call in ran:
        _take(call, free)
    calls = (call if call.executed is not None else _logged(call, _take(call, free)) for call in run.calls)
    return replace(run, calls=tuple(calls))


def _take(call: ToolCall, free: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first entry of the log that can be of this call, which no other one can be of then."""
    own = call.tool, call.arguments or {}
    at = next((k for k, one in enumerate(free) if (one["name"], one["arguments"]) == own), None)
    return None if at is None else free.pop(at)


def _logged(call: ToolCall, entry: Mapping[str, Any] | None) -> ToolCall:
    if entry is None:
        return replace(call, executed=False)
    start, end = ((entry[name], entry[name]) for name in ("start", "end"))
    return replace(call, executed=True, result=entry["result"], start=start, end=end)


def _turns_that_must_be_logged(calls: Iterable[Mapping[str, Any]], logged: Sequence[str]) -> list[list[str]]:
    """Executed calls by model message, sorted within it, without those that failed and left no entry."""
    executed = [call for call in calls if call.get("executed", True) or _is_possible(call)]
    sure = [call for call in executed if call.get("error") is None and not _is_possible(call)]
    spare = _without(logged, [_shown(call) for call in sure])
    turns: dict[Any, list[str]] = {}
    for position, call in enumerate(executed):
        shown = _shown(call)
        if call.get("error") is not None or _is_possible(call):
            if shown not in spare:
                continue
            spare.remove(shown)
        step = call.get("step")
        turns.setdefault(("alone", position) if step is None else step, []).append(shown)
    return [sorted(turn) for turn in turns.values()]


def _is_possible(call: Mapping[str, Any]) -> bool:
    return bool(call.get("execution") == "unknown")


def _in_turns(logged: Sequence[str], turns: Sequence[Sequence[str]]) -> list[str]:
    """The log cut into pieces as long as the turns, each sorted."""
    rest = iter(logged)
    return [call for turn in turns for call in sorted(itertools.islice(rest, len(turn)))]


def _shown(call: Mapping[str, Any]) -> str:
    return f"{call['name']}({json.dumps(call['arguments'] or {}, sort_keys=True)})"


def _without(items: Sequence[str], others: Sequence[str]) -> list[str]:
    """Multiset difference, in the order of `items`."""
    left = list(others)
    found = []
    for item in items:
        if item in left:
            left.remove(item)
        else:
            found.append(item)
    return found
