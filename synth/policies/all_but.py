"""Sentences about all tools but some: `After A, nothing but B may be called`, `Every call except A needs B`.

The language says `any tool but B`. `Only B may be called` is such a one where `nothing else` follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from synth.policies.bounded import actions_named
from synth.policies.names import Names
from synth.policies.patterns import compiled

_BUT = r"(?:but|except(?: for)?|other than|apart from|besides|save)"
_MAY = (
    r"(?:(?:may|can|must|should|is|are|will)(?: be)?(?: ever)? )?"
    r"(?:called|happens?|done|allowed|permitted|follows?|run|made|used|possible|comes?)"
    r"(?: afterwards| any ?more| again| after that| any longer)?"
)
_NOTHING = r"(?:nothing|no (?:other )?(?:tools?|calls?|actions?))(?: else)?"
_NONE_BUT = (
    rf"(?:{_NOTHING} (?:{_MAY} {_BUT} (?P<b>[^,]+?)|{_BUT} (?P<a>[^,]+?) {_MAY})"
    rf"|only (?P<c>[^,]+?) {_MAY},? (?:and |but )?nothing else)"
)
_AFTER = r"(?:after|once|as soon as|when|whenever|following|if)"
_BEFORE = r"(?:before|until)"
_FAILS = compiled(r"\b(?:fail|error|unsuccessful)")
"""After failures `any tool` is any other one than that which failed."""


def all_but(text: str, names: Names) -> Iterator[str]:
    """Sentences with the same meaning about `any tool but` what a sentence excepts."""
    m = compiled(rf"(?P<when>{_AFTER} .+?),? {_NONE_BUT}").fullmatch(text)
    if m and not _FAILS.search(m["when"]):
        for others in _others(m["a"] or m["b"] or m["c"], names):
            yield f"{m['when']}, {others} must never happen"
    before = compiled(rf"{_BEFORE} (?P<when>.+?),? {_NONE_BUT}").fullmatch(text) or compiled(
        rf"{_NONE_BUT} {_BEFORE} (?P<when>[^,]+)"
    ).fullmatch(text)
    if before:
        for others in _others(before["a"] or before["b"] or before["c"], names):
            yield f"{others} may only happen after {before['when']}"
    if m := compiled(rf"{_NONE_BUT}(?: (?:in|during) (?:a|any|the|every|one) run)?").fullmatch(text):
        for others in _others(m["a"] or m["b"] or m["c"], names):
            yield f"{others} must never happen"
    if m := compiled(
        rf"(?:every|any|each|all)(?: other)? (?:tools?|calls?|actions?) {_BUT} (?P<a>[^,]+?),? "
        r"(?P<rest>(?:must|may|needs?|requires?|can|should|has to|have to|is|are) .+)"
    ).fullmatch(text):
        rest = compiled(r"^(?P<w>need|require)(?= )").sub(r"\g<w>s", m["rest"])
        for others in _others(m["a"], names):
            yield f"{others} {rest}"


def _others(said: str, names: Names) -> Iterator[str]:
    """`any tool but A or B`, where each of them is one action."""
    every = [actions_named(one, names) for one in re.split(r",? (?:and|or|nor) |, ", said)]
    if all(len(found) == 1 for found in every):
        yield f"any tool but {' or '.join(found[0] for found in every)}"
