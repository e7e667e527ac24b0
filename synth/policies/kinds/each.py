"""Rules about each thing that a sentence names in passing: `before the patient is screened`.

They compare the argument where calls of all actions say which thing they are about, and are about any calls
where those of one tool never say it. Where that is not known, a rule is judged in both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from synth.formal.partly import Unknown
from synth.policies.evidence import MISSING, Each, Evidence, It, Pair
from synth.policies.kinds.duty import Judged

_MOST_OPEN = 3
Rule = Any
"""A rule of a kind that may compare arguments."""
Paths = tuple[Pair, ...]
Judge = Callable[[Rule, Evidence], Judged]


def of_each(rule: Rule, seen: Evidence, judge: Judge) -> Judged:
    """The answer of a rule about the things that its calls say, or the same one in all ways that are open."""
    if not (soft := _of(Each, rule)):
        return _of_it(rule, seen, judge)
    surely = tuple(pair for pair in soft if _is_said(pair, rule, seen))
    open_ = tuple(pair for pair in soft if pair not in surely and _may_be_said(pair, rule, seen))
    known = _not_known(seen, rule) if surely or open_ else seen
    ways = ((*surely, *more) for more in _some_of(open_))
    found = [judge(comparing(rule, way), known if way else seen) for way in ways]
    first = found[0]
    if any(one.verdict != first.verdict for one in found):
        why = f"Whether these calls are about one and the same {open_[0][0][0]} is not known."
        return Judged("undecided", (), why, awaits=any(one.awaits for one in found))
    return _told(first, soft) if not surely and first.verdict == "violated" else first


def as_compared(rule: Rule, seen: Evidence) -> Rule:
    """The rule with what it certainly compares, and no more."""
    soft = _of(Each, rule)
    return comparing(rule, tuple(pair for pair in soft if _is_said(pair, rule, seen))) if soft else rule


def comparing(rule: Rule, same: Paths) -> Rule:
    return replace(rule, same=same)


def each_in_words(rule: Rule) -> str:
    """`for each patient, where calls say which`; empty of a rule that names no thing in passing."""
    things = [str(pair[0][0]) for pair in _of(Each, rule)]
    return f"for each {' and each '.join(things)}, where calls say which" if things else ""


def _some_of(open_: Paths) -> Iterator[Paths]:
    """None of them, each selection, all of them; of many only none and all."""
    if len(open_) > _MOST_OPEN:
        return iter([(), open_])
    return (some for n in range(len(open_) + 1) for some in combinations(open_, n))


def is_in_passing(same: Paths) -> bool:
    """Are these things that a sentence names in passing?"""
    return _are(Each, same)


def _of(kind: type[str], rule: Rule) -> Paths:
    same: Paths = getattr(rule, "same", ())
    return same if _are(kind, same) else ()


def _are(kind: type[str], same: Paths) -> bool:
    return bool(same) and bool(same[0][0]) and isinstance(same[0][0][0], kind)


def _calls(rule: Rule, seen: Evidence) -> dict[str, list[int]]:
    """The calls of each of its tools that was called."""
    found: dict[str, list[int]] = {}
    for tools in rule.tools:
        for call in seen.attempts(tools):
            found.setdefault(seen.calls[call].tool, []).append(call)
    return found


def _is_said(pair: Pair, rule: Rule, seen: Evidence) -> bool:
    """Has some call of each tool the argument?"""
    return all(
        any(_says(call, pair[0], seen) is True for call in calls) for calls in _calls(rule, seen).values()
    ) and not _unseen(rule, seen)


def _unseen(rule: Rule, seen: Evidence) -> bool:
    """May there be calls of a tool that none was seen of?"""
    called = _calls(rule, seen)
    return bool(seen.gaps) and any(
        seen.gaps.of(tools) and (not tools.in_full or name not in called)
        for tools in rule.tools
        for name in tools.names
    )


def _may_be_said(pair: Pair, rule: Rule, seen: Evidence) -> bool:
    """May some call of each tool have it, as far as is known?"""
    lost = {name for tools in rule.tools if seen.gaps and seen.gaps.of(tools) for name in tools.names}
    return all(
        tool in lost or any(_says(call, pair[0], seen) is not False for call in calls)
        for tool, calls in _calls(rule, seen).items()
    )


def _says(call: int, path: Sequence[str], seen: Evidence) -> bool | None:
    """Has the call the argument? None where it is not known."""
    if seen.arguments(call) is None:
        return None
    value = seen.argument(call, path)
    if isinstance(value, Unknown) and value.rest:
        return None
    return value is not MISSING


def _not_known(seen: Evidence, rule: Rule) -> Evidence:
    """The evidence in which arguments that were not recorded may be any."""
    lost = {call for calls in _calls(rule, seen).values() for call in calls if seen.arguments(call) is None}
    if not lost:
        return seen
    calls = (
        replace(call, partly={**call.partly, "arguments": "absent"}) if at in lost else call
        for at, call in enumerate(seen.calls)
    )
    run = replace(seen.run, calls=tuple(calls))
    return Evidence(
        run, seen.timezone, seen.aliases, seen.skew_ns, seen.part, seen.until,
        budget=seen.budget, taken=seen.taken,
    )  # fmt: skip


def _of_it(rule: Rule, seen: Evidence, judge: Judge) -> Judged:
    """The answer; about any things where no call has what says which one `it` is."""
    same = _of(It, rule)
    calls = [call for calls in _calls(rule, seen).values() for call in calls] if same else []
    if not same or any(seen.argument(call, same[0][0]) is not MISSING for call in calls):
        return judge(rule, seen)
    found = judge(comparing(rule, ()), seen)
    return _told(found, same) if found.verdict == "violated" else found


def _told(found: Judged, same: Paths) -> Judged:
    things = " or ".join(repr(str(pair[0][0])) for pair in same)
    no = "Not every tool has" if is_in_passing(same) else "No call has"
    said = f"{no} the argument {things}, so any calls of these tools count."
    return replace(found, explanation=f"{found.explanation} {said}")
