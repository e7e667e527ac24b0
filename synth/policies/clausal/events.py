"""How a sentence names an action: by its verb in every form, by a noun of it, by what is done to its object.

Each function gives all events that may be named from a place of the text on; what names two actions names
none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from synth.policies.action_forms import LIGHT, noun_of, one_or_several, singular
from synth.policies.clausal.event_of import NOTHING, any_noun, asked_of, event_of, not_its_own, told_by
from synth.policies.clausal.kinds_of_verbs import (
    CHECKED,
    CHECKS,
    DENOMINAL,
    GIVEN,
    GIVEN_TO,
    GIVING,
    MARKING,
    OF_TWO_WORDS,
    ORDERING,
    PLACING,
    PROGRAMS,
    SENDS,
    SOMEBODY,
    others_of,
)
from synth.policies.clausal.matching import Found, Grammar
from synth.policies.clausal.parts import Event
from synth.policies.clausal.phrases import BEFORE_NOUNS, Phrase, phrase_of, stem_of
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of, gerund_of, past_of, preterite_of, third_of

_WHICH = (
    r"(?P<which>(?:(?:the (?:very )?same|one and the same|this very|that very|that same|this same|that|this"
    r"|those|these) ))"
)
_DET = (
    r"(?:(?:the|an?|any|every|each|all|all the|another|such|further|more|our|your|their own|his|her"
    r"|any other|single|any single|any one|each single|every single|each and every|a given"
    r"|any given|of the|of all|of all the) )*"
)
_OWNER = r"(?:(?P<owner>[a-z][a-z_]*)'s? )??"
_END = r"(?![\w'-])"
_THING = rf"(?P<obj>(?!(?:{NOTHING})\b)[a-z][a-z_]*)"
_WHATEVER = rf"(?:{_WHICH}|(?P<det>{_DET}))(?:(?P<its>its|their) )?{_THING}"
"""Whatever something may be done to."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action of the file: a verb, and what its name says behind it."""

    number: int
    phrase: str
    verb: str
    particle: str
    nouns: tuple[str, ...]
    """Words of its object, without articles."""
    tail: tuple[str, ...]
    """What stands behind its object, or in its place: `to a supervisor`, `against policy`."""
    to_whom: tuple[str, ...]
    """Who stands before its object: `send the guest a confirmation`."""
    verb_alone: bool
    """Has no other action this verb?"""
    noun_alone: bool
    """Has no other action its last noun?"""
    gives: bool
    """Is it what its last noun stands for? `A refund`, of `issue a refund`, beside `calculate the refund`."""
    somebody: tuple[str, ...]
    """Whom what is given may be given to."""
    short: bool
    """Is it named without its tail, as no other action has its verb and object?"""
    others_up: str = ""
    """What stands behind its verb in the names of others: `in`, of `check` beside `check in`."""

    to_anything: bool = False
    """Is its verb said of whatever thing: `refund an order`, of `issue refund`?"""

    @property
    def is_check(self) -> bool:
        """Is it what nobody needs afterwards: an approval, a check?"""
        return self.verb in CHECKS or bool(self.nouns and singular(self.nouns[-1]) in CHECKED)

    @property
    def objects(self) -> str:
        """Its object as a pattern, by all its words or by the last, where no other action has that."""
        if not self.nouns:
            return ""
        *first, last = (*self.nouns[:-1], noun_of(self.nouns[-1]))
        ways = [" ".join([*first, last])]
        if first and first[-1].endswith("'s"):
            ways.append(f"{last} of {_DET}{' '.join([*first[:-1], first[-1][:-2]])}")
        if self.noun_alone and first:
            ways.append(last)
        return f"(?:{'|'.join(ways)})" if len(ways) > 1 else ways[0]

    @property
    def up(self) -> str:
        return f" {self.particle}" if self.particle else ""

    @property
    def alone(self) -> str:
        """That the particle of no other action stands behind its verb."""
        return rf"(?! (?:{self.others_up})\b)" if self.others_up else ""

    @property
    def to(self) -> str:
        """Its tail as a pattern, where it has no object: `to a supervisor`, `delivered`."""
        if not self.tail or self.nouns:
            return ""
        return rf"(?:as )?{_tail(self.tail)}" if self.marks else _tail(self.tail)

    @property
    def marks(self) -> bool:
        """Does its tail say what something is then?"""
        return self.verb in MARKING and bool(self.tail) and self.tail[0] not in BEFORE_NOUNS

    @property
    def behind(self) -> str:
        """Its tail as a pattern, after its object."""
        if not self.tail or not self.nouns:
            return ""
        if self.marks:
            return rf" (?:as )?{_tail(self.tail)}"
        return f"(?: {_tail(self.tail)})?" if self.short else f" {_tail(self.tail)}"

    @property
    def last(self) -> str:
        """The last noun of its tail."""
        return noun_of(self.tail[-1]) if self.tail and self.tail[-1] not in BEFORE_NOUNS else ""


