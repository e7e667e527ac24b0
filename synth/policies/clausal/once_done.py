"""What is over once something was done: `a signed report is never amended`, `ticket closed: no "
"escalation`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Fact, with_same
from synth.policies.clausal.relative import are_of_one_thing, thing_of
from synth.policies.clausal.words import AGAIN


def _so_done(p: Parts) -> Adjunct | None:
    """`Ticket closed: no more escalations`, of that ticket."""
    event = passive(p)
    if event is None or event.role:
        return None
    return Adjunct("so done", Fact((replace(event, single=False),), "perfect"), leads=True)


def _was_done(p: Parts) -> Adjunct | None:
    events, joint = p["es"]
    if any(e.outcome in ("failed", "tried") for e in events):
        return None
    return Adjunct("after", Fact(events, "perfect", joint), leads=True)


def _nothing_after(p: Parts) -> Demand | None:
    (first, joint), (then, other) = p["a"], p["b"]
    if (joint and other) or any(e.outcome for e in (*first, *then)):
        return None
    return Demand("no answer", first, then, joint=joint or other)


def _never_such(p: Parts) -> Demand | None:
    """`Signed reports are never amended`."""
    first, then = p["s"], p["d"]
    if not are_of_one_thing(first, then) or first.action == then.action:
        return None
    return Demand("no answer", (with_same(first, thing_of(first, then)),), (then,))


def _if_not(p: Parts) -> Adjunct | None:
    """`Only as long as it has not been closed`."""
    return Adjunct("if not", p["f"]) if p["f"].aspect == "not" else None


_ENDS = (
    "ends|end|rules_out|rule_out|excludes|exclude|precludes|preclude|forbids|forbid|prohibits"
    "|prohibit|bars|bar"
    "|prevents|prevent|closes_the_door_to|makes_impossible|puts_an_end_to|stops|stop|blocks|block|disallows"
)
_FURTHER = (
    "any_later|later|any_further|further|all_further|all_later|every_later|a_later|any_subsequent|subsequent"
    "|any_more|more|any_following|another|a_subsequent|a_further|every_further"
)
_NO_MORE = "no more|further|later|other"
_DONE = (
    "done|made|succeeded|has_succeeded|complete|completed|has_happened|happened|finished|successful|is_done"
)

ONCE_DONE: dict[str, Rule] = {
    "leading": [
        ("{t:object} {d:past} , [then]", lambda p: (a := _so_done(p)) and (a,)),
        (f"{{es:events}} {_DONE} ,", lambda p: (a := _was_done(p)) and (a,)),
    ],
    "adjunct": [("as_long_as|so_long_as|while|provided|provided_that|if|when {f:fact}", _if_not)],
    "demand": [
        (f"{{a:events}} {_ENDS} {_FURTHER} {{b:events}}", _nothing_after),
        (
            f"{{a:events}} {_ENDS} [all|any|every] {{b:events}} later|afterwards|after_that|{AGAIN}",
            _nothing_after,
        ),
        (f"{{a:events}} , {_NO_MORE} {{b:events}} [{AGAIN}]", _nothing_after),
        (f"{{a:events}} , no {{b:events}} {AGAIN}", _nothing_after),
        (f"{{a:events}} , never|do_not {{b:acts}} {AGAIN}", _nothing_after),
        ("{s:state} is|are|gets never|not|no_longer [ever|to_be] {d:done}", _never_such),
        ("no {s:state} is|are|gets [ever] {d:done}", _never_such),
        (
            "no [more|further|other] {e:events} happens|happen|takes_place|take_place|occurs|occur"
            "|is_made|are_made"
            f"|is_done|are_done|runs|run|starts|start|goes_out|go_out|is_called|follows|follow [{AGAIN}]",
            demanding("never"),
        ),
        (
            "{e:events} is|are never|not [ever] called|made|done|tried|attempted|used|run|started|executed "
            f"[{AGAIN}]",
            demanding("never"),
        ),
        (
            f"{{e:events}} never happens|happen|takes_place|take_place|occurs|occur|runs|run [{AGAIN}]",
            demanding("never"),
        ),
        (
            "{e:events} is|are never|not [ever] called|made|done|tried|attempted|used|run|started {c:beyond}",
            demanding("count"),
        ),
        ("{e:events} does_not|do_not [ever] happen|occur|run {c:beyond}", demanding("count")),
        ("{e:events} never happens|happen|occurs|runs {c:beyond}", demanding("count")),
        ("{e:events} is|are called|made|done|tried|attempted|used|run|started {c:count}", demanding("count")),
        ("{e:events} happens|happen|occurs|occur|runs {c:count}", demanding("count")),
    ],
}
