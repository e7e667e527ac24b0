"""What sentences demand, and what they depend on, as patterns over the names of actions.

Every pattern has what it makes of its parts beside it: facts (`a permit was issued`), demands (`must never
be issued`), and adjuncts, which say when, how often or of what (`within 1 hour`, `unless ...`, `for that order`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from synth.policies.clausal.events import ANY, IT, Event, with_same
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.patterns import compiled

SHOULD = (
    "must|should|shall|has_to|have_to|needs_to|need_to|ought_to|is_to|are_to|is_required_to|are_required_to"
    "|must_always|has_always_to|must_also|should_always"
)
MAY = "may|can|could|might|is_allowed_to|are_allowed_to|is_permitted_to|are_permitted_to|may_ever|can_ever"
NO = (
    "must_not|must_never|may_not|may_never|should_not|should_never|shall_not|shall_never|can_not|can_never"
    "|will_not|will_never|is_not_to|are_not_to|is_never_to|are_never_to|is_not_allowed_to|are_not_allowed_to"
    "|is_never_allowed_to|are_never_allowed_to|must_no_longer|may_no_longer|can_no_longer|must_not_ever"
    "|may_under_no_circumstances|must_under_no_circumstances|ought_not_to|must_no_more|may_no_more"
)
HAPPEN = (
    "happen|occur|take_place|be_made|be_done|be_run|be_called|be_carried_out|be_started|be_performed|start"
    "|begin|run|be_attempted|be_tried|be_executed|go_ahead|proceed"
)
BANNED = (
    "forbidden|prohibited|banned|not_allowed|not_permitted|never_allowed|never_permitted|off_limits|ruled_out"
    "|out_of_the_question|not_acceptable|unacceptable|strictly_forbidden|strictly_prohibited|disallowed"
    "|not_ok|not_okay"
)
AGENT = (
    "you|we|it|they|the_agent|an_agent|agents|the_assistant|the_bot|the_model|the_system|the_ai|our_agent"
    "|our_agents|the_agents|the_operator|operators|anyone|anybody"
)
NOBODY = "nobody|no_one|no-one|no_agent"
FAILS = (
    "fails|failed|has_failed|have_failed|had_failed|does_not_succeed|did_not_succeed|has_not_succeeded"
    "|goes_wrong|went_wrong|errors_out|errored_out|errored|was_not_successful|is_not_successful|errors"
    "|does_not_go_through|did_not_go_through|ends_in_an_error|ended_in_an_error|returns_an_error|fail"
)
SUCCEEDED = (
    "has_succeeded|has_happened|have_happened|has_passed|have_passed|has_gone_through|have_gone_through"
    "|went_through|has_been_made|have_been_made|was_made|were_made|was_successful|has_been_successful|succeeded"
    "|passed|has_taken_place|took_place|has_been_done|has_been_successful|has_been_completed|has_come_through"
    "|happened|was_done|has_been_carried_out|has_been_run|have_been_run|was_run"
)
SUCCEEDS = (
    "happens|takes_place|succeeds|is_made|are_made|goes_through|passes|is_done|occurs|is_successful|goes_well"
)
ALREADY = "already|successfully|ever|first|previously|at_least_once"
BEFORE = "first|before|beforehand|already|earlier|before_that|earlier_on|previously|earlier_in_the_run|earlier_in_this_run"
LATER = (
    "afterwards|afterward|later|eventually|thereafter|then|after_that|at_some_point|later_on|subsequently"
    "|at_some_later_point|later_in_the_run|at_some_later_point_in_the_run|at_some_point_in_the_run"
    "|before_the_run_ends|by_the_end_of_the_run|later_in_the_same_run|before_the_end_of_the_run"
    "|at_some_point_afterwards|at_some_point_later|after_it"
)
AGAIN = (
    "again|any_more|anymore|any_longer|afterwards|later|at_all|ever|ever_again|from_then_on|thereafter"
    "|for_the_rest_of_the_run|later_in_the_run|after_that|later_on|for_the_remainder_of_the_run|in_that_run|in_the_run"
)
NOT_A_THING = frozenset(
    "reason purpose matter day week month year date hour minute night morning evening time moment run conversation"
    " session turn message kind sort type way point window period call action step tool agent same thing tools"
    " calls it them one other second seconds minutes hours days case first last next".split()
)
_FIELD = r"[a-z][\w.]*(?: (?:id|number|code|reference|key)\b)?"


@dataclass(frozen=True, slots=True)
class Fact:
    """What a sentence says has happened, or has not."""

    events: tuple[Event, ...]
    aspect: str
    """`present`, `perfect`, `not`, `fails`, `running`, `noun`."""
    joint: str = ""
    """`and` or `or` where there are several events."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The main clause: what must be, and what must not."""

    kind: str
    events: tuple[Event, ...] = ()
    others: tuple[Event, ...] = ()
    joint: str = ""
    number: int = 0
    how: str = ""
    perfect: bool = False


