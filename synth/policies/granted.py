"""The rule of a sentence whose main statement is what calls may be given."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.givens import given
from synth.policies.clausal.subjects import ANY_CALL, Given
from synth.policies.composed import quoted
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import Names, Tools, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.where import Where

MAX_SHOWN = 2
_SOME_ARGUMENT = compiled(r"\bwith (?:an|any|some|no) argument (?=[\"\u201c])")
"""That is of whichever argument has the value."""


def granted(sentence: str, names: Names) -> PolicyKind | None:
    """The ban of what a sentence does not allow; None where it is no such sentence.

    TwoReadings where it may be said of calls of several actions, or in several ways.
    """
    body = " ".join(sentence.split()).removesuffix(".").strip()
    if _SOME_ARGUMENT.search(body):
        return None
    phrases = tuple(names.actions)
    found = given(body, phrases)
    if any(one.other for statement in found for one in statement.broken):
        found = tuple(one for one in found if any(c.other for c in one.broken))
    rules = list(dict.fromkeys(_rule_of(one, names, phrases) for one in found))
    if len(rules) > 1:
        ways = " or ".join(quoted(_said(rule)) for rule in rules[:MAX_SHOWN])
        raise TwoReadings(f"cannot read this sentence in one way; write {ways}")
    return rules[0] if rules else None


def _rule_of(one: Given, names: Names, phrases: tuple[str, ...]) -> Count:
    what = []
    for calls in one.calls:
        known = (
            Tools("any tool", ("*",)) if calls.action == ANY_CALL else names.actions[phrases[calls.action]]
        )
        for comparison in one.broken:
            where = Where(tuple(dict.fromkeys((*known.asked, *calls.asked, comparison))))
            what.append(replace(known, phrase=f"{known.phrase} {where.words}", where=where))
    return Count(tuple(what), most=0)


def _said(rule: Count) -> str:
    return f"{' and '.join(tools.phrase for tools in rule.what)} must never happen"
