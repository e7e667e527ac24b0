"""The traced calls of a run against the mock tools' own log: did each arrive exactly once?"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def calls_agree(run: Mapping[str, Any], tool_log: Sequence[Mapping[str, Any]]) -> list[str]:
    """What differs between the traced calls and the tools' own log; nothing = each arrived exactly once.

    Calls that never executed (unknown tool, malformed arguments) have no entry in the log, and calls that
    failed need none: the tool may have refused before it did anything. Calls of one model message may
    run at once, so their order says nothing.
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


def _turns_that_must_be_logged(calls: Iterable[Mapping[str, Any]], logged: Sequence[str]) -> list[list[str]]:
    """Executed calls by model message, sorted within it, without those that failed and left no entry."""
    executed = [call for call in calls if call.get("executed", True)]
    spare = _without(logged, [_shown(call) for call in executed if call.get("error") is None])
    turns: dict[Any, list[str]] = {}
    for position, call in enumerate(executed):
        shown = _shown(call)
        if call.get("error") is not None:
            if shown not in spare:
                continue
            spare.remove(shown)
        step = call.get("step")
        turns.setdefault(("alone", position) if step is None else step, []).append(shown)
    return [sorted(turn) for turn in turns.values()]


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
