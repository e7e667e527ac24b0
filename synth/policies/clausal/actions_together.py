"""How often, as it is typed in passing: several actions counted as one, each of another, all tool calls."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event, with_same
from synth.policies.clausal.quotas import EXCEED, GETS, LIMITED, STAY, counted_as_said, limit_on
from synth.policies.clausal.totals import TOTAL as IN_ALL
from synth.policies.clausal.varieties import in_a_run
from synth.policies.clausal.words import HAPPEN, MAY, NO, NO_MORE, RUNS, SHOULD

_BEING = f"{MAY}|{SHOULD}"
_NEVER = "never|do_not|never_ever|under_no_circumstances|in_no_case|on_no_account"
_GO = "be|go|be_made|be_sent|concern|happen|be_done|are|is|goes|name|use|share"
_TO = "to|for|on|of|in|with|from|at"
_ANOTHER = "a_different|different|another|its_own|a_separate|a_new|other"


def _repeated(p: Parts) -> Demand | None:
    """`Do not repeat an upgrade with the same booking`, of which it is said."""
    return limit_on(p["e"], ("at most", 1)) if p["e"].same else None


def _no_two(p: Parts) -> Demand | None:
    """`No two indexes with the same name`; within a time they are so far apart."""
    event: Event = p["e"]
    return None if event.beside else _repeated(p)


def _of_another(p: Parts) -> Demand | None:
    """`Every label must be for a different order`."""
    event = with_same(replace(p["e"], single=False), frozenset({p["w"]}))
    if "r" in p:
        event = replace(event, beside=(*event.beside, Adjunct("run", said=p["r"])))
    return limit_on(event, ("at most", 1))


def _together(p: Parts) -> Demand | None:
    """`Terminations plus deletions: 3 at most`, all of them counted as one."""
    (how, number), events = p["c"], p["es"]
    if number < 1 or len({event.action for event in events}) < len(events):
        return None
    return Demand(
        "count", tuple(replace(event, single=False) for event in events), joint="or", how=how, number=number
    )


def _together_in_a_run(p: Parts) -> Demand | None:
    *events, last = p["es"]
    return _together({**p, "es": (*events, replace(last, beside=(*last.beside, Adjunct("run", said="run"))))})


def _most_together(p: Parts) -> Demand | None:
    return _together({**p, "c": ("at most", p["n"])})


def _calls(p: Parts) -> Demand | None:
    """`Keep it to 15 tool calls`."""
    how, number = p["c"]
    return limit_on(Event(ANY), (how, number))


def _run_of_calls(p: Parts) -> Demand | None:
    demand = _calls(p)
    return None if demand is None else in_a_run(demand)


ACTIONS_TOGETHER: dict[str, Rule] = {
    "counted together": [
        ("[the] [sum|total|number] [of] {es:added actions}", lambda p: p["es"]),
        (f"{{es:joined actions}} [,] {IN_ALL}|both_counted|counted_together [,]", lambda p: p["es"]),
        ("counting|taking|adding {es:joined actions} together|up|as_one [,]", lambda p: p["es"]),
        (f"{IN_ALL} [,] {{es:joined actions}}", lambda p: p["es"]),
    ],
    "added actions": [
        ("{e:counted} plus {g:counted}", lambda p: (p["e"], p["g"])),
        (f"{{e:counted}} plus {{g:counted}} {IN_ALL}", lambda p: (p["e"], p["g"])),
        ("{e:counted} plus {es:added actions}", lambda p: (p["e"], *p["es"])),
    ],
    "joined actions": [
        ("{e:counted} and|or {g:counted}", lambda p: (p["e"], p["g"])),
        ("{e:counted} , {es:joined actions}", lambda p: (p["e"], *p["es"])),
    ],
    "demand": [
        ("not {c:excess many} {e:counted}", counted_as_said),
        (f"there {_BEING}|is|are|will [be] no {{k:nth}} {{e:counted}}",
         lambda p: counted_as_said({**p, "c": ("at most", p["k"] - 1)})),
        (f"{_NEVER} repeat {{e:counted}}", _repeated),
        ("i|I tolerate|allow|permit|accept|want [only] {c:limited many} {e:counted}", counted_as_said),
        ("keep|hold|limit it|things|yourself|runs to|at {c:limited many} calls|tool_calls",
         lambda p: _calls({**p, "c": ("at most", p["c"][1])}) if p["c"][0] in ("just", "at most") else None),
        (f"no 2 {{e:counted}} [{_BEING} {HAPPEN}|exist]", _no_two),
        (f"{RUNS} {GETS} [only] {{c:limited many}} calls|tool_calls", lambda p: _run_of_calls(p)),
        ("{c:limited many} calls|tool_calls", _calls),
        (f"{RUNS} {GETS} [only] {{c:limited many}} {{e:counted}}",
         lambda p: in_a_run(d) if (d := counted_as_said(p)) else None),
        # several actions together
        ("{es:counted together} [,] {c:limited often}", _together),
        ("{es:counted together} [,] {c:limited many}", _together),
        (f"{{es:counted together}} [,] {{n:number}} {IN_ALL} {NO_MORE}", _most_together),
        (f"{{es:counted together}} [,] {{n:number}} {NO_MORE} {IN_ALL}", _most_together),
        (f"{{es:counted together}} {NO} [ever] {EXCEED} {{n:number}}", _most_together),
        (f"{{es:counted together}} {_BEING} {STAY} {{c:cap}}", _together),
        (f"{{es:counted together}} is|are|{_BEING} [be] {LIMITED} to|at {{c:cap}}", _together),
        ("{c:limited many} {es:counted together}", _together),
        (f"{_NEVER}|not {{c:excess many}} {{es:counted together}}", _together),
        (f"{RUNS} {GETS}|may_have|can_have|must_have {{c:limited many}} {{es:counted together}}",
         _together_in_a_run),
        # each of another
        (f"every|each|all [the] {{e:counted}} [{{r:scope}}] [{SHOULD}] {_GO} [{_TO}] {_ANOTHER} "
         f"{{w:one field}}",
         _of_another),
        (f"no 2 {{e:counted}} [{_BEING}] {_GO} [{_TO}] the_same|one_and_the_same|one {{w:one field}}",
         _of_another),
    ],
}  # fmt: skip
