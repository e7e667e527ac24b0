"""What is said in a few words: fields, times, numbers, amounts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from synth.policies.clausal.matching import Found, Grammar, Rule
from synth.policies.clausal.parts import IT
from synth.policies.clausal.words import NOT_A_THING
from synth.policies.patterns import compiled

_TELLS = "id|number|code|reference|ref|key|tag|name|address|type"
"""Second words of fields: `booking ref`, `trip id`."""
_FIELD = rf"[a-z][\w.]*(?: (?:{_TELLS})\b)?"


def same(grammar: Grammar, at: int) -> Iterator[Found]:
    """`for the same order`, `per order_id`, `on that order`, `for it`."""
    which = (
        r"(?:(?:with|for|of|on|to|from|in|by|about|using|at|against) (?:the (?:very )?same"
        r"|one and the same"
        r"|that very|that same|that|this same|this|an identical|a matching|an equal|the identical"
        r"|the matching|any one|any single|one single)"
        r"|(?:to|for|from|by) one(?! (?:and|of|or)\b)"
        r"|(?:onto|into|off|through|towards) (?:that|the) same|(?:onto|into|off|through|towards) that|per"
        r"|for each|for every"
        r"|for any one|for any given|for a given|for a single|for any single|for a particular"
        r"|for any particular|for each given|for each individual|for every single|for each single|for an "
        r"individual|for one single)"
    )
    pattern = (
        rf",? *{which} (?P<f>{_FIELD})(?P<more>(?:,? and (?:the |to the |for the |of the "
        rf")?(?:same )?{_FIELD})*)"
    )
    m = compiled(rf"{pattern}(?![\w'-])").match(grammar.text, at)
    if m and not _begins_a_deed(grammar, m):
        for end, fields in _fields(m):
            if not any(field.lower() in NOT_A_THING for field in fields):
                yield frozenset(fields), end
    if m := compiled(
        r" *(?:for|on|about|to|of|from|in) (?:it|them)(?![\w'-])| *there(?![\w'-])"
        r"(?! (?:must|should|shall|has|have|may|can|is|are|needs?|will|was|were)\b)"
    ).match(grammar.text, at):
        yield frozenset({IT}), m.end()


def _begins_a_deed(grammar: Grammar, m: re.Match[str]) -> bool:
    """Does a field belong to what is done: `for each claim payment that fails`?"""
    plain = "same" not in grammar.text[m.start() : m.start("f")]
    if not plain:
        return False
    longer = any(end > m.end("f") for _, end in grammar.matches("noun", m.start("f")))
    return longer or any(end == m.end("f") for _, end in grammar.matches("check", m.start("f")))


def _fields(m: re.Match[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    one = _field(m["f"])
    yield m.end("f"), (one,)
    if m["more"]:
        more = compiled(rf"and (?:(?:the|to the|for the|of the) )?(?:same )?(?P<f>{_FIELD})").finditer(
            m["more"]
        )
        yield m.end(), (one, *(_field(found["f"]) for found in more))
    if " " in m["f"]:
        yield m.start("f") + m["f"].index(" "), (m["f"].split()[0],)


def _field(words: str) -> str:
    return words.lower().replace(" ", "_") if " " in words else words


def scope(grammar: Grammar, at: int) -> Iterator[Found]:
    """`per run`, `in a single conversation`: what a count is over."""
    in_ = r"(?:in|of|within|over|during|throughout|across|for|on|(?:in|over|during) the course of)"
    one = (
        r"(?:an?|any|each|every|one|a single|the same|the whole|the|a given|any given|any one|any single"
        r"|one single|each single|one and the same|each and every|every single|an entire|the entire)"
    )
    which = rf"(?:per(?: each| single| every)?|{in_} {one}|(?<=[a-z\d] )(?:a|each|every))"
    if m := compiled(rf" *{which} (?P<what>run|conversation|session)(?![\w'-])").match(grammar.text, at):
        yield "run" if m["what"].lower() == "run" else "conversation", m.end()


def identifier(grammar: Grammar, at: int) -> Iterator[Found]:
    """`the same order_id`, of whatever has that: a thing by the field that says which."""
    pattern = (
        r" *(?:(?:the same|one and the same|one|any one|an?|any|each|every|the|that|this) "
        r")?(?P<f>[a-z]+_[a-z_]+)(?![\w'-])"
    )
    if m := compiled(pattern).match(grammar.text, at):
        yield frozenset({m["f"]}), m.end()


def about(grammar: Grammar, at: int) -> Iterator[Found]:
    """`in a region`: what others of the sentence may be the same as."""
    m = compiled(
        r" *(?:in|for|on|to|of|from|about|at|onto|into) (?:an?|any|each|every) "
        rf"(?P<f>[a-z][a-z_]*)(?P<more> (?:{_TELLS}))?(?![\w'-])"
    ).match(grammar.text, at)
    if m and m["f"].lower() not in NOT_A_THING:
        if m["more"]:
            yield frozenset({_field(m["f"] + m["more"])}), m.end()
        if m["f"].lower() not in _TELLS.split("|"):
            yield frozenset({m["f"]}), m.end("f")


def the_same_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """`The same environment`, of what is done to it."""
    m = compiled(rf" *(?:the (?:very )?same|one and the same) (?P<f>{_FIELD})(?![\w'-])").match(
        grammar.text, at
    )
    if m and m["f"].lower() not in NOT_A_THING:
        yield frozenset({_field(m["f"])}), m.end()


def doer(grammar: Grammar, at: int) -> Iterator[Found]:
    """`one approver`, `each employee`: whoever does it, by the argument of that name."""
    yield from _doer(grammar, at, r"(?:one|any one|a single|any single|the same|each|every|any given)")


def no_doer(grammar: Grammar, at: int) -> Iterator[Found]:
    """`no approver`, `no single employee`."""
    yield from _doer(grammar, at, r"no(?: single| one)?")


def _doer(grammar: Grammar, at: int, which: str) -> Iterator[Found]:
    m = compiled(rf" *{which} (?P<f>[a-z][a-z_]*)(?![\w'-])").match(grammar.text, at)
    if m and m["f"].lower() not in NOT_A_THING:
        yield frozenset({m["f"].lower()}), m.end()


def time(grammar: Grammar, at: int) -> Iterator[Found]:
    m = compiled(
        r" *(?P<n>\d+(?:\.\d+)?) ?(?P<u>milliseconds?|ms|seconds?|minutes?|min|hours?|days?"
        r"|weeks?)(?![\w-])"
    ).match(grammar.text, at)
    if m:
        yield f"{m['n']} {m['u']}", m.end()


def number(grammar: Grammar, at: int) -> Iterator[Found]:
    if m := compiled(
        r" *(?P<n>\d{1,6}|one|a single)(?![\w.,:-]\d|[\w:-])(?! (?:second|minute|hour|day|week)s?\b)"
    ).match(grammar.text, at):
        yield int(m["n"]) if m["n"].isdigit() else 1, m.end()


NTH = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip


def nth(grammar: Grammar, at: int) -> Iterator[Found]:
    """`second`, `3rd`."""
    m = compiled(rf" *(?P<n>{'|'.join(NTH)}|\d{{1,3}}(?:st|nd|rd|th))(?![\w-])").match(grammar.text, at)
    if m:
        said = m["n"].lower()
        yield NTH.index(said) + 1 if said in NTH else int(said[:-2]), m.end()


def money(grammar: Grammar, at: int) -> Iterator[Found]:
    """An amount; with a currency it is none, as no call is asked for its currency."""
    m = compiled(
        r" *(?P<n>\d{1,30}(?:\.\d{1,30})?)(?![\w:-])(?! (?:times?|seconds?|minutes?|hours?|days?"
        r"|weeks?|eur|euros?|usd"
        r"|dollars?|gbp|pounds?|chf|francs?)\b)"
    ).match(grammar.text, at)
    if m:
        yield m["n"], m.end()


def plain_word(grammar: Grammar, at: int) -> Iterator[Found]:
    if m := compiled(
        r" *(?P<w>(?!(?:all|the|each|every|any|an?|of|in|for|to|by|from)\b)(?:args\.)?[a-z][\w.]*)(?![\w'-])"
    ).match(grammar.text, at):
        yield m["w"].removeprefix("args."), m.end()


SMALL: dict[str, Rule] = {
    "same": same,
    "doer": doer,
    "no_doer": no_doer,
    "about": about,
    "the same field": the_same_field,
    "time": time,
    "number": number,
    "nth": nth,
    "money": money,
    "word": plain_word,
    "identifier": identifier,
    "scope": scope,
}
