"""How often something may fail, or be tried whether it fails or not: `cap failed logins at three`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event, with_same
from synth.policies.clausal.words import AGENT, BANNED, HAPPEN, MAY, NO, SHOULD

FAIL = "fail|go_wrong|end_in_failure|be_unsuccessful|not_succeed|end_in_an_error|error_out"
_TIMES = "times|tries|attempts|calls|runs|failures"
_FAILURES = (
    "failures|failed_attempts|failed_tries|failed_calls|unsuccessful_attempts|unsuccessful_tries"
    "|failure|failed_ones"
)
_FINE = "tolerated|allowed|permitted|ok|okay|fine|acceptable|accepted|tolerable"
_BELOW = (
    "at_most|no_more_than|not_more_than|at_or_below|no_higher_than|not_higher_than|within|at_or_under|up_to"
)
_EXCEED = (
    "exceed|be_more_than|be_over|be_above|go_above|go_over|be_higher_than|go_beyond|rise_above|surpass|top"
)
_NUMBER = "the_number_of|the_total_number_of|the_count_of|the_total_count_of"
_MAX = "max|maximum|limit|cap|ceiling|upper_limit|max_number|maximum_number"


def _counted(p: Parts) -> Demand | None:
    """So many failures or tries of one action; what a mere number limits may be its amount."""
    events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
    how, number = p.get("c") or ("at most", p["n"])
    if joint or how == "just" or number < 1 or not (events[0].outcome or "u" in p):
        return None
    return Demand("count", (replace(events[0], single=False),), how=how, number=number)


def _below(p: Parts) -> Demand | None:
    return _counted({**p, "n": p["n"] - 1})


def _none_of_that_number(p: Parts) -> Demand | None:
    """`A third failed login is forbidden`."""
    return _counted({**p, "n": p["m"] - 1}) if p["m"] > 1 else None


def _failing(p: Parts) -> Demand | None:
    events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
    how, number = p["c"]
    if joint or how == "just" or any(e.outcome in ("failed", "successful") for e in events):
        return None
    return Demand("fail", (replace(events[0], single=False, outcome=""),), how=how, number=number)


def _so_many_fine(p: Parts) -> Demand | None:
    """`Login: two failures are fine, a third is forbidden`."""
    return _failing({**p, "c": ("at most", p["n"])}) if p["m"] == p["n"] + 1 else None


def _of_each(p: Parts) -> Demand | None:
    """`An order must never see more than two attempts at shipping it`."""
    events, joint = p["e"]
    how, number = p.get("c") or ("at most", p["n"])
    if joint or how == "just" or any(e.outcome == "failed" for e in events):
        return None
    event: Event = replace(events[0], single=False)
    return Demand("count", (with_same(event, frozenset({p["w"]})),), how=how, number=number)


LIMITS_OF_TRIES: dict[str, Rule] = {
    "failures had": [
        (
            f"at_most|no_more_than|not_more_than|up_to|max|max.|maximum|a_maximum_of|only {{n:number}}"
            f" {_FAILURES}",
            lambda p: ("at most", p["n"]),
        ),
        (
            f"{{n:number}} {_FAILURES} at_most|at_the_most|max|maximum|tops|only|and_no_more",
            lambda p: ("at most", p["n"]),
        ),
        (f"never more_than {{n:number}} {_FAILURES}", lambda p: ("at most", p["n"])),
    ],
    "so many tries": [(_TIMES, lambda p: True)],
    "demand": [
        (
            "limit|cap|restrict|keep {e:events} to|at [at_most|a_maximum_of|no_more_than] {n:number}"
            " [{u:so many tries}]",
            _counted,
        ),
        ("[only] allow|permit|tolerate|accept {c:limit} {e:events}", _counted),
        ("[only] allow|permit|tolerate|accept only {n:number} {e:events}", _counted),
        ("never|do_not allow|permit|tolerate|accept|have more_than {n:number} {e:events}", _counted),
        (f"{AGENT} {MAY}|{SHOULD} have|make|see|produce|cause {{c:limit}} {{e:events}}", _counted),
        (f"{AGENT} {NO} have|make|see|produce|cause more_than {{n:number}} {{e:events}}", _counted),
        (f"{_NUMBER} {{e:events}} {SHOULD}|{MAY} be|stay|remain|be_kept|lie {_BELOW} {{n:number}}", _counted),
        (
            f"{_NUMBER} {{e:events}} {SHOULD} be|stay|remain|be_kept|lie below|under|less_than {{n:number}}",
            _below,
        ),
        (f"{_NUMBER} {{e:events}} {NO} {_EXCEED} {{n:number}}", _counted),
        (f"{{e:events}} {NO} {_EXCEED} {{n:number}} [{{u:so many tries}}]", _counted),
        (f"{{e:events}} {NO} [ever] number more_than {{n:number}}", _counted),
        (
            f"{{e:events}} is|are|{SHOULD} [be] limited|restricted|capped|kept to|at [at_most"
            f"|a_maximum_of] {{n:number}} [{{u:so many tries}}]",
            _counted,
        ),
        (f"a|the|any {{m:nth}} {{e:events}} is|are [strictly] {BANNED}", _none_of_that_number),
        (f"a|the|any {{m:nth}} {{e:events}} {NO} [ever] {HAPPEN}", _none_of_that_number),
        (f"there {NO} [ever] be a|any {{m:nth}} {{e:events}}", _none_of_that_number),
        (f"{{n:number}} is the {_MAX} of|for {{e:events}}", _counted),
        (f"the {_MAX} of|for {{e:events}} is {{n:number}}", _counted),
        (f"{{n:number}} {{e:events}} is|are the {_MAX}", _counted),
        (f"{{w:whoever}} {NO} [ever] see|have|get|receive more_than {{n:number}} {{e:events}}", _of_each),
        (f"{{w:whoever}} {MAY}|{SHOULD} [only] see|have|get|receive {{c:limit}} {{e:events}}", _of_each),
        ("{w:whoever} has|sees|gets|receives {c:limit} {e:events}", _of_each),
        # how often it may fail
        ("{e:events} [,] {c:failures had}", _failing),
        (f"{{e:events}} {MAY}|{SHOULD} have {{c:failures had}}", _failing),
        (f"{{e:events}} {NO} [ever] {FAIL} {{c:beyond}}", _failing),
        (f"{{e:events}} {MAY}|{SHOULD} {FAIL} {{c:limit}}", _failing),
        (f"{{e:events}} {MAY}|{SHOULD} {FAIL} {{c:quota}}", _failing),
        (
            f"{{e:events}} {MAY} only {FAIL} {{n:number}} times",
            lambda p: _failing({**p, "c": ("at most", p["n"])}),
        ),
        (f"{{e:events}} {MAY} only {FAIL} once", lambda p: _failing({**p, "c": ("at most", 1)})),
        (f"{{c:limit}} {{e:events}} {MAY}|{SHOULD} {FAIL}", _failing),
        (f"never|do_not let|have|allow {{e:events}} [to] {FAIL} {{c:beyond}}", _failing),
        ("let|allow {e:events} [to] fail {c:limit}", _failing),
        (
            f"no more_than {{n:number}} {{e:events}} {MAY} {FAIL}",
            lambda p: _failing({**p, "c": ("at most", p["n"])}),
        ),
        ("never|do_not fail {e:events} {c:beyond}", _failing),
        (f"{AGENT} {NO} fail {{e:events}} {{c:beyond}}", _failing),
        (f"{AGENT} {MAY} fail {{e:events}} {{c:limit}}", _failing),
        (f"{AGENT} {NO} fail to {{e:acts}} {{c:beyond}}", _failing),
        ("never|do_not fail to {e:acts} {c:beyond}", _failing),
        (
            f"{{e:event}} , {{n:number}} {_FAILURES} [is|are] {_FINE} [,] [and|but] a|the {{m:nth}} [one"
            f"|failure|time] is [strictly] {BANNED}|too_many|one_too_many",
            _so_many_fine,
        ),
    ],
    "ensured": [
        (f"{{e:events}} does_not|do_not [ever] {FAIL} {{c:beyond}}", _failing),
        ("{e:events} never fails|fail|goes_wrong {c:beyond}", _failing),
        ("{e:events} fails|fail|goes_wrong {c:limit}", _failing),
    ],
}
