"""Limits that are spoken of themselves: `label limit per run: 3`, `a cap of three calls`, `the most is 3`.

What is counted and the ways to say a number are those of `quotas`; here a limit is the subject, or what lies
beyond it.
"""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.counts import CEILING
from synth.policies.clausal.facts import with_mods
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event, with_same
from synth.policies.clausal.quotas import Number
from synth.policies.clausal.varieties import in_a_run
from synth.policies.clausal.words import AGENT, BANNED, HAPPEN, MAY, NO, NOBODY, RUNS, SHOULD

_BEING = f"{MAY}|{SHOULD}"
_NO_ARGUMENT = CEILING.replace("limit|", "", 1)
"""Words for a limit that no argument is called by."""
_HOLDS = "applies|holds|is_in_force|is_in_place|is_set|exists|is_allowed|is_permitted|is_enough|stands"
_PAST = "beyond|past|after|exceeding|above|over|following"
_TOO_MANY = "too_many|too_much|one_too_many|1_too_many|too_often"
_HAVE = "have|make|do|get|see|contain|include|use|need|perform|run|carry_out|place|take|receive"
_GETS = (
    "gets|get|has|have|receives|is_given|is_granted|is_allowed|is_permitted|is_entitled_to|may_have|can_have"
)
_LIMITED = "limited|restricted|capped|confined|held|kept"
_A_RUN = f"{RUNS}|one_run|any_one_run|a_single_run|any_single_run|each_single_run|one_single_run"
_NO_RUN = "no_run|no_single_run|not_a_single_run|no_one_run|none_of_the_runs"
_ANYTHING = "anything|everything|whatever_is|all|any_number"


def _most(event: Event | None, number: Number) -> Demand | None:
    if event is None or number[1] < 1 or number[0] in ("at least", "exactly"):
        return None
    return Demand("count", (replace(event, single=False),), how="at most", number=number[1])


def _at_most(p: Parts) -> Demand | None:
    """What is counted, and its limit, whichever word stands for it."""
    event: Event = with_mods(p)
    return _most(event, p["c"] if "c" in p else ("at most", p["n"]))


def _exactly_said(p: Parts) -> Demand | None:
    """`The agent gets three refunds`, of which it is said behind that there are no more."""
    how, number = p["c"]
    event: Event = with_mods(p)
    return Demand("count", (event,), how=how, number=number) if number > 0 and how != "at least" else None


def _before_the_nth(p: Parts) -> Demand | None:
    """`No refunds beyond the third`, `a fourth refund is one too many`."""
    return _most(with_mods(p), ("at most", p["k"])) if p["k"] > 0 else None


def _nth(p: Parts) -> Demand | None:
    return _most(with_mods(p), ("at most", p["k"] - 1)) if p["k"] > 1 else None


def _too_many(p: Parts) -> Demand | None:
    """`More than three refunds are too many`, `four refunds are too many`."""
    return _most(p["e"], p["c"])


def _of_run(p: Parts) -> Demand | None:
    demand = _exactly_said(p)
    return None if demand is None else in_a_run(demand)


def _most_in_a_run(p: Parts) -> Demand | None:
    demand = _at_most(p)
    return None if demand is None else in_a_run(demand)


def _too_many_in_a_run(p: Parts) -> Demand | None:
    demand = _too_many(p)
    return None if demand is None else in_a_run(demand)


