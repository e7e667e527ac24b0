"""What every run must have: `no run without a note`, `never end a run before a note has been written`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.facts import passive, with_mods
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event, Fact
from synth.policies.clausal.varieties import in_a_run
from synth.policies.clausal.words import AGENT, AT_LEAST, BANNED, MAY, NO, SHOULD

_END = "end|finish|close|complete|conclude|terminate|leave|stop|quit|exit"
_A_RUN = "a_run|the_run|any_run|your_run|its_run|each_run|every_run|runs|this_run"
_EVERY_RUN = "every_run|each_run|any_run|all_runs|every_single_run|each_and_every_run"
_RUN = f"{_EVERY_RUN}|a_run|the_run|runs"
_NEEDED = "mandatory|required|obligatory|compulsory|necessary|a_must|needed|due|indispensable|essential"
_TIMES = "times|time|calls|occasions"
_HAPPENS = "happen|happens|occur|occurs|take_place|takes_place|is_made|are_made|is_done|are_done"
_HAPPENED = "happened|occurred|taken_place|been_made|been_done|succeeded"
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


def _of_so_many(p: Parts) -> Demand | None:
    how, number = p["c"]
    demand = _one(p["e"])
    return demand and replace(demand, number=number) if how == "at least" and number > 0 else None


def _least(p: Parts) -> Demand | None:
    """`At least two notes must have been written`; of `at most` this is said elsewhere."""
    return None if p["e"] is None else _of_so_many(p)


def _lacking(p: Parts) -> Demand | None:
    demand: Demand | None = p["q"]
    return demand and in_a_run(demand)


LEAST: dict[str, Rule] = {
    "limited many": [
        ("{n:number} or_more|and_more", lambda p: ("at least", p["n"])),
        (f"{AT_LEAST} {{n:number}}", lambda p: ("at least", p["n"])),
    ],
    "limited often": [
        (f"{{n:number}} {_TIMES} or_more|at_least|at_the_least|minimum|or_more_often|and_more",
         lambda p: ("at least", p["n"])),
        (f"{{n:number}} or_more {_TIMES}", lambda p: ("at least", p["n"])),
        (f"{AT_LEAST} {{n:number}} [{_TIMES}]", lambda p: ("at least", p["n"])),
        ("once or_more|at_least|or_more_often", lambda p: ("at least", 1)),
    ],
    "so many at least": [
        ("{c:limited many}", lambda p: p["c"] if p["c"][0] == "at least" else None),
        ("{n:number} at_least|at_the_least|at_minimum|minimum|min", lambda p: ("at least", p["n"])),
    ],
    "too few": [
        ("0|zero|no_single|not_a_single|not_even_1|not_even_one", lambda p: ("at least", 1)),
        ("less_than|fewer_than|below|under {n:number}", lambda p: ("at least", p["n"])),
    ],
    "lacking": [
        ("without [any|having|a_single|even_one|even_a_single] {e:counted} [at_least 1 "
         "times]", _none_without),
        ("without [having] at_least {n:number} {e:counted}", _so_many),
        ("with|having|that_has|that_have|which_has|that_contains|containing no|zero|not_a_single {e:counted}",
         _none_without),
        ("with|having|that_has|that_have|containing {c:too few} {e:counted}", _of_so_many),
    ],
    "ending": [(f"{_END} [{_A_RUN}]", lambda p: True)],
    "had first": [
        ("{q:lacking}", lambda p: p["q"]),
        ("before [actually|first] {e:counted} [at_least 1 times]", _none_without),
        ("before at_least {n:number} {e:counted}", _so_many),
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
        ("{x:no run} {q:lacking}", _lacking),
        (f"no run {MAY}|{SHOULD} [ever] be|go|exist {{q:lacking}}", _lacking),
        (f"runs|a_run|any_run|each_run|every_run {{q:lacking}} is|are [strictly] {BANNED}|incomplete"
         f"|not_complete",
         _lacking),
        (f"{_RUN} {NO} [ever] be|go|run {{q:lacking}}", _lacking),
        (f"{_RUN} {MAY}|{SHOULD} only {_ENDS} after {{e:counted}}", _none_without),
        (f"it is [strictly] {BANNED} to {{x:ending}} {{q:had first}}", lambda p: p["q"]),
        (f"{_RUN} needs|need|requires|require|has_to_have|must_have|have_to_have|must_see "
         f"{{c:limited many}} {{e:counted}}",
         lambda p: (d := _one(p["e"])) and replace(d, how=p["c"][0], number=p["c"][1])),
        (f"{_EVERY_RUN} needs|need|requires|require|has_to_have|must_have {{e:counted}}", _none_without),
        (f"{_EVERY_RUN} {{e:does}}", _none_without),
        (f"{_EVERY_RUN} {SHOULD} [always] {{e:deed}}", _none_without),
        (f"{{e:counted}} is|are [always] {_NEEDED} in|for|during|per {_EVERY_RUN}|run", _none_without),
        (f"{{e:counted}} is|are [always] {_NEEDED}", _due),
        (f"{{e:counted}} , [always] {_NEEDED}", _due),
        (f"{{e:counted}} , [always] {_NEEDED} in|for|during|per {_EVERY_RUN}|run", _none_without),
        (f"{{e:counted}} is|are|, [always] {_NEEDED} {{c:limited often}}", _least),
        (f"never|do_not [ever] skip|omit|leave_out|miss|neglect {{e:noun}} in|during {_EVERY_RUN}", _in_each),
        ("never|do_not [ever] forget|fail|neglect|omit to {e:one deed} {c:limited often}", _least),
        # so many at least
        ("{n:number} {e:counted} at_least|at_the_least|at_minimum|minimum|or_more",
         lambda p: _of_so_many({**p, "c": ("at least", p["n"])})),
        ("{e:counted} , {c:so many at least} [times|calls]", _of_so_many),
        ("{c:limited many} {e:counted} is|are [the] [absolute|bare] minimum|min|least|lower_limit",
         lambda p: _of_so_many({**p, "c": ("at least", p["c"][1])}) if p["c"][0] != "at most" else None),
        (f"{{c:limited many}} {{e:counted}} {_HAPPENS}", _least),
        (f"{{c:limited many}} {{e:counted}} {SHOULD} have {_HAPPENED}", _least),
        (f"{{c:limited many}} {{t:object}} {SHOULD} have been {{d:past}}",
         lambda p: _least({**p, "e": passive(p)})),
        (f"{{e:a number}} {SHOULD} [always] be|stay|remain|number "
         f"{{c:so many at least}}", _of_so_many),
        ("{e:a number} is|are [always] {c:so many at least}", _of_so_many),
        (f"{{e:a number}} {NO} [ever] be|fall|go|drop|lie [below|under] {{c:too few}}", _of_so_many),
        (f"{{e:a number}} {NO} [ever] fall|go|drop {{c:too few}}", _of_so_many),
        ("[the|a] minimum|min|least|lowest|smallest [allowed|permitted|required] number|count of "
         "{e:counted} "
         "{i:is so much} {n:number}", lambda p: _of_so_many({**p, "c": ("at least", p["n"])})),
        ("[the|a] minimum|min {e:counted} [{m:mods}] {i:is so much} {n:number}",
         lambda p: _of_so_many({**p, "e": with_mods(p), "c": ("at least", p["n"])})),
        ("[the|a|our] minimum|min [{m:mods}] {i:is so much} {n:number} {e:counted}",
         lambda p: _of_so_many({**p, "e": with_mods(p), "c": ("at least", p["n"])})),
        (f"{{c:too few}} {{e:counted}} is|are [strictly] {BANNED}|too_few|too_little"
         f"|not_enough", _of_so_many),
        (f"{AGENT} need|needs|require|requires|expect|expects|want|wants|must_have|have_to_have|has_to_have "
         "{c:so many at least} {e:counted}", _of_so_many),
        (f"{AGENT} need|needs|must_have|have_to_have|has_to_have {{c:so many at least}} {{e:counted}}",
         _of_so_many),
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
    "no run": [
        ("no|never_a|not_a_single|no_single run", lambda p: True),
        (f"there {SHOULD} be no run|runs", lambda p: True),
        ("there is|are no run|runs", lambda p: True),
        (f"there {NO} [ever] be [a|any] run|runs", lambda p: True),
        ("no runs", lambda p: True),
    ],
    "one deed": [("{e:deed}", with_mods), ("{e:deed} {m:mods}", with_mods)],
}  # fmt: skip
