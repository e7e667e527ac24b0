"""How long one call may take, in the words in which people limit that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.attempts import taking
from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event
from synth.policies.clausal.words import AGENT, ALLOWED, BANNED, MAY, NO, SHOULD


def _done_in(p: Parts) -> Demand | None:
    """`Each settlement has to be run in 20 minutes or less`."""
    event: Event | None = passive({**p, "d": p["g"]})
    return None if event is None else taking({"e": ((event,), ""), "d": p["d"]})


def _passive(p: Parts) -> Event | None:
    return passive({**p, "d": p["g"]})


def _less(p: Parts) -> str:
    """`Under 10 minutes`, `no 10 minutes or more`: what takes exactly so long takes too long."""
    return f"less than {p['d']}"


def _in_doing(make: Callable[[Parts], Event | None] | None = None) -> Callable[[Parts], Demand | None]:
    """`Never run a scan for more than 40 minutes`."""

    def made(p: Parts) -> Demand | None:
        demand = demanding("in doing", make=make)(p)
        return None if demand is None or demand.joint == "and" else replace(demand, how=p["d"])

    return made


_TAKE = (
    "take|last|run|go_on|continue|be_running|need|run_on|run_for|go|stretch|be_in_progress|be_under_way"
    "|occupy"
)
_TAKES = "takes|lasts|runs|goes_on|needs|take|last|run|goes|continues"
_TAKING = (
    "taking|lasting|running|that_takes|that_lasts|that_runs|which_takes|which_lasts|that_take|that_last"
    "|that_run"
)
_AT_MOST = (
    "at_most|no_longer_than|no_more_than|not_more_than|not_longer_than|up_to|max|max.|maximum|maximally"
    "|a_maximum_of|at_the_most|<=|not_over|a_max_of|no_more_time_than"
)
_OR_LESS = (
    "at_most|at_the_most|or_less|max|max.|tops|maximum|or_shorter|and_no_more|and_no_longer|no_longer"
    "|not_longer"
    "|at_the_very_most|at_the_longest|at_its_longest|at_the_outside|as_a_maximum|or_fewer|but_no_longer"
    "|but_no_more|and_not_longer|not_more|no_more"
)
_UNDER = "under|less_than|below|<|shorter_than|well_under|strictly_under|strictly_less_than"
_OVER = "longer_than|more_than|over|beyond|in_excess_of|above|past|for_longer_than|for_more_than|upwards_of"
_EXCEED = "exceed|go_over|go_beyond|surpass|overrun|run_over|go_past|pass|be_over|be_above|be_more_than"
_LENGTH = (
    "duration|runtime|run_time|running_time|run-time|time|length|execution_time|processing_time|time_taken"
)
_MOST = "maximum|max|max.|maximal|longest|allowed|permitted|longest_allowed|maximum_allowed|max_allowed"
_LIMIT = (
    "time_limit|limit|timeout|time-out|time_cap|cap|maximum_duration|max_duration|max._duration"
    "|duration_limit"
    "|max_time|maximum_time|max_runtime|maximum_runtime|maximum|max|time_budget|runtime_limit|time_box"
)
_LIMITED = "limited|capped|restricted|bounded|time-boxed|timeboxed|held|kept|confined"
_EACH = "each|apiece|every_time|each_time|per_call|each_one|at_a_time|in_each_case|individually"
_IS = "is|are|,|:|=|->"
_FINISH = "finish|complete|end|conclude|wrap_up|be_done_with|be_finished_with|be_through_with|get_done"
_FINISHES = "finishes|completes|ends|concludes|is_done|are_done|finish|complete|end"
_CAP = "cap|limit|restrict|hold|keep|bound"
_DONE = "finished|completed|done|over|complete|through|finished_with|concluded|finalised|finalized"
_OVER_AND_DONE = (
    "finished|completed|over|complete|through|ended|finished_with|concluded|finalised|finalized|over_and_done"
)
_FOR_EACH = "per|for_each|for_every|for_any|for_one|for_a_single|for_an|for_a|for_the|for"
_ONE_OF = "any_one|any_single|a_single|each|every|any|one|each_single|every_single"

DURATIONS: dict[str, Rule] = {
    "no_longer": [
        (f"{_AT_MOST} {{d:time}} [{_EACH}]", lambda p: p["d"]),
        (f"{{d:time}} [,] {_OR_LESS} [{_EACH}]", lambda p: p["d"]),
        (f"{_AT_MOST} {{d:time}} [,] {_OR_LESS}", lambda p: p["d"]),
        (f"{_UNDER} {{d:time}} [{_EACH}]", _less),
    ],
    "kept_under": [
        ("within {d:time}", lambda p: p["d"]),
        (f"{_UNDER} {{d:time}} [{_EACH}]", _less),
        (f"{_AT_MOST} {{d:time}} long", lambda p: p["d"]),
    ],
    "in_bounds": [
        ("at|to|within|in|inside {d:so_long}", lambda p: p["d"]),
        ("after {d:no_longer}", lambda p: p["d"]),
        (f"{_UNDER}|in_under|in_less_than {{d:time}} [{_EACH}]", _less),
    ],
    "so_long": [
        ("{d:no_longer}", lambda p: p["d"]),
        (f"{{d:time}} [{_EACH}]", lambda p: p["d"]),
    ],
    "too_long": [
        (f"[for] {_OVER} {{d:time}}", lambda p: p["d"]),
        ("[for] {d:time} or_more|or_longer|plus", _less),
    ],
    "lasting": [
        ("{e:events}", lambda p: p["e"]),
        (f"{_ONE_OF} {{e:events}}", lambda p: p["e"]),
        ("{e:acts}", lambda p: p["e"]),
    ],
    "demand": [
        (f"{{e:events}} {MAY}|{SHOULD} {_TAKE} [for] {{d:no_longer}}", taking),
        (f"{{e:events}} [never|only] {_TAKES} [for] {{d:no_longer}}", taking),
        (f"{{e:events}} {_TAKES} never|not {{d:too_long}}", taking),
        (f"{{e:events}} never {_TAKES} {{d:too_long}}", taking),
        (f"no {{e:events}} {_TAKES} {{d:too_long}}", taking),
        (f"{{e:events}} {NO} [ever] {_TAKE} {{d:too_long}}", taking),
        (f"{{e:events}} {NO} [ever] {_EXCEED} {{d:time}} [{_EACH}]", taking),
        (f"{{e:events}} {NO} [ever] last|take|run {_EXCEED} {{d:time}}", taking),
        (f"no {{e:events}} {ALLOWED} [ever] {_TAKE} {{d:too_long}}", taking),
        (f"no {{e:events}} {ALLOWED} [ever] {_EXCEED} {{d:time}}", taking),
        ("no {e:events} {d:too_long}", taking),
        ("{e:events} ,|: {d:no_longer}", taking),
        ("{e:events} [,|:] <= {d:time}", taking),
        ("{e:events} [,|:] < {d:time}", lambda p: taking({**p, "d": _less(p)})),
        (f"{{e:events}} is|are|{SHOULD} [be] {_LIMITED} {{d:in_bounds}}", taking),
        (f"[{AGENT}] [{SHOULD}] cap|limit|restrict|hold|keep|time-box|timebox|bound {{e:events}} "
         "{d:in_bounds}", taking),
        (f"[{AGENT}] [{SHOULD}] keep {{e:events}} {{d:no_longer}}", taking),
        (f"[the|our] {_MOST} {_LENGTH} [allowed|permitted] of|for|to|allowed_for|permitted_for"
         f" {{e:lasting}} {_IS} "
         "{d:so_long}", taking),
        (f"[the|our|a] {_LIMIT} of|for|on {{e:lasting}} {_IS} {{d:so_long}}", taking),
        (f"[there] is|set|put|enforce [a|the] {_LIMIT} of {{d:time}} on|for {{e:lasting}}", taking),
        (f"{{e:events}} {_LIMIT} {_IS} {{d:so_long}}", taking),
        (f"{{e:events}} [{_MOST}] {_LENGTH} {_IS} {{d:no_longer}}", taking),
        (f"{{e:events}} {_LENGTH} {_IS} {_AT_MOST} {{d:time}}", taking),
        (f"{{e:events}} has|have|gets|get|is_given [a|an] {_LIMIT} of {{d:time}}", taking),
        ("{e:events} has|have|gets|get|is_given|are_given {d:no_longer}", taking),
        (f"[the] {_LENGTH} of|for {{e:lasting}} [is|,|:|=|are|{SHOULD}|{MAY}] [be|stay|remain|not_be]"
         f" {{d:no_longer}}",
         taking),
        (f"[the] {_LENGTH} of|for {{e:lasting}} {NO} [ever] {_EXCEED} {{d:time}}", taking),
        (f"[the] {_LENGTH} of|for {{e:lasting}} {NO} [ever] be {{d:too_long}}", taking),
        (f"{AGENT} {MAY}|{SHOULD} [only] spend {{d:no_longer}} on|for|with {{e:lasting}}", taking),
        (f"{AGENT} {NO} [ever] spend {{d:too_long}} on|for|with {{e:lasting}}", taking),
        (f"[{AGENT}] spend {{d:no_longer}} on|for|with {{e:lasting}}", taking),
        ("do_not|never spend {d:too_long} on|for|with {e:lasting}", taking),
        (f"it {NO} [ever] {_TAKE} [{AGENT}] {{d:too_long}} to {{e:acts}}", taking),
        (f"it {MAY}|{SHOULD} {_TAKE} [{AGENT}] {{d:no_longer}} to {{e:acts}}", taking),
        (f"do_not|never let|allow {{e:events}} [to] [{_TAKE}] {{d:too_long}}", taking),
        (f"do_not|never let|allow {{e:events}} [to] {_EXCEED} {{d:time}}", taking),
        (f"{AGENT} {NO} let|allow {{e:events}} [to] [{_TAKE}] {{d:too_long}}", taking),
        (f"never|do_not {_TAKE} {{d:too_long}} to|on|for {{e:lasting}}", taking),
        ("never|do_not {e:acts} {d:too_long}", _in_doing()),
        (f"{AGENT} {NO} [ever] {{e:acts}} {{d:too_long}}", _in_doing()),
        (f"{{t:object}} {NO} [ever] be {{g:past}} {{d:too_long}}", _in_doing(_passive)),
        (f"no {{t:object}} {ALLOWED} [ever] be {{g:past}} {{d:too_long}}", _in_doing(_passive)),
        (f"{{e:events}} {{d:too_long}} is|are [strictly] {BANNED}", _in_doing()),
        (f"{AGENT} {MAY}|{SHOULD} {{e:acts}} [for] {{d:no_longer}}", _in_doing()),
        (f"[{AGENT}] [{SHOULD}] [always] {_FINISH} {{e:events}} {{d:in_bounds}}", taking),
        (f"{{e:events}} is|are [always] {_DONE} {{d:in_bounds}}", taking),
        (f"[{AGENT}] [{SHOULD}] {_CAP} the {_LENGTH} of|for {{e:lasting}} {{d:in_bounds}}", taking),
        (f"[the|our] {_MOST} {{e:events}} {_LENGTH} {_IS} {{d:so_long}}", taking),
        ("take {d:no_longer} to|on|for {e:lasting}", taking),
        (f"{{e:events}} {_TAKING} {{d:too_long}} is|are [strictly] {BANNED}", taking),
        (f"no {{e:events}} {_TAKING} {{d:too_long}}", taking),
        (f"{{e:events}} {SHOULD} [always] be {_DONE} in|within|after|inside {{d:no_longer}}", taking),
        (f"{{e:events}} {SHOULD} [always] be|have {_OVER_AND_DONE} {{d:in_bounds}}", taking),
        (f"{{e:events}} {SHOULD} [always] be|have over|through|finished_with|over_and_done after {{d:time}}",
         taking),
        (f"{{d:no_longer}} [is_the_limit] {_FOR_EACH} {{e:events}}", taking),
        (f"{{e:events}} {SHOULD} [always] be {_DONE} within|in {{d:time}} of|after [its|their|the]"
         f" start|starting|beginning"
         "|it_starts|they_start|it_begins|it_started", taking),
        (f"{{e:events}} {SHOULD} [always] {_FINISH} {{d:in_bounds}}", taking),
        (f"{{e:events}} [always] {_FINISHES} {{d:in_bounds}}", taking),
        (f"{{e:events}} {MAY}|{SHOULD} [always] stay|remain|be|be_kept {{d:kept_under}}", taking),
        ("{e:events} [always] stays|remains|stay|remain {d:kept_under}", taking),
        (f"{{e:events}} {SHOULD} [always] finish|end|complete within|in {{d:time}} of|after [its|their"
         f"|the] start|starting"
         "|it_starts|they_start|it_begins|it_started|beginning", taking),
        (f"{{t:object}} {SHOULD} [always] be {{g:past}} in {{d:no_longer}}", _done_in),
    ],
}  # fmt: skip
