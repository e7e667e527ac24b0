"""So many of it before, and by whom: `two approvals by different approvers before a payment`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.facts import passive, with_mods
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.varieties import THING, field_of
from synth.policies.clausal.words import BEFORE, HAPPEN, NOT_A_THING, SHOULD
from synth.policies.patterns import compiled

Events = tuple[tuple[Event, ...], str]
_APART = "different|distinct|separate|differing"
_PEOPLE = r"(?:[a-z_]+(?:[eo]rs|ees|ists)|colleagues)"
_BY = (
    r" *,? *(?:each )?(?:(?:coming|made|given|done|obtained|requested|granted) )?(?:by|from|of|with|through) "
)


def _by_whom(grammar: Grammar, at: int) -> Iterator[Found]:
    """(how many, or 0 where that is said before; of what) of `by two different approvers`."""
    number = r"(?:at least )?(?P<n>\d{1,6}) "
    for pattern in (
        rf"{_BY}(?:{number})?(?:{_APART}) {THING}",
        rf"{_BY}(?:an?|one) (?:{_APART}) {THING} (?:each|every time)",
        rf" *,? *each (?:by|from|of|with|through) (?:an?|another) (?:(?:{_APART}) )?{THING}",
        rf"{_BY}{number}(?P<f>{_PEOPLE})(?![\w'-])",
    ):
        m = compiled(pattern).match(grammar.text, at)
        if m and m["f"].lower() not in NOT_A_THING:
            said = m.groupdict().get("n")
            yield (int(said) if said else 0, field_of(m["f"])), m.end()
            return


def _who(grammar: Grammar, at: int) -> Iterator[Found]:
    """(how many, of what) of `two different approvers`, who do something."""
    people = rf"(?P<f>{_PEOPLE})(?![\w'-])"
    ways = (rf" *(?:at least )?(?P<n>\d{{1,6}}) {which}" for which in (rf"(?:{_APART}) {THING}", people))
    m = next(filter(None, (compiled(way).match(grammar.text, at) for way in ways)), None)
    if m and m["f"].lower() not in NOT_A_THING and int(m["n"]) > 1:
        yield (int(m["n"]), field_of(m["f"])), m.end()


def _many(p: Parts) -> tuple[Events, int, str] | None:
    """So many of them; `by two different approvers` may alone say how many."""
    said, field = p.get("w", (0, ""))
    events, joint = p["es"] if "es" in p else ((p["e"],), "")
    number = p.get("n", 0) or said
    if joint or number < 2 or (said and said != number) or any(e.outcome for e in events):
        return None
    events = tuple(replace(e, single=False, each=False) for e in events)
    return (events, ""), number, field


def _of_count(p: Parts) -> tuple[Events, int, str] | None:
    how, number = p["c"]
    return _many({**p, "n": number}) if how == "at least" else None


def _often(p: Parts) -> tuple[int, str] | None:
    said, field = p.get("w", (0, ""))
    number = p.get("n", 0) or said
    return (number, field) if number > 1 and said in (0, number) else None


def _apart(event: Event, field: str) -> Event:
    return replace(event, beside=(*event.beside, Adjunct("different", said=field))) if field else event


def _before_it(p: Parts) -> Demand | None:
    """`A payment needs two approvals by different approvers`."""
    (events, _), number, field = p["m"]
    then, joint = (p["a"].events, p["a"].joint) if isinstance(p["a"], Fact) else p["a"]
    if joint or len(then) > 1 or (isinstance(p["a"], Fact) and p["a"].aspect in ("not", "running")):
        return None
    return Demand("so many before", (_apart(events[0], field),), tuple(then), number=number)


def _thing_needs(p: Parts) -> Demand | None:
    """`A payment needs two approvals before it is released`, of that payment."""
    fact: Fact = p["f"]
    if fact.aspect != "present" or len(fact.events) > 1 or fact.events[0].noun[-1:] != p["t"].noun[-1:]:
        return None
    demand = _before_it({**p, "a": fact})
    then = replace(fact.events[0], single=False, itself=False, same=frozenset({singular(p["t"].noun[-1])}))
    return demand and replace(demand, others=(then,))


def _needed(p: Parts) -> Demand:
    """`Two approvals are needed`, before what another part of the sentence says."""
    (events, _), number, field = p["m"]
    return Demand("so many needed", (_apart(events[0], field),), number=number)


def _done_so_often(make: Callable[[Parts], Event | None]) -> Callable[[Parts], Demand | None]:
    """`A payment must be approved by two different approvers`."""

    def made(p: Parts) -> Demand | None:
        event, (number, field) = make(p), p["o"]
        if event is None or event.outcome:
            return None
        return Demand("so many needed", (_apart(replace(event, single=False), field),), number=number)

    return made


def _all_of_them(p: Parts) -> Demand | None:
    """`Two different approvers must approve the payment`."""
    events, joint = p["e"]
    return _done_so_often(lambda q: events[0])({**p, "o": p["w"]}) if not joint and len(events) == 1 else None


def _all_have_done(p: Parts) -> Demand | None:
    return _all_of_them({**p, "e": ((p["d"],), "")})


def _so_many(kind: str, fact: Callable[[Parts], Fact]) -> Callable[[Parts], Adjunct | None]:
    def made(p: Parts) -> Adjunct | None:
        number, field = p["m"][1:] if "m" in p else p["o"]
        told = fact(p)
        if told.aspect in ("not", "running", "fails"):
            return None
        return Adjunct(kind, told, number=number, said=field)

    return made


def _nouns(p: Parts) -> Fact:
    return Fact(p["m"][0][0], "noun")


_ASKS = "requires|needs|takes|presupposes|require|need|take|presuppose|must_have|calls_for|call_for|demands"
_NEEDED = "needed|required|necessary|mandatory|obligatory|compulsory|due"
_GIVEN = "have_been|be given|made|obtained|granted|got|there|in_place|on_record"
_AHEAD = "before|prior_to|ahead_of [the_first|the_very_first]"
_MANY: Rule = [
    ("{n:number} {es:events} [{w:by whom}]", _many),
    ("{n:number} separate|distinct {es:events} [{w:by whom}]", _many),
    ("{n:number} {e:event} {w:by whom} {m:mods}", lambda p: _many({**p, "e": with_mods(p)})),
    ("{c:count} {es:events} [{w:by whom}]", _of_count),
    ("{es:events} {w:by whom}", _many),
]
_MANY_CHECKS: Rule = [
    ("{e:check} {n:number} times [{w:by whom}]", _many),
    ("{e:check} {n:number} times {m:mods} {w:by whom}", lambda p: _many({**p, "e": with_mods(p)})),
    ("{e:check} {m:mods} {n:number} times [{w:by whom}]", lambda p: _many({**p, "e": with_mods(p)})),
    ("{n:number} [separate|distinct] {e:check} [{w:by whom}]", _many),
    ("{n:number} {e:check} {m:mods} {w:by whom}", lambda p: _many({**p, "e": with_mods(p)})),
    ("{n:number} {e:check} {w:by whom} {m:mods}", lambda p: _many({**p, "e": with_mods(p)})),
    ("{c:count} {e:check} [{w:by whom}]", _of_count),
    ("{e:check} {w:by whom}", _many),
]

SO_MANY_FIRST: dict[str, Rule] = {
    "by whom": _by_whom,
    "so many who": _who,
    "many of it": _MANY,
    "many checks": _MANY_CHECKS,
    "how often by whom": [
        ("{n:number} times [{w:by whom}]", _often),
        ("{w:by whom}", _often),
    ],
    "demand": [
        (f"{{a:events}} {_ASKS} {{m:many of it}} {BEFORE}", _before_it),
        (f"{{a:events}} {_ASKS} {{m:many checks}}", _before_it),
        (f"{{t:object}} {_ASKS} {{m:many of it}} {_AHEAD} {{f:fact}}", _thing_needs),
        (f"{{m:many of it}} {_AHEAD} {{a:what}}", _before_it),
        (f"{{m:many of it}} is|are {_NEEDED} {_AHEAD} {{a:what}}", _before_it),
        (f"{{m:many of it}} {SHOULD} come|be|happen|{_GIVEN} {_AHEAD} {{a:what}}", _before_it),
        (f"there {SHOULD} be {{m:many of it}} {_AHEAD} {{a:what}}", _before_it),
        (f"{{m:many checks}} is|are {_NEEDED} for {{a:events}}", _before_it),
        ("{m:many of it}", _needed),
        (f"{{m:many of it}} is|are {_NEEDED}", _needed),
        (f"{{m:many of it}} {SHOULD} {HAPPEN}|come|{_GIVEN}", _needed),
        (f"there {SHOULD} be {{m:many of it}}", _needed),
        (f"{{t:object}} {SHOULD} be|have_been {{d:past}} {{o:how often by whom}}", _done_so_often(passive)),
        (f"{{w:so many who}} {SHOULD} {{e:acts}}", _all_of_them),
        ("{w:so many who} {e:acts}", _all_of_them),
        (
            f"{{w:so many who}} {SHOULD} have {{d:having}}",
            lambda p: _all_of_them({**p, "e": ((p["d"],), "")}),
        ),
    ],
    "adjunct": [
        (
            f"before|until|unless|except_after|without {{m:many of it}} [{BEFORE}]",
            _so_many("so many", _nouns),
        ),
        (
            "unless|until|before {w:so many who} have [already] {d:having}",
            lambda p: _so_many("so many", lambda q: Fact((q["d"],), "perfect"))({**p, "o": p["w"]}),
        ),
        (
            "after|once|when|if|as_soon_as {w:so many who} have [already] {d:having}",
            lambda p: _so_many("after so many", lambda q: Fact((q["d"],), "perfect"))({**p, "o": p["w"]}),
        ),
        ("unless|until|before {f:what} {o:how often by whom}", _so_many("so many", lambda p: p["f"])),
        (f"after|following|with|upon {{m:many of it}} [{BEFORE}]", _so_many("after so many", _nouns)),
        ("after|if|when|once {f:fact} {o:how often by whom}", _so_many("after so many", lambda p: p["f"])),
    ],
}
