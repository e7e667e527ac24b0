"""What is over once something was done: `a signed report is never amended`, `ticket closed: no "
"escalation`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.relative import are_of_one_thing, thing_of
from synth.policies.clausal.words import AGAIN, AGENT, BANNED, MAY, NO, SHOULD

Events = tuple[tuple[Event, ...], str]


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


def _several(said: Event | Events) -> Events:
    return said if isinstance(said, tuple) else ((said,), "")


def _nothing_after(p: Parts) -> Demand | None:
    (first, joint), (then, other) = (_several(p[slot]) for slot in ("a", "b"))
    if (joint and other) or any(e.outcome for e in (*first, *then)):
        return None
    return Demand("no answer", first, then, joint=joint or other)


def _never_such(p: Parts) -> Demand | None:
    """`Signed reports are never amended`."""
    first, then = p["s"], p["d"]
    if not are_of_one_thing(first, then) or first.action == then.action:
        return None
    return Demand("no answer", (with_same(first, thing_of(first, then)),), (then,))


def _none_of_such(p: Parts) -> Demand | None:
    """`Signed reports: no amendment`, of such a report."""
    first, then = p["s"], p["e"]
    if then.outcome or not are_of_one_thing(first, replace(then, role="")) or first.action == then.action:
        return None
    return Demand("no answer", (with_same(first, thing_of(first, then)),), (replace(then, single=False),))


def _blocks_same(p: Parts) -> Demand | None:
    return _nothing_after({"a": p["a"], "b": with_same(p["b"], p["y"])})


def _once_so(p: Parts) -> Demand | None:
    """`Reports must not be amended once signed`."""
    then = passive(p)
    return None if then is None else _never_such({"s": p["u"], "d": replace(then, noun=p["t"].noun)})


def _never_such_thing(p: Parts) -> Demand | None:
    """`Nothing that was signed may be amended`."""
    return _never_such({"s": p["u"], "d": p["d"]})


def _only_not_so(p: Parts) -> Demand | None:
    """`Only reports that have not been signed may be amended`."""
    thing: Event = p["t"]
    then = passive(p) if "d" in p else (thing if thing.action == p["v"].action and not thing.role else None)
    return None if then is None else _never_such({"s": p["u"], "d": replace(then, noun=thing.noun)})


def _never_for(p: Parts) -> Demand | None:
    events, joint = p["e"]
    return (
        Demand("never", tuple(with_same(e, p["f"]) for e in events), joint=joint) if joint != "and" else None
    )


def _if_not(p: Parts) -> Adjunct | None:
    """`Only as long as it has not been closed`."""
    return Adjunct("if not", p["f"]) if p["f"].aspect == "not" else None


def _at_most(p: Parts) -> Demand:
    events, joint = p["e"]
    return Demand("count", events, joint=joint, number=p["n"], how="at most")


def _fails_at_most(p: Parts) -> Demand:
    return replace(_at_most(p), kind="fail")


_ENDS = (
    "ends|end|rules_out|rule_out|excludes|exclude|precludes|preclude|forbids|forbid|prohibits"
    "|prohibit|bars|bar"
    "|prevents|prevent|closes_the_door_to|makes_impossible|puts_an_end_to|stops|stop|blocks|block|disallows"
)
_FURTHER = (
    "any_later|later|any_further|further|all_further|all_later|every_later|a_later|any_subsequent|subsequent"
    "|any_more|more|any_following|another|a_subsequent|a_further|every_further"
)
_MAY = "may|can|must|should|shall|will|is_to|are_to|may_ever|can_ever"
_WAS = "was|were|is|are|has_been|have_been|has_already_been|have_already_been|was_already|is_already"
_WAS_NOT = (
    "has_not_been|have_not_been|was_not|were_not|is_not|are_not|has_not_yet_been|have_not_yet_been|is_not_yet"
    "|are_not_yet|has_never_been|have_never_been"
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
        (f"{{a:event}} is final|the_end , no [more|further] {{b:events}} [{AGAIN}]", _nothing_after),
        (f"{{s:state}} , no [more|further|later] {{e:event}} [{AGAIN}]", _none_of_such),
        ("{s:state} is|are off_limits for {e:event}", _none_of_such),
        (f"no {{b:events}} {_MAY} follow|come_after {{a:events}}", _nothing_after),
        (
            f"no {{b:events}} {_MAY} follow {{a:event}} {{y:same}}",
            lambda p: _nothing_after({**p, "a": with_same(p["a"], p["y"])}),
        ),
        ("{a:events} makes|make {b:events} impossible", _nothing_after),
        ("{a:events} blocks|block {b:event} {y:same}", _blocks_same),
        (f"{{t:object}} {NO} [ever] be {{d:done}} once|after|when {{u:done}}", _once_so),
        (f"{{t:object}} once|already {{u:done}} {NO} [ever] be {{d:done}}", _once_so),
        (f"nothing that|which {_WAS} {{u:past}} {MAY}|{SHOULD} [ever] be {{d:done}}", _never_such_thing),
        (
            f"only {{t:object}} that|which|who {_WAS_NOT} {{u:past}} [yet] {MAY}|{SHOULD} be {{d:done}}",
            _only_not_so,
        ),
        (f"only {{v:verb}} {{t:thing}} that|which|who {_WAS_NOT} {{u:past}} [yet]", _only_not_so),
        (
            f"{AGENT} {MAY}|{SHOULD} only {{v:verb}} {{t:thing}} that|which|who {_WAS_NOT} {{u:past}} [yet]",
            _only_not_so,
        ),
        ("{e:events} is|are impossible|not_possible", demanding("never")),
        (f"{{e:events}} {NO} [ever] be called|used for an|a|any|the {{f:identifier}}", _never_for),
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
        ("{e:events} fails|fail {c:count}", demanding("fail")),
        ("{c:count} {e:events} fails|fail", demanding("fail")),
        ("{e:events} never fails|fail {c:beyond}", demanding("fail")),
        ("{e:events} does_not|do_not fail {c:beyond}", demanding("fail")),
        (f"it is [strictly] {BANNED} for {{e:events}} to fail {{c:beyond}}", demanding("fail")),
        (
            f"{{e:events}} {NO} [ever] have more_than {{n:number}} failures|failed_calls|failed_attempts",
            _fails_at_most,
        ),
        (
            f"{{e:events}} {MAY}|{SHOULD} have {{c:count}} failures|failed_calls|failed_attempts",
            demanding("fail"),
        ),
        (f"{AGENT} {MAY} fail to {{e:acts}} {{c:count}}", demanding("fail")),
        (f"{AGENT} {NO} [ever] fail to {{e:acts}} {{c:beyond}}", demanding("fail")),
        ("{c:count} {e:events} is|are called|made|done|tried|attempted", demanding("count")),
        (
            f"{{e:events}} {MAY} only be tried|attempted|called|used|made|done|run|started "
            f"{{n:number}} times",
            _at_most,
        ),
        ("{c:count} {e:events} is|are tolerated|acceptable|ok|okay|fine|accepted", demanding("count")),
        ("limit|max|maximum , {n:number} {e:events}", _at_most),
        (
            "keep [the] number of {e:events} at_or_below|at_most|below_or_at|within|to_at_most"
            "|not_above {n:number}",
            _at_most,
        ),
    ],
}
