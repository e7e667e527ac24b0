"""How a sentence names an action: by its verb in every form, by a noun of it, by what is done to its object.

Each function gives all events that may be named from a place of the text on; what names two actions names
none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from synth.policies.action_forms import ARTICLES, LIGHT, PARTICLES, SMALL, noun_of
from synth.policies.clausal.matching import Found, Grammar
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of, gerund_of, past_of, third_of

ANY = -1
"""The number of `any tool`."""
ANYTHING = -2
"""That of whatever a field says which it is."""
IT = "it"
"""Stands for the noun that `its` and `for it` mean."""
_GIVING = (
    *LIGHT, "send", "write", "issue", "create", "print", "publish", "file", "log", "record", "add", "give",
    "post", "raise", "award", "grant", "place", "mail", "get", "obtain", "request", "submit", "open", "start",
)  # fmt: skip
"""Verbs whose object stands for what they do: `an announcement`, of `post an announcement`."""
_CHECKS = (
    "approve", "verify", "check", "inspect", "review", "confirm", "authorise", "authorize", "validate",
    "test",
)  # fmt: skip
_CHECKED = (
    "approval", "verification", "check", "inspection", "review", "confirmation", "authorisation", "consent",
)  # fmt: skip
"""What nobody needs afterwards: `without approval` is without an earlier one."""
_WHICH = (
    r"(?P<which>(?:(?:the (?:very )?same|one and the same|this very|that very|that same|this same|that|this"
    r"|those|these) ))"
)
_DET = (
    r"(?:(?:the|an?|any|every|each|all|all the|another|such|further|more|our|your|their own|his|her"
    r"|any other|single|any single|of the|of all|of all the) )*"
)
_OWNER = r"(?:(?P<owner>[a-z][a-z_]*)'s? )?"
_END = r"(?![\w'-])"


@dataclass(frozen=True, slots=True)
class Event:
    """Calls of an action that a sentence names."""

    action: int
    outcome: str = ""
    """`failed` or `successful`; empty where it is not said."""
    same: frozenset[str] = frozenset()
    """What must be the same as of the other calls."""
    about: frozenset[str] = frozenset()
    """Things that it introduces: `in a region`."""
    single: bool = False
    """Is it said of one of them, `a refund`?"""
    beside: tuple[Any, ...] = ()
    """Adjuncts that stand right behind it: `in an hour`, `of a run`."""
    noun: tuple[str, ...] = ()
    """The words of its object."""
    bare: bool = False
    """Is it named by its verb alone, or what is done to whatever thing?"""


@dataclass(frozen=True, slots=True)
class Action:
    """One action of the file: a verb, and its objects."""

    number: int
    phrase: str
    verb: str
    particle: str
    nouns: tuple[str, ...]
    """Words of its object, without articles."""
    to: str
    """What it begins with where that is a preposition, as a pattern: `to a supervisor`."""
    verb_alone: bool
    """Has no other action this verb?"""
    noun_alone: bool
    """Has no other action its last noun?"""
    gives: bool
    """Is it what its last noun stands for? `A refund`, of `issue a refund`, beside `calculate the refund`."""

    @property
    def is_check(self) -> bool:
        """Is it what nobody needs afterwards: an approval, a check?"""
        return self.verb in _CHECKS or bool(self.nouns and self.nouns[-1] in _CHECKED)

    @property
    def objects(self) -> str:
        """Its object as a pattern, by all its words or by the last, where no other action has that."""
        whole = " ".join([*self.nouns[:-1], noun_of(self.nouns[-1])]) if self.nouns else ""
        return f"(?:{whole}|{noun_of(self.nouns[-1])})" if self.noun_alone and len(self.nouns) > 1 else whole


def _stem(noun: str) -> str:
    return re.sub(r"(?:ies|y|e?s)$", "", noun)


@lru_cache(maxsize=64)
def actions_of(phrases: tuple[str, ...]) -> tuple[Action, ...]:
    """The actions whose phrase is a verb with an object or without; others are named in full alone."""
    said = [(number, phrase.casefold().split()) for number, phrase in enumerate(phrases)]
    verbs = [words[0] for _, words in said]
    nouns = [
        {_stem(word) for word in words[1:] if word not in (*ARTICLES, *SMALL, *PARTICLES)}
        for _, words in said
    ]
    found = []
    for number, words in said:
        if phrases[number].casefold() == "any tool" or not all(
            re.fullmatch(r"[a-z][\w'-]*", w) for w in words
        ):
            continue
        verb, rest = words[0], words[1:]
        particle = rest[0] if rest and rest[0] in PARTICLES and not _leads(verb, rest[0]) else ""
        rest = rest[bool(particle) :]
        to = ""
        if rest and rest[0] in SMALL and rest[0] not in ARTICLES:
            plain = [word for word in rest if word not in ARTICLES]
            to, rest = " ".join([plain[0], _DET + " ".join([*plain[1:-1], noun_of(plain[-1])])]), []
        rest = [word for word in rest if word not in ARTICLES]
        if any(word in SMALL for word in rest):
            continue
        last = {_stem(rest[-1])} if rest else set()
        beside = [(verbs[k], theirs) for k, theirs in enumerate(nouns) if k != number]
        found.append(
            Action(
                number, phrases[number], verb, particle, tuple(rest), to,
                verb_alone=verbs.count(verb) == 1 and verb not in LIGHT and not any(
                    _stem(verb) in theirs for other, theirs in beside if other in _GIVING
                ),
                noun_alone=bool(last) and not any(
                    last & theirs or rest[-1] == other for other, theirs in beside
                ),
                gives=verb in _GIVING and bool(last) and not any(
                    (last & theirs and other in _GIVING) or rest[-1] == other for other, theirs in beside
                ),
            )
        )  # fmt: skip
    return tuple(found)


def _leads(verb: str, word: str) -> bool:
    """Does a word behind a verb lead to its object (`put on hold`), or is it part of it (`check in`)?"""
    return word in ("in", "on") and verb not in (
        "check",
        "log",
        "sign",
        "clock",
        "turn",
        "switch",
        "opt",
        "hand",
    )


def by_name(
    actions: tuple[Action, ...], phrases: tuple[str, ...]
) -> dict[str, Callable[[Grammar, int], Iterator[Found]]]:
    """The rules of a grammar that find the actions of a file."""
    deeds, doings, done, things, third = [], [], [], [], []
    nouns = {one.number: one.nouns for one in actions}
    for one in actions:
        deeds += list(_nouns(one))
        doings += list(_verbs(one, str))
        third += list(_verbs(one, third_of))
        done += list(_done(one))
        things += list(_things(one))
    exact = [
        (_exact(phrase), number, False)
        for number, phrase in enumerate(phrases)
        if phrase.casefold() != "any tool"
    ]
    return {
        "noun": _finder([*exact, *deeds], nouns),
        "check": _finder([way for one in actions if one.is_check for way in _nouns(one)], nouns),
        "deed": _finder([*exact, *doings], nouns),
        "does": _finder(third, nouns),
        "having": _finder([way for one in actions for way in _verbs(one, past_of)], nouns),
        "verb": _several(
            [(one.verb, one.number, False) for one in actions if not one.particle and one.nouns], nouns
        ),
        "done": _several(done, nouns),
        "thing": _several(things, nouns),
        "state": _several([way for one in actions for way in _state(one)], nouns),
    }


def _exact(phrase: str) -> str:
    return re.escape(phrase.casefold())


Way = tuple[str, int, bool]
"""(pattern, number of the action, is it named by its verb alone?)"""


def _state(one: Action) -> Iterator[Way]:
    """`a closed ticket`, `an order that was cancelled`."""
    up = f" {one.particle}" if one.particle else ""
    lead = r"(?:(?:the|an?|any|every|each|all) )?"
    if one.nouns:
        yield (
            rf"{lead}{past_of(one.verb)}{'[ -]' + one.particle if one.particle else ''} (?:{one.objects})",
            one.number,
            False,
        )
        yield (
            rf"{lead}(?:{one.objects}) (?:that|which|who) (?:has been|have been|was|were|is|are) "
            rf"(?:already )?{past_of(one.verb)}{up}",
            one.number,
            False,
        )


def _object(one: Action) -> str:
    return rf"(?:{_WHICH}|(?P<det>{_DET}))(?:(?P<its>its|their) )?{_OWNER}(?:{one.objects})"


def _verbs(one: Action, form: Callable[[str], str]) -> Iterator[Way]:
    verb, up = form(one.verb), f" {one.particle}" if one.particle else ""
    if one.to:
        thing = rf"(?: (?:{_WHICH}|(?P<det>{_DET}))(?P<of>[a-z][a-z_]*)| (?P<it>it|them))?"
        yield rf"{verb}{thing}{up} {one.to}", one.number, False
    if one.nouns:
        yield rf"{verb}{up} {_object(one)}", one.number, False
        if up:
            yield rf"{verb} {_object(one)}{up}", one.number, False
    if one.verb_alone or not (one.nouns or one.to):
        yield rf"{verb}{up}", one.number, True


def _nouns(one: Action) -> Iterator[Way]:
    yield from ((rf"{_DET}{pattern}", number, bare) for pattern, number, bare in _verbs(one, gerund_of))
    names = "|".join(deeds_of(one.verb))
    lead = (
        rf"(?:{_WHICH}|(?P<det>{_DET}))(?:(?P<its>its|their) )?(?P<how>failed |failing "
        rf"|unsuccessful |successful )?"
    )
    lead += _OWNER
    if one.particle:
        names = f"{one.verb}[ -]?{one.particle}s?"
    if one.to:
        of = (
            r"(?: of (?:(?P<which2>the same|that|this) |(?P<det2>an?|any|each|every) "
            r")(?P<of>[a-z][a-z_]*))?"
        )
        yield rf"{lead}(?:{names}){of} {one.to}", one.number, False
    if one.nouns:
        of = rf"(?:of|to) (?:(?P<which2>the same|that|this) |{_DET})(?P<own>{one.objects})"
        yield rf"{lead}(?:{names}) {of}", one.number, False
        whole = " ".join([*one.nouns[:-1], noun_of(one.nouns[-1])])
        yield rf"{lead}{whole} (?:{names})", one.number, False
        yield rf"{lead}{past_of(one.verb)} (?:{one.objects})", one.number, False
        if one.gives:
            yield rf"{lead}(?:{one.objects})", one.number, False
    if one.verb_alone:
        yield rf"{lead}(?:{names})", one.number, True


def _done(one: Action) -> Iterator[Way]:
    up = f" {one.particle}" if one.particle else ""
    if one.to:
        yield rf"{past_of(one.verb)}{up} {one.to}", one.number, False
    if one.nouns or one.verb_alone:
        yield rf"{past_of(one.verb)}{up}", one.number, not one.nouns
    if one.verb == "hold":
        yield r"(?:put|placed) on hold", one.number, False


def _things(one: Action) -> Iterator[Way]:
    if one.nouns:
        yield _object(one), one.number, False


def _finder(
    ways: list[Way], nouns: Mapping[int, tuple[str, ...]]
) -> Callable[[Grammar, int], Iterator[Found]]:
    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        longest: dict[int, list[tuple[Event, int]]] = {}
        for pattern, number, bare in ways:
            if m := compiled(rf" *{pattern}{_END}").match(grammar.text, at):
                event = replace(_event(m, number, bare), noun=() if bare else nouns.get(number, ()))
                longest.setdefault(m.end(), []).append((event, m.end()))
        for _, found in sorted(longest.items(), reverse=True):
            if len({event.action for event, _ in found}) == 1:
                yield found[0]

    return find


def _several(
    ways: list[Way], nouns: Mapping[int, tuple[str, ...]]
) -> Callable[[Grammar, int], Iterator[Found]]:
    """As `_finder`, for what may belong to several actions: each of them."""

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for pattern, number, bare in ways:
            if m := compiled(rf" *{pattern}{_END}").match(grammar.text, at):
                yield replace(_event(m, number, bare), noun=nouns[number]), m.end()

    return find


def _event(m: re.Match[str], number: int, bare: bool) -> Event:
    said = m.groupdict()
    which, det, owner, of = (said.get(slot) for slot in ("which", "det", "owner", "of"))
    same, about = set(), set()
    noun = m[0].split()[-1] if not of else ""
    det_of = said.get("det2") or ""
    if which or said.get("which2"):
        thing = owner or of or (said.get("own") or noun)
        same.add(one_noun(thing.split()[-1]))
    elif said.get("its") or said.get("it"):
        same.add(IT)
    elif owner or of:
        about.add(one_noun(owner or of or ""))
    how = (said.get("how") or "").strip()
    return Event(
        number,
        "failed" if how in ("failed", "failing", "unsuccessful") else how,
        frozenset(same),
        frozenset(about),
        single=bool(compiled(r"(?:an?|any|each|every|any single) ").fullmatch(det or "")) or bool(det_of),
        bare=bare,
    )


def one_noun(noun: str) -> str:
    if "_" in noun:
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def with_same(event: Event, same: frozenset[str], about: frozenset[str] = frozenset()) -> Event:
    return replace(event, same=event.same | same, about=event.about | about)
