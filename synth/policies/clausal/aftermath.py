"""What a failure is followed by, and what it forbids: `a failed deploy must be rolled back`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import AGAIN, Adjunct, Demand, Event, with_same
from synth.policies.clausal.setbacks import Inside, whole
from synth.policies.clausal.words import AGAIN as ANY_MORE
from synth.policies.clausal.words import AGENT, ALLOWED, HAPPEN, MAY, NO, ON_FAILURE, SHOULD

_OPEN = "allowed|permitted|ok|okay|possible|acceptable"


def _is_done(p: Parts) -> Inside | None:
    """`A failed deployment must be rolled back`: not again what failed."""
    setback: Adjunct = p["s"]
    done: Event = p["d"]
    failed = setback.fact.events if setback.fact is not None else ()
    if done.outcome or any(e.action in (done.action, AGAIN) for e in failed) or len(failed) != 1:
        return None
    event = replace(done, single=False, same=done.same | failed[0].same)
    return Demand("follow", (event,)), (setback, *p.get("a", ()))


def _bans(p: Parts) -> Inside | None:
    """`A failed plan must never be followed by an apply`."""
    events, joint = p["b"]
    if joint == "and" or any(e.outcome for e in events):
        return None
    return Demand("never", events, joint=joint), (p["s"], *p.get("a", ()))


def _of_the_same(p: Parts) -> Event | None:
    """`Roll back the same environment`: of an action whose name says no thing."""
    event: Event = p["e"]
    return with_same(event, p["s"]) if event.bare or not event.noun else None


def _none(p: Parts) -> Demand | None:
    """`Neither refunds nor vouchers are allowed`."""
    first, second = p["a"], p["b"]
    if first.outcome or second.outcome or first.action == second.action:
        return None
    more = p.get("c")
    events = (first, second) if more is None else (first, second, more)
    return Demand("never", events, joint="or")


def _nothing(p: Parts) -> Demand | None:
    """`Until a plan succeeds apply nothing`: of what needs a thing, none is done."""
    event: Event = p["v"]
    return Demand("blocked", (replace(event, single=False),))


AFTERMATH: dict[str, Rule] = {
    "act": [("{e:deed} {s:the same field}", _of_the_same)],
    "event": [("{e:noun} {s:the same field}", _of_the_same)],
    "adjunct": [
        (
            f"{ON_FAILURE} one|a_single|a_first|just_one|even_one {{f:failure}}",
            lambda p: Adjunct("failed", p["f"]),
        ),
    ],
    "setback": [
        ("a_single|even_one|one {f:failure}", lambda p: Adjunct("failed", p["f"], leads=True)),
    ],
    "demand": [
        (
            f"neither {{a:event}} nor {{b:event}} is|are [ever|still] {_OPEN} [{ANY_MORE}]",
            _none,
        ),
        (f"neither {{a:event}} nor {{b:event}} {ALLOWED} [ever] {HAPPEN}|follow [{ANY_MORE}]", _none),
        (
            f"neither {{a:event}} , {{b:event}} nor {{c:event}} is|are [still] {_OPEN} [{ANY_MORE}]",
            _none,
        ),
        (f"neither {{a:event}} , {{b:event}} nor {{c:event}} {ALLOWED} {HAPPEN}|follow [{ANY_MORE}]", _none),
        (f"neither {{a:event}} nor {{b:event}} [{ANY_MORE}]", _none),
        (f"no {{a:event}} nor|and_no|or {{b:event}} {ALLOWED} [ever] {HAPPEN}|follow [{ANY_MORE}]", _none),
        (f"no {{a:event}} nor|and_no {{b:event}} [{ANY_MORE}]", _none),
        (f"{{v:verb}} nothing [more|else|further] [{ANY_MORE}]", _nothing),
        (f"{AGENT} {MAY}|{SHOULD} {{v:verb}} nothing [more|else|further] [{ANY_MORE}]", _nothing),
        (f"never|do_not {{v:verb}} anything [more|else|further] [{ANY_MORE}]", _nothing),
    ],
    "inside": [
        *whole(f"{{s:setback}} {SHOULD} [always|then] be {{d:past}}", _is_done),
        *whole("{s:setback} is|are|gets|get [always|then] {d:past}", _is_done),
        *whole(f"{{s:setback}} {NO} [ever] be followed [up] by|with {{b:events}}", _bans),
        *whole("{s:setback} never be followed [up] by|with {b:events}", _bans),
        *whole("{s:setback} [strictly] rules_out|forbids|excludes|prohibits|bans {b:events}", _bans),
    ],
}
