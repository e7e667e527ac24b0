"""What every run must have: `no run without a note`, `never end a run before a note has been written`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event, Fact
from synth.policies.clausal.varieties import in_a_run
from synth.policies.clausal.words import AGENT, BANNED, MAY, NO, SHOULD

_END = "end|finish|close|complete|conclude|terminate|leave|stop|quit|exit"
_A_RUN = "a_run|the_run|any_run|your_run|its_run|each_run|every_run|runs|this_run"
_EVERY_RUN = "every_run|each_run|any_run|all_runs|every_single_run|each_and_every_run"
_RUN = f"{_EVERY_RUN}|a_run|the_run|runs"
_NEEDED = "mandatory|required|obligatory|compulsory|necessary|a_must|needed|due|indispensable|essential"
_ENDS = (
    "end|finish|close|be_over|be_without|be_closed|be_ended|be_finished|be_completed|conclude|complete|stop"
)


def _one(event: Event | None) -> Demand | None:
    """At least one of it, in each run."""
    if event is None or event.outcome == "failed":
        return None
    return Demand("count", (replace(event, single=False),), number=1, how="at least")


def _none_without(p: Parts) -> Demand | None:
    return _one(p["e"])


def _in_each(p: Parts) -> Demand | None:
    demand = _one(p["e"])
    return demand and in_a_run(demand)


def _so_many(p: Parts) -> Demand | None:
    demand = _one(p["e"])
    return demand and replace(demand, number=p["n"])


def _due(p: Parts) -> Demand:
    """`A note is mandatory`; before what it is, is said otherwise."""
    return Demand("due", (replace(p["e"], single=False),))


def _of_fact(aspects: tuple[str, ...], p: Parts) -> Demand | None:
    fact: Fact = p["f"]
    return _one(fact.events[0]) if fact.aspect in aspects and len(fact.events) == 1 else None


def _had(p: Parts) -> Demand | None:
    """`Until a note has been written`."""
    return _of_fact(("perfect", "present"), p)


def _lacked(p: Parts) -> Demand | None:
    """`If no note has been written`."""
    return _of_fact(("not",), p)


def _object(p: Parts) -> Demand | None:
    """`Writing no note at all`."""
    return _one(p["t"]) if p["v"].action == p["t"].action else None


def _so_many_objects(p: Parts) -> Demand | None:
    demand = _object(p)
    return demand and replace(demand, number=p["n"])


AT_LEAST: dict[str, Rule] = {
    "limited many": [
        ("{n:number} or_more", lambda p: ("at least", p["n"])),
        ("min|min.|minimum|not_less_than|the_minimum_of {n:number}", lambda p: ("at least", p["n"])),
    ],
    "limited often": [
        ("{n:number} times or_more|at_least|minimum|or_more_often", lambda p: ("at least", p["n"])),
        ("min|min.|minimum|not_less_than {n:number} [times]", lambda p: ("at least", p["n"])),
        ("once or_more", lambda p: ("at least", 1)),
    ],
    "ending": [(f"{_END} [{_A_RUN}]", lambda p: True)],
    "had first": [
        ("without [any|having] {e:counted}", _none_without),
        ("without [having] at_least {n:number} {e:counted}", _so_many),
        ("before [actually] {e:counted}", _none_without),
        ("without [ever|first] having [first|ever] {e:having}", _none_without),
        ("until|before|unless|till {f:fact}", _had),
        ("until|before|unless there is|are|has_been|have_been [at_least] [one|a|an] "
         "{e:counted}", _none_without),
        ("if|when|while|as_long_as|so_long_as {f:fact}", _lacked),
        ("until|before|unless at_least {n:number} {t:object} has_been|have_been|is|are|was {d:past}",
         lambda p: (d := _one(passive(p))) and replace(d, number=p["n"])),
    ],
    "demand": [
        ("never|do_not [ever] {x:ending} {q:had first}", lambda p: p["q"]),
        (f"{AGENT} {NO} [ever] {{x:ending}} {{q:had first}}", lambda p: p["q"]),
        (f"{AGENT} {MAY}|{SHOULD} only {{x:ending}} if|when|after|once {{f:fact}}", _had),
        (f"{_RUN} {MAY}|{SHOULD} only {_ENDS} if|when|after|once {{f:fact}}", _had),
        (f"{_RUN} {NO} [ever] {_ENDS} {{q:had first}}", lambda p: p["q"]),
        (f"no run {MAY}|{SHOULD}|is_allowed_to|is_to [ever] {_ENDS} {{q:had first}}", lambda p: p["q"]),
        ("no run ends|finishes|closes {q:had first}", lambda p: p["q"]),
        (f"ending|finishing|closing|completing [{_A_RUN}] {{q:had first}} is|are [strictly] {BANNED}",
         lambda p: p["q"]),
        ("no run without {e:counted}", _none_without),
        ("runs|a_run without {e:counted} is|are " + BANNED, _none_without),
        (f"{_RUN} needs|need|requires|require|has_to_have|must_have|have_to_have|must_see "
         f"{{c:limited many}} {{e:counted}}",
         lambda p: (d := _one(p["e"])) and replace(d, how=p["c"][0], number=p["c"][1])),
        (f"{_EVERY_RUN} needs|need|requires|require|has_to_have|must_have {{e:counted}}", _none_without),
        (f"{_EVERY_RUN} {{e:does}}", _none_without),
        (f"{_EVERY_RUN} {SHOULD} [always] {{e:deed}}", _none_without),
        (f"{{e:counted}} is|are [always] {_NEEDED} in|for|during|per {_EVERY_RUN}|run", _none_without),
        (f"{{e:counted}} is|are [always] {_NEEDED}", _due),
        (f"{{c:limited many}} {{e:counted}} is|are [always] {_NEEDED}",
         lambda p: (d := _one(p["e"])) and replace(d, how=p["c"][0], number=p["c"][1])
         if p["c"][0] == "at least" else None),
        (f"{{t:object}} {SHOULD} [always] be|get {{d:past}} in|during {_EVERY_RUN}",
         lambda p: (d := _one(passive(p))) and in_a_run(d)),
        (f"{AGENT} {SHOULD} [always] {{e:deed}} in|during {_EVERY_RUN}", _in_each),
        (f"[always] {{e:deed}} in|during {_EVERY_RUN}", _in_each),
        (f"{{v:verbing}} no {{t:object}} [at_all] is|are [strictly] {BANNED}", _object),
        (f"not {{e:noun}} [at_all] is|are [strictly] {BANNED}", _none_without),
        (f"a run without {{e:counted}} is|are [strictly] {BANNED}", _none_without),
        ("at_a_minimum|at_the_very_least|as_a_minimum|at_the_least , {v:verb} {n:number} {t:object}",
         _so_many_objects),
    ],
}  # fmt: skip