def _tail(words: Sequence[str]) -> str:
    """`against policy` as a pattern, with any articles."""
    which = rf"(?:(?P<which2>(?:the same|that|this) )|{_DET})"
    said, named = list[str](), False
    for word in words:
        if word in BEFORE_NOUNS:
            said.append(word)
        elif said and words[len(said) - 1] in BEFORE_NOUNS:
            said.append(f"{_DET}{noun_of(word)}" if named else f"{which}(?P<own>{noun_of(word)})")
            named = True
        else:
            said.append(noun_of(word))
    return " ".join(said)


@lru_cache(maxsize=64)
def actions_of(phrases: tuple[str, ...]) -> tuple[Action, ...]:
    """The actions whose phrase is a verb with an object or without; others are named in full alone."""
    words = [phrase.casefold().split() for phrase in phrases]
    said = [phrase_of(one) if one else Phrase("", "", (), (), ()) for one in words]
    somebody = tuple(
        dict.fromkeys((*SOMEBODY, *(one.nouns[0].removesuffix("'s") for one in said if one.nouns)))
    )
    found = []
    for number, one in enumerate(said):
        if phrases[number].casefold() == "any tool" or not words[number] or not all(
            re.fullmatch(r"[a-z][\w'-]*", w) for w in words[number]
        ):  # fmt: skip
            continue
        if {"and", "or"} & set(words[number]):
            continue
        others = [other for k, other in enumerate(said) if k != number and words[k]]
        own = one.nouns or one.tail[-1:]
        last = {stem_of(own[-1])} if own else set[str]()
        alike = [other for other in others if (other.verb, other.particle) == (one.verb, one.particle)]
        named = [other for other in others if last & other.stems or (own and own[-1] == other.verb)]
        found.append(
            Action(
                number, phrases[number], one.verb, one.particle, one.nouns, one.tail, one.to_whom,
                verb_alone=not alike and one.verb not in LIGHT and (
                    bool(one.particle) or not any(
                        stem_of(one.verb) in other.stems for other in others if other.verb in GIVING
                    )
                ),
                noun_alone=bool(last) and not named,
                gives=bool(one.nouns) and (one.verb in GIVING or one.nouns[-1] in GIVEN) and not any(
                    other.verb in GIVING or own[-1] == other.verb for other in named
                ),
                somebody=somebody,
                short=one.verb not in PLACING and not any(
                    other.nouns[-1:] == one.nouns[-1:] for other in alike
                ),
                others_up="|".join(sorted({
                    other.particle for other in others if other.verb == one.verb and other.particle
                })) if not one.particle else "",
            )
        )  # fmt: skip
    return (*found, *_in_other_words(found), *_of_what_is_given(found), *_of_programs(found))