@dataclass(frozen=True, slots=True)
class Adjunct:
    """When, how often, of what."""

    kind: str
    fact: Fact | None = None
    until: Fact | None = None
    time: str = ""
    same: frozenset[str] = frozenset()
    said: str = ""
    only: bool = False
    leads: bool = False


# ------------------------------------------------------------------------------------------ small rules


def same(grammar: Grammar, at: int) -> Iterator[Found]:
    """`for the same order`, `per order_id`, `on that order`, `for it`."""
    which = (
        r"(?:(?:with|for|of|on|to|from|in|by|about|using|at|against) (?:the (?:very )?same|one and the same"
        r"|that very|that same|that|this same|this|an identical|any one|any single|one single)|per|for each|for every"
        r"|for any one|for any given)"
    )
    pattern = rf",? *{which} (?P<f>{_FIELD})(?P<more>(?:,? and (?:the |to the |for the |of the )?(?:same )?{_FIELD})*)"
    if m := compiled(rf"{pattern}(?![\w'-])").match(grammar.text, at):
        for end, fields in _fields(m):
            if not any(field.lower() in NOT_A_THING for field in fields):
                yield frozenset(fields), end
    if m := compiled(r" *(?:for|on|about|to|of|from|in) (?:it|them)(?![\w'-])| *there(?![\w'-])").match(
        grammar.text, at
    ):
        yield frozenset({IT}), m.end()


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


def about(grammar: Grammar, at: int) -> Iterator[Found]:
    """`in a region`: what others of the sentence may be the same as."""
    m = compiled(
        r" *(?:in|for|on|to|of|from|about) (?:an?|any|each|every) (?P<f>[a-z][a-z_]*)(?![\w'-])"
    ).match(grammar.text, at)
    if m and m["f"].lower() not in NOT_A_THING:
        yield frozenset({m["f"]}), m.end()


def time(grammar: Grammar, at: int) -> Iterator[Found]:
    m = compiled(
        r" *(?P<n>\d+(?:\.\d+)?) ?(?P<u>milliseconds?|ms|seconds?|minutes?|min|hours?|days?|weeks?)(?![\w-])"
    ).match(grammar.text, at)
    if m:
        yield f"{m['n']} {m['u']}", m.end()


def number(grammar: Grammar, at: int) -> Iterator[Found]:
    if m := compiled(
        r" *(?P<n>\d{1,6}|one|a single)(?![\w.,:-]\d|[\w:-])(?! (?:second|minute|hour|day|week)s?\b)"
    ).match(grammar.text, at):
        yield int(m["n"]) if m["n"].isdigit() else 1, m.end()


_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?|working days?|business days?)"
_DAYS = (
    rf"(?:on |from )?{_DAY} (?:to|through|until|till) {_DAY}"
    rf"|(?:on|at|over|during) (?:an? |any |the |all )?{_DAY}(?:(?:, and|, or|,| and| or) (?:on )?(?:an? )?{_DAY})*"
)
_T = r"\d\d?:\d\d"
_HOURS = (
    rf"(?:between|from) {_T} (?:and|to|until|till) {_T}|outside(?: of)? {_T} (?:to|and|until|-) {_T}"
    rf"|before {_T} (?:and|or|nor) after {_T}|after {_T} (?:and|or|nor) before {_T}|(?:before|after) {_T}"
)


def days(grammar: Grammar, at: int) -> Iterator[Found]:
    if m := compiled(rf" *(?P<said>{_DAYS})(?![\w:])").match(grammar.text, at):
        yield m["said"], m.end()


