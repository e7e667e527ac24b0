"""Clauses that say what a call is given: `cluster is prod`, `in region north`, `the refund is over 5`.

Where they stand in a sentence does not matter here; `some_calls` asks what a rule says with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from synth.policies.asked import AMOUNT, asked_at, fields_at, said_of, sizes
from synth.policies.clausal.kinds_of_verbs import SOMEBODY
from synth.policies.marks import places_of
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, compared

Every = tuple[Comparison, ...]
"""Comparisons that must all hold."""

_WORD = r"[a-z][\w-]*"
_OWNER = rf"(?P<o>{_WORD}(?: {_WORD}){{0,2}}?)"
_DET = r"(?:the|an?|any|that|this|every|each|one)"
_DONE = compiled(
    r"(?:[a-z]+ed|[a-z]*(?:ozen|iven|aken|itten|oken|osen|idden|awn|own|tolen)|sent|paid|sold|held|told|made"
    r"|done|gone|lost|kept|left|built|bought|caught|brought|put|cut|shut|seen|met|won|begun|run|spent|lent"
    r"|bound|found|read|hit|met|laid|due|over)"
)
"""`When the hold is lifted` says what happens, not what is given."""


_ROLES = (
    "admin|administrator|manager|supervisor|lead|owner|bot|system|agent|support|ops|legal|finance|staff|guest"
    "|doctor|nurse|lawyer|auditor|operator|human|customer|vendor|partner|employee|contractor|automation"
)
"""What somebody is called, not how somebody is."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a clause says, in one of its ways: each way is comparisons that all hold."""

    ways: tuple[Every, ...]
    end: int
    owner: str = ""
    """The word of the action that it names; empty where it names none."""


def clauses_at(text: str, at: int, names: Names) -> Iterator[Said]:
    """What may be said of arguments from a place on, as the clause behind `if`."""
    for begin in _shorter(text, at):
        for first in _one(begin, at, names):
            if begin == text:
                yield first
            yield from _joined(text, first, names)


def _shorter(text: str, at: int) -> Iterator[str]:
    """The text, and what stands before each `or`: what follows one may be a clause of its own."""
    yield text
    for m in compiled(r" (?:or|and) ").finditer(text, at):
        yield text[: m.start()]


def _joined(text: str, first: Said, names: Names) -> Iterator[Said]:
    """With what `and` or `or` adds to it."""
    if (m := compiled(r",? (?P<how>and|or) (?:if |when |unless )?").match(text, first.end)) is None:
        return
    for more in _one(text, m.end(), names):
        if more.owner and more.owner != first.owner:
            continue
        if m["how"].lower() == "or":
            ways = (*first.ways, *more.ways)
        else:
            ways = tuple((*one, *other) for one in first.ways for other in more.ways)
        both = Said(ways, more.end, first.owner)
        yield both
        yield from _joined(text, both, names)


def _one(text: str, at: int, names: Names) -> Iterator[Said]:
    """Clauses that begin there, each once."""
    ways = chain(_owned(text, at, names), _named(text, at, names), _verbless(text, at), _beside(text, at))
    yield from dict.fromkeys(ways)


def _beside(text: str, at: int) -> Iterator[Said]:
    if (asked := asked_at(f" {text[at:]}", 0)) is not None:
        yield Said((asked.every,), at + asked.end - 1)


def _named(text: str, at: int, names: Names) -> Iterator[Said]:
    """`cluster is prod`, `the amount exceeds 500`."""
    the = compiled(r"(?P<the>(?:the|its|their) )?(?:args\.)?").match(text, at)
    begin = the.end() if the else at
    for path, end in fields_at(text, begin):
        field = text[begin:end]
        found = said_of(text, end + 1, path) if text[end : end + 1] == " " else None
        if found and not _happens(field, text[end + 1 : found[1]], names):
            yield Said((found[0],), found[1])
        if not _is_somebody(field) and (
            role := compiled(rf" (?:is|was) (?P<no>not )?an? (?P<v>{_ROLES})(?![\w-])").match(text, end)
        ):
            op = "not in" if role["no"] else "in"
            yield Said(((compared(path, op, (role["v"],), as_names=True),),), role.end())
        of = compiled(rf" of {_DET} {_OWNER} (?=is|are|exceeds?|was|were)").match(text, end)
        found = said_of(text, of.end(), path) if of else None
        if found and of and places_of(of["o"].split()[-1], names):
            yield Said((found[0],), found[1], of["o"].split()[-1])


