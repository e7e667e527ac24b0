"""What the words of an event say beside its action: of which thing, of how many, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Protocol

from synth.policies.action_forms import SMALL, noun_of, singular
from synth.policies.clausal.matching import Found, Grammar
from synth.policies.clausal.parts import IT, Event
from synth.policies.clausal.words import NOT_A_THING
from synth.policies.nouns import MONEY
from synth.policies.patterns import compiled
from synth.policies.verbs import past_of

_EACH = "each|every|any one|any single|each single|every single|each and every"
_GIVEN = (*MONEY, "currency", "currencies", "method", "channel", "type", "kind", "status", "limit", "id")
"""What calls are given, and nothing that anything is done to: `refund currency`."""
_BEHIND_A_VERB = (
    "must", "may", "can", "should", "shall", "has", "have", "is", "are", "needs", "only", "never", "not",
    "if", "when", "unless", "until", "before", "after", "once", "without", "per", "at",
)  # fmt: skip
NOTHING = "|".join((*SMALL, *_BEHIND_A_VERB, "it", "them", *NOT_A_THING, *_GIVEN))
"""What stands behind a verb and is nothing that something is done to, as a pattern."""


def any_noun(m: re.Match[str]) -> tuple[str, ...]:
    """The noun of whatever something is done to; none where it is not said there."""
    return (singular(m["obj"].lower()),) if "obj" in m.re.groupindex else ()


def event_of(m: re.Match[str], number: int, bare: bool) -> Event:
    said = m.groupdict()
    which, det, owner, of = (said.get(slot) for slot in ("which", "det", "owner", "of"))
    same, about = set(), set()
    noun = said.get("obj") or ("" if of else m[0].split()[-1])
    det_of = said.get("det2") or ""
    if which or said.get("which4"):
        thing = owner or of or noun
        its_call = (
            bare and not (owner or of or said.get("obj")) and (which or "").lower() in ("that ", "this ")
        )
        if not its_call:
            same.add(singular(thing.split()[-1]))
    elif said.get("its") or said.get("it") or said.get("itself"):
        same.add(IT)
    elif owner:
        about.add(singular(owner))
    elif of and compiled(r"(?:an?|any|each|every|any single) ").search(det_of + " " if det_of else det or ""):
        about.add(singular(of))
    if said.get("each_of"):
        about.add(singular(noun.split()[-1]))
    if said.get("which2"):
        same.add(singular((said.get("own") or "").split()[-1]))
    if one := re.search(r" of (?:an?|any|each|every) ([a-z]+)$", noun):
        about.add(singular(one[1]))
    if said.get("which5"):
        same.add(singular(said.get("first") or ""))
    if said.get("which3"):
        same.add(singular(said.get("whom") or ""))
    how = (said.get("how") or "").strip().lower()
    return Event(
        number,
        "failed" if how in ("failed", "failing", "unsuccessful") else how,
        frozenset(same),
        frozenset(about),
        single=bool(compiled(rf"(?:an?|any|{_EACH}|a single|a given|any given) ").fullmatch(det or ""))
        or bool(det_of),
        bare=bare,
        itself=bool(said.get("itself")),
        each=bool(compiled(rf"(?:{_EACH}|a given|any given) ").fullmatch(det or ""))
        and bool(said.get("obj")),
    )


class Asking(Protocol):
    """An action that may ask somebody: `confirm with guest`."""

    @property
    def verb(self) -> str: ...
    @property
    def particle(self) -> str: ...
    @property
    def nouns(self) -> tuple[str, ...]: ...
    @property
    def tail(self) -> tuple[str, ...]: ...


def told_by(one: Asking) -> Iterator[str]:
    """`The guest has confirmed`, of `confirm with guest`, as patterns."""
    if whom := _whom_it_asks(one):
        yield rf"{whom} (?:has|have)(?: already| first| explicitly)? {past_of(one.verb)}"


def asked_of(one: Asking) -> Iterator[str]:
    """`The guest must confirm`."""
    if whom := _whom_it_asks(one):
        yield rf"{whom} (?:must|should|has to|have to|needs to|need to)(?: explicitly)? {one.verb}"


def _whom_it_asks(one: Asking) -> str:
    if one.nouns or one.particle or len(one.tail) != 2 or one.tail[0] not in ("with", "by"):
        return ""
    return rf"(?:(?:the|an?|our|his|her|that|this|each|every) )?{noun_of(one.tail[1])}"


def not_its_own(
    find: Callable[[Grammar, int], Iterator[Found]],
) -> Callable[[Grammar, int], Iterator[Found]]:
    """`Their own approval` says more than that one is needed."""

    def found(grammar: Grammar, at: int) -> Iterator[Found]:
        if not compiled(r" *(?:(?:all )?(?:its|their) own)\b").match(grammar.text, at):
            yield from find(grammar, at)

    return found
