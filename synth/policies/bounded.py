"""Sentences that bound a value, as the ban of what is beyond: `A single credit must never exceed 200`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from synth.policies.action_forms import ARTICLES
from synth.policies.beside import AT_ONCE, VALUE, in_order, is_together
from synth.policies.clausal.events import actions_of, by_name
from synth.policies.clausal.matching import Grammar
from synth.policies.everyday import MODAL
from synth.policies.marks import places_of
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.sizes import AN, Size, is_measure, size_at

DET = (
    r"(?:(?:an?|each|every|any|all|a single|any single|one|no single|the|all the|single) )?(?:new |single )?"
)
_FIELD = r"[a-z]\w*(?: [a-z]\w*){0,2}"
_DUTY = "must|should|shall|has to|have to|needs? to|ought to"
_DO = rf"(?P<must>{MODAL}|do|does|will)(?:(?P<no> not| never)(?: ever)?| always| only| ever)?"
_LIMIT: tuple[tuple[str, str], ...] = (
    (r"(?:exceed|surpass|top|go (?:over|above|beyond)|be (?:over|above)|rise above)", "over"),
    (r"(?:fall below|go below|go under|be (?:below|under)|drop below)", "under"),
    (r"(?:be limited to|be capped at|be restricted to|stay within|stay at or below|not go (?:over|above"
     r"|beyond)"
     r"|not exceed|be kept within|remain within)", "at most"),
    (r"(?:stay|remain|be kept) (?:below|under)", "under"),
    (r"(?:stay|remain|be kept) (?:above|over)", "over"),
)  # fmt: skip
_VERBS: tuple[tuple[str, str], ...] = (
    (r"(?:be worth|be of|be for|be set to|be kept|be|measure|come to|amount to|lie|stay|remain)", ""),
    (r"(?:cost|be priced at)", "cost"),
    (r"weigh", "weight"),
    (r"last(?: for)?|run for|be valid for", "duration"),
    (r"(?:have|carry|contain|include|hold|comprise|take|use|cover|consist of)", "with"),
)  # fmt: skip


def bounded(text: str, names: Names) -> Iterator[str]:
    """`A single credit must never exceed 200`, `The monthly fee of a new plan must be 120 or less`."""
    text = compiled(
        r"^(?:an?|the|every|each) (?P<o>[a-z]+(?: [a-z]+)?)['\u2019]s? (?P<f>[a-z]+) (?=must|should|may"
        r"|has to|can)"
    ).sub(r"The \g<f> of a \g<o> ", text)
    for lead, rest in _leads(text):
        for m in compiled(
            rf"(?P<no0>no )?{DET}(?:(?P<f>{_FIELD}) (?:of|for|on|in) {DET})?(?P<o>[a-z][^,]*?) "
            rf"(?:{_DO} |(?P<is>(?:is|are|costs?|weighs?|lasts?) (?:always )?))"
        ).finditer(rest):
            if m.start():
                break
            yield from _of_bound(m, rest, lead, names)


def _leads(text: str) -> Iterator[tuple[str, str]]:
    yield "", text
    if m := re.match(r"(?P<lead>[^,]+, )(?P<rest>.+)", text):
        yield m["lead"], m["rest"]
    if m := compiled(
        r"(?P<lead>(?:between \d\d?:\d\d and \d\d?:\d\d|(?:after|before) \d\d?:\d\d|(?:on|at|during) "
        r"[a-z]+)) (?P<rest>.+)"
    ).match(text):
        yield f"{m['lead']}, ", m["rest"]


def _of_bound(m: re.Match[str], text: str, lead: str, names: Names) -> Iterator[str]:
    verb = (m["is"] or "").strip()
    forbids = bool(m["no"]) != bool(m["no0"])
    allows = bool(m["must"]) and compiled(r"(?:may|can|could|might)").fullmatch(m["must"] or "") is not None
    field = (m["f"] or "").strip()
    if verb:
        text = f"{text[: m.end('is')].replace(m['is'], _base(m['is']), 1)}{text[m.end('is') :]}"
        at = m.start("is")
    else:
        at = m.end()
    for own, size, end in _sizes_of(text, at):
        unit = size.unit
        if compiled("characters|chars|letters").fullmatch(unit):
            continue
        if field.split(" ")[0] in ("total", "sum", "combined", "overall", "number", "average", "whole"):
            continue
        if not (_is_one(m) or _is_of_each(m, field, own == "all")):
            continue
        if is_together(text, end) or (verb and size.how not in ("at least", "at most", "between")):
            continue
        if own == "with" and not unit:
            continue
        name = field or (
            unit if unit and (own in ("with", "duration", "", "all") or is_measure(unit)) else own or "amount"
        )
        name = "amount" if name == "all" else name
        if own in ("cost", "weight") and not field:
            name = own
        if allows and not forbids and size.how not in ("at most",):
            continue
        comparison = size.words if forbids else size.contrary
        rest = text[end:]
        once = compiled(
            rf",?(?:{AT_ONCE}| each| (?:either|at the most|at all|both included|inclusive))"
        ).match(rest)
        rest = rest[once.end() :] if once else rest
        if rest and not compiled(r"[, ].*").fullmatch(rest):
            continue
        for phrase, conditions in whose(m["o"], names):
            if own == "with" and actions_named(unit, names) not in ([], [phrase]):
                continue
            yield _ban(lead, phrase, conditions, name, comparison, rest)


def _is_one(m: re.Match[str]) -> bool:
    """Is it said of each by itself? `Refunds must not exceed 500` may be all of them together."""
    return compiled(r"(?:an?|each|every|any|no|one|a single) ").match(m[0]) is not None


def _is_of_each(m: re.Match[str], field: str, may_add: bool) -> bool:
    """Is it said of a thing with an article, or of several, where what they come to is not meant?

    Without either it may be an action by its phrase.
    """
    if compiled(r".* (?:of|for|on|in) (?:the|an?|any|each|every|one) ").match(m[0]) and field:
        return True
    return not may_add and compiled(r"(?:the |all )?(?:\S+ ){0,2}?[a-z]+s\b").match(m["o"]) is not None


def _base(verb: str) -> str:
    plain = verb.split()[0].lower()
    return {"is": "be ", "are": "be ", "costs": "cost ", "weighs": "weigh ", "lasts": "last "}.get(
        plain, f"{plain} "
    )


def _sizes_of(text: str, at: int) -> Iterator[tuple[str, Size, int]]:
    for pattern, how in _LIMIT:
        if (m := compiled(rf"{pattern} ").match(text, at)) and compiled(AN).match(text, m.end()):
            size = size_at(f"over {text[m.end() :]}", 0)
            if size is not None:
                end = m.end() + size.end - len("over ")
                yield "all", Size(how, size.numbers, size.unit, end), end
    for pattern, field in _VERBS:
        if m := compiled(rf"(?:{pattern}) ").match(text, at):
            size = size_at(text, m.end())
            if size is not None:
                yield field, size, size.end


def _ban(lead: str, phrase: str, conditions: str, field: str, comparison: str, rest: str) -> str:
    of = "of " if comparison.startswith("at ") else ""
    both = f"{conditions} and a" if conditions else " with"
    said = f"{phrase}{both} {field.replace(' ', '_')} {of}{comparison}"
    if lead:
        return f"{lead}{said} must never happen{rest}"
    return f"{said[:1].upper()}{said[1:]} must never happen{rest}"


def whose(owner: str, names: Names) -> Iterator[tuple[str, str]]:
    """(phrase of the action, its conditions) of the subject of a bound."""
    plain = in_order(owner, names)
    cut = plain.find(" with ")
    thing, conditions = (plain, "") if cut < 0 else (plain[:cut], plain[cut:])
    found = actions_named(thing, names)
    if len(found) == 1:
        yield found[0], conditions


_ANY = frozenset(
    [*ARTICLES, "new", "call", "calls", "of", "to", "for", "any", "each", "every", "all", "one", "single"]
)


_OF_CALLS = frozenset(["run", "runs", "conversation", "conversations", "session", "sessions", "turn"])
"""What has calls is done by none of them: `the refunds of one run`."""


def actions_named(thing: str, names: Names) -> list[str]:
    """The actions that a few words name: by their deed or their noun, or by all of the words."""
    thing = compiled(rf"^{DET}").sub("", thing).strip()
    if not thing:
        return []
    if thing.casefold() in {phrase.casefold() for phrase in names.actions}:
        return [phrase for phrase in names.actions if phrase.casefold() == thing.casefold()]
    if thing.casefold() in _OF_CALLS:
        return []
    phrases = tuple(names.actions)
    rules = by_name(tuple(one for one in actions_of(phrases) if not one.to_anything), phrases)
    for rule in ("noun", "deed", "thing"):
        events = {event.action for event in Grammar(thing, rules).whole(rule)}
        if len(events) == 1:
            return [phrases[events.pop()]]
        if events and rule != "thing":
            return sorted(phrases[number] for number in events)
    thing = re.sub(r"ings\b", "ing", thing)
    words = [word for word in re.findall(r"[\w'-]+", thing) if word.lower() not in _ANY]
    every = [{place.phrase for place in places_of(word, names)} for word in words]
    return sorted(set.intersection(*every)) if every else []


ONE_VALUE = rf"(?:(?-i:{VALUE})|[a-z][\w-]*)"


def upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
