"""Clauses that say which thing is meant: `a line that was cut`, `a guest for whom no room is booked`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import ANYTHING, Adjunct, Event, Fact, with_same
from synth.policies.clausal.words import (
    AGENT,
    ALREADY,
    BEFORE,
    HAS_BEEN,
    HAVE,
    HAVE_NOT,
    NOT_A_THING,
    NOT_BEEN,
)
from synth.policies.patterns import compiled

_BEHIND = "for|to|of|on|in|from|with|by|at|about|against|onto|into"
_DET = "the|a|an|any|every|each|that|no|one"


def which(event: Event, fact: Fact) -> Event:
    """`ship an order that has been paid`: what has or has not happened to the same thing."""
    if event.action == ANYTHING and not any(one.role for one in fact.events):
        return _beside(event, fact, event.same)
    if not event.noun or not are_of_one_thing(replace(event, role=""), *fact.events):
        return _unknown(event)
    return _beside(event, fact, thing_of(event, *fact.events))


def thing_of(*events: Event) -> frozenset[str]:
    """The noun of what is done to one thing; of several words nobody knows which is the argument."""
    words = min((event.noun for event in events if event.noun or event.bare), key=len, default=())
    return frozenset(words if len(words) == 1 else ())


def are_of_one_thing(*events: Event) -> bool:
    """Is all this done to one kind of thing? What is said of whatever thing has no noun."""
    nouns = {event.noun[-1:] for event in events if event.noun or event.bare}
    return len(nouns) == 1 and nouns != {()} and all(event.role in ("", "any") for event in events)


def whose(event: Event, fact: Fact) -> Event:
    """`check in a guest whose card was charged`; no more is known of what stands behind another noun."""
    thing = event.noun if len(event.noun) == 1 and not event.about else ()
    return _beside(event, fact, frozenset(thing)) if thing else _unknown(event)


def of_another(event: Event, thing: str, fact: Fact, *, only: bool = False) -> Event:
    """`book a visit for a patient who was withdrawn`: what has or has not happened to what stands behind."""
    return _beside(event, fact, frozenset({thing}), only=only)


def _beside(event: Event, fact: Fact, same: frozenset[str], *, only: bool = False) -> Event:
    told = (with_same(one, same) for one in fact.events)
    kind = "unless" if fact.aspect == "not" else "state"
    beside = Adjunct(kind, Fact(tuple(told), "perfect", fact.joint), only=only)
    return replace(with_same(event, same), beside=(*event.beside, beside))


def _unknown(event: Event) -> Event:
    return replace(event, beside=(*event.beside, Adjunct("unknown")))


def _told(aspect: str) -> Callable[[Parts], Fact]:
    return lambda p: Fact((p["e"],), aspect)


def _passive(aspect: str) -> Callable[[Parts], Fact | None]:
    def made(p: Parts) -> Fact | None:
        thing, done = p["t"], p["d"]
        if thing.role != done.role or thing.action != done.action:
            return None
        return Fact((with_same(thing, done.same, done.about),), aspect)

    return made


def thing_behind(grammar: Grammar, at: int) -> Iterator[Found]:
    """The noun of `for a patient`, before what says which."""
    if m := compiled(r" *(?P<f>[a-z][a-z_]*)(?![\w'-])").match(grammar.text, at):
        noun = singular(m["f"].lower())
        if noun not in NOT_A_THING:
            yield noun, m.end()


def _who(p: Parts) -> tuple[str, tuple[str, Fact]] | None:
    """Something was done to what stands behind."""
    fact: Fact = p["s"]
    for event in fact.events:
        if not event.role and not event.bare and event.noun[-1:] != (p["w"].removesuffix("_id"),):
            return None
    return "of", (p["w"], fact)


def _done_thing(p: Parts) -> tuple[str, tuple[str, Fact]] | None:
    done: Event = p["d"]
    if done.noun[-1:] != (p["w"],) or done.role:
        return None
    return "of", (p["w"], Fact((done,), "perfect"))


RELATIVES: dict[str, Rule] = {
    "that": [
        (f"that|which|who {HAS_BEEN}|was|were|is|are [{ALREADY}] {{e:past}} [{BEFORE}]", _told("perfect")),
        (f"that|which|who {NOT_BEEN} [{ALREADY}] {{e:past}} [{BEFORE}|yet]", _told("not")),
        (f"[that|which|who] {AGENT} {HAVE} [{ALREADY}] {{e:past}} [{BEFORE}]", _told("perfect")),
        (f"[that|which|who] {AGENT} {HAVE_NOT} [{ALREADY}] {{e:past}} [{BEFORE}|yet]", _told("not")),
        (f"that|which|who [{HAVE}] {{e:self}} [{BEFORE}]", _told("perfect")),
        (f"that|which|who {HAVE_NOT} {{e:self}} [{BEFORE}|yet]", _told("not")),
    ],
    "whom": [
        (f"{_BEHIND} whom|which {{f:happened}}", lambda p: p["f"]),
        ("whose {f:happened}", lambda p: p["f"]),
    ],
    "happened": [
        (f"{{t:thing}} {HAS_BEEN}|was|were|is|are [{ALREADY}] {{d:past}} [{BEFORE}]", _passive("perfect")),
        (f"{{t:thing}} {NOT_BEEN} {{d:past}} [{BEFORE}|yet]", _passive("not")),
        (f"no {{t:thing}} {HAS_BEEN}|was|were|is|are {{d:past}} [{BEFORE}|yet]", _passive("not")),
    ],
    "of_which": [
        (f"{_BEHIND} [{_DET}] {{w:thing_behind}} {{s:that}}", _who),
        (f"{_BEHIND} [{_DET}] {{w:thing_behind}} {{s:whom}}", lambda p: ("of", (p["w"], p["s"]))),
        (f"{_BEHIND} {_DET} {{d:done}} {{w:thing_behind}}", _done_thing),
    ],
    "thing_behind": thing_behind,
}
