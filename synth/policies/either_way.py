"""What a rule says where it is open which calls are those of an action that asks for certain arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product

from synth.policies.evidence import Evidence, made_by
from synth.policies.kinds.arguments import never_given
from synth.policies.kinds.duty import Judged
from synth.policies.names import Tools
from synth.policies.where import Where

MOST_OPEN = 5
"""Calls that may be of an action or not: with each more there are twice as many ways."""

Open = tuple[Where, int]


def either_way(actions: Iterable[Tools], seen: Evidence, judge: Callable[[Evidence], Judged]) -> Judged:
    """The answer, if it is the same whether the calls in doubt are of their actions or not."""
    asked = [tools for tools in actions if tools.where is not None]
    if not asked:
        return judge(seen)
    open_: dict[Open, Tools] = {
        (tools.where, i): tools for tools in asked if tools.where is not None for i in seen.unclear(tools)
    }
    if not open_:
        return judge(seen)
    if len(open_) > MOST_OPEN:
        return Judged("undecided", (), _why(open_, seen))
    ways = product((False, True), repeat=len(open_))
    found = [judge(seen.taking(dict(zip(open_, way, strict=True)))) for way in ways]
    awaits = any(one.awaits for one in found)
    if len({one.verdict for one in found}) > 1:
        return Judged("undecided", (), _why(open_, seen), awaits=awaits)
    until = min((one.until for one in found if one.until is not None), default=None)
    return replace(_agreed(found), awaits=awaits, until=until)


def _agreed(found: Sequence[Judged]) -> Judged:
    """One answer with what all say: calls that break the rule in some of the ways only are left out."""
    first = found[0]
    if all(one == first for one in found):
        return first
    always = set(first.violations).intersection(*(one.violations for one in found))
    reasons = tuple((call, said) for call, said in first.reasons if call in always)
    return replace(
        first,
        violations=tuple(i for i in first.violations if i in always),
        explanation=reasons[0][1] if reasons else first.explanation,
        reasons=reasons,
        clauses=tuple((call, span) for call, span in first.clauses if call is None or call in always),
    )


def _why(open_: dict[Open, Tools], seen: Evidence) -> str:
    (where, call), tools = next(iter(open_.items()))
    path, why = where.why_open(seen.given(call))
    more = f" (and {len(open_) - 1} more)" if len(open_) > 1 else ""
    asked = f"its argument {'.'.join(path)!r} {why}"
    said = f"Whether {made_by(call, seen)}{more} is one {where.words} is open: {asked}."
    every = [i for i in range(len(seen.calls)) if seen.calls[i].tool in tools]
    known = [i for i in every if seen.calls[i].arguments is not None]
    never = never_given(path, known, seen) if known else None
    return f"{said} {never}" if never else said
