"""What is said in brief: `one reset per user per day`, `nothing at all`, `before sending the next one`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import with_mods
from synth.policies.clausal.kinds_of_verbs import SOMEBODY
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import AGAIN, ANY, Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.relative import thing_of
from synth.policies.clausal.words import (
    ALREADY,
    BEFORE,
    HAPPEN,
    HAVE,
    NO,
    NOT_A_THING,
    SHOULD,
    SUCCEEDED,
    SUCCEEDS,
)
from synth.policies.patterns import compiled

_IN_ONE_RUN = (
    "one_run|the_same_run|a_single_run|one_and_the_same_run|one_conversation"
    "|the_same_conversation|a_single_conversation|one_session|the_same_session|a_single_session"
)
_IN_A_RUN = f"{_IN_ONE_RUN}|a_run|any_run|a_conversation|any_conversation|a_session|any_session"
_AT_ALL = "at_all|whatsoever|of_any_kind"
_PEOPLE = "|".join((*SOMEBODY, "student", "merchant", "driver", "cardholder", "holder", "author", "learner"))


def _both(p: Parts) -> Demand | None:
    """`A and B must not both occur in one run`."""
    one, other = p["a"], p["b"]
    return Demand("both", (one,), (other,)) if one.action != other.action else None


def _nothing(p: Parts) -> Demand:
    return Demand("never", (Event(ANY),), how="again")


def _answered_by_any(p: Parts) -> Demand | None:
    """`Each opened ticket has to be closed or escalated`: one of the two, of that ticket."""
    first, (then, joint) = p["s"], p["es"]
    if any(one.noun != first.noun or one.role or one.action == first.action for one in then):
        return None
    same = thing_of(first, then[0])
    return Demand("answer", (with_same(first, same),), then, joint=joint)


def _wait_for_the_next(p: Parts) -> Demand:
    """`If a payout fails, wait 5 minutes before sending the next one`."""
    return Demand("wait for the next", (p["v"],), how=p["d"])


def limit_in_time(grammar: Grammar, at: int) -> Iterator[Found]:
    """`One reset per user per calendar day`, of what nobody has to do: a check may be due that often."""
    for number, start in grammar.matches("number", at):
        if number < 1 or grammar.matches("check", start):
            continue
        for event, end in grammar.matches("event", start):
            in_time = any(isinstance(one, Adjunct) and one.kind in ("day", "time") for one in event.beside)
            if event.same and in_time and not event.outcome:
                yield Demand("count", (replace(event, single=False),), number=number, how="at most"), end


def him(grammar: Grammar, at: int) -> Iterator[Found]:
    """`For him`: the only kind of person that a sentence names."""
    m = compiled(r" *(?:for|on|about|to|of|from) (?:him|her)(?![\w'-])").match(grammar.text, at)
    if m is None:
        return
    named = {one.lower() for one in compiled(rf"\b(?:{_PEOPLE})(?=s?\b)").findall(grammar.text[:at])}
    if len(named) == 1:
        yield frozenset(named), m.end()


def one_that_succeeds(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Until one succeeds`, of what failed before."""
    if compiled(r"\bfail").search(grammar.text[:at]):
        yield from grammar.matches("one_succeeds", at)


def the_same(grammar: Grammar, at: int) -> Iterator[Found]:
    """`The same package`, behind a verb whose object it is no word of."""
    m = compiled(r" *(?:the (?:very )?same|one and the same) (?P<f>[a-z][a-z_]*)(?![\w'-])").match(
        grammar.text, at
    )
    if m and m["f"].lower() not in NOT_A_THING:
        yield frozenset({m["f"].lower()}), m.end()


def _with_this(p: Parts) -> Event | None:
    """`Install the same package on the same device`, where one action alone has the verb."""
    event: Event = p["e"]
    return with_mods({**p, "e": with_same(event, p["s"])}) if event.bare else None


def _failed_so(p: Parts) -> Fact | None:
    """`An install has failed on a device`: of one and the same device is spoken then."""
    events, joint = p["es"]
    if len(events) > 1 or any(kind != "about" for kind, _ in p["m"]):
        return None
    event = with_mods({"e": replace(events[0], single=False), "m": p["m"]})
    return Fact((event,), "fails", joint)


def _of_a_person(p: Parts) -> Fact:
    """`A course that the student dropped`: of one and the same student."""
    return Fact((with_same(p["e"], p["w"]),), "perfect")


def person(grammar: Grammar, at: int) -> Iterator[Found]:
    """`The student`, `the same customer`."""
    if m := compiled(rf" *(?:the same|that|the) (?P<w>{_PEOPLE})(?![\w'-])").match(grammar.text, at):
        yield frozenset({m["w"].lower()}), m.end()


BRIEF: dict[str, Rule] = {
    "limit_in_time": limit_in_time,
    "him": him,
    "the_same": the_same,
    "mod": [("{s:him}", lambda p: ("same", p["s"]))],
    "act": [
        ("{e:deed} {s:the_same}", _with_this),
        ("{e:deed} {s:the_same} {m:mods}", _with_this),
    ],
    "failure": [
        ("{es:events} has_failed|failed|fails|have_failed {m:mods}", _failed_so),
    ],
    "person": person,
    "that": [
        (f"that|which {{w:person}} [{HAVE}] [{ALREADY}] {{e:gapped}} [{BEFORE}]", _of_a_person),
    ],
    "one_succeeds": [(f"one|one_of_them {SUCCEEDS}|{SUCCEEDED}", lambda p: Fact((Event(AGAIN),), "perfect"))],
    "one_that_succeeds": one_that_succeeds,
    "success": [("{f:one_that_succeeds}", lambda p: p["f"])],
    "demand": [
        ("{d:limit_in_time}", lambda p: p["d"]),
        (f"{{a:event}} and {{b:event}} {NO} {HAPPEN} [together] in|within|during {_IN_ONE_RUN}", _both),
        (f"{{a:event}} and {{b:event}} {NO} both {HAPPEN} in|within|during {_IN_A_RUN}", _both),
        (f"{{a:event}} and {{b:event}} {NO} both {HAPPEN} [together]", _both),
        (
            "the|your [very] next call|step|action|tool_call is [always] {e:events}",
            demanding("comes next"),
        ),
        (f"nothing|no_calls|no_call {_AT_ALL}", _nothing),
        (
            f"each|every|all {{s:state}} {SHOULD} [also|always|later|eventually] be [either] {{es:pasts}}",
            _answered_by_any,
        ),
        (
            "[you|we|the_agent] [must|should] wait [for] [at_least|a_minimum_of] {d:time} [or_more] before "
            "{v:verbing} the_next|another|a_further|a_new one [again]",
            _wait_for_the_next,
        ),
    ],
}