def hours(grammar: Grammar, at: int) -> Iterator[Found]:
    if m := compiled(rf" *(?P<said>{_HOURS})(?![\w:])").match(grammar.text, at):
        yield m["said"], m.end()


# ------------------------------------------------------------------------------------------ events


def _with_mods(p: Parts) -> Event:
    event: Event = p["e"]
    for kind, value in p.get("m", ()):
        event = with_same(event, value) if kind == "same" else with_same(event, frozenset(), value)
        if kind == "given":
            event = replace(event, given=event.given + value)
    return event


def _mods(p: Parts) -> tuple[tuple[str, frozenset[str]], ...]:
    return (p["m"], *p.get("n", ()))


def _anything(p: Parts) -> Event:
    return Event(ANY)


def _passive(p: Parts) -> Event | None:
    """What is done to a thing; None where it is another thing that this is done to."""
    thing, done = p["t"], p["d"]
    if thing.action != done.action:
        return None
    return replace(
        thing, same=thing.same | done.same, about=thing.about | done.about, given=thing.given + done.given,
        outcome=thing.outcome or done.outcome,
    )  # fmt: skip


def _fact(aspect: str, make: Callable[[Parts], Event | None] = _with_mods) -> Callable[[Parts], Fact | None]:
    def made(p: Parts) -> Fact | None:
        event = make(p)
        return None if event is None else Fact((event,), aspect)

    return made


def _by_it(p: Parts) -> Event | None:
    """What is done to `it`: of an action that has the verb alone."""
    event: Event = p["d"]
    return with_same(event, frozenset({IT}))


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


_IS = "is|are|was|were|gets|get|is_being|are_being"
_HAS_BEEN = "has_been|have_been|had_been|has_already_been|have_already_been|has_successfully_been|was_already|has_also_been"
_NOT_BEEN = (
    "has_not_been|have_not_been|had_not_been|was_not|were_not|is_not|are_not|has_not_yet_been|have_not_yet_been"
    "|has_never_been|have_never_been|has_not_already_been|is_not_yet"
)
_HAVE = "have|has|had|have_already|has_already"
_HAVE_NOT = "have_not|has_not|had_not|have_not_yet|has_not_yet|have_never"