def _in_other_words(actions: Sequence[Action]) -> Iterator[Action]:
    """The same actions by other verbs, which no action of the file has: `obtain approval`."""
    verbs = {one.verb for one in actions}
    for one in actions:
        for verb in others_of(one.verb, one.nouns, one.tail):
            if verb not in verbs and not one.particle and (one.nouns or verb == "request"):
                nouns = one.nouns or one.tail[1:]
                tail = one.tail if one.nouns else ()
                yield replace(one, verb=verb, nouns=nouns, tail=tail, verb_alone=False, gives=False)
        verb, up = OF_TWO_WORDS.get(one.verb, ("", ""))
        if verb and verb not in verbs and one.nouns and not one.particle:
            yield replace(one, verb=verb, particle=up, verb_alone=one.verb == verb + up, gives=False)


def _of_what_is_given(actions: Sequence[Action]) -> Iterator[Action]:
    """`Refund an order`, of `issue refund`, where no other action has that verb."""
    verbs = {one.verb for one in actions}
    for one in actions:
        verb = DENOMINAL.get(one.nouns[-1]) if one.gives and len(one.nouns) == 1 and not one.tail else None
        if verb and verb not in verbs:
            yield replace(
                one, verb=verb, particle="", nouns=(), verb_alone=True, noun_alone=False, gives=False,
                to_anything=True,
            )  # fmt: skip


def _of_programs(actions: Sequence[Action]) -> Iterator[Action]:
    """What a program does, by that verb alone: `applied`, of `terraform apply`."""
    for one in actions:
        if one.verb in PROGRAMS and len(one.nouns) == 1 and not one.tail:
            yield replace(one, verb=one.nouns[0], nouns=(), verb_alone=True, noun_alone=False, gives=False)


def by_name(
    actions: tuple[Action, ...], phrases: tuple[str, ...]
) -> dict[str, Callable[[Grammar, int], Iterator[Found]]]:
    """The rules of a grammar that find the actions of a file."""
    nouns = {one.number: one.nouns or one.tail[-1:] for one in actions if not one.to_anything}

    def all_of(ways: Callable[[Action], Iterator[Way]]) -> list[Way]:
        return [way for one in actions for way in ways(one)]

    exact = [
        Way(re.escape(phrase.casefold()), number)
        for number, phrase in enumerate(phrases)
        if phrase.casefold() != "any tool"
    ]
    return {
        "noun": _finder([*exact, *map(_as_noun, exact), *all_of(_nouns)], nouns),
        "check": not_its_own(_finder(_checks(actions, exact), nouns)),
        "check by name": _finder(
            [Way(re.escape(one.phrase.casefold()), one.number) for one in actions if one.is_check], nouns
        ),
        "exactly": _finder([*exact, *map(_as_noun, exact)], nouns),
        "going_out": _finder(all_of(lambda one: _goes_out(one, "(?:goes|go) out")), nouns),
        "never_going_out": _finder(all_of(lambda one: _goes_out(one, _NOT_OUT)), nouns),
        "deed": _finder([*exact, *all_of(lambda one: _verbs(one, str))], nouns),
        "does": _finder(all_of(lambda one: _verbs(one, third_of)), nouns),
        "did": _finder(all_of(lambda one: _verbs(one, preterite_of)), nouns),
        "having": _finder(all_of(lambda one: _verbs(one, past_of)), nouns),
        "verb": _several([Way(f"{one.verb}{one.up}", one.number) for one in actions if one.nouns], nouns),
        "verbs": _several(
            [Way(f"{third_of(one.verb)}{one.up}", one.number) for one in actions if one.nouns], nouns
        ),
        "verbing": _several(
            [Way(gerund_of(one.verb), one.number) for one in actions if not one.particle and one.nouns], nouns
        ),
        "done": _several(all_of(_done), nouns),
        "noun_done": _finder(all_of(_given_out), nouns),
        "thing": _several(all_of(_things), nouns),
        "whatever": _several(
            [Way(_WHATEVER, one.number, role="any") for one in actions if one.to_anything], nouns
        ),
        "sole": _finder(
            [way for one in actions if one.noun_alone for way in _things(one) if not way.role], nouns
        ),
        "ordered": _finder(
            [
                way
                for one in actions
                if one.noun_alone and one.verb in ORDERING
                for way in _things(one)
                if not way.role
            ],
            nouns,
        ),
        "state": _several(all_of(_state), nouns),
        "undone": _several([way for one in actions for way in _undone(one, actions)], nouns),
        "self": _several(all_of(_self), nouns),
        "told by somebody": _finder(all_of(lambda one: (Way(s, one.number) for s in told_by(one))), nouns),
        "asked of somebody": _finder(all_of(lambda one: (Way(s, one.number) for s in asked_of(one))), nouns),
        "gapped": _several(all_of(_gapped), nouns),
    }


