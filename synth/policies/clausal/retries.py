"""How long to wait after a failure: `no new payment until 15 minutes after a failed one`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.demands import apart_by
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import AGAIN, Adjunct, Demand, Event, Fact
from synth.policies.clausal.setbacks import Inside, whole
from synth.policies.clausal.words import AGENT, HAPPEN, MAY, NO, SHOULD

_LEAST = (
    "at_least|a_minimum_of|no_less_than|a_full|not_less_than|min|minimum|the_next|the_first|the_following"
)
_MORE = "or_longer|or_more|at_least|at_the_least|minimum|at_minimum"
_OVER = (
    "has_passed|have_passed|has_gone_by|have_gone_by|has_elapsed|have_elapsed|is_over|are_over|is_up"
    "|are_up|pass|elapse|passed|have_been_waited"
)
_PAUSE = (
    "pause|gap|break|interval|wait|delay|cooldown|cool-down|cooling-off_period|cooldown_period"
    "|waiting_period|waiting_time|backoff|wait_time|waiting_period|cooling_period|back-off|pause_time"
)
_NO_SOONER = "no_sooner|not_sooner|no_earlier|not_earlier|never_sooner|never_earlier|no_less|not_less"
_NEXT = "the_next|next|another|a_new|a_further|any_further|a_following|the_following|any_new|any_other"
_GOES_ON = f"{HAPPEN}|be_sent|follow|be_placed|come|take_place|be_issued|be_retried"


def _one(fact: Fact) -> Event | None:
    """What failed, if it is one action."""
    return fact.events[0] if len(fact.events) == 1 else None


def _after_failure(p: Parts) -> tuple[Event, Event] | None:
    """`Between a failed payment and the next one`."""
    failed, again = _one(p["f"]), p["r"]
    if failed is None or (again.action not in (failed.action, AGAIN) and failed.action != AGAIN):
        return None
    then = again if again.action != AGAIN else failed
    first = failed if failed.action != AGAIN else again
    return replace(first, outcome="failed"), replace(then, outcome="", single=False)


def _tried_by(p: Parts) -> Event:
    event: Event = p["e"]
    return replace(event, single=False, outcome="")


def _delayed(p: Parts) -> Inside | None:
    events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
    if joint or any(e.outcome in ("failed", "successful") for e in events):
        return None
    return Demand("never", tuple(replace(e, single=False) for e in events)), (p["y"], *p.get("a", ()))


def _delayed_passive(p: Parts) -> Inside | None:
    event = passive(p)
    return None if event is None else _delayed({**p, "e": event})


def _again(p: Parts) -> Inside:
    return _delayed({**p, "e": p.get("r") or Event(AGAIN)}) or (Demand("unknown"), ())


def _delay(kind: str) -> Callable[[Parts], Adjunct]:
    return lambda p: Adjunct(kind, p.get("f"), time=p["d"])


def _never_used(p: Parts) -> Demand | None:
    """`Never call pay invoice`; `never use a permit for a journey` forbids another thing."""
    events, joint = p["e"]
    plain = joint != "and" and not any(e.about for e in events)
    return Demand("never", events, joint=joint) if plain else None


def _waits(p: Parts) -> Inside | None:
    """`Payments have to wait 15 minutes after a failed one`."""
    events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
    if joint or any(e.outcome in ("failed", "successful") for e in events):
        return None
    event = replace(events[0], single=False)
    adjuncts = p.get("a", ())
    if not any(a.kind in ("failed", "last failed") for a in adjuncts) and "s" not in p:
        return None
    return apart_by({"e": event, "d": p["d"]}), (*((p["s"],) if "s" in p else ()), *adjuncts)


RETRIES: dict[str, Rule] = {
    "again": [
        (f"[{_NEXT}|the|a] retry|retries|attempt|try|one|call|run", lambda p: Event(AGAIN)),
        (
            "another|the_next|trying_another|trying_another_one|trying_the_next_one|a_retry|retries"
            "|the_next_attempt",
            lambda p: Event(AGAIN),
        ),
        (
            "trying|retrying|attempting|starting|making|doing [it|another|another_one|the_next_one"
            "|the_next|a_new_one|so] [again]",
            lambda p: Event(AGAIN),
        ),
        (f"{_NEXT}|new|further|more {{e:event}} [again]", _tried_by),
        ("{e:event} again", _tried_by),
        ("[trying|attempting] [to] {e:act} again", _tried_by),
        (
            f"{AGENT} tries|try|retries|retry|attempts|attempt [it|another|another_one] [again]",
            lambda p: Event(AGAIN),
        ),
        (f"{AGENT} {{e:does}} again", _tried_by),
        ("it is tried|attempted|retried|repeated|done [again]", lambda p: Event(AGAIN)),
        ("{t:object} is|are|may_be|can_be {d:past} again", passive),
    ],
    "again or not": [
        ("{r:again}", lambda p: p["r"]),
        ("{e:event}", _tried_by),
        ("trying|attempting to {e:act}", _tried_by),
    ],
    "apart": [
        ("between {f:failure} and {r:again or not}", _after_failure),
        ("after {f:failure} [and] before|until {r:again or not}", _after_failure),
        ("from {f:failure} to|until|till {r:again or not}", _after_failure),
    ],
    "delay": [
        (f"{_NO_SOONER} than {{d:time}} after|following|since {{f:failure}}", _delay("after failure")),
        (
            f"only|not_until|not_before|only_when|only_once [{_LEAST}] {{d:time}} [{_MORE}]"
            f" [have_passed] after|following|since {{f:failure}}",
            _delay("after failure"),
        ),
        (f"{_LEAST} {{d:time}} after|following|since {{f:failure}}", _delay("after failure")),
        (f"{{d:time}} {_MORE} after|following|since {{f:failure}}", _delay("after failure")),
        ("after {d:time} at_the_earliest|at_the_soonest", _delay("lasting")),
        ("at_the_earliest {d:time} after|following {f:failure}", _delay("after failure")),
        ("{d:time} after|following {f:failure} at_the_earliest", _delay("after failure")),
        (f"{_NO_SOONER} than {{d:time}} later|afterwards|after_that|after_it", _delay("lasting")),
        (f"only after [{_LEAST}] {{d:time}} [{_MORE}]", _delay("lasting")),
        (f"only {{d:time}} [{_MORE}] later|afterwards", _delay("lasting")),
        (f"only if|when|once [{_LEAST}] {{d:time}} [{_MORE}] {_OVER}", _delay("lasting")),
        (
            f"only if|when|once [{_LEAST}] {{d:time}} [{_MORE}] {_OVER} since|after {{f:failure}}",
            _delay("after failure"),
        ),
    ],
    "adjunct": [
        (
            f"until|before|till|unless [{_LEAST}] {{d:time}} [{_MORE}] after|following|since {{f:failure}}",
            _delay("after failure"),
        ),
        (
            f"until|before|till|unless [{_LEAST}] {{d:time}} [{_MORE}] {_OVER} [since|after|from]"
            f" {{f:failure}}",
            _delay("after failure"),
        ),
        (
            f"until|before|till|unless [{_LEAST}] {{d:time}} [{_MORE}] {_OVER} [since_then|since"
            f"|in_between|after_that]",
            _delay("lasting"),
        ),
        (f"without [{_LEAST}] {{d:time}} in_between|between|having_passed", _delay("lasting")),
        (f"for {_LEAST} {{d:time}} [{_MORE}]", _delay("lasting")),
        (f"for {{d:time}} {_MORE}", _delay("lasting")),
        (
            f"for|in|during|within|inside {_LEAST} {{d:time}} [{_MORE}] after|following {{f:failure}}",
            _delay("failed within"),
        ),
        (
            "less_than|sooner_than|earlier_than {d:time} after|following {f:failure}",
            _delay("failed within"),
        ),
    ],
    "demand": [
        (f"{{r:again}} {NO} [ever] {_GOES_ON}", lambda p: Demand("never", (p["r"],), how="again")),
        (
            f"{AGENT} {NO} try|attempt|make|start|do [{_NEXT}] [one|call|attempt] [again]",
            lambda p: Demand("never", (Event(AGAIN),)),
        ),
        (
            "never|do_not try|attempt|make|start|do another|another_one|a_new_one|the_next_one|it [again]",
            lambda p: Demand("never", (Event(AGAIN),)),
        ),
        (
            "never|do_not try|attempt|call|run|use {e:events} again",
            lambda p: Demand("never", p["e"][0], joint=p["e"][1]) if p["e"][1] != "and" else None,
        ),
        (
            "never|do_not try|attempt|call|run|use {e:events}",
            _never_used,
        ),
        (f"{{e:events}} again {NO} {_GOES_ON}", lambda p: Demand("never", p["e"][0], how="again")),
        (f"[{AGENT}] [{SHOULD}] let [{_LEAST}] {{d:time}} [{_MORE}] pass|go_by|elapse {{g:apart}}", apart_by),
        (
            f"[{AGENT}] [{SHOULD}] wait|pause|leave|allow|keep [for] [{_LEAST}] {{d:time}} [{_MORE}]"
            f" {{g:apart}}",
            apart_by,
        ),
        (
            f"[{AGENT}] [{SHOULD}] let [{_LEAST}] {{d:time}} [{_MORE}] pass|go_by|elapse before {{r:again}}",
            lambda p: Demand("apart", (p["r"],), (p["r"],), how=p["d"]),
        ),
        (
            f"[{AGENT}] [{SHOULD}] wait|pause [for] [{_LEAST}] {{d:time}} [{_MORE}] before|until {{r:again}}",
            lambda p: Demand("apart", (p["r"],), (p["r"],), how=p["d"]),
        ),
        (
            f"there {SHOULD}|is|are [always] [be|lie] [a|{_PAUSE}|a_pause_of] [{_LEAST}] {{d:time}}"
            f" [{_MORE}] {{g:apart}}",
            apart_by,
        ),
        (
            f"there {SHOULD}|is|are [always] [be] a|an {_PAUSE} of [{_LEAST}] {{d:time}} [{_MORE}]"
            f" {{g:apart}}",
            apart_by,
        ),
        (
            f"[leave|keep|make|take|have|a] [a|an] {_PAUSE} of [{_LEAST}] {{d:time}} [{_MORE}] {{g:apart}}",
            apart_by,
        ),
        (
            f"{_LEAST} {{d:time}} {SHOULD} pass|elapse|lie|be|go_by before|until {{r:again}}",
            lambda p: Demand("apart", (p["r"],), (p["r"],), how=p["d"]),
        ),
        (
            f"[{_LEAST}] {{d:time}} [{_MORE}] until|before {{r:again}}",
            lambda p: Demand("apart", (p["r"],), (p["r"],), how=p["d"]),
        ),
    ],
    "ensured": [
        (f"there is|are [{_LEAST}] {{d:time}} [{_MORE}] {{g:apart}}", apart_by),
        (f"[{_LEAST}] {{d:time}} [{_MORE}] passes|pass|lies|lie|elapses|elapse {{g:apart}}", apart_by),
    ],
    "inside": [
        *whole("{e:events} [,] {y:delay}", _delayed),
        *whole("{r:again} [,] {y:delay}", _again),
        *whole(f"{{e:events}} {SHOULD}|{MAY} [only] {_GOES_ON} {{y:delay}}", _delayed),
        *whole("{e:events} is|are [only] allowed|permitted|possible|ok {y:delay}", _delayed),
        *whole(f"{{t:object}} {SHOULD}|{MAY} [only] be {{d:past}} [again] {{y:delay}}", _delayed_passive),
        *whole(f"{{r:again}} {SHOULD}|{MAY} [only] {_GOES_ON} {{y:delay}}", _again),
        *whole(f"[{AGENT}] [{SHOULD}|{MAY}] [only] {{e:acts}} [again] {{y:delay}}", _delayed),
        (
            f"[{AGENT}] [{SHOULD}|{MAY}] [only] {{e:acts}} [again] {{a:adjuncts}} [,] {{y:delay}}",
            _delayed,
        ),
        *whole(f"{{e:events}} {SHOULD} wait|pause [for] [{_LEAST}] {{d:time}} [{_MORE}]", _waits),
        *whole(f"{{e:events}} needs|need|requires|require [{_LEAST}] {{d:time}} of {_PAUSE}", _waits),
        *whole(
            f"a|an {_PAUSE} of [{_LEAST}] {{d:time}} [{_MORE}] applies|is_required|must_be_kept"
            f"|is_needed|is_mandatory|must_be_observed [to|for|between] {{e:events}}",
            _waits,
        ),
        *whole(
            f"{{e:events}} has|have|needs|need|requires|require|gets|get a|an {_PAUSE} of [{_LEAST}]"
            f" {{d:time}} [{_MORE}]",
            _waits,
        ),
    ],
}
