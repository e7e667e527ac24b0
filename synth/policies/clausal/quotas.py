"""How often and how many at most, composed: each way to say a number in each frame, of all that is counted.

What is counted is named by a noun (`text messages`), by what is done (`keys issued for a room`), by its verb;
a number is a limit (`at most 3`) or beyond one (`more than 3`, `a fourth`); a frame asks for the first or
forbids the second. How long, of what and over what is said by the adjuncts of any clause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.counts import CEILING
from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive, with_mods
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, with_same
from synth.policies.clausal.totals import TOTAL as IN_ALL
from synth.policies.clausal.varieties import in_a_run
from synth.policies.clausal.words import (
    AGENT,
    AT_MOST,
    BANNED,
    HAPPEN,
    MAY,
    MORE_THAN,
    NO,
    NO_MORE,
    NOBODY,
    NOT_A_THING,
    RUNS,
    SHOULD,
)
from synth.policies.patterns import compiled

Number = tuple[str, int]
"""How (`at most`, or `just` where it is said behind that there are no more), and how many."""

_NEVER = "never|do_not|never_ever|under_no_circumstances|in_no_case|on_no_account"
_BEING = f"{MAY}|{SHOULD}"
_IS = "is|are|gets|get"
_MAKE = (
    "make|do|place|perform|carry_out|run|execute|start|create|have|allow|permit|conduct|accept|trigger"
    "|initiate"
    "|attempt|try|see|tolerate|want|take|launch"
)
_MAKES = (
    "makes|does|places|performs|carries_out|runs|executes|starts|creates|has|allows|permits|conducts|accepts"
    "|triggers|initiates|attempts|tries|sees|tolerates|takes|launches"
)
_MADE = (
    "made|done|placed|performed|carried_out|executed|started|created|conducted|triggered|initiated|accepted"
    "|attempted|tried|allowed|permitted"
)
_GIVE = "give|send|grant|allow|offer|issue|award|permit"
_GET = (
    "get|receive|have|be_given|be_granted|be_entitled_to|be_allowed|be_permitted|be_issued|be_sent|be_offered"
    "|see|obtain|be_limited_to|be_restricted_to|be_awarded"
)
GETS = (
    "gets|receives|has|is_given|is_granted|is_entitled_to|is_allowed|is_permitted|is_issued|is_sent|obtains"
    "|is_offered|sees|is_limited_to|is_restricted_to|is_awarded"
)
_LIMIT = "limit|restrict|cap|keep|hold|confine"
LIMITED = "limited|restricted|capped|kept|held|confined"
_HAPPENS = "happen|happens|occur|occurs|take_place|takes_place|run|runs"
_UP_TO = (
    f"{AT_MOST}|a_limit_of|a_total_of|as_many_as|a_cap_of|a_quota_of|a_budget_of|an_allowance_of|a_ceiling_of"
    "|a_total_of_at_most|a_total_of_no_more_than|at_most_a_total_of|no_more_than_a_total_of|up_to_a_total_of"
    "|a_total_of_up_to"
)
EXCEED = (
    "exceed|be_more_than|be_over|be_above|be_higher_than|be_greater_than|go_above|go_over|go_beyond|surpass"
    "|rise_above|number_more_than"
)
STAY = "be|stay|remain|not_exceed|number|be_kept|lie"
_TIMES = "times|time|calls|call|tries|try|attempts|attempt|uses|use|occasions"
_FORBIDDEN = "forbidden|prohibited|barred|banned|kept|prevented|stopped|blocked|disallowed"
_FINE = "ok|okay|fine|allowed|permitted|acceptable|permissible|alright|possible"
_AVOID = "refrain_from|abstain_from|avoid|refuse"


def _most(p: Parts) -> Number:
    return "at most", p["n"]


def _beyond(p: Parts) -> Number | None:
    """`Two or more` are more than one."""
    return ("at most", p["n"] - 1) if p["n"] > 1 else None


def limit_on(event: Event | None, number: Number) -> Demand | None:
    if event is None or number[1] < 1:
        return None
    return Demand("count", (event,), how=number[0], number=number[1])


def counted_as_said(p: Parts) -> Demand | None:
    return limit_on(p["e"], p["c"])


def _held_to(p: Parts) -> Demand | None:
    """`Limit yourself to three bookings`."""
    how, number = p["c"]
    return None if how in ("at least", "exactly") else limit_on(p["e"], ("at most", number))


def _held_for_each(p: Parts) -> Demand | None:
    """`Limit each order to three labels`."""
    how, number = p["c"]
    return None if how in ("at least", "exactly") else _of_each({**p, "c": ("at most", number)})


def _in_a_row(p: Parts) -> Event:
    """`Consecutive searches`."""
    event: Event = p["e"]
    return replace(event, beside=(*event.beside, Adjunct("in a row")))


def _several(p: Parts) -> Demand | None:
    """`Bookings must not exceed three`; of a single one it is said what it comes to."""
    return None if p["e"].single else counted_as_said(p)


def several(grammar: Grammar, at: int) -> Iterator[Found]:
    """What is counted, said of several or by their number: `bookings`, and no `booking`."""
    for event, end in grammar.matches("counted", at):
        if compiled(r"[a-rt-z]s\b|\bnumber of\b").search(grammar.text, at, end):
            yield event, end


def all_such(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Customers`, of whom it is said behind that it is of each of them."""
    m = compiled(r" *(?:all |the |all the )?(?P<f>[a-z_]{2,}[a-rt-z]s)(?![\w'-])").match(grammar.text, at)
    if m and singular(m["f"].lower()) not in NOT_A_THING:
        yield frozenset({singular(m["f"].lower())}), m.end()