def _checks(actions: Sequence[Action], exact: Sequence[Way]) -> list[Way]:
    """What nobody needs afterwards: by a noun, and as the file calls it."""
    checks = [one for one in actions if one.is_check]
    named = [way for way in exact if any(way.number == one.number for one in checks)]
    return [*named, *map(_as_noun, named), *(way for one in checks for way in _nouns(one))]


_NOT_OUT = (
    r"(?:(?:do|does|must|may|can|should|shall|will) not|(?:must|may|can|should|shall) never|never) "
    r"(?:ever )?(?:goes|go) out"
)


def _goes_out(one: Action, goes: str) -> Iterator[Way]:
    """`letters go out`, of what is sent."""
    if one.nouns and one.verb in SENDS:
        yield Way(rf"{_object(one)}{one.behind} {goes}", one.number)


def _as_noun(way: Way) -> Way:
    """`a failed verify identity`, `two cancel bookings`: what the file calls it, as a word of its own."""
    lead = r"(?P<det>(?:an?|the|any|each|every|another) )?(?:(?P<its>its|their) )?"
    lead += r"(?P<how>(?:failed|failing|successful) )?"
    return way._replace(pattern=f"{lead}{one_or_several(way.pattern)}")


class Way(NamedTuple):
    """One way to name an action."""

    pattern: str
    number: int
    bare: bool = False
    """By its verb alone?"""
    role: str = ""
    """Which part of it a thing is; empty for its object. What is done to a thing has the same role."""


def _state(one: Action) -> Iterator[Way]:
    """`a closed ticket`, `an order that was cancelled`."""
    if one.to_anything:
        yield Way(
            rf"(?:(?:the|an?|any|every|each|all) )?{past_of(one.verb)} {_THING}", one.number, role="such"
        )
    lead = r"(?:(?:the|an?|any|every|each|all) )?"
    if one.nouns and one.particle:
        yield Way(
            rf"{lead}(?:{one.objects}) (?:that|which|who) "
            rf"(?:{third_of(one.verb)}|has {past_of(one.verb)}){one.up}",
            one.number,
        )
    if one.nouns:
        done = f"{past_of(one.verb)}{'[ -]' + one.particle if one.particle else ''}"
        yield Way(rf"{lead}{done} (?:{one.objects})", one.number)
        yield Way(
            rf"{lead}(?:{one.objects}) (?:that|which|who) (?:has been|have been|was|were|is|are) "
            rf"(?:already )?{past_of(one.verb)}{one.up}{one.behind}",
            one.number,
        )


def _undone(one: Action, actions: Sequence[Action]) -> Iterator[Way]:
    """`An uninspected car`, where no action of the file is to `uninspect`."""
    verbs = {other.verb for other in actions}
    if not one.nouns or one.particle or f"un{one.verb}" in verbs:
        return
    lead = r"(?:(?:the|an?|any|every|each|all) )?"
    un = r"(?:un|non-|not yet |not previously |never |hitherto un|as yet un|still un|not )"
    yield Way(rf"{lead}{un}{past_of(one.verb)} (?:{one.objects})", one.number)


def _self(one: Action) -> Iterator[Way]:
    """What a thing does by itself: `a truck that checks in`."""
    if one.nouns and one.particle and not one.tail:
        yield Way(
            rf"(?:{third_of(one.verb)}|{preterite_of(one.verb)}|{past_of(one.verb)}){one.up}", one.number
        )