EVENTS: dict[str, Rule] = {
    "mod": [
        ("{s:same}", lambda p: ("same", p["s"])),
        ("{s:about}", lambda p: ("about", p["s"])),
        ("{s:given}", lambda p: ("given", p["s"])),
    ],
    "mods": [("{m:mod}", _mods), ("{m:mod} {n:mods}", _mods)],
    "anything": [
        ("anything|nothing|any_tool|any_other_tool|any_call|no_tool|any_other_call|any_further_call", _anything),
    ],
    "event": [("{e:noun}", _with_mods), ("{e:noun} {m:mods}", _with_mods)],
    "events": [
        ("{e:event}", _one),
        ("{e:event} and {es:events}", _more("and")),
        ("{e:event} or {es:events}", _more("or")),
        ("either {e:event} or {es:events}", _more("or")),
        ("{e:event} , {es:events}", _more("")),
        ("{e:event} , or {es:events}", _more("or")),
        ("{e:event} , and {es:events}", _more("and")),
    ],
    "act": [("{e:deed}", _with_mods), ("{e:deed} {m:mods}", _with_mods)],
    "acts": [
        ("{e:act}", _one),
        ("{e:act} and {es:acts}", _more("and")),
        ("{e:act} or {es:acts}", _more("or")),
        ("{e:act} nor {es:acts}", _more("or")),
        ("either {e:act} or {es:acts}", _more("or")),
        ("{e:act} , {es:acts}", _more("")),
    ],
    "object": [("{e:thing}", _with_mods), ("{e:thing} {m:mods}", _with_mods)],
    "past": [("{e:done}", _with_mods), ("{e:done} {m:mods}", _with_mods)],
    "agent": [(AGENT, lambda p: None or "agent")],
    "fact": [
        (f"{{t:object}} {_IS} [{ALREADY}] {{d:past}} [{BEFORE}]", _fact("present", _passive)),
        (f"{{t:object}} {_HAS_BEEN} [{ALREADY}] {{d:past}} [{BEFORE}|successfully]", _fact("perfect", _passive)),
        (f"{{t:object}} {_NOT_BEEN} [{ALREADY}] {{d:past}} [{BEFORE}|yet]", _fact("not", _passive)),
        (f"no {{t:object}} {_HAS_BEEN}|was {{d:past}} [{BEFORE}|yet]", _fact("not", _passive)),
        (f"it|they {_HAS_BEEN} [{ALREADY}] {{d:past}} [{BEFORE}]", _fact("perfect", _by_it)),
        (f"it|they {_IS} {{d:past}}", _fact("present", _by_it)),
        (f"it|they {_NOT_BEEN} {{d:past}} [{BEFORE}|yet]", _fact("not", _by_it)),
        (f"{AGENT} {_HAVE} [{ALREADY}] {{e:having}} [{BEFORE}]", _fact("perfect")),
        (f"{AGENT} {_HAVE} [{ALREADY}] {{e:having}} {{m:mods}} [{BEFORE}]", _fact("perfect")),
        (f"{AGENT} {_HAVE_NOT} {{e:having}} [{BEFORE}|yet]", _fact("not")),
        (f"{AGENT} {_HAVE_NOT} {{e:having}} {{m:mods}} [{BEFORE}|yet]", _fact("not")),
        ("you|we|they {e:deed}", _fact("present")),
        ("you|we|they {e:deed} {m:mods}", _fact("present")),
        (f"{AGENT} {{e:does}}", _fact("present")),
        (f"{AGENT} {{e:does}} {{m:mods}}", _fact("present")),
        (f"{{es:events}} {SUCCEEDS}|{SUCCEEDED} [successfully|{BEFORE}]", lambda p: Fact(p["es"][0], "perfect", p["es"][1])),
        (f"{{es:events}} {_NOT_BEEN}|has_not|have_not|did_not made|done|happened|happen|succeeded|succeed [{BEFORE}|yet]",
         lambda p: Fact(p["es"][0], "not", p["es"][1])),
        (f"no {{es:events}} {SUCCEEDED}|has_been_made|was_made", lambda p: Fact(p["es"][0], "not", p["es"][1])),
        ("{es:events} is|are [still] running|in_progress|under_way|going_on", lambda p: Fact(p["es"][0], "running", p["es"][1])),
    ],
    "failure": [
        (f"{{es:events}} {FAILS}", lambda p: Fact(p["es"][0], "fails", p["es"][1])),
        ("{e:event}", lambda p: Fact((replace(p["e"], outcome=""),), "fails") if p["e"].outcome == "failed" else None),
    ],
    "what": [("{f:fact}", lambda p: p["f"]), ("{es:events}", _noun_fact)],
}  # fmt: skip


# ------------------------------------------------------------------------------------------ adjuncts


def _when(kind: str) -> Callable[[Parts], Adjunct | None]:
    def made(p: Parts) -> Adjunct | None:
        fact = p.get("f")
        if fact is not None and any(e.outcome == "failed" for e in fact.events):
            return None
        return Adjunct(kind, fact, p.get("g"), p.get("d", ""), p.get("s", frozenset()), p.get("t", ""))

    return made


def _failed(kind: str) -> Callable[[Parts], Adjunct]:
    return lambda p: Adjunct(kind, p["f"], None, p.get("d", ""))


def _if(p: Parts) -> Adjunct | None:
    fact: Fact = p["f"]
    if fact.aspect == "noun":
        return None
    return Adjunct("unless" if fact.aspect == "not" else "if", fact)


