"""Arguments that a rule asks for and calls do not have: a slip of the pen, or calls that lack one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.judge.rules import Rules
from synth.policies.evidence import MISSING, Evidence, key_of, made_by
from synth.policies.kinds.duty import Duty, Judged, judge_duties
from synth.policies.kinds.kind import Paths
from synth.policies.names import Tools, some_of
from synth.policies.near import near


def never_given(path: Sequence[str], calls: Iterable[int], seen: Evidence) -> str | None:
    """Why a rule that asks these calls for an argument cannot be judged; None where one of them has it."""
    calls = list(calls)
    if any(seen.argument(i, path) is not MISSING for i in calls):
        return None
    beside = {key: None for i in calls for key in _keys(seen.argument(i, path[:-1]))}
    meant = near(path[-1], beside)
    tools = some_of(sorted({seen.calls[i].tool for i in calls}))
    said = f"No call of {tools} has the argument {'.'.join(path)!r}"
    if meant is not None:
        return f"{said}; did you mean {'.'.join([*path[:-1], meant])!r}?"
    return f"{said}; there are: {some_of(list(beside))}." if beside else f"{said}."


def _keys(value: Any) -> Iterable[str]:
    return map(str, value) if isinstance(value, Mapping) else ()


# ---------------------------------------------------------------- with the same FIELD


@dataclass(frozen=True, slots=True)
class Compared:
    """A duty of one call towards calls with equal arguments."""

    surely: Duty
    """Only calls that have them count."""
    perhaps: Duty | None
    """So do calls that lack them; None where the call itself lacks one."""
    lacking: tuple[tuple[int, int], ...] = ()
    """(call, side) of those that lack one; side 0 is the earlier call of a pair."""


def values_of(call: int, side: int, same: Paths, seen: Evidence) -> Any:
    """What must be equal, to compare; None where the call lacks one of the arguments."""
    values = [seen.argument(call, pair[side]) for pair in same]
    return None if MISSING in values else tuple(map(key_of, values))


def judge_compared(duties: Sequence[Compared], same: Paths, seen: Evidence, rules: Rules) -> Judged:
    """Decide what holds whatever the missing arguments were; the rest is open."""
    surely = [duty.surely for duty in duties]
    if not any(duty.lacking for duty in duties):
        return judge_duties(surely, seen, rules)
    possible = judge_duties([duty.perhaps for duty in duties if duty.perhaps], seen, rules)
    if possible.verdict == "violated":
        return possible
    certain = judge_duties(surely, seen, rules)
    if certain.verdict != "violated":
        return certain
    open_ = set(certain.violations)
    lacking = [one for duty in duties if duty.surely.call in open_ for one in duty.lacking]
    return _lacking(lacking, same, seen)


def _lacking(lacking: Sequence[tuple[int, int]], same: Paths, seen: Evidence) -> Judged:
    missing = [
        (call, pair[side])
        for call, side in lacking
        for pair in same
        if seen.argument(call, pair[side]) is MISSING
    ]
    asked = {(seen.calls[call].tool, path) for call, path in missing}
    for tool, path in sorted(asked):
        if said := never_given(path, seen.attempts(Tools(tool, (tool,))), seen):
            return Judged("unsupported", (), said)
    call, path = missing[0]
    return Judged("undecided", (), f"{made_by(call, seen)} has no argument {'.'.join(path)!r} to compare.")
