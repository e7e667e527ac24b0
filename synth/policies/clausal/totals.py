"""What amounts come to at most: what is added, how it is said that it is, and each frame of a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.amounts import argument_added
from synth.policies.clausal.facts import with_mods
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, with_same
from synth.policies.clausal.sums import field_added
from synth.policies.clausal.words import (
    AGENT,
    AT_MOST,
    BANNED,
    MAY,
    MORE_THAN,
    NO,
    NO_MORE,
    NOBODY,
    RUNS,
    SHOULD,
)
from synth.policies.patterns import compiled

TOTAL = (
    "in_total|altogether|in_all|overall|all_in_all|taken_together|together|combined|in_sum|all_told"
    "|all_together|put_together|when_added_up|as_a_total|in_sum_total|cumulatively|in_aggregate|added_up|added_together"
    "|summed|summed_up|when_summed|when_summed_up|in_the_aggregate|when_added_together|all_added_up|all_summed_up"
    "|in_combination|as_a_sum"
)
_SUM = "total|combined|cumulative|overall|aggregate|summed|summed-up|accumulated|added-up|joint|whole|entire"
_AMOUNT = "amount|amounts|value|values|sum|sums|volume|worth|money|budget"
_OF = "of|for|from|across|over|in|among"
_ALL = "all|the|all_the|all_of_the|any|its|your|our"
_UP = "add_up_to|total|come_to|sum_to|sum_up_to|amount_to|reach|add_to|sum|be_worth|make_up|run_to"
_UPS = (
    "adding_up_to|totalling|totaling|coming_to|summing_to|summing_up_to|amounting_to|worth|that_add_up_to"
    "|that_total|that_come_to|which_add_up_to|which_total"
)
_OVER = f"{MORE_THAN}|higher_than|greater_than"
_MOST = (
    f"{AT_MOST}|at_or_below|at_or_under|within|a_total_of|a_total_of_at_most|a_total_of_no_more_than"
    "|at_most_a_total_of|no_more_than_a_total_of|a_limit_of|not_higher_than|not_greater_than"
)
_EXCEED = (
    "exceed|be_more_than|be_over|be_above|go_above|go_over|go_beyond|top|surpass|be_higher_than"
    "|be_greater_than"
    "|go_higher_than|be_larger_than|rise_above|climb_above|total_more_than|be_allowed_to_exceed"
)
_BELOW = "below|under|less_than|fewer_than"
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
    "|an_overall_total_of|a_grand_total_of|a_total_budget_of|a_sum_total_of|a_total_sum_of|a_budget_of"
)
_NEVER = "never|do_not|never_ever"
_BEING = f"{MAY}|{SHOULD}"
_BEFORE = f"{TOTAL}|across_the_board|put_together|all_of_it_together"

_WHAT = "what|whatever|everything|all|all_that|all_money|money|the_money|all_the_money|the_amount|the_amounts"
_TAKE = (
    "change|cover|use|consume|touch|have|contain|comprise|load|hold|cost|weigh|affect|involve|carry|take|remove|add"
    "|write|delete|create|insert|move|hit|concern"
)
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
        event = with_mods({"e": event, "m": p.get("m", ())})
        most = f"{how} {number}"
        return Demand(
            "sum", (replace(event, single=False),), how=field or field_added(event, unit), number=most
        )

    return made


def _of_unit(how: str = "at most") -> Made:
    """`All edits together change fewer than 400 lines`: what they change is added."""
    return lambda p: _sum(how)(p) if p["n"][1] else None


def _of_a_run(p: Parts) -> tuple[Event, str]:
    event, field = p["a"]
    return replace(event, beside=(*event.beside, Adjunct("run", said=p["r"]))), field


def several_added(grammar: Grammar, at: int) -> Iterator[Found]:
    """`refund`, of `the refund amount`; that of `a refund` is of each by itself."""
    if not compiled(r" *(?:an?|each|every|any|one|no|that|this)\b").match(grammar.text, at):
        yield from grammar.matches("added", at)


def _plural(p: Parts) -> Event | None:
    """All of them: `a refund` is each by itself."""
    event: Event = p["a"]
    return None if event.single else event


def _acts(p: Parts) -> Event | None:
    """What is done to several; said of each, or of the same, it is counted for each of them."""
    events, _ = p["e"]
    if len(events) != 1:
        return None
    [event] = events
    if event.single and event.each and event.noun and not event.role:
        event = with_same(replace(event, single=False), frozenset({singular(event.noun[-1])}))
    own = frozenset({"it", *map(singular, event.noun)})
    return None if event.single or event.same - own else event


def _act(how: str = "at most") -> Made:
    """`Expand each volume by at most 500 GB in total`; what it is done by says what is added."""

    def made(p: Parts) -> Demand | None:
        event = _acts(p)
        if event is None or (p["n"][1] and p.get("x") != "by"):
            return None
        return _sum(how)({**p, "a": event})

    return made


def _given(p: Parts) -> Demand | None:
    """`give refunds worth at most 400`."""
    return None if p["n"][1] else _sum()(p)


def _passively(p: Parts) -> Demand | None:
    """`Guests may be refunded no more than 400 in total`."""
    thing, done, (how, number) = p["t"], p["d"], p["c"]
    if p.get("each") or (thing.single and thing.each and not thing.role):
        thing = replace(thing, single=False, same=thing.same | frozenset(map(singular, thing.noun[-1:])))
    if thing.action != done.action or thing.role != done.role or thing.single:
        return None
    if number[1] and p["x"] != "by":
        return None
    added = replace(done, same=done.same | thing.same, noun=thing.noun)
    return _sum(how)({**p, "a": added, "n": number})


def _limited_to_all(p: Parts) -> Demand | None:
    """`No more than 400 in refunds`: that is all of them, where money is spoken of."""
    how, number = p.get("c") or ("at most", p["n"])
    return _sum(how)({**p, "n": number})


def _in_a_run(p: Parts) -> Demand | None:
    how, number = p.get("c") or ("at most", p["n"])
    event = replace(p["a"], beside=(*p["a"].beside, Adjunct("run", said="run")))
    return _sum(how)({**p, "a": event, "n": number})


def _done_in_a_run(p: Parts) -> Demand | None:
    """`No more than 400 may be refunded per run`."""
    return None if p["n"][1] else _sum()(p)


def _number(how: str) -> Callable[[Parts], tuple[str, tuple[str, str]]]:
    return lambda p: (how, p["n"])


def _limited(p: Parts) -> Demand | None:
    """What is added, and what it may come to."""
    how, number = p["c"]
    return _sum(how)({**p, "n": number})


def _acts_limited(p: Parts) -> Demand | None:
    how, number = p["c"]
    return _act(how)({**p, "n": number})


def _made_limited(p: Parts) -> Demand | None:
    """`Never issue refunds adding up to more than 400`, where the verb is of what is added."""
    verb, thing = p["v"], p["a"]
    return _limited(p) if verb.action == thing.action and not p["c"][1][1] else None


_n = _number("at most")
_below = _number("below")
_NOT_UP = "never|do_not|does_not|can_not|not"
_UPS_NOW = "adds_up_to|totals|comes_to|sums_to|sums_up_to|amounts_to|stays_at|sums"
_STAYS = "is|are|stay|stays|remain|remains|lie|lies|is_kept|are_kept"
_BEYOND = "beyond|above|exceeding|over|past|in_excess_of"
_DOING = (
    "give|make|grant|issue|pay|do|hand_out|allow|permit|place|send|approve|have|perform|carry_out|run|spend"
)
_BUDGET = "budget|limit|cap|maximum|max|ceiling|allowance|quota"
_NO_RUN = "no_run|no_single_run|none_of_the_runs"

TOTALS: dict[str, Rule] = {
    "several added": several_added,
    # what is added
    "added ones": [
        (f"[{_ALL}] {{a:added}}", _plural),
        (f"[{_ALL}] {{a:added}} amounts", _plural),
        ("[the] {a:several added} amount", _plural),
        (f"[the] amounts {_OF} [{_ALL}] {{a:added}}", _plural),
        ("[the] amounts {a:total amount done}", lambda p: p["a"]),
        (f"[{_ALL}] {{a:sole}} {{s:of_one}}", lambda p: with_same(replace(p["a"], single=False), p["s"])),
    ],
    "added in a run": [
        ("{a:added ones}", lambda p: (p["a"], "")),
        ("{a:added ones} {r:scope}", lambda p: _of_a_run({**p, "a": (p["a"], "")})),
        ("a_run's|the_run's|each_run's|every_run's|one_run's|any_run's {a:added ones}",
         lambda p: _of_a_run({"a": (p["a"], ""), "r": "run"})),
    ],
    "in sum": [
        (f"[the] {_SUM} [{_AMOUNT}] [{_OF}] {{a:added ones}} [{_AMOUNT}]", lambda p: (p["a"], "")),
        (f"[the] {_SUM} {{f:word}} {_OF} {{a:added ones}}", lambda p: (p["a"], argument_added(p["f"]))),
        (f"[the] sum|total|sum_total|grand_total {_OF} {{a:added ones}} [{_AMOUNT}]", lambda p: (p["a"], "")),
        (f"[the] sum|total|sum_total {_OF} [{_ALL}] {{f:word}} {_OF} {{a:added ones}}",
         lambda p: (p["a"], argument_added(p["f"]))),
        (f"[the] [{_SUM}] {_AMOUNT} [of_money] {{a:total amount done}}", lambda p: (p["a"], "")),
        (f"the {_AMOUNT} {{a:total amount done}} {TOTAL}", lambda p: (p["a"], "")),
        (f"all {{a:added}} {TOTAL}", lambda p: (p["a"], "")),
        (f"{{a:added ones}} [,] {TOTAL} [,]", lambda p: (p["a"], "")),
        (f"{{a:added in a run}} [,] {TOTAL} [,]", lambda p: p["a"]),
        (f"{{a:added ones}} , {TOTAL} {{r:scope}} [,]", lambda p: _of_a_run({**p, "a": (p["a"], "")})),
        (f"[the] [{_SUM}] {{a:noun_done}} {_AMOUNT}", lambda p: (p["a"], "amount")),
        (f"[the] {_SUM} {{a:several added}} {_AMOUNT}", lambda p: (p["a"], "amount")),
        (f"{_WHAT} [that|which] [is|are|gets|get|was] {{a:noun_done}} [out|back|in_total] [{{s:of_one}}]",
         lambda p: (with_same(p["a"], p["s"]) if "s" in p else p["a"], "")),
        (f"[the] {_SUM} {{a:total amount done}}", lambda p: (p["a"], "")),
        ("[the] sum|total of [all|the|all_the] amounts {a:total amount done}", lambda p: (p["a"], "")),
        (f"{_BEFORE} [,] {{a:added ones}}", lambda p: (p["a"], "")),
        ("[the|a|your] [total|overall] {a:added} total|sum|budget|sum_total", lambda p: (p["a"], "")),
    ],
    "total amount done": [("{a:noun_done} [out|in_total]", lambda p: p["a"]),
                          ("that is|are|gets|get {a:noun_done}", lambda p: p["a"])],
    "in sum of whom": [("{a:in sum}", lambda p: p["a"]),
                       ("{a:in sum} {s:of_one}", lambda p: (with_same(p["a"][0], p["s"]), p["a"][1]))],
    "in sum of a run": [("{a:in sum of whom}", lambda p: p["a"]),
                        ("{a:in sum of whom} {m:mods}",
                         lambda p: (with_mods({"e": p["a"][0], "m": p["m"]}), p["a"][1])),
                        ("{a:in sum} {r:scope} {s:of_one}",
                         lambda p: _of_a_run({**p, "a": (with_same(p["a"][0], p["s"]), p["a"][1])}))],
    # what it may come to
    "most of all": [
        (f"{_MOST} {{n:summed}}", lambda p: p["n"]),
        (f"{{n:summed}} {NO_MORE}|,_no_more|,_not_more", lambda p: p["n"]),
    ],
    "over so much": [(f"{_OVER} {{n:summed}}", _n), ("{n:summed} or_more|and_more", _below)],
    "come to at most": [
        (f"{NO}|{_NOT_UP} [ever] {_EXCEED} {{n:summed}}", _n),
        (f"{NO}|{_NOT_UP} [ever] {_UP} {{c:over so much}}", lambda p: p["c"]),
        (f"{_BEING} [{_STAY}|reach] [only] {{n:most of all}}", _n),
        (f"{_BEING} {_STAY} {_BELOW} {{n:summed}}", _below),
        ("never exceeds|surpasses|tops {n:summed}", _n),
        (f"{_STAYS}|{_UP}|{_UPS_NOW} {{n:most of all}}", _n),
        (f"{_STAYS} {_BELOW} {{n:summed}}", _below),
        ("[,] {n:most of all}", _n),
        (f"is|are|{_BEING} [be] {_LIMITED} {_TO} [{_A_TOTAL}] {{n:summed}}", _n),
        (f", {_LIMITED} {_TO} {{n:summed}}", _n),
    ],
    "come to at most in all": [
        (f"{NO}|{_NOT_UP} [ever] {_UP} {{c:over so much}}", lambda p: p["c"]),
        (f"{_BEING} {_UP} [only] {{n:most of all}}", _n),
        (f"{_UP}|{_UPS_NOW} {{n:most of all}}", _n),
        (f"{_BEING} {_UP} {_BELOW} {{n:summed}}", _below),
        (f"{{c:come to at most}} {TOTAL} [{NO_MORE}]", lambda p: p["c"]),
        (f"{_BEING} {_UP} {{n:summed}} {TOTAL} {NO_MORE}", _n),
        (f"{MAY} {_UP} {{n:summed}} [{TOTAL}]", _n),
        (f"[,] {{n:summed}} is|are [the] [absolute|hard] {_BUDGET}|most [,] {TOTAL}", _n),
        (f"[,] {{n:summed}} {TOTAL} is|are [the] [absolute|hard] {_BUDGET}|most", _n),
        (f"{NO}|{_NOT_UP} [ever] {_EXCEED} {_IN_SUM} {{n:summed}}", _n),
        (f"{_BEING} {_STAY} [{_TO}] {_IN_SUM} {{n:summed}}", _n),
        (f"[,] {_IN_SUM} {{n:most of all}}", _n),
        (f"[,] {{n:summed}} {TOTAL} [,] {NO_MORE}|no_more|not_more", _n),
        (f"{_BEING} {_UP} {{n:summed}} {TOTAL} , no_more|not_more", _n),
        (f"[,] {_IN_SUM} {{n:summed}} [{NO_MORE}]", _n),
        (f", {TOTAL} {{n:most of all}}", _n),
        (f", [{TOTAL}] total|sum [{_AMOUNT}|of_amounts|of_the_amounts|of_all_amounts] [,] "
         f"{{n:most of all}}", _n),
        (f"is|are|{_BEING} [be] {_LIMITED} {_TO} {_IN_SUM} {{n:summed}}", _n),
    ],
    "so much in all": [
        (f"{{n:most of all}} {TOTAL}", _n),
        (f"{TOTAL} [,] {{n:most of all}}", _n),
        (f"{_IN_SUM} {{n:most of all}}", _n),
        (f"[up_to] {_IN_SUM} {{n:summed}}", _n),
    ],
    "too much in all": [
        (f"{{c:over so much}} {TOTAL}", lambda p: p["c"]),
        (f"{TOTAL} [,] {{c:over so much}}", lambda p: p["c"]),
        (f"[{_BEYOND}] {_IN_SUM} {{c:over so much}}", lambda p: p["c"]),
        (f"{_OVER} {_IN_SUM} {{n:summed}}", _n),
        (f"exceeding {{n:summed}} {TOTAL}", _n),
        ("a_total|a_sum|a_cumulative_total|a_combined_total|an_overall_total|a_grand_total {c:over so much}",
         lambda p: p["c"]),
    ],
    "amounting to": [(f"[for|with|of|worth|{_UPS}]", lambda p: True), ("by", lambda p: "by")],
    "totalled": [
        (f"{{a:added in a run}} [,] {TOTAL} [,] [{_BEING}] {_TAKE} {{n:most of all}}", _of_unit()),
        (f"{{a:added in a run}} [,] {TOTAL} [,] [{_BEING}] {_TAKE} {_BELOW} {{n:summed}}", _of_unit("below")),
        (f"{{a:added in a run}} [,] {TOTAL} [,] {NO}|{_NOT_UP} {_TAKE} {_OVER} {{n:summed}}", _of_unit()),
        (f"{{a:added in a run}} [{_BEING}] {_TAKE} {{n:most of all}} {TOTAL}", _of_unit()),
        (f"{{a:added in a run}} [{_BEING}] {_TAKE} {_BELOW} {{n:summed}} {TOTAL}", _of_unit("below")),
        (f"{{a:added in a run}} {NO}|{_NOT_UP} {_TAKE} {_OVER} {{n:summed}} {TOTAL}", _of_unit()),
        ("{a:in sum of a run} {c:come to at most}", _limited),
        (f"{{a:in sum of a run}} {{c:come to at most}} {TOTAL}", _limited),
        ("{a:added in a run} {c:come to at most in all}", _limited),
        # who holds it down
        (f"{_LIMIT} {{a:in sum of a run}} {_TO} [{_A_TOTAL}] {{n:summed}} [{TOTAL}] [or_less|or_below"
         f"|or_under]",
         _sum()),
        (f"keep|hold {{a:in sum of a run}} {_BELOW} {{n:summed}}", _sum("below")),
        (f"{_NEVER} let|allow {{a:in sum of a run}} [to] {_EXCEED} {{n:summed}}", _sum()),
        (f"{_NEVER} let|allow {{a:in sum of a run}} [to] {_UP} {{c:over so much}}", _limited),
        (f"{_NEVER} let|allow {{a:added ones}} [to] {_UP} {{c:over so much}} [{TOTAL}]", _limited),
        (f"{_NEVER} let|allow {{a:added ones}} [to] {_EXCEED} {{n:summed}} {TOTAL}", _sum()),
        (f"{_NEVER} exceed|go_over {{a:in sum of a run}} of {{n:summed}}", _sum()),
        (f"{_LIMIT} {{a:added in a run}} {_TO} {_IN_SUM} {{n:summed}} [{TOTAL}]", _sum()),
        (f"{_LIMIT} {{a:added in a run}} {_TO} [{_A_TOTAL}] {{n:summed}} {TOTAL}", _sum()),
        (f"keep {{a:added in a run}} {_BELOW} {_IN_SUM} {{n:summed}}", _sum("below")),
        (f"keep {{a:added in a run}} {_BELOW} {{n:summed}} {TOTAL}", _sum("below")),
        (f"[{AGENT}] [{_BEING}] stay|keep {_TO} {{n:summed}} for|in|on|with {{a:added ones}} "
         f"{TOTAL}", _sum()),
        (f"[{AGENT}] [{_BEING}] stay|keep {_TO} {{a:in sum of a run}} of {{n:summed}}", _sum()),
        # a limit by itself
        (f"[the] {_BUDGET} of|for|on {{a:in sum of a run}} {{i:is so much}} {{n:summed}}", _sum()),
        (f"[the] {_BUDGET} of|for|on {{a:added in a run}} {{i:is so much}} {{c:so much in all}}", _limited),
        ("[the] budget of|for|on {a:added in a run} {{i:is so much}} {n:summed}", _sum()),
        ("[the|a] [total] {a:added} budget [{r:scope}] {{i:is so much}} {n:summed}", _sum()),
        ("max|maximum {a:in sum of a run} {{i:is so much}} {n:summed}", _sum()),
        (f"[the] max|maximum {_SUM} [{_AMOUNT}] [{_OF}] {{a:added in a run}} [{_AMOUNT}] {{i:is so much}} "
         f"{{n:summed}}",
         _limited_to_all),
        (f"there is|are a {_BUDGET} of {{n:summed}} for|on|of|to {{a:in sum of a run}}", _sum()),
        ("there is|are a [total] budget of {n:summed} for|on|of|to {a:added in a run}", _limited_to_all),
        (f"there is|are a total {_BUDGET} of {{n:summed}} for|on|of|to "
         f"{{a:added in a run}}", _limited_to_all),
        (f"there is|are a {_BUDGET} of {{n:summed}} {TOTAL} for|on|of|to {{a:added in a run}}",
         _limited_to_all),
        (f"{RUNS} has|have [a|an] [total] {{a:added}} budget of {{n:summed}}", _sum()),
        # what is too much
        (f"{{a:in sum of a run}} of|over {{c:over so much}} [{{m:mods}}] is|are [strictly] "
         f"{BANNED}", _limited),
        (f"[a] {{a:in sum of a run}} [of] {{c:over so much}} [{{m:mods}}] is|are [strictly] "
         f"{BANNED}", _limited),
        (f"{{a:added ones}} {_UPS} {{c:over so much}} [{TOTAL}] [{{m:mods}}] is|are [strictly] "
         f"{BANNED}", _limited),
        (f"{{a:added ones}} [of|worth] {{c:too much in all}} [{{m:mods}}] is|are [strictly] "
         f"{BANNED}", _limited),
        (f"{{a:added ones}} {_BEYOND} {_IN_SUM} {{n:summed}} [{{m:mods}}] is|are [strictly] "
         f"{BANNED}", _sum()),
        (f"no {{a:added ones}} {_UPS} {{c:over so much}} [{TOTAL}]", _limited),
        (f"no {{a:added ones}} {_BEYOND} {_IN_SUM} {{n:summed}}", _sum()),
        (f"{{c:over so much}} in [total] {{a:added in a run}} is|are [strictly] {BANNED}", _limited_to_all),
        (f"{_IN_SUM} {{c:over so much}} in {{a:added in a run}} is|are [strictly] {BANNED}", _limited_to_all),
        ("{a:added ones} [of|worth] [up_to] {c:so much in all} [is|are] [allowed|permitted|ok"
         "|fine]", _limited),
        (f"{TOTAL} [,] {{a:added ones}} [of|worth] {{n:most of all}} [is|are] [allowed|permitted|ok|fine]",
         _sum()),
        # so much may be done
        (f"{_MOST} {{n:summed}} {MAY} be {{a:noun_done}} {{r:scope}}", _done_in_a_run),
        (f"{_MOST} {{n:summed}} {MAY} be {{a:noun_done}} {TOTAL} [{{r:scope}}]", _done_in_a_run),
        (f"{_MOST} {{n:summed}} {TOTAL} {MAY} be {{a:noun_done}} [{{r:scope}}]", _done_in_a_run),
        (f"{_MOST} {{n:summed}} {{a:noun_done}} {{r:scope}}", _done_in_a_run),
        (f"{_MOST} {{n:summed}} {TOTAL} [is|are] [allowed|permitted] for|in|on|of|across|over "
         f"{{a:added in a run}}",
         _limited_to_all),
        # an agent
        (f"[{AGENT}] [{_BEING}] [only] {{e:acts}} {{x:amounting to}} [only] "
         f"{{c:so much in all}}", _acts_limited),
        (f"[{AGENT}] [{_BEING}] [only] {{e:acts}} {_UPS} {{n:most of all}}", _act()),
        (f"{_NEVER} [ever] {{e:acts}} {{x:amounting to}} {{c:too much in all}}", _acts_limited),
        (f"{_NEVER} [ever] {{e:acts}} {_UPS} {{c:over so much}}", _acts_limited),
        (f"{_NEVER} [ever] {{e:acts}} {_BEYOND} {_IN_SUM} {{n:summed}}", _act()),
        (f"{AGENT} {NO}|do_not|does_not|never [ever] {{e:acts}} {{x:amounting to}} "
         f"{{c:too much in all}}", _acts_limited),
        (f"{AGENT} {NO}|do_not|does_not [ever] {{e:acts}} {_UPS} {{c:over so much}}", _acts_limited),
        (f"{AGENT} {NO} [ever] {{e:acts}} {_BEYOND} {_IN_SUM} {{n:summed}}", _act()),
        (f"{NOBODY} {_BEING} [ever] {{e:acts}} {{x:amounting to}} {{c:too much in all}}", _acts_limited),
        (f"{{e:events}} {{x:amounting to}} {{c:too much in all}} [{{m:mods}}] is|are [strictly] {BANNED}",
         _acts_limited),
        (f"{{e:events}} {_UPS} {{c:over so much}} [{{m:mods}}] is|are [strictly] {BANNED}", _acts_limited),
        (f"{{e:events}} {_BEYOND} {_IN_SUM} {{n:summed}} [{{m:mods}}] is|are [strictly] {BANNED}", _act()),
        ("{e:events} is|are [only] allowed|permitted|limited|restricted|capped [up_to|to|at] "
         "{c:so much in all}",
         _acts_limited),
        (f"it is [strictly] {BANNED} to {{e:acts}} {{x:amounting to}} {{c:too much in all}}", _acts_limited),
        (f"[{AGENT}] [{_BEING}] [only] {_DOING} {{a:added}} {_UPS}|of|for {{c:so much in all}}", _limited),
        (f"[{AGENT}] [{_BEING}] [only] {_DOING} {{a:added}} {_UPS} {{n:most of all}}", _given),
        (f"{_NEVER} [ever] {_DOING} {{a:added}} {_UPS} {{c:over so much}} [{TOTAL}]", _limited),
        (f"{AGENT} {NO} [ever] {_DOING} {{a:added}} {_UPS} {{c:over so much}} [{TOTAL}]", _limited),
        (f"{AGENT} {NO} [ever] {{v:verb}} {{a:thing}} {_UPS} {{c:over so much}} {TOTAL}", _made_limited),
        (f"{_NEVER} exceed|go_over|go_above|go_beyond|surpass [{_IN_SUM}] {{n:summed}} [{TOTAL}] "
         f"in|on|of|for|with [total] {{a:added in a run}} [{TOTAL}]", _limited_to_all),
        (f"{AGENT} {NO} exceed|go_over|go_above|go_beyond [{_IN_SUM}] {{n:summed}} [{TOTAL}] in|on|of|for"
         f"|with "
         f"[total] {{a:added in a run}} [{TOTAL}]", _limited_to_all),
        (f"{_MOST} {{n:summed}} in {{a:added in a run}} [{TOTAL}] [is|are] [allowed|permitted]", _sum()),
        # a run
        (f"{RUNS} {NO} exceed|have|contain|see|make [more_than] {{n:summed}} in {{a:added ones}}", _in_a_run),
        (f"{_NO_RUN} {_BEING} exceed|have|contain|see|make [more_than] {{n:summed}} in "
         f"{{a:added ones}}", _in_a_run),
        (f"{RUNS} {NO} have|contain|see|make {{a:added}} [of|worth|{_UPS}] {{c:too much in all}}", _in_a_run),
        (f"{_NO_RUN} {_BEING} have|contain|see|make {{a:added}} [of|worth|{_UPS}] "
         f"{{c:too much in all}}", _in_a_run),
        (f"{_NO_RUN} {_BEING} have|contain|see|make {{a:added}} {_UPS} {{c:over so much}}", _in_a_run),
        (f"{RUNS} {_BEING} have|contain|see|make {{a:added}} [of|worth|{_UPS}] "
         f"{{c:so much in all}}", _in_a_run),
        # those to whom it is done
        (f"{{t:object}} {_BEING}|is|are [only] [be] {{d:past}} {{x:amounting to}} [only] "
         f"{{c:so much in all}}",
         _passively),
        (f"{{t:object}} {NO} [ever] be {{d:past}} {{x:amounting to}} {{c:too much in all}}", _passively),
        (f"no|no_single {{t:object}} {_BEING}|is|are [ever] [be] {{d:past}} {{x:amounting to}} "
         "{c:too much in all}", lambda p: _passively({**p, "each": True})),
        (f"{{t:object}} {_BEING}|is|are [only] [be] {{d:past}} {{x:amounting to}} {{n:most of all}} "
         f"each {TOTAL}",
         lambda p: _passively({**p, "c": _n(p), "each": True})),
        # over all of them
        (f"across|over|for|of|in {{a:added in a run}} [,] {{n:most of all}} [{TOTAL}]", _of_unit()),
        (f"across|over|for|of|in {{a:added in a run}} , the|their|a [{_SUM}] {_AMOUNT}|total|sum "
         "{c:come to at most}", _limited),
    ],
}  # fmt: skip
