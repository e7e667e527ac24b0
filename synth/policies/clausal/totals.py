"""What amounts come to at most: what is added, how it is said that it is, and each frame of a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.amounts import argument_added
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, with_same
from synth.policies.clausal.sums import field_added
from synth.policies.clausal.words import AGENT, BANNED, MAY, NO, NOBODY, SHOULD

_TOTAL = (
    "in_total|altogether|in_all|overall|all_in_all|taken_together|together|combined|in_sum|all_told"
    "|all_together|when_added_up|as_a_total|in_sum_total|cumulatively|in_aggregate|added_up|added_together"
)
_SUM = "total|combined|cumulative|overall|aggregate|summed|summed-up|accumulated|added-up|joint|whole|entire"
_AMOUNT = "amount|amounts|value|values|sum|sums|volume|worth|money|budget"
_OF = "of|for|from|across|over|in|among"
_ALL = "all|the|all_the|all_of_the|any|its|your|our"
_UP = "add_up_to|total|come_to|sum_to|sum_up_to|amount_to|reach|add_to|sum|be_worth|make_up|run_to"
"|accumulate_to"
_UPS = (
    "adding_up_to|totalling|totaling|coming_to|summing_to|summing_up_to|amounting_to|worth|that_add_up_to"
    "|that_total|that_come_to|which_add_up_to|which_total"
)
_OVER = "more_than|over|above|in_excess_of|higher_than"
_MOST = (
    "at_most|at_the_most|no_more_than|not_more_than|up_to|a_maximum_of|max|max.|maximum|at_or_below|within|a_total_of"
    "|a_total_of_at_most|a_total_of_no_more_than|at_most_a_total_of|no_more_than_a_total_of|a_limit_of|maximally"
)
_EXCEED = (
    "exceed|be_more_than|be_over|be_above|go_above|go_over|go_beyond|top|surpass|be_higher_than|be_greater_than"
    "|go_higher_than|be_larger_than|rise_above|climb_above|total_more_than|be_allowed_to_exceed"
)
_BELOW = "below|under|less_than"
_STAY = "be|stay|remain|be_kept|lie|come_to|total|add_up_to|amount_to|sum_up_to"
_LIMIT = "limit|cap|restrict|keep|hold"
_LIMITED = "limited|capped|restricted|kept|held"
_TO = "to|at|within|at_or_below"
_A_TOTAL = (
    "a_total_of|a_sum_of|a_total_amount_of|a_maximum_total_of|a_total_budget_of|a_combined_total_of"
    "|a_total_value_of|a_budget_of|a_total_of_at_most|a_maximum_of|at_most|no_more_than"
)
_IN_SUM = (
    "a_total_of|a_sum_of|a_total_amount_of|a_maximum_total_of|a_total_budget_of|a_combined_total_of"
    "|a_total_value_of|a_total_of_at_most|a_total_of_no_more_than|at_most_a_total_of|a_cumulative_total_of"
)
_NEVER = "never|do_not|never_ever"
_BEING = f"{MAY}|{SHOULD}"

Made = Callable[[Parts], Demand | None]


def _sum(how: str = "at most") -> Made:
    """The limit on a sum; what is added is what the unit says, a field that is named, else the amount."""

    def made(p: Parts) -> Demand | None:
        event: Event | None
        event, field = p["a"] if isinstance(p["a"], tuple) else (p["a"], "")
        number, unit = p["n"]
        if event is None or event.outcome:
            return None
        if field in ("number", "count"):
            return None
        if unit and field and singular(unit) != singular(field):
            return None
        if "r" in p:
            event = replace(event, beside=(*event.beside, Adjunct("run", said=p["r"])))
        most = f"{how} {number}"
        return Demand(
            "sum", (replace(event, single=False),), how=field or field_added(event, unit), number=most
        )

    return made


def _of_a_run(p: Parts) -> tuple[Event, str]:
    event, field = p["a"]
    return replace(event, beside=(*event.beside, Adjunct("run", said=p["r"]))), field


def _plural(p: Parts) -> Event | None:
    """All of them: `a refund` is each by itself."""
    event: Event = p["a"]
    return None if event.single else event


def _acts(p: Parts) -> Event | None:
    events, _ = p["e"]
    return events[0] if len(events) == 1 and not events[0].single and not events[0].same - {"it"} else None


def _act(how: str = "at most") -> Made:
    def made(p: Parts) -> Demand | None:
        event = _acts(p)
        return None if event is None or p["n"][1] else _sum(how)({**p, "a": event})

    return made


def _given(p: Parts) -> Demand | None:
    """`give refunds worth at most 400`."""
    return None if p["n"][1] else _sum()(p)


def _object(p: Parts) -> Demand | None:
    """`issue refunds adding up to more than 400`."""
    verb, thing = p["v"], p["a"]
    return _given(p) if verb.action == thing.action else None


def _passive(p: Parts) -> Demand | None:
    """`Guests may be refunded no more than 400 in total`."""
    thing, done = p["t"], p["d"]
    if thing.action != done.action or thing.role != done.role or thing.single or p["n"][1]:
        return None
    return _sum()({**p, "a": replace(done, same=done.same | thing.same, noun=thing.noun)})


TOTALS: dict[str, Rule] = {
    "added ones": [
        (f"[{_ALL}] {{a:added}}", _plural),
        (f"[{_ALL}] {{a:added}} amounts|values", _plural),
        (f"[the] amounts {_OF} [{_ALL}] {{a:added}}", _plural),
        (f"[{_ALL}] {{a:sole}} {{s:of_one}}", lambda p: with_same(replace(p["a"], single=False), p["s"])),
    ],
    "in sum": [
        (f"[the] {_SUM} [{_AMOUNT}] [{_OF}] {{a:added ones}} [{_AMOUNT}]", lambda p: (p["a"], "")),
        (f"[the] {_SUM} {{f:word}} {_OF} {{a:added ones}}", lambda p: (p["a"], argument_added(p["f"]))),
        (f"[the] sum|total|sum_total {_OF} {{a:added ones}} [{_AMOUNT}]", lambda p: (p["a"], "")),
        (f"[the] sum|total|sum_total {_OF} [{_ALL}] {{f:word}} {_OF} {{a:added ones}}",
         lambda p: (p["a"], argument_added(p["f"]))),
        (f"[the] [{_SUM}] {_AMOUNT} [of_money] {{a:total amount done}}", lambda p: (p["a"], "")),
        (f"the {_AMOUNT} {{a:total amount done}} {_TOTAL}", lambda p: (p["a"], "")),
        (f"all {{a:added}} {_TOTAL}", lambda p: (p["a"], "")),
        (f"{{a:added ones}} [,] {_TOTAL} [,]", lambda p: (p["a"], "")),
        (f"[the] {_SUM} {{a:total amount done}}", lambda p: (p["a"], "")),
        ("[the] sum|total of [all|the|all_the] amounts {a:total amount done}", lambda p: (p["a"], "")),
    ],
    "total amount done": [("{a:noun_done} [out|in_total]", lambda p: p["a"]),
                          ("that is|are|gets|get {a:noun_done}", lambda p: p["a"])],
    "in sum of a run": [("{a:in sum}", lambda p: p["a"]),
                        ("{a:in sum} {r:scope}", _of_a_run)],
    "most of all": [
        (f"{_MOST} {{n:summed}}", lambda p: p["n"]),
        ("{n:summed} at_most|at_the_most|max|max.|maximum|tops|or_less|and_no_more|and_not_more"
         "|,_no_more|,_not_more",
         lambda p: p["n"]),
    ],
    "totalled": [
        # what is added, said to be
        (f"{{a:in sum of a run}} {NO} [ever] {_EXCEED} {{n:summed}} [{_TOTAL}]", _sum()),
        (f"{{a:in sum of a run}} {NO} [ever] {_UP} {_OVER} {{n:summed}} [{_TOTAL}]", _sum()),
        (f"{{a:in sum of a run}} {_BEING} [{_STAY}] [only] {{n:most of all}} [{_TOTAL}]", _sum()),
        (f"{{a:in sum of a run}} {_BEING} {_STAY} {_BELOW} {{n:summed}} [{_TOTAL}]", _sum("below")),
        (f"{{a:in sum of a run}} is|are|comes_to|come_to|stays|stay {{n:most of all}} [{_TOTAL}]", _sum()),
        ("{a:in sum of a run} [,] {n:most of all}", _sum()),
        (f"{{a:in sum of a run}} is|are|{_BEING} [be] {_LIMITED} {_TO} [{_A_TOTAL}] {{n:summed}} "
         f"[{_TOTAL}]", _sum()),
        (f"{_LIMIT} {{a:in sum of a run}} {_TO} [{_A_TOTAL}] {{n:summed}} [{_TOTAL}]", _sum()),
        (f"keep|hold {{a:in sum of a run}} {_BELOW} {{n:summed}}", _sum("below")),
        (f"{{a:in sum of a run}} of|over {_OVER} {{n:summed}} [{{r:scope}}] is|are [strictly] "
         f"{BANNED}", _sum()),
        (f"{{a:in sum of a run}} {_OVER} {{n:summed}} [{{r:scope}}] is|are [strictly] {BANNED}", _sum()),
        (f"{_NEVER} let|allow {{a:in sum of a run}} [to] {_EXCEED} {{n:summed}}", _sum()),
        (f"{_NEVER} let|allow {{a:in sum of a run}} [to] {_UP} {_OVER} {{n:summed}}", _sum()),
        (f"{_NEVER} exceed|go_over {{a:in sum of a run}} of {{n:summed}}", _sum()),
        (f"{_NEVER} exceed|go_over [a_total_of] {{n:summed}} in {{a:added ones}} {_TOTAL}", _sum()),
        (f"{_NEVER} exceed|go_over a_total_of {{n:summed}} in|of|for {{a:added ones}}", _sum()),
        ("[the] maximum|limit|cap|max of|for|on {a:in sum of a run} is {n:summed}", _sum()),
        # what is added, and that it is behind it
        (f"{{a:added ones}} {NO} [ever] {_UP} {_OVER} {{n:summed}} [{_TOTAL}]", _sum()),
        (f"{_NEVER} let|allow {{a:added ones}} [to] {_UP} {_OVER} {{n:summed}} [{_TOTAL}]", _sum()),
        (f"{{a:added ones}} is|are|{_BEING} [be] {_LIMITED} {_TO} {_IN_SUM} {{n:summed}}", _sum()),
        (f"{{a:added ones}} is|are|{_BEING} [be] {_LIMITED} {_TO} [{_A_TOTAL}] {{n:summed}} "
         f"{_TOTAL}", _sum()),
        (f"{_LIMIT} {{a:added ones}} {_TO} {_IN_SUM} {{n:summed}} [{_TOTAL}]", _sum()),
        (f"{_LIMIT} {{a:added ones}} {_TO} [{_A_TOTAL}] {{n:summed}} {_TOTAL}", _sum()),
        (f"keep {{a:added ones}} {_BELOW} {_IN_SUM} {{n:summed}}", _sum("below")),
        (f"keep {{a:added ones}} {_BELOW} {{n:summed}} {_TOTAL}", _sum("below")),
        (f"{{a:added ones}} {_UPS} {_OVER} {{n:summed}} [{_TOTAL}] [{{r:scope}}] is|are [strictly] "
         f"{BANNED}", _sum()),
        (f"{{a:added ones}} of {_OVER} {{n:summed}} {_TOTAL} [{{r:scope}}] is|are [strictly] "
         f"{BANNED}", _sum()),
        (f"no {{a:added ones}} {_UPS} {_OVER} {{n:summed}} {_TOTAL}", _sum()),
        (f"{{a:added ones}} [,] {{n:most of all}} {_TOTAL}", _sum()),
        (f"{{a:added ones}} [,] {_IN_SUM} {{n:most of all}}", _sum()),
        (f"{{a:added ones}} , {_TOTAL} {{n:most of all}}", _sum()),
        (f"{{a:added ones}} {_BEING} {_UP} [only] {{n:most of all}} [{_TOTAL}]", _sum()),
        (f"{{a:added ones}} {_UP} {{n:most of all}} [{_TOTAL}]", _sum()),
        (f"{{a:added ones}} {_BEING} {_STAY} {{n:most of all}} {_TOTAL}", _sum()),
        (f"{{a:added ones}} {NO} [ever] {_EXCEED} {{n:summed}} {_TOTAL}", _sum()),
        (f"{{a:added ones}} {NO} [ever] {_EXCEED} {_IN_SUM} {{n:summed}}", _sum()),
        (f"{{a:added ones}} {_BEING} {_STAY} [{_TO}] {_IN_SUM} {{n:summed}}", _sum()),
        # an agent
        (f"[{AGENT}] [{_BEING}] [only] {{e:acts}} [for|by|with] [only] {{n:most of all}} {_TOTAL}", _act()),
        (f"[{AGENT}] [{_BEING}] [only] {{e:acts}} [for|by|with] {_IN_SUM} {{n:summed}}", _act()),
        (f"{_NEVER} [ever] {{e:acts}} [for|by|with] {_OVER} {{n:summed}} {_TOTAL}", _act()),
        (f"{AGENT} {NO} [ever] {{e:acts}} [for|by|with] {_OVER} {{n:summed}} {_TOTAL}", _act()),
        (f"{NOBODY} {_BEING} [ever] {{e:acts}} [for|by|with] {_OVER} {{n:summed}} {_TOTAL}", _act()),
        (f"{{e:events}} [for|by|with|of] {_OVER} {{n:summed}} {_TOTAL} [{{r:scope}}] is|are [strictly] "
         f"{BANNED}", _act()),
        (f"it is [strictly] {BANNED} to {{e:acts}} [for|by|with] {_OVER} {{n:summed}} {_TOTAL}", _act()),
        (f"[{AGENT}] [{_BEING}] [only] give|make|grant|issue|pay|do {{a:added}} {_UPS}|of|for "
         f"{{n:most of all}} "
         f"{_TOTAL}", _given),
        (f"{_NEVER} [ever] give|make|grant|do {{a:added}} {_UPS} {_OVER} {{n:summed}} [{_TOTAL}]", _given),
        (f"{AGENT} {NO} [ever] give|make|grant|issue|pay|do {{a:added}} {_UPS} {_OVER} {{n:summed}} "
         f"[{_TOTAL}]",
         _given),
        (f"{AGENT} {NO} [ever] {{v:verb}} {{a:thing}} {_UPS} {_OVER} {{n:summed}} {_TOTAL}", _object),
        (f"{{t:object}} {_BEING}|is|are [only] [be] {{d:past}} [for|by|with] [only] {{n:most of all}} "
         f"{_TOTAL}",
         _passive),
        (f"{{t:object}} {NO} [ever] be {{d:past}} [for|by|with] {_OVER} {{n:summed}} {_TOTAL}", _passive),
        # over all of them
        (f"across|over|for|of|in {{a:added ones}} [{{r:scope}}] , the|their [{_SUM}] {_AMOUNT}|total|sum "
         f"{NO} {_EXCEED} "
         "{n:summed}", _sum()),
        (f"across|over|for|of|in {{a:added ones}} [{{r:scope}}] , the|their [{_SUM}] {_AMOUNT}|total|sum "
         f"{NO} {_UP} "
         f"{_OVER} {{n:summed}}", _sum()),
        (f"across|over|for|of|in {{a:added ones}} [{{r:scope}}] , the|their [{_SUM}] {_AMOUNT}|total|sum "
         f"{_BEING} "
         f"{_STAY} {{n:most of all}}", _sum()),
    ],
}  # fmt: skip