def _of_each(p: Parts) -> Demand | None:
    """Said of each of those whose kind is named: `each room gets three keys at most`."""
    return limit_on(with_same(p["e"], p["w"]), p["c"])


def _object(p: Parts) -> Event | None:
    """`book three taxis`, where the verb is of what is done to such a thing."""
    verb, thing = p["v"], p["t"]
    return thing if verb.action == thing.action and verb.role == thing.role else None


def _done_to_each(p: Parts) -> Demand | None:
    """`No reservation may be upgraded twice`, where one action alone has the verb."""
    event: Event = p["e"]
    same: frozenset[str] = p["w"]
    return None if same & set(map(singular, event.noun)) else limit_on(with_same(event, same), p["c"])


def _to_each(p: Parts) -> Demand | None:
    """`Send each guest two messages at most`."""
    event = _object(p)
    return None if event is None else limit_on(with_same(event, p["w"]), p["c"])


def _issued_to_each(p: Parts) -> Demand | None:
    """`No room may be issued three keys`: what is issued is what the verb is of."""
    return _of_each(p) if p["e"].action in p["g"] else None


def _passive(p: Parts) -> Demand | None:
    return limit_on(passive(p), p["c"])


def _often(p: Parts) -> Demand | None:
    """So often an action, whose single object leaves open whether each of them is meant."""
    return demanding("count")(p)


def _leading(p: Parts) -> Demand | None:
    """`At most three times per order, print labels`."""
    events, joint = p["e"]
    over = tuple(with_mods({**p, "e": event}) for event in events)
    return _often({"e": (over, joint), "c": p["c"]})


def _in_a_run(p: Parts) -> Demand | None:
    demand: Demand | None = p["q"]
    return None if demand is None else in_a_run(demand)


def _each_does(p: Parts) -> Demand | None:
    """`A customer may open three disputes`: each by itself."""
    demand: Demand | None = p["q"]
    if demand is None or demand.joint or any(event.single for event in demand.events):
        return None
    return replace(demand, events=tuple(with_same(event, p["w"]) for event in demand.events))


def _run_does(p: Parts) -> Demand | None:
    """`Each run pages the duty manager at most once`."""
    demand = _often({"e": ((p["e"],), ""), "c": p["c"]})
    return None if demand is None else in_a_run(demand)


def _said(p: Parts) -> Demand | None:
    """What was said so, with what stands behind it in the middle of the clause."""
    demand: Demand = p["q"]
    if "m" not in p:
        return demand
    return replace(demand, events=tuple(with_mods({"e": event, "m": p["m"]}) for event in demand.events))