def _gapped(one: Action) -> Iterator[Way]:
    """What somebody did to the thing before it: `a card that you froze`."""
    if one.nouns:
        yield Way(rf"(?:{preterite_of(one.verb)}|{past_of(one.verb)}){one.up}{one.behind}", one.number)
    if one.verb == "hold":
        yield Way(r"(?:put|placed) on hold", one.number)


def _object(one: Action) -> str:
    plain = rf"(?:{_WHICH}|(?P<det>{_DET}))(?:(?P<its>its|their) )?{_OWNER}(?P<obj>{one.objects})"
    if len(one.nouns) != 2 or not one.nouns[0].isalpha():
        return plain
    of = r"(?:(?P<which5>(?:that|the|this) same|that|this) |(?:the|an?|each|every) )"
    return rf"(?:{plain}|(?:the|an?) {noun_of(one.nouns[1])} of {of}(?P<first>{one.nouns[0]}))"


def _whom(one: Action) -> str:
    """`the guest`, `that customer`: whom something is given to."""
    people = "|".join(one.to_whom[-1:] or one.somebody)
    which = r"(?:(?P<which3>(?:the same|that|this) )|(?:the |our |your )?)"
    return rf"(?:{which}(?P<whom>(?:{people})s?)|(?P<it>it|them))"


def _verbs(one: Action, form: Callable[[str], str]) -> Iterator[Way]:
    verb, up = form(one.verb), one.up
    if one.to_anything:
        yield Way(rf"{verb} {_WHATEVER}", one.number, role="any")
        yield Way(rf"{verb} (?P<it>it|them)", one.number)
    if one.to:
        thing = rf"(?: (?:{_WHICH}|(?P<det>{_DET}))(?P<of>(?!(?:it|them)\b)[a-z][a-z_]*)| (?P<it>it|them))?"
        yield Way(rf"{verb}{thing}{up} {one.to}", one.number)
        if up:
            yield Way(rf"{verb}{up}{thing} {one.to}", one.number)
    if one.nouns:
        yield Way(rf"{verb}{up} {_object(one)}{one.behind}", one.number)
        if up:
            yield Way(rf"{verb} {_object(one)}{up}{one.behind}", one.number)
        if one.short:
            yield Way(rf"{verb} (?P<itself>it|them){up}{one.behind}", one.number)
        if one.to_whom or one.verb in GIVEN_TO:
            yield Way(rf"{verb}{up} {_whom(one)} {_object(one)}{one.behind}", one.number)
        if one.to_whom:
            yield Way(rf"{verb}{up} {_object(one)} to {_whom(one)}", one.number)
    if one.verb_alone or not (one.nouns or one.to):
        yield Way(rf"{verb}{up}{one.alone}", one.number, True)
        whatever = "(?:any|some)(?:thing(?: else| more)?|one|body)|people"
        yield Way(rf"{verb}{up} (?:{whatever})", one.number, True)