CEILINGS: dict[str, Rule] = {
    "demand": [
        # a limit
        ("{e:counted} limit {m:mods} , {c:limited many}", _at_most),
        ("{e:counted} limit , {c:limited many} {m:mods}", _at_most),
        ("{n:number} {e:counted} only", _at_most),
        (f"{{e:counted}} {_NO_ARGUMENT} [{{m:mods}}] , {{c:limited many}}", _at_most),
        (f"{{e:counted}} {_NO_ARGUMENT} [{{m:mods}}] is|are {{c:limited many}}", _at_most),
        ("{e:counted} limit {m:mods} is|are {c:limited many}", _at_most),
        (f"{{e:counted}} , [a|the] {CEILING} [of|is] [,] {{n:number}}", _at_most),
        (f"{{e:counted}} , {_LIMITED} to|at {{c:limited many}}", _at_most),
        ("{e:counted} count|number|total [{m:mods}] , {c:limited many}", _at_most),
        ("{e:counted} count|number|total [{m:mods}] {c:up to here}", _at_most),
        (f"[the|a|our] {CEILING} [{{m:mods}}] {{i:is so much}} {{c:limited many}} {{e:counted}}", _at_most),
        (f"there is|are a|the {CEILING} of {{n:number}} [{{m:mods}}] on|for|to {{e:counted}}", _at_most),
        (f"there is|are a|the {CEILING} of {{n:number}} {{e:counted}}", _at_most),
        (f"a|the {CEILING} of {{n:number}} {{e:counted}} {_HOLDS}", _at_most),
        (f"a|the {CEILING} of {{n:number}} [{{m:mods}}] {_HOLDS} [to|for|on] {{e:counted}}", _at_most),
        (f"a|the {CEILING} of {{n:number}} [{{m:mods}}] applies_to|holds_for|is_set_for|is_set_on "
         f"{{e:counted}}",
         _at_most),
        (f"[the] {CEILING} [for|on|of|to] {{e:counted}} {{i:is so much}} [set_to|set_at] "
         f"{{c:limited many}}", _at_most),
        (f"a|the {CEILING} for|on|of {{e:counted}} of {{n:number}} {_HOLDS}", _at_most),
        (f"a|the {{e:counted}} {CEILING} of {{n:number}} {_HOLDS} to|for|on|per {{w:each of}}",
         lambda p: _at_most({**p, "e": with_same(p["e"], p["w"])})),
        # what is counted has a limit
        ("{c:limited many} {e:counted} is|are [the] most|limit|cap|quota|all [that] [is|are] "
         "[allowed|permitted|possible|ok]", _at_most),
        (f"{{c:limited many}} {{e:counted}} is|are the_most|all [that] {AGENT} {_BEING}|gets|get|has "
         f"[{_HAVE}]",
         _at_most),
        (f"{{c:limited many}} {{e:counted}} is|are the_most|all [that] {_A_RUN} {_BEING}|gets|get|has "
         f"[{_HAVE}]",
         _most_in_a_run),
        (f"[the] most {{e:counted}} [that] [{AGENT}] [{_BEING}] [{_HAVE}] is|are "
         f"{{c:limited many}}", _at_most),
        (f"[the] most {{e:counted}} [that] {_A_RUN} [{_BEING}] [{_HAVE}] is|are {{c:limited many}}",
         _most_in_a_run),
        # an agent is limited
        (f"{AGENT} is|are|{_BEING} [be] [strictly] {_LIMITED} to|at {{c:limited many}} "
         f"{{e:counted}}", _at_most),
        (f"{AGENT} [only] {_GETS} [only] {{c:limited many}} {{e:counted}}", _exactly_said),
        (f"{AGENT} {_BEING} {_HAVE} {{c:limited many}} {{e:counted}}", _exactly_said),
        (f"{AGENT} only allow|allows|permit|permits|accept|accepts|tolerate|tolerates|want|wants|have|has "
         "[only] {c:limited many} {e:counted}", _at_most),
        (f"{AGENT} allow|allows|permit|permits|accept|accepts|tolerate|tolerates|want|wants [only] "
         "{c:limited many} {e:counted}", _exactly_said),
        (f"{AGENT} {NO} {_HAVE} {{c:excess many}} {{e:counted}}", _too_many),
        (f"{AGENT} never {_GETS}|makes|contains|sees {{c:excess many}} {{e:counted}}", _too_many),
        (f"{NOBODY} {_GETS}|makes {{c:excess many}} {{e:counted}}", _too_many),
        (f"{NOBODY} {_BEING} [ever] {_HAVE} {{c:excess many}} {{e:counted}}", _too_many),
        # a run is
        (f"{_A_RUN} is|are|{_BEING} [be] [strictly] {_LIMITED} to|at {{c:limited many}} {{e:counted}}",
         _most_in_a_run),
        (f"{_A_RUN} [only] {_GETS} [only] {{c:limited many}} {{e:counted}}", _of_run),
        (f"{_A_RUN} {_BEING} {_HAVE} {{c:limited many}} {{e:counted}}", _of_run),
        (f"{_A_RUN} {NO} {_HAVE} {{c:excess many}} {{e:counted}}", _too_many_in_a_run),
        (f"{_A_RUN} never {_GETS}|makes|contains|sees {{c:excess many}} {{e:counted}}", _too_many_in_a_run),
        (f"{_NO_RUN} {_GETS}|makes|contains|sees|includes {{c:excess many}} "
         f"{{e:counted}}", _too_many_in_a_run),
        (f"{_NO_RUN} {_BEING} [ever] {_HAVE} {{c:excess many}} {{e:counted}}", _too_many_in_a_run),
        (f"{_A_RUN} with|of {{c:excess many}} {{e:counted}} is|are [strictly] {BANNED}", _too_many_in_a_run),
        (f"{_NO_RUN}|never_a_run|no_runs with|of {{c:excess many}} {{e:counted}}", _too_many_in_a_run),
        # what lies beyond
        (f"{{c:excess many}} {{e:counted}} is|are [one] {_TOO_MANY}|{BANNED}", _too_many),
        (f"{_ANYTHING} {{c:excess many}} {{e:counted}} is|are|{NO} [strictly] {BANNED}|{_TOO_MANY}|happen"
         f"|occur",
         _too_many),
        (f"a|the|any|every {{k:nth}} {{e:counted}} [{{m:mods}}] is|are [strictly] {_TOO_MANY}"
         f"|{BANNED}", _nth),
        (f"a|the|any|every {{k:nth}} {{e:counted}} [{{m:mods}}] {NO} [ever] {HAPPEN}", _nth),
        ("no {k:nth} {e:counted} is|are allowed|permitted|ok|okay|acceptable|possible|fine", _nth),
        (f"no {{k:nth}} {{e:counted}} [{{m:mods}}] {_BEING} [ever] {HAPPEN}|follow", _nth),
        (f"never|do_not|{AGENT} {NO} [ever] attempt|try|start|make|do|allow|permit|begin|place|have a|the"
         f"|any "
         "{k:nth} {e:counted}", _nth),
        (f"{{e:counted}} {_PAST} the {{k:nth}} [one] is|are [strictly] {BANNED}", _before_the_nth),
        (f"{{e:counted}} {_PAST} the {{k:nth}} [one] {NO} [ever] {HAPPEN}", _before_the_nth),
        (f"no|never [a|any] [further|more|other] {{e:counted}} {_PAST} the {{k:nth}} [one]", _before_the_nth),
        (f"no|never [a|any] [further|more|other] {{e:counted}} {_PAST} the {{k:nth}} [one] "
         f"is|are allowed|permitted|ok", _before_the_nth),
    ],
    "is so much": [("is|are|equals|must_be", lambda p: True), (",", lambda p: True)],
    "up to here": [
        (f"{NO} [ever] exceed|be_more_than|be_over|be_above|be_higher_than|go_above|go_over|go_beyond "
         "{n:number}", lambda p: ("at most", p["n"])),
        (f"{_BEING} be|stay|remain|lie {{c:cap}}", lambda p: p["c"] if p["c"][0] == "at most" else None),
        (f"{_BEING} be|stay|remain|lie {{c:bounded}}", lambda p: p["c"] if p["c"][0] == "at most" else None),
        ("is|are limited|capped|restricted to|at {n:number}", lambda p: ("at most", p["n"])),
    ],
}  # fmt: skip
