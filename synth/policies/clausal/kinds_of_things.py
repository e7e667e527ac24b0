"""Of how many different things at most: `profiles of at most three different guests`, in each frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event
from synth.policies.clausal.small import nth
from synth.policies.clausal.varieties import TOUCHED as _TOUCHED
from synth.policies.clausal.varieties import field_of, in_a_run
from synth.policies.clausal.words import (
    AGENT,
    AT_MOST,
    BANNED,
    HAPPEN,
    MAY,
    NO,
    NOBODY,
    NOT_A_THING,
    RUNS,
    SHOULD,
)
from synth.policies.patterns import compiled
from synth.policies.sizes import MEASURES, TIMES

Kinds = tuple[str, int, str]
"""How (`at most`, or `just` where it is said behind that there are no more), how many, of what."""

_N = r"(?P<n>\d{1,6}|one|a single)"
_DIFFERENT = r"(?:different|distinct|separate|unique|various)"
_THING = (
    r"(?:values? (?:of|for) (?:the )?)?(?P<f>[a-z][a-z_]*(?: (?:id|number|code|reference|key)s?\b)?)(?![\w-])"
    r"(?: values?\b)?"
)
_UP_TO = r"(?:at (?:the )?most|no more than|not more than|up to|max(?:imum|\.)?|a maximum of|only|just)"
_TO = "to|of|for|on|with|in|from|at|by|about|into|onto|over|through|via|using|across|among|belonging_to"
_BELONG = (
    "belong_to|cover|concern|involve|relate_to|span|come_from|be_about|be_of|be_for|be_from|be_those_of|have"
    "|refer_to|include|touch|affect|go_to|be_sent_to|use|name|be_spread_over|be_with"
)
_BELONGS = (
    "touch|touches|affect|affects|go_to|goes_to|hit|hits|reach|reaches|target|targets|belong_to|belongs_to|cover|covers|concern|concerns|involve|involves|relate_to|relates_to|span|spans"
    "|have|has"
    "|come_from|comes_from|are_of|are_for|are_from|is_for|is_of|use|uses"
)
_NO_MORE = "at_most|at_the_most|no_more|not_more|and_no_more|and_not_more|maximum|max|only|tops"
_EXCEED = "exceed|be_more_than|be_over|be_above|be_higher_than|be_greater_than|go_above|go_over|go_beyond"
_LIMIT = "limit|restrict|cap|keep|hold|confine"
_LIMITED = "limited|restricted|capped|kept|held|confined"
_NEVER = "never|do_not|never_ever"
_BEING = f"{MAY}|{SHOULD}"


def _number(words: str) -> int:
    return int(words) if words.isdigit() else 1


def few_kinds(grammar: Grammar, at: int) -> Iterator[Found]:
    """`at most 3 different guests`, `3 distinct guest_id values`."""
    if m := compiled(rf" *(?P<most>{_UP_TO} )?{_N} {_DIFFERENT} {_THING}").match(grammar.text, at):
        yield ("at most" if m["most"] else "just", _number(m["n"]), field_of(m["f"])), m.end()


def many_kinds(grammar: Grammar, at: int) -> Iterator[Found]:
    """`more than 3 different guests`, `a fourth different guest`, `two distinct guests`."""
    text = grammar.text
    if m := compiled(rf" *(?:(?P<over>more than|over) )?{_N} {_DIFFERENT} {_THING}").match(text, at):
        most = _number(m["n"]) - (0 if m["over"] else 1)
        if most > 0:
            yield ("at most", most, field_of(m["f"])), m.end()
    if a := compiled(r" *an?(?= )").match(text, at):
        for number, end in nth(grammar, a.end()):
            if number > 1 and (m := compiled(rf" {_DIFFERENT} {_THING}").match(text, end)):
                yield ("at most", number - 1, field_of(m["f"])), m.end()


def whose_kinds(grammar: Grammar, at: int) -> Iterator[Found]:
    """`at most 3 distinct guests'`, before what is theirs."""
    if m := compiled(
        rf" *(?P<most>(?P<over>more than )|{_UP_TO} )?{_N} {_DIFFERENT} (?P<f>[a-z]+?)(?:s'|'s)(?= )"
    ).match(grammar.text, at):
        how = "over" if m["over"] else "at most" if m["most"] else "just"
        yield (how, _number(m["n"]), field_of(m["f"])), m.end()


def different_ones(grammar: Grammar, at: int) -> Iterator[Found]:
    """`different guests`, of which the number is said elsewhere."""
    if m := compiled(rf" *{_DIFFERENT} {_THING}").match(grammar.text, at):
        yield field_of(m["f"]), m.end()


def _varied(event: Event | None, kinds: Kinds, wanted: tuple[str, ...] = ("at most",)) -> Demand | None:
    how, number, field = kinds
    if event is None or how not in wanted or number < 1 or event.outcome:
        return None
    return Demand("variety", (replace(event, single=False),), number=number, how=field)


def _of(make: Callable[[Parts], Event | None]) -> Callable[[Parts], Demand | None]:
    return lambda p: _varied(make(p), p["w"])


def _single(p: Parts) -> Event | None:
    events, _ = p["e"]
    return events[0] if len(events) == 1 else None


def _object(p: Parts) -> Event | None:
    return p["t"] if p["v"].action == p["t"].action else None


_event = _of(lambda p: p["e"])
_acts = _of(_single)
_passive = _of(lambda p: None if p["t"].single else passive(p))


def _theirs(over: bool) -> Callable[[Parts], Demand | None]:
    """`No more than 3 distinct guests' profiles may be viewed`."""
    return lambda p: _varied(passive(p), p["w"], ("over",) if over else ("at most",))


def _number_of(make: Callable[[Parts], Event | None]) -> Callable[[Parts], Demand | None]:
    return lambda p: _varied(make(p), ("at most", p["n"], p["f"]))


def _kinds_of_objects(p: Parts) -> Demand | None:
    """`Message at most three different patients`, of `message patient`."""
    event: Event = p["v"]
    if event.role or not event.noun or singular(event.noun[-1]) != p["w"][2]:
        return None
    return _varied(event, p["w"])


def _of_things_in_a_run(p: Parts) -> Demand | None:
    """`Payments to at most 3 ibans per run`: no single one has so many, as a booking has passengers."""
    event: Event = p["e"]
    if event.single:
        return None
    return _varied(replace(event, beside=(*event.beside, Adjunct("run", said=p["r"]))), p["w"])


def _of_any_call(p: Parts) -> Demand | None:
    """`No more than one region may be touched`."""
    return _varied(Event(ANY), p["w"])


def _kinds_done(p: Parts) -> Demand | None:
    """`At most 2 different booking refs checked in`, where one action alone has the verb."""
    return _varied(p["d"], p["w"])


def _said(p: Parts) -> Demand | None:
    demand: Demand | None = p["q"]
    return demand


def _in_each_run(p: Parts) -> Demand | None:
    return in_a_run(p["q"]) if p["q"] else None


def _said_over(p: Parts) -> Demand | None:
    return _in_each_run(p) if "r" in p else p["q"]


def few_things(grammar: Grammar, at: int) -> Iterator[Found]:
    """`at most 2 ibans`, `no more than one region`: behind `to` and `in` they are different ones."""
    m = compiled(rf" *{_UP_TO} (?P<n>\d{{1,6}}|one|a single) {_THING}").match(grammar.text, at)
    if m and _are_things(m["f"], m["n"]):
        yield ("at most", _number(m["n"]), field_of(m["f"])), m.end()


def many_things(grammar: Grammar, at: int) -> Iterator[Found]:
    """`more than 2 ibans`."""
    m = compiled(rf" *(?:more than|over) (?P<n>\d{{1,6}}|one|a single) {_THING}").match(grammar.text, at)
    if m and _are_things(m["f"], m["n"]):
        yield ("at most", _number(m["n"]), field_of(m["f"])), m.end()


def _are_things(words: str, number: str) -> bool:
    """Several of a kind, and neither times nor measures nor calls: `percent`, `minutes`, `times`."""
    last = words.lower().split()[-1]
    several = number in ("1", "one", "a single") or (last.endswith("s") and not last.endswith("ss"))
    measured = compiled(
        rf"{MEASURES}|{TIMES}|characters?|words|lines|euros?|dollars?|pounds?|francs?|points?"
    )
    return several and singular(last) not in NOT_A_THING and not measured.match(last)


_GO = (
    "go|goes|go_out|goes_out|are_made|be_made|are_sent|be_sent|happen|happens|take_place|takes_place|run|runs"
    "|occur|occurs|be_done|are_done|be|are|is|come|comes|be_issued|are_issued|be_paid|are_paid"
)

KINDS_OF_THINGS: dict[str, Rule] = {
    "few things": few_things,
    "many things": many_things,
    "few of them": [
        ("{w:few kinds}", lambda p: p["w"]),
        ("{w:few things}", lambda p: p["w"]),
        (f"{{w:few kinds alone}} {_NO_MORE}", lambda p: ("at most", *p["w"][1:])),
    ],
    "too many of them": [("{w:many kinds}", lambda p: p["w"]), ("{w:many things}", lambda p: p["w"])],
    "gone through": [("{d:noun_done}", lambda p: p["d"]), ("{d:done_alone}", lambda p: p["d"])],
    "few kinds alone": few_kinds,
    "many kinds": many_kinds,
    "whose kinds": whose_kinds,
    "different ones": different_ones,
    "few kinds": [
        ("{w:few kinds alone}", lambda p: p["w"] if p["w"][0] == "at most" else None),
        (f"{{w:few kinds alone}} [{{r:scope}}] [,] {_NO_MORE}", lambda p: ("at most", *p["w"][1:])),
        ("a|one|a_single|only_one|1 set of {f:different ones}", lambda p: None),
    ],
    "for few kinds": [
        (f"{{e:acts}} {_TO} {{w:few kinds}}", _acts),
        ("{v:verb} {w:few kinds}", _kinds_of_objects),
        ("{v:verb} {w:whose kinds} {t:object}", _of(_object)),
    ],
    "for few kinds alone": [
        (f"{{e:acts}} {_TO} "
         f"{{w:few kinds alone}}", lambda p: _varied(_single(p), p["w"], ("at most", "just"))),
        ("{v:verb} {w:few kinds alone}", lambda p: _kinds_of_objects({**p, "w": ("at most", *p["w"][1:])})),
    ],
    "for many kinds": [
        (f"{{e:acts}} {_TO} {{w:many kinds}}", _acts),
        ("{v:verb} {w:many kinds}", _kinds_of_objects),
        ("{v:verb} {w:whose kinds} {t:object}", lambda p: _varied(_object(p), p["w"], ("over",))),
    ],
    "being for many kinds": [
        (f"{{e:events}} {_TO} {{w:many kinds}}", _acts),
        ("{v:verbing} {w:many kinds}", _kinds_of_objects),
        ("{v:verbing} {w:whose kinds} {t:object}", lambda p: _varied(_object(p), p["w"], ("over",))),
    ],
    "varied": [
        ("{e:counted}", lambda p: p["e"]),
        ("{e:counted} {r:scope}", lambda p: p["e"]),
        (f"{{e:counted}} that {AGENT} {{v:does_alone}}",
         lambda p: p["e"] if p["e"].action in p["v"] else None),
        (f"{{t:object}} that {AGENT} {{v:does_alone}}",
         lambda p: p["t"] if p["t"].action in p["v"] and len(p["v"]) == 1 else None),
        ("{t:object} that is|are|gets|get|was|were {d:past}", passive),
    ],
    "demand": [
        ("{q:for few kinds}", _said),
        (f"[{AGENT}] {_BEING} [only|ever] {{q:for few kinds}}", _said),
        (f"{AGENT} is|are only allowed|permitted to {{q:for few kinds alone}}", _said),
        (f"[{AGENT}] [{_BEING}] only {{q:for few kinds alone}}", _said),
        (f"{_NEVER} [ever] {{q:for many kinds}}", _said),
        (f"{AGENT} {NO}|do_not|does_not|never|is_forbidden_to|are_forbidden_to [ever] "
         f"{{q:for many kinds}}", _said),
        (f"{NOBODY} {_BEING} [ever] {{q:for many kinds}}", _said),
        (f"it is [strictly] {BANNED} to {{q:for many kinds}}", _said),
        (f"{RUNS} {_BEING} {{q:for few kinds}}", _in_each_run),
        (f"{RUNS} {NO} [ever] {{q:for many kinds}}", _in_each_run),
        (f"no run {_BEING} [ever] {{q:for many kinds}}", _in_each_run),
        (f"{{q:being for many kinds}} [{{r:scope}}] is|are [strictly] {BANNED}", _said_over),
        (f"{{q:being for many kinds}} [{{r:scope}}] {NO} [ever] {HAPPEN}", _said_over),
        ("avoid|refrain_from {q:being for many kinds}", _said),
        (f"{{e:varied}} {_TO} {{w:many kinds}} is|are [strictly] {BANNED}", _event),
        (f"no {{e:varied}} {_TO} {{w:many kinds}}", _event),
        (f"{{e:varied}} [is|are] [allowed|permitted] {_TO} {{w:few kinds}} [is|are] [allowed|permitted"
         f"|ok|fine]",
         _event),
        (f"{{e:varied}} {_BEING} {HAPPEN} {_TO} {{w:few kinds}}", _event),
        (f"{{e:varied}} {NO} [ever] {HAPPEN} {_TO} {{w:many kinds}}", _event),
        (f"{{e:varied}} [{_BEING}] [only] {_GO} {_TO} {{w:few kinds}}", _event),
        (f"{{e:varied}} {NO}|do_not|never [ever] {_GO} {_TO} {{w:many kinds}}", _event),
        (f"{{e:counted}} [{_BEING}] [only] [{_GO}] {_TO} {{w:few things}} {{r:scope}}", _of_things_in_a_run),
        (f"{{e:counted}} {NO}|do_not|never [ever] {_GO} {_TO} {{w:many things}} {{r:scope}}",
         _of_things_in_a_run),
        (f"{{w:few of them}} {_BEING} [ever] be {_TOUCHED}", _of_any_call),
        (f"{{w:few of them}} is|are {_TOUCHED}", _of_any_call),
        (f"{{w:too many of them}} {NO} [ever] be {_TOUCHED}", _of_any_call),
        (f"no {{w:too many of them}} {_BEING} [ever] be {_TOUCHED}", _of_any_call),
        (f"{{w:few kinds}} [{_BEING}|is|are] [be] {{d:gone through}}", _kinds_done),
        (f"{{e:varied}} , [{_TO}] {{w:few kinds}}", _event),
        (f"{{e:varied}} {_BEING} {_BELONG} {{w:few kinds}}", _event),
        (f"{{e:varied}} {_BELONGS} {{w:few kinds}}", _event),
        (f"{{e:varied}} {NO} [ever] {_BELONG} {{w:many kinds}}", _event),
        (f"{{t:object}} {_BEING}|is|are [only] [be] {{d:past}} [only] {_TO} {{w:few kinds}}", _passive),
        (f"{{t:object}} {NO} [ever] be {{d:past}} {_TO} {{w:many kinds}}", _passive),
        (f"{{t:object}} is|are never {{d:past}} {_TO} {{w:many kinds}}", _passive),
        (f"{{t:object}} of|for|from {{w:few kinds}} {_BEING} be {{d:past}}", _passive),
        (f"{{t:object}} of|for|from {{w:many kinds}} {NO} [ever] be {{d:past}}", _passive),
        (f"{{w:whose kinds}} {{t:object}} {_BEING}|is|are [be] {{d:past}}", _theirs(over=False)),
        (f"{{w:whose kinds}} {{t:object}} {NO} [ever] be {{d:past}}", _theirs(over=True)),
        (f"{_LIMIT} {{e:varied}} to|at {{w:few kinds alone}}",
         lambda p: _varied(p["e"], p["w"], ("at most", "just"))),
        (f"{{e:varied}} is|are|{SHOULD} [be] {_LIMITED} to|at {{w:few kinds alone}}",
         lambda p: _varied(p["e"], p["w"], ("at most", "just"))),
        (f"[the] number of {{f:different ones}} whose {{t:object}} is|are|gets|get|was {{d:past}} {NO} "
         f"{_EXCEED} "
         "{n:number}", _number_of(passive)),
        (f"[the] number of {{f:different ones}} {_TO} [all|the] {{e:varied}} {NO} {_EXCEED} {{n:number}}",
         _number_of(lambda p: p["e"])),
        (f"[the] number of {{f:different ones}} whose {{t:object}} is|are|gets|get|was {{d:past}} is|are"
         f"|{SHOULD} [be] "
         f"{_LIMITED} to|at {{n:number}}", _number_of(passive)),
        (f"[the] number of {{f:different ones}} {_TO} [all|the] {{e:varied}} is|are|{SHOULD} [be] "
         f"{_LIMITED} to|at "
         "{n:number}", _number_of(lambda p: p["e"])),
        (f"[the] number of {{f:different ones}} {_TO} [all|the] {{e:varied}} {_BEING} [be|stay|remain] "
         f"{AT_MOST}|at_or_below {{n:number}}", _number_of(lambda p: p["e"])),
        ("{w:few kinds} [{r:scope}] for|in|with|per {e:varied}", _event),
        (f"{_LIMIT} the number of {{f:different ones}} {_TO} [all|the] {{e:varied}} to|at {{n:number}}",
         _number_of(lambda p: p["e"])),
    ],
}  # fmt: skip
