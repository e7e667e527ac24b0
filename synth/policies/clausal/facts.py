"""What a sentence says has happened, or has not: `a permit was issued`, `issuing it failed`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import AGAIN, ANYTHING, IT, Adjunct, Event, Fact, with_same
from synth.policies.clausal.relative import RELATIVES, of_another, which, whose
from synth.policies.clausal.words import (
    AGENT,
    ALREADY,
    BEFORE,
    FAILS,
    HAS_BEEN,
    HAVE,
    HAVE_NOT,
    NOT_BEEN,
    SUCCEEDED,
    SUCCEEDS,
    WAS_CALLED,
)


def _unknown(event: Event) -> Event:
    return replace(event, beside=(*event.beside, Adjunct("unknown")))


def with_mods(p: Parts) -> Event:
    event: Event = p["e"]
    for kind, value in p.get("m", ()):
        if kind == "same":
            event = with_same(event, value)
        elif kind == "about":
            event = with_same(event, frozenset(), value)
        elif kind == "that":
            event = which(event, value)
        elif kind == "got":
            event = of_another(event, event.noun[-1], value) if len(event.noun) == 1 else _unknown(event)
        elif kind == "whose":
            event = whose(event, value)
        elif kind in ("of", "only of"):
            event = of_another(event, *value, only=kind == "only of")
        else:
            event = replace(event, beside=(*event.beside, value))
    return event


def _mods(p: Parts) -> tuple[tuple[str, frozenset[str]], ...]:
    return (p["m"], *p.get("n", ()))


def passive(p: Parts) -> Event | None:
    """What is done to a thing; None where it is another thing that this is done to."""
    thing: Event = p["t"]
    done: Event = p["d"]
    if thing.role != done.role or (thing.action != done.action and thing.action != ANYTHING):
        return None
    thing = replace(thing, action=done.action)
    return replace(
        thing, same=thing.same | done.same, about=thing.about | done.about,
        outcome=thing.outcome or done.outcome, beside=(*thing.beside, *done.beside),
        role="" if thing.role == "any" else thing.role,
    )  # fmt: skip


def _fact(aspect: str, make: Callable[[Parts], Event | None] = with_mods) -> Callable[[Parts], Fact | None]:
    def made(p: Parts) -> Fact | None:
        event = make(p)
        return None if event is None else Fact((event,), aspect)

    return made


def by_it(p: Parts) -> Event | None:
    """What is done to `it`: of an action that has the verb alone."""
    event: Event = p["d"]
    return replace(with_same(event, frozenset({IT})), itself=True) if not event.role else None


def _noun_fact(p: Parts) -> Fact:
    return Fact(p["es"][0], "noun", p["es"][1])


def _one(p: Parts) -> tuple[tuple[Event, ...], str]:
    return (p["e"],), ""


def _more(joint: str) -> Callable[[Parts], tuple[tuple[Event, ...], str] | None]:
    def made(p: Parts) -> tuple[tuple[Event, ...], str] | None:
        events, other = p["es"]
        own = joint or other
        return None if not own or other not in ("", own) else ((p["e"], *events), own)

    return made


def _often(p: Parts) -> tuple[Fact, int] | None:
    """What failed, and how often; once is no such number."""
    return (p["f"], p["n"]) if p["n"] > 1 else None


_ROW = (
    "in_a_row|in_succession|consecutively|running|back_to_back|one_after_the_other|one_after_another"
    "|in_a_row_,"
)
_IN_ALL = (
    "in_all|in_total|altogether|overall|in_a_row_or_not|whether_in_a_row_or_not|not_necessarily_in_a_row"
)
_GOING = "running|in_progress|under_way|going_on|ongoing|at_work|active"
_IS = "is|are|gets|get|is_being|are_being"

FACTS: dict[str, Rule] = {
    **RELATIVES,
    "mod": [
        ("{s:same}", lambda p: ("same", p["s"])),
        ("{s:about}", lambda p: ("about", p["s"])),
        ("{s:that}", lambda p: ("that", p["s"])),
        ("{s:whom}", lambda p: ("whose", p["s"])),
        ("{s:of_which}", lambda p: p["s"]),
        ("only {s:of_which}", lambda p: ("only of", p["s"][1])),
        ("{s:window}", lambda p: ("beside", p["s"])),
    ],
    "mods": [("{m:mod}", _mods), ("{m:mod} {n:mods}", _mods)],
    "event": [
        ("{e:noun}", with_mods),
        ("{e:noun} {m:mods}", with_mods),
        ("[all] calls|uses of|to {e:exactly}", with_mods),
        ("[all] calls|uses of|to {e:exactly} {m:mods}", with_mods),
    ],
    "events": [
        ("{e:event}", _one),
        ("{e:event} and {es:events}", _more("and")),
        ("{e:event} or {es:events}", _more("or")),
        ("either {e:event} or {es:events}", _more("or")),
        ("{e:event} , {es:events}", _more("")),
        ("{e:event} , or {es:events}", _more("or")),
        ("{e:event} , and {es:events}", _more("and")),
    ],
    "act": [
        ("{e:deed}", with_mods),
        ("{e:deed} {m:mods}", with_mods),
        ("call|use|invoke {e:exactly}", with_mods),
        ("call|use|invoke {e:exactly} {m:mods}", with_mods),
    ],
    "acts": [
        ("{e:act}", _one),
        ("{e:act} and {es:acts}", _more("and")),
        ("{e:act} or {es:acts}", _more("or")),
        ("{e:act} nor {es:acts}", _more("or")),
        ("either {e:act} or {es:acts}", _more("or")),
        ("{e:act} , {es:acts}", _more("")),
    ],
    "object": [
        ("{e:thing}", with_mods),
        ("{e:thing} {m:mods}", with_mods),
        ("{e:whatever}", with_mods),
        ("{e:whatever} {m:mods}", with_mods),
        ("{s:identifier}", lambda p: Event(ANYTHING, same=p["s"])),
    ],
    "past": [
        ("{e:done}", with_mods),
        ("{e:done} {m:mods}", with_mods),
        (f"{{e:done}} by {AGENT}", with_mods),
    ],
    "one_fact": [
        (f"{{t:object}} {_IS} [{ALREADY}] {{d:past}} [{BEFORE}|successfully]", _fact("present", passive)),
        (
            f"{{t:object}} {HAS_BEEN}|was|were [{ALREADY}] {{d:past}} [{BEFORE}|successfully]",
            _fact("perfect", passive),
        ),
        (f"{{t:object}} {NOT_BEEN} [{ALREADY}] {{d:past}} [{BEFORE}|yet]", _fact("not", passive)),
        (f"no {{t:object}} {HAS_BEEN}|was {{d:past}} [{BEFORE}|yet]", _fact("not", passive)),
        (f"it|they {HAS_BEEN} [{ALREADY}] {{d:past}} [{BEFORE}]", _fact("perfect", by_it)),
        (f"it|they {_IS} {{d:past}}", _fact("present", by_it)),
        (f"it|they was|were {{d:past}} [{BEFORE}]", _fact("perfect", by_it)),
        (f"it|they {NOT_BEEN} {{d:past}} [{BEFORE}|yet]", _fact("not", by_it)),
        (f"{AGENT} {HAVE} [{ALREADY}] {{e:having}} [{BEFORE}]", _fact("perfect")),
        (f"{AGENT} {HAVE} [{ALREADY}] {{e:having}} {{m:mods}} [{BEFORE}]", _fact("perfect")),
        (f"{AGENT} {HAVE_NOT} {{e:having}} [{BEFORE}|yet]", _fact("not")),
        (f"{AGENT} {HAVE_NOT} {{e:having}} {{m:mods}} [{BEFORE}|yet]", _fact("not")),
        (f"{AGENT} {{e:did}} [{BEFORE}]", _fact("perfect")),
        (f"{AGENT} {{e:did}} {{m:mods}} [{BEFORE}]", _fact("perfect")),
        ("you|we|they {e:deed}", _fact("present")),
        ("you|we|they {e:deed} {m:mods}", _fact("present")),
        (f"{AGENT} {{e:does}}", _fact("present")),
        (f"{AGENT} {{e:does}} {{m:mods}}", _fact("present")),
        (
            f"{{es:events}} {SUCCEEDS}|{SUCCEEDED}|{WAS_CALLED} [successfully|{BEFORE}]",
            lambda p: Fact(p["es"][0], "perfect", p["es"][1]),
        ),
        (
            f"{{es:events}} {NOT_BEEN}|has_not|have_not|did_not made|done|happened|happen"
            f"|succeeded|succeed|called|used|invoked|executed|run [{BEFORE}|yet]",
            lambda p: Fact(p["es"][0], "not", p["es"][1]),
        ),
        (
            f"no {{es:events}} {SUCCEEDED}|{WAS_CALLED}|has_been_made|was_made",
            lambda p: Fact(p["es"][0], "not", p["es"][1]),
        ),
        (
            "{es:events} is|are [still] running|in_progress|under_way|underway|going_on|ongoing|in_flight"
            "|being_processed",
            lambda p: Fact(p["es"][0], "running", p["es"][1]),
        ),
    ],
    "success": [
        (
            f"it|that|this {SUCCEEDS}|{SUCCEEDED} [successfully|{BEFORE}]",
            lambda p: Fact((Event(AGAIN),), "perfect"),
        ),
    ],
    "failure": [
        (f"{{es:events}} {FAILS}", lambda p: Fact(p["es"][0], "fails", p["es"][1])),
        (
            "{e:event}",
            lambda p: (
                Fact((replace(p["e"], outcome="", noun=()),), "fails") if p["e"].outcome == "failed" else None
            ),
        ),
    ],
    "going": [
        (f"{{es:events}} is|are [still] {_GOING}", lambda p: Fact(p["es"][0], "running", p["es"][1])),
        ("{t:object} is|are [still] being {d:past}", _fact("running", passive)),
        (f"another|another_one|one is [still] {_GOING}", lambda p: Fact((Event(AGAIN),), "running")),
        ("it|they is|are [still] being {d:past}", _fact("running", by_it)),
    ],
    "often": [
        ("{f:failure} {n:number} times", _often),
        ("{n:number} {f:failure}", _often),
        ("{f:failure} for the {n:nth} time", _often),
        ("the {n:nth} {f:failure}", _often),
        (
            "{n:number} failures of {es:events}",
            lambda p: _often({**p, "f": Fact(p["es"][0], "fails", p["es"][1])}),
        ),
        (
            "{n:number} failed|unsuccessful attempts|tries to {es:acts}",
            lambda p: _often({**p, "f": Fact(p["es"][0], "fails", p["es"][1])}),
        ),
        (
            "{n:number} failures|failed_attempts|unsuccessful_attempts|failed_tries",
            lambda p: _often({**p, "f": Fact((Event(AGAIN),), "fails")}),
        ),
    ],
    "so often": [
        (f"{{o:often}} {_ROW}", lambda p: (*p["o"], "in a row")),
        (
            "{n:number} consecutive|successive {f:failure}",
            lambda p: (o := _often(p)) and (*o, "in a row"),
        ),
        (
            f"{{n:number}} {{es:events}} {_ROW} {FAILS}",
            lambda p: (o := _often({**p, "f": Fact(p["es"][0], "fails", p["es"][1])})) and (*o, "in a row"),
        ),
        (f"{{o:often}} [,] {_IN_ALL}", lambda p: (*p["o"], "in all")),
        (
            "{o:often} in|within|of|during a|one|the|that|the_same|any run|conversation",
            lambda p: (*p["o"], "in all"),
        ),
        ("{o:often}", lambda p: (*p["o"], "in all")),
    ],
    "what": [("{f:fact}", lambda p: p["f"]), ("{es:events}", _noun_fact)],
}
