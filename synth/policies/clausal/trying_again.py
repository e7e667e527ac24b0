"""When what failed may be tried again: `retries of A`, `a failed A may be retried`, `the next one`.

What is tried again (`retry noun`, `retry verb`, `retry of it`) and how long it has to wait: as a time in
which it is forbidden (`for so long`), or from which it is allowed (`no sooner`).
"""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.demands import apart_by
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import AGAIN, Adjunct, Demand, Event, Fact
from synth.policies.clausal.setbacks import Inside, whole
from synth.policies.clausal.words import AGENT, ALLOWED, BANNED, MAY, NO, SHOULD

_LEAST = (
    "at_least|a_minimum_of|no_less_than|a_full|not_less_than|min|minimum|the_next|the_first|the_following"
)
_MORE = "or_longer|or_more|at_least|at_the_least|minimum|at_minimum"
_IT_FAILED = (
    "a_failure|a_failed_one|a_failed_attempt|a_failed_try|a_failed_call|the_failure|the_failed_one"
    "|the_failed_attempt|the_failed_try|it_failed|it_fails|it_has_failed|one_failed|one_fails|one_has_failed"
    "|failing|any_failure|each_failure|every_failure|an_error|the_error|a_failing_one|the_last_failure"
    "|the_previous_failure|the_last_one_failed|the_first_one_failed|the_previous_one_failed|that_failure"
)
_LATER = "later|afterwards|after_that|after_it|thereafter"
_SINCE = "after|following|since|of|from|past"
_OVER = (
    "have_passed|has_passed|have_gone_by|have_elapsed|has_elapsed|are_over|is_over|passed|pass|elapse|are_up"
)
_RETRY = "retry|repeat|rerun|re-run|redo|re-try|reattempt|re-attempt"
_RETRYING = "retrying|repeating|rerunning|re-running|redoing|re-trying|reattempting"
_RETRIES = "retry|retries|repetition|repetitions|repeat|repeats|rerun|reruns|re-run|re-runs|re-try|reattempt"
_ANY = "a|an|any|the|each|every|all|another|such|its|no_immediate"
_TRIED = (
    "retried|repeated|tried_again|attempted_again|redone|rerun|re-run|called_again|run_again|made_again"
    "|started_again|done_again|tried_once_more|reattempted|attempted_once_more|repeated_again|retried_again"
    "|tried_another_time|executed_again|started_anew|called_once_more"
)
_GO = (
    "happen|be_made|start|begin|come|occur|take_place|be_started|be_attempted|be_tried|follow|be_done|run"
    "|be_run|be_called|go_out|be|be_sent|be_executed|be_scheduled|be_placed"
)
_CALLING_IT = "calling_it_again|doing_it_again|calling_it|running_it_again|using_it_again|making_another"
_OK = "allowed|permitted|possible|ok|okay|acceptable|fine"
_NEXT = "the_next|next|another|a_new|a_further|any_further|a_following|the_following|any_new|the_subsequent|a"


def _failed(p: Parts) -> Event | None:
    """What failed, as what is tried again."""
    events = p["f"].events if "f" in p else (p["e"],)
    if len(events) != 1 or events[0].outcome in ("successful", "tried"):
        return None
    event: Event = replace(events[0], outcome="", single=False, beside=())
    return event


def _then(kind: str, event: Event, time: str, more: tuple[Adjunct, ...] = ()) -> Inside:
    """None of it within a time after it failed."""
    failed = Adjunct("failed", Fact((replace(event, same=frozenset()),), "fails"))
    return Demand("never", (event,)), (failed, Adjunct(kind, time=time), *more)


def _waits(p: Parts) -> Inside | None:
    event: Event = p["r"]
    return None if event.action == AGAIN else _then("lasting", event, p["d"], p.get("a", ()))


def _failure_waits(p: Parts) -> Inside | None:
    event = _failed(p)
    return _waits({**p, "r": event}) if event is not None and _is_again(p, event) else None


def _next_after(p: Parts) -> Inside | None:
    """`The next payment after a failed one has to start at least 15 minutes later`."""
    event, failed = p["e"], p["f"].events
    if event.outcome or len(failed) != 1 or failed[0].action not in (AGAIN, event.action):
        return None
    return _waits({**p, "r": replace(event, single=False)})


def _again_waits(p: Parts) -> Demand:
    """`If it fails, it may only be tried again after 15 minutes`."""
    event: Event = p.get("r") or Event(AGAIN)
    return Demand("wait again", (event,), (event,), how=p["d"])