def _nouns(one: Action) -> Iterator[Way]:
    yield from (way._replace(pattern=rf"{_DET}{way.pattern}") for way in _verbs(one, gerund_of))
    names = "|".join(deeds_of(one.verb))
    plain = names
    lead = (
        rf"(?:{_WHICH}|(?P<det>{_DET}))(?:(?P<its>its|their) )?(?P<how>failed |failing "
        rf"|unsuccessful |successful )?"
    )
    lead += _OWNER
    if one.particle:
        plain = f"{one.verb}[ -]?{one.particle}s?"
        names = rf"{plain}|{gerund_of(one.verb)}[ -]{one.particle}"
    names += rf"|{gerund_of(one.verb)}s?" if not one.particle else ""
    if one.to:
        of = (
            r"(?: of (?:(?P<which4>the same|that|this) |(?P<det2>an?|any|each|every) "
            r")?(?:the )?(?P<of>[a-z][a-z_]*))?"
        )
        yield Way(rf"{lead}(?:{names}){of} {one.to}", one.number)
        if one.last:
            yield Way(rf"{lead}{one.last} (?:{names})", one.number)
    if one.nouns:
        one_of = r"the same|that|this|any given|a given|any single|any one|one and the same|the very same"
        each = r"(?P<each_of>each|every|each single|every single|each and every)"
        of = rf"(?:of|to|for) (?:(?P<which4>{one_of}) |{each} |{_DET})(?P<obj>{one.objects})"
        yield Way(rf"{lead}(?:{names}) {of}{one.behind}", one.number)
        yield Way(rf"{lead}{one.objects} (?:{names})", one.number)
        if one.short and one.last:
            yield Way(rf"{lead}(?:{one.last}) (?:{names})", one.number)
        yield Way(rf"{lead}{past_of(one.verb)} (?:{one.objects})", one.number)
        if one.gives:
            yield Way(rf"{lead}(?:{one.objects})", one.number)
    if one.verb_alone and one.verb != "call":
        yield Way(rf"{lead}(?:{names}){one.alone}", one.number, True)
    if one.verb in PROGRAMS and one.noun_alone:
        yield Way(rf"{lead}(?:new )?{noun_of(one.nouns[-1])}", one.number)


def _done(one: Action) -> Iterator[Way]:
    done = past_of(one.verb)
    if one.to_anything:
        yield Way(done, one.number, role="any")
        return
    if one.to:
        yield Way(rf"{done}{one.up} {one.to}", one.number, role="whatever")
        if len(one.tail) > 1 and one.tail[-1] not in BEFORE_NOUNS:
            yield Way(rf"{done}{one.up} {one.tail[0]}", one.number, role="behind")
    if one.nouns or one.verb_alone:
        yield Way(rf"{done}{one.up}{one.behind}", one.number, not one.nouns)
    if one.nouns and (one.to_whom or one.verb in GIVEN_TO):
        yield Way(rf"{done}{one.up} {_object(one)}{one.behind}", one.number, role="whom")
    if one.to_whom:
        yield Way(rf"{done}{one.up} to {_whom(one)}", one.number)
    if one.verb == "hold":
        yield Way(r"(?:put|placed) on hold", one.number)


def _given_out(one: Action) -> Iterator[Way]:
    """`credited`, of `issue a credit`; `loaded`, where no other action has the verb."""
    if one.gives and len(one.nouns) == 1:
        yield Way(past_of(one.nouns[-1]), one.number)
    if one.verb_alone and not one.particle:
        yield Way(past_of(one.verb), one.number)


def _things(one: Action) -> Iterator[Way]:
    if one.nouns:
        yield Way(_object(one), one.number)
        if one.to_whom or one.verb in GIVEN_TO:
            yield Way(_whom(one), one.number, role="whom")
    elif one.to:
        yield Way(rf"(?:{_WHICH}|(?P<det>{_DET}))(?P<of>[a-z][a-z_]*)", one.number, role="whatever")
        if one.last:
            yield Way(rf"{_DET}{one.last}", one.number, role="behind")


def _finder(
    ways: list[Way], nouns: Mapping[int, tuple[str, ...]]
) -> Callable[[Grammar, int], Iterator[Found]]:
    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        longest: dict[int, list[tuple[Event, int]]] = {}
        for pattern, number, bare, role in ways:
            if m := compiled(rf" *{pattern}{_END}").match(grammar.text, at):
                own = any_noun(m) if role == "any" else nouns.get(number, ())
                event = replace(event_of(m, number, bare), noun=() if bare else own)
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
        for pattern, number, bare, role in ways:
            if m := compiled(rf" *{pattern}{_END}").match(grammar.text, at):
                noun = (
                    (singular(m["of"]),) if role == "whatever" and "of" in m.re.groupindex else nouns[number]
                )
                if role in ("any", "such"):
                    noun = any_noun(m)
                own = "" if role == "such" else role
                yield replace(event_of(m, number, bare), noun=noun, role=own), m.end()

    return find
