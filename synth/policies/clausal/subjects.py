"""Whose arguments a sentence speaks of, and what is made of it: an action, and which of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from synth.policies.asked import asked_at
from synth.policies.clausal.bounds import is_of_time, says_what
from synth.policies.clausal.events import Action
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Event, Fact
from synth.policies.clausal.values import Broken
from synth.policies.clausal.words import AGENT
from synth.policies.nouns import Counted, Meant
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Path

ANY_CALL = -1
"""Stands for the action where a sentence names arguments alone: each call that has them."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of an action, of which only those with certain arguments are meant."""

    action: int
    asked: tuple[Comparison, ...] = ()
    by_object: bool = field(default=False, compare=False)
    """Are they named by what the action is done to alone: `the account`, of `open account`?"""


@dataclass(frozen=True, slots=True)
class Given:
    """What is forbidden of some calls: each of these comparisons."""

    calls: tuple[Calls, ...]
    broken: tuple[Comparison, ...]


def is_plain(event: Event) -> bool:
    """Is it any call of the action, of which nothing else is said?"""
    return not (event.same or event.outcome or event.itself or event.beside or event.about)


def plain_calls(p: Parts) -> tuple[Calls, ...] | None:
    event: Event = p["e"]
    asked = p["c"].every if "c" in p else ()
    by_object = event.role == _BY_OBJECT
    return (Calls(event.action, asked, by_object),) if is_plain(event) and event.action >= 0 else None


def more_calls(p: Parts) -> tuple[Calls, ...] | None:
    """Of a list, `over 100` behind the last one may be said of all."""
    of_all = p["x"][-1].asked and not p["w"][-1].asked
    return None if of_all else (*p["w"], *p["x"])


def size_had(grammar: Grammar, at: int) -> Iterator[Found]:
    """`at most 50 recipients`: of what no action is done to, so that it is none of calls."""
    for size, end in grammar.matches("size", at):
        counted = Grammar(size.unit, grammar.rules)
        things = [found for found in counted.matches("thing", 0) if not found[0].role]
        if not (things or counted.matches("noun", 0)):
            yield size, end


def counted_size(grammar: Grammar, at: int) -> Iterator[Found]:
    """`over 20 replicas`: of the argument that counts them."""
    for size, end in grammar.matches("size had", at):
        if size.type == "number" and compiled(_COUNTABLE).fullmatch(size.unit):
            yield (replace(size, path=(Counted(size.unit),)),), end


_COUNTABLE = (
    r"(?!(?:hours|minutes|seconds|dollars|euros|pounds|francs)$)[a-z]+s"
    r"|percent|%|kg|g|mg|ml|l|km|m|cm|mb|gb|t"
)


def _of_fact(p: Parts) -> tuple[Calls, ...] | None:
    fact: Fact = p["f"]
    if fact.aspect != "present" or len(fact.events) != 1:
        return None
    return plain_calls({"e": fact.events[0]})


def done_to(p: Parts) -> Event | None:
    """`a ticket ... closed`: what is done to it; the action is that of both."""
    thing, done = p["t"], p["d"]
    fits = thing.action == done.action and thing.role == done.role and is_plain(thing) and is_plain(done)
    return done if fits else None


def _asked(grammar: Grammar, at: int) -> Iterator[Found]:
    """A condition behind an action: `over 5000`, `with channel sms`."""
    by = compiled(r" by(?= (?:over|more|at least|under|less)\b)").match(grammar.text, at)
    text = grammar.text if by is None else f"{grammar.text[: by.start()]} of{grammar.text[by.end() :]}"
    shown = compiled(r" ,(?= |$)| :").sub(lambda m: ", "[: len(m[0])], text)
    if found := asked_at(shown, at):
        yield found, found.end


def checked(actions: Iterable[Action]) -> Rule:
    """Finds what is checked: `transfer`, of `approve transfer`; what is done is what another action says."""
    ways = [
        (one, rf" *(?:(?:the|an?|any|every|each|all) )?{one.objects}(?![\w'-])")
        for one in actions
        if one.is_check and one.nouns
    ]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for one, pattern in ways:
            if m := compiled(pattern).match(grammar.text, at):
                yield Event(one.number, noun=one.nouns), m.end()

    return find


def told(actions: Iterable[Action]) -> Rule:
    """Finds whom an action tells something: `the courier`, of `contact courier`."""
    ways = [
        (one, rf" *(?:(?:the|an?|any|our) )?{one.objects}(?![\w'-])")
        for one in actions
        if one.verb in _TELLING and one.nouns
    ]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for one, pattern in ways:
            if m := compiled(pattern).match(grammar.text, at):
                yield Event(one.number, noun=one.nouns), m.end()

    return find