_RUN = "run|conversation|session"
ADJUNCTS: dict[str, Rule] = {
    "adjunct": [
        ("before|prior_to|ahead_of|until_before|any_time_before [any|each|every] {f:what}", _when("before")),
        ("before {e:act}", lambda p: Adjunct("before", Fact((p["e"],), "noun"))),
        ("before it|they|you|we may|can {e:act}", lambda p: Adjunct("before", Fact((p["e"],), "noun"))),
        ("before {t:object} may|can|must be {d:past}", lambda p: (e := _passive(p)) and Adjunct("before", Fact((e,), "noun"))),
        ("before {t:object} being {d:past}", lambda p: (e := _passive(p)) and Adjunct("before", Fact((e,), "noun"))),
        ("immediately|directly|right|just|straight before {f:what}", _when("adjacent")),
        ("immediately|directly|right|straight after {f:what}", _when("straight after")),
        ("after|once|following|as_soon_as {f:what}", _when("after")),
        ("after {t:object} being|having_been {d:past}", lambda p: (e := _passive(p)) and Adjunct("after", Fact((e,), "noun"))),
        ("whenever|every_time|each_time|any_time|anytime {f:fact}", _when("every")),
        ("after|following each|every {f:what}", _when("every")),
        ("if|when|in_case|provided|provided_that|as_long_as|where|only_if {f:fact}", _if),
        ("unless|except_after|except_if|except_when [first] {f:what}", _when("unless")),
        ("without first|a_prior|prior|previously|a_previous|an_earlier {f:what}", _when("unless")),
        ("without {f:what} first|beforehand|before_that", _when("unless")),
        ("without {t:object} having_been|being {d:past}", lambda p: (e := _passive(p)) and Adjunct("unless", Fact((e,), "noun"))),
        ("until|till [after] {f:what}", _when("until")),
        ("if|when|whenever|once|after|in_case|where|every_time|each_time|following|as_soon_as {f:failure}", _failed("failed")),
        ("between {e:event} and {g:event}", lambda p: Adjunct("between", Fact((p["e"],), "noun"), Fact((p["g"],), "noun"))),
        ("within|in|inside|under|in_under|in_less_than|no_later_than|at_most {d:time} of|after {f:what}", _when("within")),
        ("within|in|inside|no_later_than {d:time} of|after {f:failure}", _failed("failed within")),
        ("for|in|during [the_next|the_first] {d:time} after|following {f:what}", _when("during")),
        ("for|in|during [the_next|the_first] {d:time} after|following {f:failure}", _failed("failed within")),
        ("within|in|inside|no_later_than|in_less_than [the_next] {d:time} [afterwards|after_it|after_that|of_it|later]", _when("time")),
        ("in|within|during|over any|every|each|any_given|any_one [period_of|window_of|stretch_of] {d:time} [period|window|stretch]", _when("time")),
        ("per {d:time}", _when("time")),
        ("for [the_next|the_following] {d:time}", _when("lasting")),
        ("{d:time} before|earlier|beforehand", _when("ago")),
        ("{t:days}", _when("days")),
        ("{t:hours}", _when("hours")),
        (f"per|in_a|in_any|in_each|in_one|in_every|in_the_same|within_a|within_one|over_a|over_the_whole|in_the_whole|during_a|during_one|in_the {_RUN}",
         _when("run")),
        ("{s:same}", _when("same")),
        ("first|beforehand|before_that|already", _when("first")),
        (LATER, _when("later")),
    ],
    "adjuncts": [
        ("[,] [and] {a:adjunct}", lambda p: (p["a"],)),
        ("[,] only {a:adjunct}", lambda p: (replace(p["a"], only=True),)),
        ("{a:adjunct} only", lambda p: (replace(p["a"], only=True),)),
        ("[,] {a:adjunct} {b:adjuncts}", lambda p: (p["a"], *p["b"])),
        ("[,] only {a:adjunct} {b:adjuncts}", lambda p: (replace(p["a"], only=True), *p["b"])),
    ],
    "leading": [
        ("{a:adjunct} [,] [then]", lambda p: (replace(p["a"], leads=True),)),
        ("only {a:adjunct} [,]", lambda p: (replace(p["a"], leads=True, only=True),)),
        ("{a:adjunct} [,] {b:leading}", lambda p: (replace(p["a"], leads=True), *p["b"])),
    ],
}  # fmt: skip


# ------------------------------------------------------------------------------------------ demands


def _demand(
    kind: str, slot: str = "e", make: Callable[[Parts], Event | None] | None = None
) -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        if make is not None:
            event = make(p)
            if event is None:
                return None
            events: tuple[Event, ...] = (event,)
            joint = ""
        else:
            found = p[slot]
            events, joint = found if isinstance(found, tuple) else ((found,), "")
        how, n = p.get("c", ("", 0))
        return Demand(kind, events, joint=joint, number=n, how=how)

    return made


def _none_of(p: Parts) -> Demand | None:
    """A ban of each of several deeds; `never pay and refund` may ban both together alone."""
    events, joint = p["e"]
    return None if joint == "and" else Demand("never", events, joint=joint)


