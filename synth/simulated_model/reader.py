"""A small reader of rule sentences, for planners that must not read as our own grammar does.

It knows names, a handful of words for "before" and "after", and where a clause begins; it shares no code and
no table of words with `synth.language`. What it makes of `A and B, which have to follow C` is up to its
caller: a careless reader takes a clause to speak of the name next to it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

LATER = re.compile(
    r"\b(?:after|follow|following|subsequent|later|once|succeed|preceded by|wait for)\b(?! by)", re.IGNORECASE
)
EARLIER = re.compile(r"\b(?:before|precede|prior|ahead|advance|earlier|followed by)\b(?! by)", re.IGNORECASE)
_NAME = "\N{LEFT DOUBLE QUOTATION MARK}%d\N{RIGHT DOUBLE QUOTATION MARK}"
_MENTION = re.compile(r"\N{LEFT DOUBLE QUOTATION MARK}(\d+)\N{RIGHT DOUBLE QUOTATION MARK}|\b(\d\d:\d\d)\b")
_GROUP = re.compile(rf"(?:{_MENTION.pattern})(?: and (?:{_MENTION.pattern}))*")
_JOINT = re.compile(r";|, (?:and|but|yet|while|whereas)\b")
_CLAUSE = re.compile(r", which ([^,]*)")

Heads = Literal["nearest", "list"]


class Said(NamedTuple):
    """One statement: all of these stand before, or after, all of those."""

    who: tuple[str, ...]
    before: bool
    what: tuple[str, ...]
    """Names, or one clock time as HH:MM."""


def read(text: str, names: Mapping[str, str], heads: Heads = "nearest") -> list[Said]:
    """What the sentences say; `names` tells what stands for each phrase. What it does not understand it
    passes over. `heads`: whether a clause after a list speaks of its last name or of the whole list."""
    known = sorted(names, key=len, reverse=True)
    for number, phrase in enumerate(known):
        text = re.sub(rf'(?i)"?\b(?:the )?{re.escape(phrase)}(?!\w)"?', _NAME % number, text)
    values = [names[phrase] for phrase in known]
    return [
        said
        for sentence in re.split(r"\.(?:\s|$)", text)
        for part in _JOINT.split(sentence)
        for said in _statements(part, values, heads)
    ]


def _statements(part: str, values: list[str], heads: Heads) -> Iterator[Said]:
    groups = _groups(_CLAUSE.sub("", part), values)
    if len(groups) == 2 and (before := _is_before(_CLAUSE.sub("", part))) is not None:
        fronted = _begins_with_a_link(part)
        who, what = reversed(groups) if fronted else groups
        yield Said(who, before, what)
    for clause in _CLAUSE.finditer(part):
        head, target = _groups(part[: clause.start()], values)[-1:], _groups(clause[1], values)[:1]
        before = _is_before(clause[1])
        if head and target and before is not None:
            yield Said(head[0] if heads == "list" else head[0][-1:], before, target[0])


def _groups(text: str, values: list[str]) -> list[tuple[str, ...]]:
    """The lists of names and the clock times of a text, in order."""
    return [
        tuple(values[int(one[1])] if one[1] else one[2] for one in _MENTION.finditer(group[0]))
        for group in _GROUP.finditer(text)
    ]


def _is_before(text: str) -> bool | None:
    """None: it has no word that tells."""
    if LATER.search(text):
        return False
    return True if EARLIER.search(text) else None


def _begins_with_a_link(part: str) -> bool:
    lead = part[: found.start()] if (found := _MENTION.search(part)) else part
    return _is_before(lead) is not None