_TELLING = (
    "contact",
    "message",
    "notify",
    "inform",
    "tell",
    "alert",
    "email",
    "call",
    "text",
    "answer",
    "write",
)


def _objects(grammar: Grammar, at: int) -> Iterator[Found]:
    """What actions are done to: `a restaurant`, `the new user`."""
    m = compiled(r" *(?:the|an?|each|every) new(?= )").match(grammar.text, at)
    for place in (at, m.end()) if m else (at,):
        for thing, end in grammar.matches("thing", place):
            if not thing.role:
                yield replace(thing, role=_BY_OBJECT), end


_BY_OBJECT = "by its object"


def _whom(grammar: Grammar, at: int) -> Iterator[Found]:
    """An action by its noun, or where none has that, by what it is done to."""
    named = [*grammar.matches("noun", at), *grammar.matches("deed", at)]
    if named:
        last = max(end for _, end in named)
        yield from (found for found in named if found[1] == last)
    else:
        yield from _objects(grammar, at)
    if named and all(event.bare for event, _ in named):
        checked = {event.action for event, _ in grammar.matches("checked", at)}
        yield from (found for found in _objects(grammar, at) if found[0].action not in checked)


def about(path: Path, broken: Broken) -> tuple[Comparison, ...] | None:
    """What is said of an argument; None where a lone word cannot be its value."""
    if broken.lone and not says_what(path, broken.lone):
        return None
    if any(one.type == "clock" for one in broken.every) and not is_of_time(path):
        return None
    if any(one.unit.lower() in _OTHER_UNITS and one.unit.lower() not in path[-1] for one in broken.every):
        return None
    named = (replace(one, path=path) for one in broken.every)
    return in_one(tuple(one for one in named if one.other != path))


_OTHER_UNITS = ("week", "weeks", "month", "months", "year", "years")
"""Times that an argument which is not named by them may hold in days."""


def in_one(broken: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
    """Under 2, or over 20, as outside of 2 and 20."""
    low = [one for one in broken if one.op == "<"]
    high = [one for one in broken if one.op == ">"]
    if len(low) != 1 or len(high) != 1 or low[0].type != high[0].type or low[0].values >= high[0].values:
        return tuple(dict.fromkeys(broken))
    both = replace(low[0], op="outside", values=(*low[0].values, *high[0].values))
    return tuple(dict.fromkeys(both if one is low[0] else one for one in broken if one is not high[0]))


def statement(calls: Sequence[Calls] | None, broken: tuple[Comparison, ...] | None) -> Given | None:
    return Given(tuple(dict.fromkeys(calls)), broken) if calls and broken else None


TEXT: Path = (Meant("text"),)
"""What a message says."""
WHEN = "when|whenever|if|where|in_case|every_time|each_time|any_time"
IN = (
    "in|for|on|of|with|when_calling|in_calls_of|in_every|in_each|of_every|for_calls_of|on_calls_of|during|at"
    "|when"
)

SUBJECTS: dict[str, Rule] = {
    "asked": _asked,
    "size had": size_had,
    "counted size": counted_size,
    "called": _whom,
    "who": [
        ("{e:called}", plain_calls),
        ("{e:called} {c:asked}", plain_calls),
        ("call|calls|every_call|each_call|any_call|all_calls|a_call [of|to] {e:called}", plain_calls),
        ("[every|each|any|all|a|the] {e:exactly} call|calls", plain_calls),
    ],
    "whos": [
        ("{w:who}", lambda p: p["w"]),
        ("{w:who} and|or [for] {x:whos}", more_calls),
        ("{w:who} , {x:whos}", more_calls),
    ],
    "when given": [
        (f"{WHEN} {{f:fact}}", _of_fact),
        (f"{WHEN} {AGENT} {{e:deed}}", plain_calls),
        (f"{WHEN}|while {{e:noun}}", plain_calls),
        (f"{WHEN} {{e:noun}} happens|is_called|is_made|is_done|takes_place|is_used|runs", plain_calls),
    ],
    "in what": [(f"{IN} {{w:whos}}", lambda p: p["w"])],
    "led": [
        (f"{IN}|as_for {{w:whos}} ,|:", lambda p: p["w"]),
        (f"{IN}|as_for {{w:whos}}", lambda p: p["w"]),
        ("{w:whos} :|,", lambda p: p["w"]),
        (f"{WHEN} {{f:fact}} [,|:]", _of_fact),
        (f"{WHEN} {AGENT} {{e:deed}} [,|:]", plain_calls),
    ],
}