def _owned(text: str, at: int, names: Names) -> Iterator[Said]:
    """`a refund has an amount over 500`, `the refund's amount is over 500`."""
    m = compiled(rf"(?:{_DET}|its|their) {_OWNER}(?:'s?|\u2019s?) (?=\S)").match(text, at)
    for path, end in fields_at(text, m.end()) if m else ():
        found = said_of(text, end + 1, path) if text[end : end + 1] == " " else None
        if m and found and places_of(m["o"].split()[-1], names):
            yield Said((found[0],), found[1], m["o"].split()[-1])
    for m in _subjects(text, at):
        word = (m["o"] or "").split()[-1:]
        if word and not places_of(word[0], names):
            continue
        for every, end in _had(text, m.end()):
            yield Said((every,), end, word[0] if word else "")


def _subjects(text: str, at: int) -> Iterator[re.Match[str]]:
    """What has an argument: `the refund`, `it`."""
    for length in ("", "{1}", "{2}"):
        more = rf"(?: {_WORD}){length}" if length else ""
        m = compiled(rf"(?:{_DET} (?P<o>{_WORD}{more})|(?P<it>it|they)) (?=has|have|is|are|was|were)").match(
            text, at
        )
        if m:
            yield m


def _had(text: str, at: int) -> Iterator[tuple[Every, int]]:
    """`has an amount over 500`, `is over 500`, `is for region north`, `is of severity high`."""
    if m := compiled(r"(?:has|have|had) (?:an?|the) ").match(text, at):
        for path, end in fields_at(text, m.end()):
            of = compiled(r",? (?:of )?").match(text, end)
            found = of and sizes(text, of.end(), path)
            if found:
                yield found
    worth = compiled(r"(?:is|are|was|were)(?: for| of| worth)? ").match(text, at)
    if worth and (found := sizes(text, worth.end(), (AMOUNT,))):
        yield found
    if m := compiled(
        r"(?:has|have|is|are|was|were|has been|have been) (?=(?:of|in|for|with|by|at|on) )"
    ).match(text, at):
        asked = asked_at(f" {text[m.end() :]}", 0)
        if asked is not None:
            yield asked.every, m.end() + asked.end - 1


def _verbless(text: str, at: int) -> Iterator[Said]:
    """`region north`, of a clause without a verb: behind `unless`, `except for`."""
    if (asked := asked_at(f" with {text[at:]}", 0)) is not None:
        yield Said((asked.every,), at + asked.end - len(" with "))


def _happens(field: str, said: str, names: Names) -> bool:
    """Does `the refund is approved` say what is done, and `the customer is angry` how somebody is?"""
    value = compiled(r"(?:is|are|was|were) (?:not |either )?(?:an? )?(?P<v>[a-z]+)(?: or [a-z]+)*").fullmatch(
        said
    )
    if value is None or "_" in field or (field == "requester" and compiled(_ROLES).fullmatch(value["v"])):
        return False
    return (
        _is_somebody(field)
        or bool(places_of(field.split()[-1], names))
        or _DONE.fullmatch(value["v"]) is not None
    )


def _is_somebody(field: str) -> bool:
    """Is it a person, whose argument says which one and not how they are?"""
    words = "|".join(word for word in SOMEBODY if word != "requester")
    return compiled(rf"(?:.* )?(?:{words})s?").fullmatch(field) is not None