def _pair(kind: str) -> Callable[[Parts], Demand]:
    def made(p: Parts) -> Demand:
        (first, joint), (then, other) = p["a"], p["b"]
        return Demand(kind, first, then, joint=joint or other)

    return made


WISH = (
    "please|always|also|make_sure_that|make_sure|ensure_that|ensure|see_to_it_that|take_care_that|note_that"
    "|it_is_required_that|it_is_important_that|remember_to|be_sure_to|of_course"
)
DEMANDS: dict[str, Rule] = {
    "count": [
        ("at_most|no_more_than|not_more_than|up_to|a_maximum_of|maximally|max|not_over {n:number} [times]", lambda p: ("at most", p["n"])),
        ("at_least|no_fewer_than|not_fewer_than|no_less_than|a_minimum_of {n:number} [times]", lambda p: ("at least", p["n"])),
        ("exactly|precisely {n:number} [times]", lambda p: ("exactly", p["n"])),
        ("fewer_than|less_than {n:number} [times]", lambda p: ("at most", p["n"] - 1) if p["n"] > 1 else None),
        ("{n:number} times at_most|at_the_most|maximum", lambda p: ("at most", p["n"])),
    ],
    "beyond": [
        ("more_than|more_often_than|over {n:number} [times]", lambda p: ("at most", p["n"])),
        ("{n:number} times|or_more_times", lambda p: ("at most", p["n"] - 1) if p["n"] > 1 else None),
        ("again", lambda p: ("at most", 1)),
    ],
    "demand": [
        # bans
        ("never|do_not [ever] {e:acts}", _none_of),
        (f"{AGENT} {NO} [ever] {{e:acts}}", _none_of),
        (f"{NOBODY} {MAY}|{SHOULD}|is_to {{e:acts}}", _none_of),
        (f"{{e:events}} {NO} [ever] {HAPPEN} [{AGAIN}]", _demand("never")),
        (f"{{t:object}} {NO} [ever] be {{d:past}} [{AGAIN}]", _demand("never", make=_passive)),
        (f"{{t:object}} is|are|gets|get never|not [ever] {{d:past}} [{AGAIN}]", _demand("never", make=_passive)),
        (f"no [more|further|other] {{t:object}} {MAY}|{SHOULD}|will [ever] be {{d:past}} [{AGAIN}]", _demand("never", make=_passive)),
        (f"no [more|further|other] {{t:object}} is|are|gets|get [ever] {{d:past}} [{AGAIN}]", _demand("never", make=_passive)),
        (f"no [more|further|other] {{e:events}} [{AGAIN}]", _demand("never")),
        (f"no [more|further|other] {{e:events}} {MAY}|{SHOULD} [ever] {HAPPEN}|follow [{AGAIN}]", _demand("never")),
        (f"there {MAY}|{SHOULD}|will be no [more|further] {{e:events}} [{AGAIN}]", _demand("never")),
        (f"there {NO} be any [more|further] {{e:events}} [{AGAIN}]", _demand("never")),
        (f"there is|are no [more|further|to_be] {{e:events}} [{AGAIN}]", _demand("never")),
        (f"{{e:events}} is|are [strictly|always|simply] {BANNED} [{AGAIN}]", _demand("never")),
        (f"it is [strictly] {BANNED} to {{e:acts}}", _none_of),
        (f"neither {{e:acts}}", _none_of),
        (f"nothing|no_tool|no_other_tool|no_call|no_further_call|no_more_calls {MAY}|{SHOULD}|is_to [ever] {HAPPEN}|follow [{AGAIN}]",
         lambda p: Demand("never", (Event(ANY),))),
        (f"nothing {MAY}|{SHOULD}|is_to [ever] be {{d:past}}", lambda p: Demand("never", (p["d"],)) if p["d"] else None),
        (f"nobody|no_one {MAY}|{SHOULD}|is_to [ever] be {{d:past}}", lambda p: Demand("never", (p["d"],))),
        (f"it|they {NO} [ever] be {{d:past}} [{AGAIN}]", _demand("never", make=_by_it)),
        # permissions
        (f"{{t:object}} {MAY}|{SHOULD}|is|are only be {{d:past}}", _demand("only", make=_passive)),
        (f"{{t:object}} {MAY}|{SHOULD} be only {{d:past}}", _demand("only", make=_passive)),
        (f"{{t:object}} is|are only {{d:past}}", _demand("only", make=_passive)),
        (f"{{t:object}} {MAY}|{SHOULD} be {{d:past}} only", _demand("only", make=_passive)),
        (f"only {{e:acts}}", _demand("only")),
        (f"{AGENT} {MAY}|{SHOULD} only {{e:acts}}", _demand("only")),
        (f"{AGENT} {MAY}|{SHOULD} {{e:acts}} only", _demand("only")),
        (f"{{e:events}} {MAY}|{SHOULD} only {HAPPEN}", _demand("only")),
        (f"{{e:events}} is|are only allowed|permitted|possible|ok|okay|acceptable|to_happen", _demand("only")),
        (f"{{e:events}} is|are allowed|permitted only", _demand("only")),
        (f"{{e:events}} only", _demand("only")),
        (f"{{t:object}} {MAY} be {{d:past}}", _demand("may", make=_passive)),
        (f"{{t:object}} is|are {{d:past}}", _demand("may", make=_passive)),
        (f"{AGENT} {MAY} {{e:acts}}", _demand("may")),
        (f"{{e:events}} {MAY} {HAPPEN}", _demand("may")),
        (f"{{e:events}} is|are allowed|permitted|ok|okay", _demand("may")),
        # duties
        (f"{AGENT} {SHOULD} [also|first|always] {{e:acts}}", _demand("must")),
        ("{e:acts}", _demand("do")),
        ("{e:acts} first", _demand("do first")),
        (f"{{e:events}} {SHOULD} [also|always] {HAPPEN}", _demand("must")),
        (f"{{e:events}} {SHOULD} [also|always] follow", _demand("follow")),
        (f"{{t:object}} {SHOULD} [also|always|first] be|get {{d:past}}", _demand("must", make=_passive)),
        (f"it|they {SHOULD} [also|always|first] be|get {{d:past}}", _demand("must", make=_by_it)),
        (f"{{t:object}} {SHOULD} [also|always] have [{ALREADY}] been {{d:past}} [{BEFORE}]", _demand("have", make=_passive)),
        (f"{AGENT} {SHOULD} have [{ALREADY}] {{e:having}}", _demand("have")),
        (f"{AGENT} {SHOULD} have [{ALREADY}] {{e:having}} {{m:mods}}", _demand("have", make=_with_mods)),
        (f"{{e:events}} {SHOULD} have happened|succeeded|passed|been_made|been_done|gone_through [{BEFORE}]", _demand("have")),
        ("{e:events} is|are [always] required|mandatory|needed|necessary|due|obligatory|compulsory", _demand("must")),
        (f"there {SHOULD} [always] be {{e:events}}", _demand("must")),
        (f"there {SHOULD} [always] have_been {{e:events}} [{BEFORE}]", _demand("have")),
        # counts
        (f"{{c:count}} {{e:events}}", _demand("count")),
        (f"{{c:count}} {{e:events}} {MAY}|{SHOULD} {HAPPEN}", _demand("count")),
        (f"{{c:count}} {{e:events}} is|are allowed|permitted", _demand("count")),
        (f"{{c:count}} {{t:object}} {MAY}|{SHOULD} be {{d:past}}", _demand("count", make=_passive)),
        (f"{{c:count}} {{t:object}} {{d:past}}", _demand("count", make=_passive)),
        (f"there {MAY} be {{c:count}} {{e:events}}", _demand("count")),
        (f"there {NO} be more_than {{n:number}} {{e:events}}", lambda p: Demand("count", *p["e"][:1], joint=p["e"][1], number=p["n"], how="at most")),
        (f"never|not more_than {{n:number}} {{e:events}}", lambda p: Demand("count", *p["e"][:1], joint=p["e"][1], number=p["n"], how="at most")),
        (f"{{t:object}} {MAY}|{SHOULD} be {{d:past}} {{c:count}}", _demand("count", make=_passive)),
        (f"{{e:events}} {MAY}|{SHOULD} {HAPPEN} {{c:count}}", _demand("count")),
        (f"{{e:events}} is|are limited|restricted|capped to|at {{n:number}} times",
         lambda p: Demand("count", *p["e"][:1], joint=p["e"][1], number=p["n"], how="at most")),
        (f"{{e:events}} {{c:count}}", _demand("count")),
        (f"{AGENT} {MAY}|{SHOULD} {{e:acts}} {{c:count}}", _demand("count")),
        (f"{AGENT} {MAY}|{SHOULD} {{c:count}} {{e:acts}}", _demand("count")),
        (f"{{e:acts}} {{c:count}}", _demand("count")),
        (f"never|do_not {{e:acts}} {{c:beyond}}", _demand("count")),
        (f"{AGENT} {NO} {{e:acts}} {{c:beyond}}", _demand("count")),
        (f"{{t:object}} {NO} [ever] be {{d:past}} {{c:beyond}}", _demand("count", make=_passive)),
        (f"{{e:events}} {NO} [ever] {HAPPEN} {{c:beyond}}", _demand("count")),
        (f"{{n:number}} {{e:events}} is|are the limit|maximum", lambda p: Demand("count", *p["e"][:1], joint=p["e"][1], number=p["n"], how="at most")),
        # two actions
        (f"{{a:events}} {SHOULD} [always|eventually|later|also] be [always|eventually] followed by {{b:events}}", _pair("answer")),
        (f"{{a:events}} {SHOULD} [always] be [always|immediately] preceded by {{b:events}}", _pair("needs")),
        (f"{{a:events}} {NO} be followed by {{b:events}}", _pair("no answer")),
        ("{a:events} requires|needs|takes|presupposes|calls_for|require|need {b:events} first|before|beforehand|earlier|before_that|earlier_on",
         _pair("needs")),
        ("{a:events} requires|needs|require|need {b:events} at_most|no_more_than|not_more_than|within_the_last|in_the_last {d:time} before|earlier|beforehand",
         lambda p: None),
        ("{a:events} requires|presupposes|require [that] {f:fact}", lambda p: p["f"].aspect == "perfect" and Demand("needs", *p["a"][:1], p["f"].events, joint=p["a"][1] or p["f"].joint)),
        (f"{{b:events}} {SHOULD} [always] come|happen|go before {{a:events}}", _pair("needs")),
        (f"{{a:events}} {SHOULD} [only|always] come|happen after {{b:events}}", _pair("needs")),
        (f"{{a:events}} {NO} [ever] overlap [with] {{b:events}}", _pair("overlap")),
        (f"{{a:events}} and {{b:event}} {NO} [ever] overlap|run_at_the_same_time|be_running_at_the_same_time|run_in_parallel|run_concurrently",
         lambda p: Demand("overlap", p["a"][0], (p["b"],)) if not p["a"][1] else None),
        (f"no 2 {{e:events}} {MAY}|{SHOULD} [ever] overlap|run_at_the_same_time|be_running_at_the_same_time|run_in_parallel|run_concurrently|run_side_by_side",
         _demand("overlap itself")),
        (f"{{e:events}} {NO} [ever] overlap|run_in_parallel|run_concurrently [with] [each_other|one_another|itself]", _demand("overlap itself")),
    ],
    "inside": [
        ("{d:demand}", lambda p: (p["d"], ())),
        ("{d:demand} {a:adjuncts}", lambda p: (p["d"], p["a"])),
        (f"{WISH} {{i:inside}}", lambda p: p["i"]),
    ],
    "sentence": [
        ("{i:inside}", lambda p: p["i"]),
        ("{l:leading} {i:inside}", lambda p: (p["i"][0], (*p["l"], *p["i"][1]))),
        (f"{WISH} {{l:leading}} {{i:inside}}", lambda p: (p["i"][0], (*p["l"], *p["i"][1]))),
    ],
}  # fmt: skip


def given(grammar: Grammar, at: int) -> Iterator[Found]:
    """What is said of the arguments of a call, in the words that the language has for it."""
    return iter(())


SMALL: dict[str, Rule] = {
    "same": same, "about": about, "time": time, "number": number, "days": days, "hours": hours, "given": given,
}  # fmt: skip
RULES: dict[str, Rule] = {**SMALL, **EVENTS, **ADJUNCTS, **DEMANDS}