def _next_waits(p: Parts) -> Demand | None:
    event: Event = p["e"]
    return None if event.outcome else _again_waits({**p, "r": replace(event, single=False)})


def _failed_waits(p: Parts) -> Inside | None:
    """`Payments: 15 minutes pause after a failure`."""
    event: Event = p["e"]
    if event.outcome or not _is_again(p, event):
        return None
    return _waits({**p, "r": replace(event, single=False)})


def _is_again(p: Parts, event: Event) -> bool:
    """Is what has to wait what failed: `before the next one`, and not `before the next refund`?"""
    return "r" not in p or p["r"].action in (AGAIN, event.action)


def _time(p: Parts) -> str:
    time: str = p["d"]
    return time


TRYING_AGAIN: dict[str, Rule] = {
    "again": [
        (f"[{_ANY}] {_RETRIES}", lambda p: Event(AGAIN)),
    ],
    "again or not": [
        ("{r:retry noun}", lambda p: p["r"]),
        ("{r:retry of it}", lambda p: p["r"]),
        (f"its|their {_RETRIES}", lambda p: Event(AGAIN)),
    ],
    "retried": [("{f:failure}", _failed), ("{e:event}", _failed)],
    "retry noun": [
        (f"[{_ANY}] [further|new|immediate] {_RETRIES} of|for|after {{e:retried}}", lambda p: p["e"]),
        (f"[{_ANY}] {{e:noun}} {_RETRIES}", _failed),
    ],
    "retry verb": [
        (f"{_RETRY} {{e:retried}} [again]", lambda p: p["e"]),
        ("try|attempt {e:retried} again", lambda p: p["e"]),
        ("{e:act} again", lambda p: _failed(p) if p["e"].outcome == "failed" else None),
    ],
    "retry of it": [
        (f"{_RETRYING} {{e:retried}} [again]", lambda p: p["e"]),
        ("trying|attempting {e:retried} again", lambda p: p["e"]),
    ],
    "so long": [
        (f"[{_LEAST}] {{d:time}} [{_MORE}]", _time),
    ],
    "for so long": [
        ("{d:for so long after that}", _time),
        (f"for {{d:so long}} [{_LATER}]", _time),
        ("within|inside|in|during {d:so long} [afterwards|after_that|thereafter|of_it|after_it]", _time),
        (f"before|until|till|unless {{d:so long}} {_OVER}", _time),
        ("before|until|till {d:so long} later|afterwards|after_that", _time),
        ("sooner|earlier than {d:so long} [later|afterwards|after_that]", _time),
        ("without waiting [for] {d:so long}", _time),
    ],
    "for so long after that": [
        (f"within|inside|in|during|for {{d:so long}} {_SINCE} {_IT_FAILED}", _time),
        (f"before|until|till|unless {{d:so long}} {_OVER} [{_SINCE}] {_IT_FAILED}", _time),
        (f"before|until|till {{d:so long}} {_SINCE} {_IT_FAILED}", _time),
        (f"sooner|earlier|less than {{d:so long}} {_SINCE} {_IT_FAILED}", _time),
        (f"less_than|under {{d:time}} {_SINCE} {_IT_FAILED}", _time),
    ],
    "no sooner": [
        ("only after|in {d:so long}", _time),
        ("after {d:so long} at_the_earliest|at_the_soonest|or_later", _time),
        ("after {d:so long} only", _time),
        (f"only after {{d:so long}} {_OVER}", _time),
        ("at_the_earliest|at_the_soonest after|in {d:time}", _time),
        ("[at_the_earliest|only] {d:so long} later|afterwards|after_that", _time),
        ("{d:time} later|afterwards at_the_earliest|or_more|at_least|at_the_soonest", _time),
        ("no|not|never sooner|earlier than {d:time} [later|afterwards|after_that|after_it]", _time),
        ("not|never before {d:so long} [later|afterwards]", _time),
        (f"not|never|only until|before|when|once|if|after {{d:so long}} {_OVER}", _time),
        ("with at_least|a_minimum_of|a_pause_of|a_delay_of {d:time} [delay|pause] [in_between]", _time),
    ],
    "no sooner after that": [
        (f"[at_the_earliest|only] {{d:so long}} {_SINCE} {_IT_FAILED} [at_the_earliest]", _time),
        (f"no|not|never sooner|earlier|less than {{d:time}} {_SINCE} {_IT_FAILED}", _time),
        (
            f"not|never|only until|before|when|once|if|after {{d:so long}} {_OVER} {_SINCE} {_IT_FAILED}",
            _time,
        ),
    ],
    "at the soonest": [("{d:no sooner}", _time), ("{d:no sooner after that}", _time)],
    "demand": [
        (f"no [new|further|other|immediate] {_RETRIES}", lambda p: Demand("never", (Event(AGAIN),))),
        (
            "{e:events} NO [ever] be TRIED".replace("NO", NO).replace("TRIED", _TRIED),
            lambda p: Demand("never", p["e"][0], joint=p["e"][1], how="again"),
        ),
        (f"{_NEXT} {{e:event}} {MAY}|{SHOULD} [only] {_GO} {{d:no sooner}}", _next_waits),
        (f"{_NEXT} {{e:event}} is|are [strictly] {BANNED} {{d:for so long}}", _next_waits),
        (f"{_NEXT} {{e:event}} {NO} [ever] {_GO} {{d:for so long}}", _next_waits),
        (f"{{r:again}} is|are [strictly] {BANNED} {{d:for so long}}", _again_waits),
        ("hold_off|wait|pause on|with {r:again} for {d:so long}", _again_waits),
        (f"there {SHOULD} [always] be {{d:so long}} until|before {{r:again}}", _again_waits),
        (
            f"[{AGENT}] [{SHOULD}] wait|pause|hold_off [for] {{d:so long}} before {_CALLING_IT}",
            lambda p: _again_waits({"d": p["d"]}),
        ),
        (
            f"{AGENT} {SHOULD} wait|pause|hold_off [for] {{d:so long}} before {AGENT} tries|calls|does|makes "
            "it|another|another_one|again [again]",
            lambda p: _again_waits({"d": p["d"]}),
        ),
        (f"{_NEXT} {{e:event}} is|are [only] {_OK} {{d:no sooner}}", _next_waits),
        (f"{_NEXT} {{e:event}} {SHOULD} wait|be_delayed [for|by] {{d:so long}}", _next_waits),
        (f"{{r:again}} {MAY}|{SHOULD} [only] {_GO} {{d:no sooner}}", _again_waits),
        (f"{{r:again}} is|are [only] {_OK} {{d:no sooner}}", _again_waits),
        (f"{{r:again}} {SHOULD} wait|be_delayed [for|by] {{d:so long}}", _again_waits),
        (
            f"there {SHOULD} [always] be a|an {{p:pause}} of {{d:so long}} before {{r:again}}",
            _again_waits,
        ),
        (f"it|this|they {MAY}|{SHOULD} [only] be {_TRIED} {{d:no sooner}}", _again_waits),
        (f"it|this|they {MAY}|{SHOULD} only be {_TRIED} after|in {{d:so long}}", _again_waits),
        (f"it|this|they {MAY} be {_TRIED} only after|in {{d:so long}}", _again_waits),
        (
            f"[{AGENT}] [{SHOULD}] wait|pause|hold_off|hold_on|sleep [for] {{d:so long}} before|until"
            " {r:again}",
            lambda p: Demand("apart", (p["r"],), (p["r"],), how=p["d"]),
        ),
        (f"{{d:so long}} {SHOULD}|has_to pass|elapse|lie|be|go_by|separate [always] {{g:apart}}", apart_by),
        (
            f"{{d:so long}} {SHOULD} pass|elapse|go_by before|until {{r:again}}",
            lambda p: Demand("apart", (p["r"],), (p["r"],), how=p["d"]),
        ),
    ],
    "inside": [
        # forbidden for so long
        *whole("never|do_not {r:retry verb} {d:for so long}", _waits),
        *whole(f"{AGENT} {NO} [ever] {{r:retry verb}} {{d:for so long}}", _waits),
        *whole("never|do_not {e:act} again {d:for so long after that}", _failed_waits),
        *whole(f"{AGENT} {NO} [ever] {{e:act}} again {{d:for so long after that}}", _failed_waits),
        *whole("no {r:retry noun} {d:for so long}", _waits),
        *whole(
            f"no {{r:retry noun}} {ALLOWED}|is|are [ever] [{_GO}|allowed|permitted] {{d:for so long}}", _waits
        ),
        *whole(f"{{r:retry noun}} {NO} [ever] {_GO} {{d:for so long}}", _waits),
        *whole(f"{{r:retry noun}} is|are [strictly] {BANNED} {{d:for so long}}", _waits),
        *whole(f"{{r:retry of it}} is|are [strictly] {BANNED} {{d:for so long}}", _waits),
        *whole(f"{{f:failure}} {NO} [ever] be {_TRIED} {{d:for so long}}", _failure_waits),
        *whole(f"{{f:failure}} is|are never|not [to_be] {_TRIED} {{d:for so long}}", _failure_waits),
        *whole(f"no {{f:failure}} {ALLOWED} [ever] be {_TRIED} {{d:for so long}}", _failure_waits),
        # allowed no sooner
        *whole("[only] {r:retry verb} {d:at the soonest}", _waits),
        *whole("[only] {e:act} again {d:no sooner after that}", _failed_waits),
        *whole(f"{AGENT} {MAY}|{SHOULD} [only] {{e:act}} again {{d:no sooner after that}}", _failed_waits),
        *whole(f"{AGENT} {MAY}|{SHOULD} [only] {{r:retry verb}} {{d:at the soonest}}", _waits),
        *whole(f"{AGENT} {MAY}|{SHOULD} only {{r:retry verb}} after|in {{d:so long}}", _waits),
        *whole("only {r:retry verb} after|in {d:so long}", _waits),
        *whole(f"{{r:retry noun}} {MAY}|{SHOULD} [only] {_GO} {{d:at the soonest}}", _waits),
        *whole(f"{{r:retry noun}} {MAY}|{SHOULD} only {_GO} after|in {{d:so long}}", _waits),
        *whole(f"{{r:retry noun}} is|are [only] {_OK} {{d:at the soonest}}", _waits),
        *whole(f"{{r:retry of it}} is|are [only] {_OK} {{d:at the soonest}}", _waits),
        *whole(f"{{r:retry noun}} is|are only {_OK} after|in {{d:so long}}", _waits),
        *whole(f"{{r:retry of it}} is|are only {_OK} after|in {{d:so long}}", _waits),
        *whole("{r:retry noun} [,] {d:at the soonest}", _waits),
        *whole(f"{{f:failure}} {MAY}|{SHOULD} [only] be {_TRIED} {{d:at the soonest}}", _failure_waits),
        *whole(f"{{f:failure}} {MAY}|{SHOULD} only be {_TRIED} after|in {{d:so long}}", _failure_waits),
        *whole(f"{{f:failure}} is|are [only] {_TRIED} {{d:at the soonest}}", _failure_waits),
        # a pause
        *whole(
            f"{{r:retry noun}} {SHOULD} wait|pause|be_delayed|be_postponed [for|by] {{d:so long}}", _waits
        ),
        *whole(f"{{r:retry noun}} {SHOULD} be {{d:so long}} apart|away", _waits),
        *whole("wait|pause|hold_off [for] {d:so long} before {r:retry of it}", _waits),
        *whole(f"{AGENT} {SHOULD} wait|pause|hold_off [for] {{d:so long}} before {{r:retry of it}}", _waits),
        *whole("delay|postpone|hold_back {r:retry noun} by|for {d:so long}", _waits),
        *whole("wait|pause|hold_off [for] {d:so long} before {r:retry noun}", _waits),
        # the next one
        *whole(
            f"{_NEXT} {{e:event}} after|following {{f:failure}} {MAY}|{SHOULD} [only] {_GO} {{d:at "
            f"the soonest}}",
            _next_after,
        ),
        *whole(
            f"{_NEXT} {{e:event}} after|following {{f:failure}} {MAY}|{SHOULD} only {_GO} after|in "
            f"{{d:so long}}",
            _next_after,
        ),
        *whole(
            f"{_NEXT} {{e:event}} after|following {{f:failure}} {NO} [ever] {_GO} {{d:for so long}}",
            _next_after,
        ),
        *whole(
            f"{_NEXT} {{e:event}} after|following {{f:failure}} {SHOULD} wait|be_delayed [for|by] "
            f"{{d:so long}}",
            _next_after,
        ),
        *whole(
            f"{_NEXT} {{e:event}} after|following {{f:failure}} is|are [only] {_OK} {{d:at the soonest}}",
            _next_after,
        ),
        *whole(
            f"{_NEXT} {{e:event}} {MAY}|{SHOULD} [only] {_GO} {{d:so long}} after|following "
            f"{{f:failure}} [at_the_earliest|at_least]",
            _next_after,
        ),
        *whole(
            f"{_NEXT} attempt|try|call|one after|following {{f:failure}} {MAY}|{SHOULD} [only] "
            f"{_GO} {{d:at the soonest}}",
            _failure_waits,
        ),
        *whole(
            f"{_NEXT} attempt|try|call|one after|following {{f:failure}} {SHOULD} wait|be_delayed "
            f"[for|by] {{d:so long}}",
            _failure_waits,
        ),
        *whole(
            f"{_NEXT} attempt|try|call|one after|following {{f:failure}} {NO} [ever] {_GO} {{d:for so long}}",
            _failure_waits,
        ),
        *whole(f"{_NEXT} {{e:event}} {MAY}|{SHOULD} [only] {_GO} {{d:no sooner after that}}", _failed_waits),
        *whole(f"{_NEXT} {{e:event}} is|are [only] {_OK} {{d:no sooner after that}}", _failed_waits),
        *whole(
            "{f:failure} must|has_to|should be followed by a|an {p:pause} of {d:so long} before {r:again}",
            _failure_waits,
        ),
        *whole("{f:failure} means|mean no [new|further|other] {e:event} for {d:so long}", _next_after),
        *whole("{f:failure} means|mean waiting [for] {d:so long} before {r:again}", _failure_waits),
        *whole(
            "{f:failure} NO be followed by another|another_one|a_new_one|a_retry {d:for so long}".replace(
                "NO", NO
            ),
            _failure_waits,
        ),
        *whole(f"no {{e:event}} {ALLOWED} [ever] follow {{f:failure}} {{d:for so long}}", _next_after),
        *whole(
            "no [new|further|other] {e:event} in|during|within the {d:time} after|following {f:failure}",
            _next_after,
        ),
        *whole("never|do_not {r:retry verb} in less_than|under {d:time}", _waits),
        *whole(
            f"{{e:event}} is|are|{SHOULD} [be] blocked|forbidden|suspended|paused|on_hold|locked "
            f"for {{d:so long}} {_SINCE} {_IT_FAILED}",
            _failed_waits,
        ),
        *whole(f"{{e:event}} {SHOULD} wait|pause [for] {{d:so long}} {_SINCE} {_IT_FAILED}", _failed_waits),
        *whole(
            f"{{e:event}} needs|need|requires|require|has|have [a|an] {{d:so long}} {{p:pause}} "
            f"after|on {_IT_FAILED}|failures|failure",
            _failed_waits,
        ),
        *whole(f"{{e:event}} , {{d:so long}} between {_IT_FAILED} and {{r:again}}", _failed_waits),
        *whole("{d:so long} {p:pause} after {f:failure} before {r:again}", _failure_waits),
        # in brief
        *whole(
            f"{{e:event}} , {{d:so long}} {{p:pause}} after|on {_IT_FAILED}|failures|failure|errors",
            _failed_waits,
        ),
        *whole(
            f"{{e:event}} , [{{p:pause}}] [of] {{d:so long}} after|on {_IT_FAILED}|failures|failure|errors",
            _failed_waits,
        ),
        *whole(
            f"{{e:event}} , after|on {_IT_FAILED}|failure [,] wait|pause [for] {{d:so long}}", _failed_waits
        ),
        *whole(
            f"{{e:event}} , after|on {_IT_FAILED}|failure [,] no [new|further|other] "
            f"attempt|attempts|call|calls|try|tries|{_RETRIES} {{d:for so long}}",
            _failed_waits,
        ),
        *whole("{f:failure} , {d:so long} {p:cooldown}", _failure_waits),
        *whole("{f:failure} , {p:cooldown} [of|for] {d:so long}", _failure_waits),
        *whole("{d:so long} {p:cooldown} after {f:failure}", _failure_waits),
    ],
    "cooldown": [
        (
            "cooldown|cool-down|cooling-off_period|cooldown_period|backoff|back-off|cooling_period"
            "|of_cooldown",
            lambda p: "cooldown",
        ),
    ],
    "pause": [
        (
            "pause|gap|break|cooldown|cool-down|cooling-off_period|cooldown_period|waiting_period"
            "|waiting_time"
            "|backoff|back-off|wait|delay|of_cooldown|of_waiting|of_pause|cooling_period|timeout|rest",
            lambda p: "pause",
        ),
    ],
}