def _only(p: Parts) -> Demand | None:
    """`Only allowed to order once`."""
    demand: Demand = p["q"]
    return replace(demand, how="at most") if demand.how in ("just", "at most") else None


def _clauses(first: str, slot: str) -> list[tuple[str, Callable[[Parts], Demand | None]]]:
    """What an agent does so often or too often: each verb, each number, each place of it."""
    return [
        (f"{{e:acts}} {{c:{slot} often}}", _often),
        (f"{{e:one_act}} {{c:{slot} often}}", counted_as_said),
        (f"{{v:verb}} {{c:{slot} many}} {{t:object}}", lambda p: limit_on(_object(p), p["c"])),
        (f"{_MAKE} {{c:{slot} many}} {{e:counted}}", counted_as_said),
        (f"{_GIVE} [to] {{w:each of}} {{c:{slot} many}} {{e:counted}}", _of_each),
        (f"{{v:verb}} [to] {{w:each of}} {{c:{slot} many}} {{t:thing}}", _to_each),
        (f"{first} {{n:number}} {{e:counted}}", lambda p: counted_as_said({**p, "c": _most(p)})),
    ]


QUOTAS: dict[str, Rule] = {
    # numbers
    "limited many": [
        ("{c:limit}", lambda p: p["c"]),
        (f"{_UP_TO} {{n:number}}", _most),
        (f"only|just [{_UP_TO}] {{n:number}}", _most),
        ("{n:number}", lambda p: ("just", p["n"])),
    ],
    "limited often": [
        ("{c:limit}", lambda p: p["c"]),
        ("exactly|precisely once", lambda p: ("exactly", 1)),
        ("{n:number} times|time exactly|precisely", lambda p: ("exactly", p["n"])),
        ("once exactly|precisely", lambda p: ("exactly", 1)),
        (f"[only] {_UP_TO} {{n:number}} [{_TIMES}]", _most),
        (f"{_UP_TO} {{n:number}} {_TIMES} in_total|altogether|overall", _most),
        (f"{_UP_TO} once", lambda p: ("at most", 1)),
        ("{c:in times}", lambda p: p["c"]),
    ],
    "in times": [
        (f"[only] {_UP_TO} {{n:number}} {_TIMES}", _most),
        (f"only {{n:number}} {_TIMES}", _most),
        ("only once", lambda p: ("at most", 1)),
        (f"{{n:number}} {_TIMES} only|{NO_MORE}", _most),
        ("{n:number} times|time", lambda p: ("just", p["n"])),
        ("once", lambda p: ("just", 1)),
    ],
    "excess many": [
        (f"{MORE_THAN}|more_than_a_total_of {{n:number}}", _most),
        ("{n:number} or_more|and_more|or_even_more", _beyond),
        ("{n:number}", _beyond),
        ("a|any {n:nth}", _beyond),
    ],
    "excess often": [
        (f"{MORE_THAN}|more_often_than|more_than_a_total_of {{n:number}} {_TIMES}", _most),
        (f"{{n:number}} {_TIMES} [or_more|or_more_often]", _beyond),
        (f"{{n:number}} or_more {_TIMES}", _beyond),
        ("a|for_a|for_the {n:nth} time", _beyond),
    ],
    "cap": [
        (f"[only|just] {{n:number}} [{_TIMES}|of_them|only|{NO_MORE}]", _most),
        (f"{_UP_TO} {{n:number}} [{_TIMES}|of_them]", _most),
        ("once|one_time|a_single_one|only_once|at_most_once|a_single_time", lambda p: ("at most", 1)),
    ],
    "bounded": [
        ("to|at {c:cap}", lambda p: p["c"]),
        ("to|at {c:limited many}", lambda p: p["c"]),
        ("at_or_below|at_or_under|within|to_at_most|at_at_most|no_higher_than {n:number}", _most),
        ("to|at {n:number} or_fewer|or_less|or_below|or_under|or_lower", _most),
        ("below|under|less_than|fewer_than|lower_than|to_below|to_under|to_fewer_than {n:number}", _beyond),
    ],
    "bounded to": [
        ("at_or_below|at_or_under|within|below_or_at|under_or_at {n:number}", _most),
        ("below|under {n:number}", _beyond),
    ],
    # what is counted
    "counted": [
        ("{e:event}", lambda p: p["e"]),
        ("{e:ordered}", lambda p: p["e"]),
        ("{e:ordered} {m:mods}", with_mods),
        ("{e:event} {s:one of them}", lambda p: with_same(replace(p["e"], single=False), p["s"])),
        ("consecutive|successive|back-to-back {e:counted}", _in_a_row),
        ("{t:object} {d:past}", passive),
        ("{s:number_of} {e:counted}", lambda p: p["e"]),
        ("[the|all] total|overall {e:event}", lambda p: p["e"]),
        (f"[all] {{e:event}} {IN_ALL}", lambda p: p["e"]),
        ("{s:number_of} times [that] {t:object} is|are|gets|get|was {d:past}", passive),
        (f"{{s:number_of}} times [that] {AGENT} {{e:does}}", with_mods),
    ],
    "several of them": several,
    "a number": [("{s:number_of} {e:counted}", lambda p: p["e"])],
    "number_of": [("[the] [total|overall|maximum] number|count|total of", lambda p: True)],
    "each of": [
        ("each|every|any|the_same|a|an|one|any_one|each_single|any_single|a_single|one_and_the_same|any_given"
         "|every_single|one_single|a_given|the_very_same {w:one field}", lambda p: frozenset({p["w"]})),
    ],
    "all such": all_such,
    "none of": [("no|no_single|not_a_single|no_one {w:one field}", lambda p: frozenset({p["w"]}))],
    "window": [("{a:an_hour}", lambda p: p["a"]), ("{a:in so short}", lambda p: p["a"])],
    "in so short": [
        ("in_less_than|in_under|within_less_than {d:time}", lambda p: Adjunct("an hour", time=p["d"])),
    ],
    "adjunct": [("{a:in so short}", lambda p: p["a"])],
    # what an agent does
    "does so many": [
        *_clauses("keep|stay|stick [it] [to|at|within|below_or_at]|with", "limited"),
        (f"{_LIMIT} {{e:counted}} to|at {{c:cap}}", _several),
        (f"{_LIMIT}|stick [it|yourself|itself|themselves|oneself|things] to|at {{c:limited many}} "
         f"{{e:counted}}",
         _held_to),
        ("make_do|do|manage|get_by with {c:limited many} {e:counted}", counted_as_said),
        ("allow|permit [for] [only] {c:limited many} {e:counted}", counted_as_said),
        (f"set|put|impose|apply|enforce|observe|respect a|the {CEILING} of {{n:number}} for|on|to "
         f"{{e:counted}}",
         lambda p: counted_as_said({**p, "c": _most(p)})),
        (f"set|impose|apply|enforce|observe|respect a|the {CEILING} of {{n:number}} {{e:counted}}",
         lambda p: counted_as_said({**p, "c": _most(p)})),
        ("keep|hold|leave {e:several of them} {c:bounded}", _several),
        ("stay|keep|remain [at] {c:bounded to} {e:counted}", counted_as_said),
        ("allow|permit {e:events} {c:limited often}", _often),
        (f"{_LIMIT} {{w:each of}} to|at {{c:limited many}} {{e:counted}}", _held_for_each),
        ("allow|permit|give|grant {w:none of} {c:excess many} {e:counted}", _of_each),
    ],
    "he does so many": [
        ("{e:does} {c:limited often}", lambda p: _often({"e": ((p["e"],), ""), "c": p["c"]})),
        ("{v:verbs} {c:limited many} {t:object}", lambda p: limit_on(_object(p), p["c"])),
        (f"{_MAKES} {{c:limited many}} {{e:counted}}", counted_as_said),
        ("{v:verbs} [to] {w:each of} {c:limited many} {t:thing}", _to_each),
    ],
    "he does too many": [
        ("{e:does} {c:excess often}", lambda p: _often({"e": ((p["e"],), ""), "c": p["c"]})),
        ("{v:verbs} {c:excess many} {t:object}", lambda p: limit_on(_object(p), p["c"])),
        (f"{_MAKES} {{c:excess many}} {{e:counted}}", counted_as_said),
        ("{v:verbs} [to] {w:each of} {c:excess many} {t:thing}", _to_each),
    ],
    "does too many": _clauses("exceed|go_over|go_beyond|go_above", "excess"),
    "doing too many": [
        ("{e:events} {c:excess often}", _often),
        ("{e:doing_one} {c:excess often}", counted_as_said),
        ("{c:excess many} {e:counted}", counted_as_said),
        ("{v:verbing} {c:excess many} {t:object}", lambda p: limit_on(_object(p), p["c"])),
        ("{v:verbing} [to] {w:each of} {c:excess many} {t:thing}", _to_each),
        ("making|doing|placing|performing|having|giving|allowing|granting {c:excess many} "
         "{e:counted}", counted_as_said),
        ("giving|sending|granting|allowing|issuing [to] {w:each of} {c:excess many} {e:counted}", _of_each),
    ],
    # whole clauses
    "demand": [
        # an agent
        ("{q:does so many}", _said),
        (f"{AGENT} {_BEING} [only|always|ever] {{q:does so many}}", _said),
        (f"{AGENT} is|are only allowed|permitted to {{q:does so many}}", _only),
        (f"{AGENT} {MAY} only {{q:does so many}}", _only),
        (f"{AGENT} {_BEING} , at_most , {{q:does so many}}", _said),
        (f"{_NEVER} [ever] {{q:does too many}}", _said),
        ("never|not {q:doing too many}", lambda p: _said(p) if p["q"].number > 1 else None),
        ("never|not a|any {k:nth} {e:counted}",
         lambda p: limit_on(p["e"], ("at most", p["k"] - 1)) if p["k"] > 1 else None),
        (f"{AGENT} {NO}|is_forbidden_to|are_forbidden_to|must_in_no_case [ever] {{q:does too many}}", _said),
        (f"{AGENT} never {{q:does too many}}", _said),
        (f"{NOBODY} {_BEING} [ever] {{q:does too many}}", _said),
        (f"it is [strictly] {BANNED} to {{q:does too many}}", _said),
        (f"{_AVOID} {{q:doing too many}}", _said),
        (f"{AGENT} {SHOULD} {_AVOID} {{q:doing too many}}", _said),
        ("you|we|they|agents|the_agents {q:does so many}", _said),
        (f"{AGENT} {{q:he does so many}}", _said),
        (f"{AGENT} never {{q:he does too many}}", _said),
        (f"{AGENT} do_not|does_not {{q:does too many}}", _said),
        (f"{_NEVER} {_BEING} {AGENT} {{q:does too many}}", _said),
        (f"{_NEVER} {_BEING} {{t:object}} be {{d:past}} {{c:excess often}}", _passive),
        (f"{_NEVER} {_BEING} there be {{c:excess many}} {{e:counted}}", counted_as_said),
        (f"{AGENT} is|are {_FORBIDDEN} from {{q:doing too many}}", _said),
        (f"{{c:limited often}} {MAY} {AGENT} {{e:acts}}", _often),
        (f"{{c:limited often}} {MAY} {{t:object}} be {{d:past}}", _passive),
        ("{c:limited often} [{m:mods}] , {e:acts}", _leading),
        (f"it is {_FINE} to {{q:does so many}}", _said),
        (f"{{q:doing too many}} [{{m:mods}}] is|are [strictly] {BANNED}", _said),
        (f"{{q:doing too many}} [{{m:mods}}] {NO} {HAPPEN}|be_allowed"
         f"|be_{_MADE.replace('|', '|be_')}", _said),
        (f"{RUNS} {_BEING} {{q:does so many}}", _in_a_run),
        (f"{RUNS} {NO} {{q:does too many}}", _in_a_run),
        (f"no run {_BEING} {{q:does too many}}", _in_a_run),
        (f"{RUNS} {{e:does}} {{c:limited often}}", _run_does),
        ("no_run|no_single_run [ever] {q:he does too many}", _in_a_run),
        (f"{RUNS} never {{q:he does too many}}", _in_a_run),
        (f"{RUNS} that|which {{q:he does too many}} is|are [strictly] {BANNED}", _in_a_run),
        (f"{RUNS} {{q:he does so many}}", _in_a_run),
        (f"{{w:each of}} {_BEING} {{q:does so many}}", _each_does),
        (f"{{w:each of}} {NO} [ever] {{q:does too many}}", _each_does),
        (f"{{w:none of}} {_BEING} [ever] {{q:does too many}}", _each_does),
        (f"{RUNS} {_BEING} have|see|contain|include|make|be_limited_to {{c:limited many}} {{e:counted}}",
         lambda p: in_a_run(d) if (d := counted_as_said(p)) else None),
        # what is counted
        ("{c:limited many} {e:counted}", counted_as_said),
        (f"[the|a] maximum|max|largest|highest [allowed|permitted] number of {{e:counted}} is|are"
         f"|{SHOULD} [be] "
         "{n:number}", lambda p: _several({**p, "c": _most(p)})),
        (f"{{e:counted}} {_BEING} [be] {LIMITED} to|at {{c:cap}}", _several),
        (f"{{e:counted}} is|are [strictly] {LIMITED} to|at {{c:cap}}", _several),
        ("{e:counted} is|are allowed|permitted|ok|okay|fine|possible {c:in times}", counted_as_said),
        ("{e:counted} is|are only allowed|permitted "
         "{c:in times}", lambda p: counted_as_said({**p, "c": ("at most", p["c"][1])})),
        (f"{{e:several of them}} {NO} [ever] {EXCEED} "
         f"{{n:number}}", lambda p: _several({**p, "c": _most(p)})),
        (f"{{e:several of them}} {_BEING} {STAY} {{c:cap}}",
         lambda p: None if p["c"][0] != "at most" else _several(p)),
        (f"{{e:a number}} {_BEING} {STAY} {{c:bounded}}",
         lambda p: None if p["c"][0] != "at most" else _several(p)),
        (f"{{e:a number}} {_BEING} {STAY} {{n:number}} or_fewer|or_less|or_below|or_under",
         lambda p: _several({**p, "c": _most(p)})),
        (f"{{e:several of them}} {_BEING} stay|remain|number|be_kept {{c:bounded}}",
         lambda p: None if p["c"][0] != "at most" else _several(p)),
        (f"{{e:several of them}} {NO} [ever] {EXCEED} {{n:number}} in_number|in_total|altogether",
         lambda p: _several({**p, "c": _most(p)})),
        (f"{{e:counted}} {MAY} {HAPPEN} {{c:in times}}", counted_as_said),
        (f"{{e:counted}} {_HAPPENS} {{c:limited often}}", _several),
        (f"{{e:counted}} never {_HAPPENS} {{c:excess often}}", _several),
        ("{c:limited many} {e:counted} is|are [the] [absolute|hard|allowed] maximum|limit|max|cap"
         "|upper_limit",
         lambda p: counted_as_said({**p, "c": ("at most", p["c"][1])})),
        ("{c:limited many} {e:counted} is|are allowed|permitted|ok|okay|fine|acceptable|enough|possible",
         counted_as_said),
        (f"{{c:limited many}} {{e:counted}} {_BEING} {HAPPEN}|be_{_MADE.replace('|', '|be_')}",
         counted_as_said),
        (f"{{c:limited many}} {{t:object}} {_BEING} be {{d:past}}", _passive),
        (f"{{c:limited many}} {{t:object}} {_IS} {{d:past}}", _passive),
        (f"{AGENT} allow|allows|permit|permits|accept|accepts [only] {{c:limited many}} "
         f"{{e:counted}}", counted_as_said),
        (f"there {_BEING} [only] be [only] {{c:limited many}} {{e:counted}}", counted_as_said),
        (f"there {NO} [ever] be {{c:excess many}} {{e:counted}}", counted_as_said),
        ("there is|are {c:limited many} {e:counted}", counted_as_said),
        ("there is|are never {c:excess many} {e:counted}", counted_as_said),
        ("the [hard|absolute|upper] maximum|limit|cap|max for|on|of {e:counted} is {c:cap}", counted_as_said),
        ("[the] maximum|max|limit [number] [of|for|on] {e:counted} , {n:number}",
         lambda p: counted_as_said({**p, "c": _most(p)})),
        ("[the] maximum|max {e:counted} , {n:number}", lambda p: counted_as_said({**p, "c": _most(p)})),
        ("{e:counted} , {c:limited often} [only]", counted_as_said),
        ("{w:each of} , {c:limited many} {e:counted}", _of_each),
        ("{e:counted} , {c:cap}", lambda p: counted_as_said({**p, "c": ("just", p["c"][1])})),
        # what is done to something
        (f"{{t:object}} {MAY} [only] be {{d:past}} {{c:limited often}}", _passive),
        (f"{{t:object}} {_IS} [only] {{d:past}} {{c:limited often}}", _passive),
        (f"{{t:object}} {NO} [ever] be|get {{d:past}} {{c:excess often}}", _passive),
        ("{t:object} is|are never|not [ever] {d:past} {c:excess often}", _passive),
        (f"{{c:excess many}} {{t:object}} {NO} [ever] be|get {{d:past}}", _passive),
        (f"no {{c:excess many}} {{t:object}} {_BEING} [ever] be|get {{d:past}}", _passive),
        (f"{{t:object}} {_BEING} be {{d:past}} a_maximum_of|up_to {{n:number}} times",
         lambda p: _passive({**p, "c": _most(p)})),
        # those to whom
        (f"{{w:each of}} {_BEING} [only] {_GET} [only] {{c:limited many}} {{e:counted}}", _of_each),
        (f"{{w:each of}} {GETS} [only] {{c:limited many}} {{e:counted}}", _of_each),
        (f"{{w:each of}} is|are|{_BEING} [be] {LIMITED} to|at {{c:limited many}} "
         f"{{e:counted}}", _held_for_each),
        (f"{{w:each of}} {NO} [ever] {_GET} {{c:excess many}} {{e:counted}}", _of_each),
        (f"{{w:each of}} never {GETS} {{c:excess many}} {{e:counted}}", _of_each),
        (f"{{w:none of}} {_BEING} [ever] {_GET} {{c:excess many}} {{e:counted}}", _of_each),
        (f"{{w:none of}} [ever] {GETS} {{c:excess many}} {{e:counted}}", _of_each),
        (f"{{w:each of}} {_BEING} [only] be {{g:given}} [only] {{c:limited many}} "
         f"{{e:counted}}", _issued_to_each),
        (f"{{w:each of}} {_IS} [only] {{g:given}} [only] {{c:limited many}} {{e:counted}}", _issued_to_each),
        (f"{{w:each of}} {NO} [ever] be {{g:given}} {{c:excess many}} {{e:counted}}", _issued_to_each),
        (f"{{w:none of}} {_BEING} [ever] be {{g:given}} {{c:excess many}} {{e:counted}}", _issued_to_each),
        (f"{{w:none of}} {_IS} [ever] {{g:given}} {{c:excess many}} {{e:counted}}", _issued_to_each),
        (f"{{w:all such}} {NO} [ever] {_GET} {{c:excess many}} {{e:counted}} each|apiece", _of_each),
        (f"{{w:all such}} {_BEING} [only] {_GET} [only] {{c:limited many}} {{e:counted}} each|apiece",
         _of_each),
        (f"{{w:all such}} {NO} [ever] be {{g:given}} {{c:excess many}} {{e:counted}} each|apiece",
         _issued_to_each),
        (f"{{w:all such}} {_BEING} [only] be {{g:given}} [only] {{c:limited many}} {{e:counted}} each|apiece",
         _issued_to_each),
        (f"{{w:none of}} {_BEING} [ever] be {{e:done_alone}} {{c:excess often}}", _done_to_each),
        (f"{{w:none of}} {_IS} [ever] {{e:done_alone}} {{c:excess often}}", _done_to_each),
        (f"{{w:each of}} {NO} [ever] be {{e:done_alone}} {{c:excess often}}", _done_to_each),
        (f"{{w:each of}} {MAY} be {{e:done_alone}} {{c:limited often}}", _done_to_each),
    ],
}  # fmt: skip
