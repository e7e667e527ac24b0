"""Words of a sentence that belong to actions, and the same words with a mark that sets them apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synth.policies.action_forms import PARTICLES, SMALL, noun_of, singular
from synth.policies.names import Names
from synth.policies.nouns import Somewhere
from synth.policies.verbs import HOW, deeds_of, gerund_of, past_of, third_of
from synth.policies.where import Comparison

OF_THE_SAME = r" (?:of|for|with|on) the (?:very )?same [a-z_]+(?: (?:id|number|code|ref|type|name))?$"
"""What may stand between an action and what it is given: `a deploy of the same version to env staging`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A word of a sentence that is one of an action."""

    phrase: str
    word: int
    """Which of the phrase."""
    form: str
    """What comes behind the marked word: `s`, `ing`, `ed` or nothing."""


def places_of(word: str, names: Names) -> list[Place]:
    """The actions that have the word, in one of its forms."""
    found: list[Place] = []
    for phrase in names.actions:
        if phrase == "any tool":
            continue
        parts = phrase.casefold().split()
        for k, part in enumerate(parts):
            form = _form_of(word.casefold(), part, k == 0 or (k == 1 and parts[0] in HOW))
            if form is not None and part not in SMALL and not (k and part in PARTICLES):
                found.append(Place(phrase, k, form))
                break
    return found


def _form_of(word: str, part: str, verb: bool) -> str | None:
    if word == part:
        return ""
    if not re.fullmatch(r"[a-z][\w-]*", part):
        return None
    if not verb:
        if not re.fullmatch(noun_of(part), word):
            return None
        return "s" if len(word) >= len(singular(part)) + 1 and word.endswith("s") else ""
    for form, said in (("s", third_of), ("ing", gerund_of), ("ed", past_of)):
        if re.fullmatch(said(part), word):
            return form
    if any(re.fullmatch(deed, word) for deed in deeds_of(part)):
        return "s" if word.endswith("s") else ""
    return None


def says_an_action(every: Sequence[Comparison], names: Names) -> bool:
    """Is a value whose argument is not named a word of an action, as in `deploy to production`?"""
    said = (str(value) for one in every if isinstance(one.path[-1], Somewhere) for value in one.values)
    return any(places_of(word, names) for value in said for word in value.split())


def mark_of(number: int) -> str:
    """Behind a word: no verb and no noun of the language ends so."""
    return f"q{'abcdefgh'[number]}x"


def marked(place: Place, mark: str) -> str:
    """The phrase with the mark in it."""
    parts = place.phrase.split()
    plural = place.word and singular(parts[place.word]) != parts[place.word]
    stem = singular(parts[place.word]) if place.word else parts[place.word]
    parts[place.word] = f"{stem}{mark}{'s' if plural else ''}"
    return " ".join(parts)


def in_text(place: Place, mark: str) -> str:
    part = place.phrase.split()[place.word]
    return f"{singular(part) if place.word else part}{mark}{place.form}"
