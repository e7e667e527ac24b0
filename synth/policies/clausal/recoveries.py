"""What a failure blocks until a success: `a failed sync suspends shipments until the next one`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import AGAIN, Adjunct, Demand, Event, Fact
from synth.policies.clausal.setbacks import Inside, whole
from synth.policies.clausal.words import (
    AGENT,
    ALREADY,
    BANNED,
    BEFORE,
    FAILS,
    HAS_BEEN,
    HAVE,
    MAY,
    SHOULD,
    SUCCEEDED,
    SUCCEEDS,
)
from synth.policies.patterns import compiled

_ANEW = (
    "again|anew|since|since_then|in_the_meantime|meanwhile|in_between|afterwards|later|thereafter"
    "|once_more|after_that|successfully"
)
_GOOD = (
    f"{SUCCEEDS}|{SUCCEEDED}|has_been_successful|have_succeeded|is_successful_again"
    "|goes_through_again|is_fine_again"
)
_NEW = "a_later|a_new|another|a_subsequent|a_further|the_next|a_fresh|a_following|the_following|the_first"
_BLOCKS = (
    "blocks|block|suspends|suspend|stops|stop|pauses|pause|halts|halt|freezes|bars|bar|prevents|prevent"
    "|forbids|forbid|prohibits|prohibit|rules_out|rule_out|precludes|preclude|puts_on_hold|holds_up|hold_up"
    "|disables|disable|must_block|must_suspend|must_stop|must_pause|must_halt|interrupts|interrupt"
)
_HOLD = (
    "hold|hold_back|hold_off|hold_off_on|suspend|pause|block|withhold|halt|freeze|stop|delay|postpone|defer"
)
_HELD = (
    "held|held_back|suspended|paused|blocked|withheld|halted|frozen|stopped|on_hold|put_on_hold|off|barred"
    f"|delayed|postponed|deferred|locked|not_possible|impossible|{BANNED}"
)
_WAIT = "wait|pause|stop|cease|be_on_hold|stay_on_hold|remain_on_hold|rest"
_NOT_SINCE = (
    "has_not_succeeded_since|not_succeeded_since|has_not_yet_succeeded_since|not_yet_succeeded"
    "|has_not_succeeded_since_then|has_not_yet_succeeded|has_not_succeeded_again|not_succeeded_again"
    "|has_not_been_successful_since|no_later_one_has_succeeded|none_has_succeeded_since"
)
_LAST = "the last|latest|most_recent|previous|preceding"


def one_that_succeeds(grammar: Grammar, at: int) -> Iterator[Found]:
    """`A successful one`, `it succeeds`: of what the sentence says has failed."""
    if compiled(r"\b(?:fail|wrong|error|unsuccess|not succeed)").search(grammar.text):
        yield from grammar.matches("succeeds anew", at)


def _succeeded(p: Parts) -> Fact | None:
    """A success that comes after a failure."""
    if "e" not in p:
        return Fact((Event(AGAIN),), "perfect")
    event: Event = p["e"]
    return Fact((replace(event, outcome="", single=False),), "perfect") if event.outcome != "failed" else None


def _successful(p: Parts) -> Fact | None:
    return _succeeded(p) if p["e"].outcome == "successful" else None


def _done(p: Parts) -> Fact | None:
    event = passive(p)
    return None if event is None else Fact((event,), "perfect")


def _blocked(p: Parts) -> Inside | None:
    events, joint = p["b"]
    if joint == "and" or any(e.outcome in ("failed", "successful") for e in events):
        return None
    return Demand("blocked", events, joint=joint), (p["s"], *p.get("a", ()))


def _hold(p: Parts) -> Demand | None:
    events, joint = p["e"]
    return (
        None
        if any(e.outcome in ("failed", "successful") for e in events)
        else Demand("blocked", events, joint=joint)
    )


def _waits(p: Parts) -> Inside | None:
    demand = _hold(p)
    if demand is None:
        return None
    return (demand, (Adjunct("recovered", p["r"]), *p.get("a", ())))


def _passes(p: Parts) -> Demand:
    """`If it fails, it must succeed before anything else`."""
    return Demand("pass", (Event(AGAIN),))


def _last_failed(p: Parts) -> Adjunct:
    return Adjunct("last failed", Fact((replace(p["e"], outcome="", single=False),), "fails"))


RECOVERIES: dict[str, Rule] = {
    "succeeds anew": [
        (
            f"it|that|this|one|another|another_one|the_next|the_next_one|a_later_one|one_of_them"
            f"|a_new_one|one_more {_GOOD} [{_ANEW}]",
            _succeeded,
        ),
        (
            "a|one|the_next|another|the_first|a_later|a_new|a_subsequent successful one|attempt|try|call"
            "|run|retry",
            _succeeded,
        ),
        ("the_next|a_later|a_new|a_subsequent success", _succeeded),
        ("a|the success|recovery|later_success", _succeeded),
        ("success", _succeeded),
        (f"{_NEW} attempt|try|call|run|retry|one {_GOOD} [{_ANEW}]", _succeeded),
        ("the_next|a_later|another one that|which succeeds|works|has_succeeded", _succeeded),
    ],
    "anew": one_that_succeeds,
    "recovery": [
        ("{f:anew}", lambda p: p["f"]),
        (f"{{e:event}} {_GOOD} [{_ANEW}|{BEFORE}]", _succeeded),
        (f"{_NEW} {{e:event}} {_GOOD} [{_ANEW}|{BEFORE}]", _succeeded),
        ("{e:event}", _successful),
        (f"{_NEW} {{e:event}}", _successful),
        (f"{{t:object}} {HAS_BEEN}|is|are|was|were|gets [{ALREADY}] {{d:past}} [{_ANEW}]", _done),
        (f"it|they {HAS_BEEN}|is|are|was {{e:past}} [{_ANEW}]", _succeeded),
    ],
    "later recovery": [
        (f"{_NEW} {{e:event}} {_GOOD} [{_ANEW}]", _succeeded),
        (f"{{e:event}} {_GOOD} {_ANEW}", _succeeded),
        (f"{_NEW} {{e:event}}", _successful),
        ("{f:anew}", lambda p: p["f"]),
    ],
    "adjunct": [
        ("until|till [after] {r:recovery}", lambda p: Adjunct("recovered", p["r"])),
        ("before {r:recovery}", lambda p: Adjunct("not recovered", p["r"])),
        ("unless|without|except_after {r:later recovery}", lambda p: Adjunct("recovered", p["r"])),
        ("after|once|when|if|as_soon_as {r:recovery}", lambda p: Adjunct("once recovered", p["r"])),
        (
            f"as_long_as|while|so_long_as|if|when|whenever|after {_LAST} {{e:event}} is|was|has_been"
            f" a_failed_one|a_failure|unsuccessful|failed",
            _last_failed,
        ),
        (f"as_long_as|while|so_long_as|if|when|whenever|after {_LAST} {{e:event}} {FAILS}", _last_failed),
        (
            f"as_long_as|while|so_long_as|if|when|whenever {{e:event}} {FAILS} and {_NOT_SINCE}",
            _last_failed,
        ),
    ],
    "adjuncts": [
        (
            "between {f:failure} and {r:recovery}",
            lambda p: (Adjunct("failed", p["f"]), Adjunct("recovered", p["r"])),
        ),
        (
            "from {f:failure} until|to|till {r:recovery}",
            lambda p: (Adjunct("failed", p["f"]), Adjunct("recovered", p["r"])),
        ),
    ],
    "leading": [
        (
            "between {f:failure} and {r:recovery} [,]",
            lambda p: (Adjunct("failed", p["f"], leads=True), Adjunct("recovered", p["r"], leads=True)),
        ),
    ],
    "demand": [
        (f"{_HOLD} [all|any|all_further|all_the|any_further|further|all_other] {{e:events}}", _hold),
        ("put|place|keep|leave [all|any|all_further|any_further|further] {e:events} on_hold", _hold),
        (f"{AGENT} {SHOULD} {_HOLD} [all|any|all_further|any_further|further] {{e:events}}", _hold),
        (
            f"{AGENT} {SHOULD} put|place|keep|leave [all|any|all_further|any_further|further]"
            f" {{e:events}} on_hold",
            _hold,
        ),
        (f"[all|any] {{e:events}} is|are|stays|stay|remains|remain {_HELD}", _hold),
        (f"[all|any] {{e:events}} {SHOULD} be|stay|remain|be_put|be_kept {_HELD}|on_hold", _hold),
        (f"[all|any] {{e:events}} {SHOULD} {_WAIT}", _hold),
        ("wait|hold_on with {e:events}", _hold),
        (f"{AGENT} {SHOULD} wait|hold_on with {{e:events}}", _hold),
        (f"[{AGENT}] {SHOULD} hold_off|wait [with|on] {{e:events}}", _hold),
        ("[all|any] {e:events} is|are on_hold", _hold),
        (f"[all|any] {{e:events}} {_HELD}", _hold),
        (f"keep|leave [all|any|further] {{e:events}} {_HELD}", _hold),
        (f"{AGENT} {SHOULD} keep|leave [all|any|further] {{e:events}} {_HELD}", _hold),
        (
            f"it|this|that {SHOULD} [first] succeed|work|pass|go_through|be_successful [{_ANEW}] [first]",
            _passes,
        ),
        (
            f"{AGENT} {SHOULD}|{MAY} [{HAVE}] {{v:verb}} no {{t:object}}",
            lambda p: (
                Demand("never", (replace(p["t"], single=False),))
                if p["v"].action == p["t"].action and not p["t"].role
                else None
            ),
        ),
        (
            "{v:verb} no {t:object}",
            lambda p: (
                Demand("never", (replace(p["t"], single=False),))
                if p["v"].action == p["t"].action and not p["t"].role
                else None
            ),
        ),
    ],
    "inside": [
        *whole("{e:events} needs|need|requires|require {r:recovery} first|before|beforehand", _waits),
        *whole("{r:recovery} is|are needed|required|necessary before [any|all] {e:events}", _waits),
        *whole(f"{{r:recovery}} {SHOULD} come|happen before [any|all] {{e:events}}", _waits),
        *whole(f"{{s:setback}} {_BLOCKS} [all|any|all_further|any_further|further] {{b:events}}", _blocked),
        *whole("{s:setback} puts|put [all|any|all_further|any_further|further] {b:events} on_hold", _blocked),
        *whole(
            f"[all|any] {{e:events}} {SHOULD} wait|be_held|be_put_on_hold|be_delayed for|on|until"
            f" {{r:recovery}}",
            _waits,
        ),
    ],
}
