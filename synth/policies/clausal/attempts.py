"""Demands on attempts: how often, again, first, last, how long, at the same time, how far apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.demands import (
    apart_by,
    at_most_of,
    counted_object,
    demanding,
)
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import AGAIN as REPEATED
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.words import (
    AGAIN,
    AGENT,
    BANNED,
    HAPPEN,
    MAY,
    NO,
    RUNS,
    SHOULD,
)


def _at_most_done(p: Parts) -> Demand | None:
    """`Three receipts may be sent at most`, `a receipt may only be sent once`."""
    event = passive(p)
    return None if event is None else Demand("count", (event,), number=p["n"], how="at most")


def _none_beyond(p: Parts) -> Demand | None:
    """`No order may be shipped twice`: each of them by itself."""
    event = passive(p)
    if event is None or event.role == "whom":
        return None
    how, n = p["c"]
    return Demand("count", (replace(event, single=True, each=True),), how=how, number=n)


def _single_event(p: Parts) -> Event | None:
    events, _ = p["e"]
    return events[0] if len(events) == 1 else None


def _in_a_run(p: Parts, counted: Demand | None = None) -> Demand | None:
    """`A run may make at most ten calls`."""
    if counted is None and "v" in p:
        return None
    how, n = p.get("c") or ("at most", p["n"])
    event = counted.events[0] if counted else p["e"]
    beside = (*event.beside, Adjunct("run", said="run"))
    return Demand("count", (replace(event, single=False, beside=beside),), how=how, number=n)


def _of_all_tools(count: tuple[str, int]) -> Demand:
    return Demand("count", (Event(ANY),), how=count[0], number=count[1])


def _each_doer(p: Parts) -> Demand | None:
    """`One approver may approve at most two claims`."""
    counted = counted_object(p)
    return counted and replace(counted, events=(with_same(counted.events[0], p["w"]),))


def _two_of_them(p: Parts) -> Demand | None:
    """`Two notices must not be posted within 10 minutes`."""
    event = passive(p)
    return None if event is None else Demand("two", (replace(event, single=False),), number=1, how="at most")


def _none_again_of_it(p: Parts) -> Demand:
    """`After posting a notice, do not post another one`."""
    return Demand("never", (p["v"],), how="again")


def _two_objects(p: Parts) -> Demand | None:
    """`Never load two wagons at the same time`."""
    verb, thing = p["v"], p["t"]
    return Demand("overlap itself", (replace(thing, single=False),)) if verb.action == thing.action else None


def _two_acts(p: Parts) -> Demand | None:
    """`Never load and unload at the same time`."""
    events, joint = p["e"]
    return Demand("overlap", events[:1], events[1:]) if joint in ("and", "or") and len(events) == 2 else None


_TOGETHER = (
    "at_the_same_time|simultaneously|in_parallel|concurrently|side_by_side|at_once|at_the_very_same_time"
    "|at_one_and_the_same_time"
)
_OVERLAP = (
    "overlap|overlap_each_other|overlap_one_another|overlap_in_time|run_at_the_same_time|run_in_parallel"
    "|run_concurrently|run_side_by_side|be_running_at_the_same_time|happen_at_the_same_time|be_in_progress_at_the"
    "_same_time|take_place_at_the_same_time|be_under_way_at_the_same_time|be_done_at_the_same_time|run_at_once"
    "|run_simultaneously|be_made_at_the_same_time|go_on_at_the_same_time"
)


def _again(kind: str) -> Callable[[Parts], Demand]:
    """`Do not try it again`: what the rest of the sentence is about."""

    def made(p: Parts) -> Demand:
        how, n = p.get("c") or ("at most", p.get("n", 0))
        return Demand(kind, (Event(REPEATED),), how=how, number=n)

    return made


def _failed_again(kind: str) -> Callable[[Parts], Demand | None]:
    """`A failed payment may be retried at most twice`: said of what failed."""

    def made(p: Parts) -> Demand | None:
        fact: Fact = p["f"]
        how, n = p.get("c") or ("at most", p.get("n", 0))
        return Demand(kind, fact.events, fact.events, how=how, number=n) if how == "at most" else None

    return made


_TRY = "try|attempt|do|make|repeat|retry|start"
_TRIED = "tried|attempted|retried|repeated|done|made|tried_again|redone|called|run|used|executed|started"
_IT = "it|this|that|them|another|another_one|a_second_one|another_attempt|a_second_time"


_CALL = (
    "call|tool_call|step|action|thing|tool|call_of_a_run|call_of_every_run|call_of_each_run"
    "|call_of_the_run|call_in_a_run"
    "|call_in_every_run|call_in_the_run|thing_to_happen|thing_that_happens|thing_the_agent_does"
    "|thing_in_a_run"
    "|thing_in_every_run|step_of_a_run|step_of_each_run|step_in_every_run|step_in_each_run|action_of_each_run"
    "|action_of_a_run|action_in_a_run|call_in_each_run|step_of_every_run|step_of_the_run"
    "|thing_that_happens_in_a_run|call_of_any_run"
    "|thing_the_agent_does_in_a_run|thing_the_agent_does_in_every_run|thing_that_is_done"
    "|action_of_every_run"
    "|tool_to_be_called|tool_that_is_called|tool_called"
)


def taking(p: Parts) -> Demand:
    events, joint = p["e"]
    return Demand("takes", events, joint=joint, how=p["d"])


ATTEMPTS: dict[str, Rule] = {
    "limit": [
        ("{c:count}", lambda p: p["c"]),
        ("only once", lambda p: ("at most", 1)),
        ("only {n:number} [times]", lambda p: ("at most", p["n"])),
        ("{n:number} times only", lambda p: ("at most", p["n"])),
    ],
    "calls": [("calls|tool_calls|tool_call|call|steps", lambda p: Event(ANY)), ("{e:events}", _single_event)],
    "demand": [
        (f"{{t:object}} {MAY} be {{d:past}} {{c:limit}}", demanding("count", make=passive)),
        ("{t:object} is|are|gets|get {d:past} {c:limit}", demanding("count", make=passive)),
        (f"{{t:object}} {MAY} only be {{d:past}} {{n:number}} times", _at_most_done),
        (f"{{t:object}} {MAY} only be {{d:past}} once", lambda p: _at_most_done({**p, "n": 1})),
        (f"no {{t:object}} {MAY}|{SHOULD}|will [ever] be {{d:past}} {{c:beyond}}", _none_beyond),
        ("no {t:object} is|are|gets|get [ever] {d:past} {c:beyond}", _none_beyond),
        # another attempt
        (f"never|do_not {_TRY} {_IT} [again]", _again("never")),
        ("never|do_not try|attempt again", _again("never")),
        ("never|do_not retry|repeat", _again("never")),
        (f"it|this|they {NO} be {_TRIED} [again]", _again("never")),
        (
            f"no other|further|second|more|new attempt|attempts|try|tries|retry|retries {MAY}|{SHOULD} "
            "[ever] be made",
            _again("never"),
        ),
        (f"{_TRY} {_IT} [again]", _again("try")),
        ("try|retry|attempt again", _again("try")),
        (f"it|this|they {SHOULD} [always] be {_TRIED} [again]", _again("try")),
        (f"another attempt|try {SHOULD} [always] be made", _again("try")),
        ("{e:acts} again", demanding("try")),
        (f"{{t:object}} {SHOULD} be {{d:past}} again", demanding("try", make=passive)),
        (f"{{f:failure}} {SHOULD} [always] be {_TRIED} [again]", _failed_again("try")),
        (f"{_TRY} {_IT} [again] {{c:limit}}", _again("retry")),
        ("try|attempt again {c:limit}", _again("retry")),
        ("retry|repeat {c:limit}", _again("retry")),
        (f"it|this|they {MAY} be {_TRIED} [again] {{c:limit}}", _again("retry")),
        (
            f"it|this|they {MAY} only be {_TRIED} [again] once",
            lambda p: _again("retry")({"c": ("at most", 1)}),
        ),
        (f"it|this|they {NO} be {_TRIED} [again] more_than {{n:number}} times", _again("retry")),
        (f"{AGENT} {MAY} {_TRY} {_IT} [again] {{c:limit}}", _again("retry")),
        (f"{AGENT} {MAY} try again {{c:limit}}", _again("retry")),
        (f"{{f:failure}} {MAY} be {_TRIED} [again] {{c:limit}}", _failed_again("retry")),
        (
            f"{{f:failure}} {MAY} only be {_TRIED} [again] once",
            lambda p: _failed_again("retry")({**p, "c": ("at most", 1)}),
        ),
        (f"{{f:failure}} {NO} be {_TRIED} [again] more_than {{n:number}} times", _failed_again("retry")),
        (f"{_TRY} {{f:failure}} [again] {{c:limit}}", _failed_again("retry")),
        (f"never|do_not {_TRY} {{f:failure}} [again] more_than {{n:number}} times", _failed_again("retry")),
        (
            f"[{AGENT}] [{SHOULD}] wait|leave|pause|allow [for] [at_least|a_minimum_of] {{d:time}} "
            "before|until "
            f"{{e:retrying}}",
            lambda p: Demand("apart", (p["e"],), (p["e"],), how=p["d"]),
        ),
        # to stop
        ("stop|stop_there|stop_the_run|end_the_run", lambda p: Demand("never", (Event(ANY),))),
        (
            f"nothing_more|nothing_further|nothing_at_all {MAY}|{SHOULD}|is_to [ever] {HAPPEN} [{AGAIN}]",
            lambda p: Demand("never", (Event(ANY),)),
        ),
        # runs, and attempts
        (
            f"{RUNS} {MAY}|{SHOULD} make|have|contain|include|consist_of|hold {{c:limit}} {{e:calls}}",
            _in_a_run,
        ),
        (f"{RUNS} {NO} make|have|contain|include|exceed more_than {{n:number}} {{e:calls}}", _in_a_run),
        (f"no run {MAY}|{SHOULD} make|have|contain|include more_than {{n:number}} {{e:calls}}", _in_a_run),
        (f"{RUNS} {NO} exceed {{n:number}} {{e:calls}}", _in_a_run),
        (
            f"{RUNS} {MAY}|{SHOULD} {{v:verb}} {{c:limit}} {{t:object}}",
            lambda p: _in_a_run(p, counted_object(p)),
        ),
        (
            f"no run {MAY}|{SHOULD} {{v:verb}} more_than {{n:number}} {{t:object}}",
            lambda p: _in_a_run(p, counted_object(p)),
        ),
        ("[make|do|run] {c:count} calls|tool_calls", lambda p: _of_all_tools(p["c"])),
        (f"{{c:count}} calls|tool_calls {MAY}|{SHOULD} be made|done", lambda p: _of_all_tools(p["c"])),
        ("{c:count} calls|tool_calls is|are allowed|permitted", lambda p: _of_all_tools(p["c"])),
        ("{c:count} attempts|tries|attempt|try to {e:acts}", demanding("count")),
        ("{c:count} attempts|tries|attempt|try to {e:acts} is|are allowed|permitted", demanding("count")),
        (f"{{c:count}} attempts|tries|attempt|try to {{e:acts}} {MAY}|{SHOULD} be made", demanding("count")),
        (f"more_than {{n:number}} attempts|tries to {{e:acts}} is|are {BANNED}", at_most_of),
        ("try|attempt to {e:acts} {c:limit}", demanding("count")),
        (f"{AGENT} {MAY} try|attempt to {{e:acts}} {{c:limit}}", demanding("count")),
        (f"{AGENT} {NO} try|attempt to {{e:acts}} {{c:beyond}}", demanding("count")),
        (f"{AGENT} {MAY} {{e:acts}} {{c:limit}}", demanding("count")),
        (f"{AGENT} {MAY} only {{e:acts}} {{n:number}} times", lambda p: at_most_of(p)),
        (f"{AGENT} {MAY} only {{e:acts}} once", lambda p: at_most_of({**p, "n": 1})),
        ("only {e:acts} once", lambda p: at_most_of({**p, "n": 1})),
        ("only {e:acts} {n:number} times", at_most_of),
        ("{e:acts} {c:limit}", demanding("count")),
        (f"{{e:events}} {MAY} {HAPPEN} {{c:limit}}", demanding("count")),
        (f"{{e:events}} {MAY} only {HAPPEN} once", lambda p: at_most_of({**p, "n": 1})),
        ("{v:verb} only {n:number} {t:object}", counted_object),
        (
            "{v:verb} {n:number} {t:object} at_most|at_the_most|maximum|or_fewer|or_less|and_no_more|only",
            counted_object,
        ),
        (
            f"{AGENT} {MAY} {{v:verb}} {{n:number}} {{t:object}} at_most|at_the_most|maximum"
            "|or_fewer|and_no_more",
            counted_object,
        ),
        (f"{AGENT} {MAY} {{v:verb}} only {{n:number}} {{t:object}}", counted_object),
        (f"{{n:number}} {{t:object}} {MAY} be {{d:past}} at_most|at_the_most|maximum", _at_most_done),
        (f"{{w:doer}} {MAY}|{SHOULD} {{v:verb}} {{c:limit}} {{t:object}}", _each_doer),
        (
            f"{{w:doer}} {MAY} {{v:verb}} {{n:number}} {{t:object}} at_most|at_the_most|maximum|and_no_more",
            _each_doer,
        ),
        (f"{{w:doer}} {NO} {{v:verb}} more_than {{n:number}} {{t:object}}", _each_doer),
        (f"{{w:no_doer}} {MAY} {{v:verb}} more_than {{n:number}} {{t:object}}", _each_doer),
        # at the same time
        (f"[any] 2 {{e:events}} {NO} [ever] {_OVERLAP}", demanding("overlap itself")),
        (
            f"[any] 2 {{t:object}} {NO} [ever] be {{d:past}} {_TOGETHER}",
            demanding("overlap itself", make=passive),
        ),
        (
            f"no 2 {{t:object}} {MAY}|{SHOULD} [ever] be {{d:past}} {_TOGETHER}",
            demanding("overlap itself", make=passive),
        ),
        (f"never|do_not {{v:verb}} 2 {{t:object}} {_TOGETHER}", _two_objects),
        (f"{AGENT} {NO} {{v:verb}} 2 {{t:object}} {_TOGETHER}", _two_objects),
        (f"never|do_not {{e:acts}} {_TOGETHER}", _two_acts),
        (f"{AGENT} {NO} [ever] {{e:acts}} {_TOGETHER}", _two_acts),
        (
            "{v:verb} only|at_most 1|one {t:object} at_a_time|at_any_one_time|at_any_time",
            lambda p: (d := _two_objects(p)) and replace(d, how="at a time"),
        ),
        (
            f"only|at_most|no_more_than 1|one {{t:object}} {MAY}|{SHOULD} be {{d:past}} "
            "at_a_time|at_any_one_time|at_any_time|at_once|at_the_same_time",
            lambda p: (d := demanding("overlap itself", make=passive)(p)) and replace(d, how="at a time"),
        ),
        (
            f"only|at_most|no_more_than 1|one {{e:event}} {MAY}|{SHOULD} {HAPPEN} at_a_time|at_any_one_time"
            "|at_any_time|at_once|at_the_same_time",
            demanding("overlap itself"),
        ),
        ("never|do_not start|begin {e:event}", demanding("never start")),
        (f"{AGENT} {NO} start|begin {{e:event}}", demanding("never start")),
        (f"{{e:events}} {NO} [ever] start|begin|be_started", demanding("never start")),
        (f"no [other|further] {{e:event}} {MAY} start|begin|be_started", demanding("never start")),
        # first, last, how long
        (f"the [very] first {_CALL} {SHOULD}|is [always] [to] [be] {{e:events}}", demanding("first")),
        (f"the [very] last|final {_CALL} {SHOULD}|is [always] [to] [be] {{e:events}}", demanding("last")),
        (f"{RUNS} {SHOULD} [always] start|begin|open with|by {{e:events}}", demanding("first")),
        (f"{RUNS} {SHOULD} [always] end|finish|close|conclude with|by|in {{e:events}}", demanding("last")),
        (f"the [very] first {_CALL} {SHOULD}|is [always] to {{e:acts}}", demanding("first")),
        (f"the [very] last|final {_CALL} {SHOULD}|is [always] to {{e:acts}}", demanding("last")),
        (f"[always] start|begin {RUNS} with|by {{e:events}}", demanding("first")),
        (f"[always] end|finish {RUNS} with|by {{e:events}}", demanding("last")),
        (f"{{e:events}} {SHOULD} [always] be|come the [very] first {_CALL}", demanding("first")),
        (f"{{e:events}} {SHOULD} [always] be|come the [very] last {_CALL}", demanding("last")),
        (
            f"{{a:events}} {NO} be older_than|more_than {{d:time}} [old]",
            lambda p: Demand("fresh", p["a"][0], joint=p["a"][1], how=p["d"]),
        ),
        (
            f"{{a:events}} {MAY}|{SHOULD} be at_most|no_more_than|not_more_than|less_than|under {{d:time}} "
            "old",
            lambda p: Demand("fresh", p["a"][0], joint=p["a"][1], how=p["d"]),
        ),
        (
            f"{{a:events}} {SHOULD} be no_older_than|not_older_than {{d:time}}",
            lambda p: Demand("fresh", p["a"][0], joint=p["a"][1], how=p["d"]),
        ),
        (
            f"{{e:events}} {SHOULD} [always] be finished|completed|done|over within|in {{d:time}}",
            taking,
        ),
        # how far apart
        (f"{{e:event}} {SHOULD} [always] be|lie|happen at_least {{d:time}} apart", apart_by),
        (f"{{e:event}} {SHOULD} [always] be|lie|happen {{d:time}} or_more apart", apart_by),
        (f"{{g:apart}} [,] at_least|a_minimum_of {{d:time}} {SHOULD} pass|elapse|lie|go_by", apart_by),
        (f"[any] 2 {{t:object}} {NO} [ever] be {{d:past}}", _two_of_them),
        ("never|do_not {v:verb} another|another_one|a_second_one|one_again", _none_again_of_it),
        (
            f"[any] 2 {{t:object}} {SHOULD} be {{b:past}} at_least {{d:time}} apart",
            lambda p: (e := passive({**p, "d": p["b"]})) and apart_by({"e": e, "d": p["d"]}),
        ),
        (
            f"no 2 {{t:object}} {MAY} be {{b:past}} within|less_than {{d:time}} "
            "of_each_other|of_one_another|apart",
            lambda p: (e := passive({**p, "d": p["b"]})) and apart_by({"e": e, "d": p["d"]}),
        ),
        (
            f"no 2 {{e:event}} {MAY} {HAPPEN} within|less_than {{d:time}} of_each_other|of_one_another|apart",
            apart_by,
        ),
        (f"[any] 2 {{e:event}} {NO} be|lie|happen less_than {{d:time}} apart", apart_by),
        (
            "never|do_not {e:acts} within|less_than {d:time} of|after the|any "
            "previous|last|preceding|earlier one",
            lambda p: (e := _single_event(p)) and apart_by({"e": e, "d": p["d"]}),
        ),
    ],
    "retrying": [
        ("{e:event} again", lambda p: p["e"]),
        (f"trying|retrying|attempting|repeating [{_IT}] [again]", lambda p: Event(REPEATED)),
        (f"you|we|it|the_agent try|tries|retry|retries|attempt [{_IT}] [again]", lambda p: Event(REPEATED)),
        ("another|the_next|a_new|a_second attempt|try", lambda p: Event(REPEATED)),
        ("you|we|the_agent {e:act} again", lambda p: p["e"]),
        ("{e:act} again", lambda p: p["e"]),
        ("you|we|the_agent {v:verb} it [again]", lambda p: p["v"]),
        ("{t:object} is|are {d:past} again", passive),
    ],
}
