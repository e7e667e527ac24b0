"""Who may do so much in all: `a run may delete 1000 rows at most`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, with_same
from synth.policies.clausal.sums import field_added, in_all
from synth.policies.clausal.totals import TOTAL
from synth.policies.clausal.words import BANNED, MAY, NO, RUNS, SHOULD

_BEING = f"{MAY}|{SHOULD}"
_NO_RUN = "no_run|no_single_run|not_a_single_run|no_one_run|none_of_the_runs"
_NOT_YET = "never|do_not|does_not"
_GET = "get|receive|have|be_given|be_granted|be_paid|be_issued|be_sent|obtain|collect"
_GETS = "gets|receives|has|is_given|is_granted|is_paid|is_issued|obtains|collects"
_WORTH = "of|worth|for|totalling|totaling|adding_up_to|amounting_to|summing_up_to|in_the_amount_of"
_IS_MONEY = 50
"""A greater number behind a verb, of which nothing else is said, is no number of calls."""


def _limited(how: str, event: Event, number: tuple[str, str], said: bool) -> Demand | None:
    value, unit = number
    plain = not event.single and not event.outcome
    if not plain or unit or not (said or float(value) > _IS_MONEY):
        return None
    return Demand("sum", (replace(event, single=False),), how=field_added(event, ""), number=f"{how} {value}")


def _spent(said: bool) -> Callable[[Parts], Demand | None]:
    """`Refund no more than 500`: the amount of all refunds."""

    def made(p: Parts) -> Demand | None:
        how, number = p["c"] if isinstance(p["c"][1], tuple) else ("at most", p["c"])
        events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
        return None if joint or len(events) != 1 else _limited(how, events[0], number, said)

    return made


def _got(p: Parts) -> Demand | None:
    """`Vouchers worth more than 400 in total`."""
    how, (value, unit) = p["c"]
    event: Event = p["a"]
    return (
        None
        if event.outcome
        else Demand(
            "sum", (replace(event, single=False),), how=field_added(event, unit), number=f"{how} {value}"
        )
    )


def _of_things(p: Parts) -> Demand | None:
    """`Delete no more than 1000 rows`: as many as all of them delete."""
    how, number = p["c"] if isinstance(p["c"][1], tuple) else ("at most", p["c"])
    done = in_all({**p, "n": number}) if number[1] or "t" in p else None
    return done and replace(done, number=f"{how} {number[0]}")


def _by(p: Parts) -> Demand | None:
    """Of whom it is said: of each run, or of each of those whose kind is named."""
    demand: Demand = p["q"]
    [event] = demand.events
    if isinstance(p["w"], frozenset):
        return replace(demand, events=(with_same(event, p["w"]),))
    return replace(demand, events=(replace(event, beside=(*event.beside, Adjunct("run", said="run"))),))


def _spends(verb: str, deeds: str, much: str) -> list[tuple[str, Callable[[Parts], Demand | None]]]:
    """A verb in some form, and how much."""
    return [
        (f"{{e:{deeds}}} {{x:amounting to}} {{c:{much}}}", _spent("in all" in much)),
        (f"{{v:{verb}}} {{c:{much}}}", _of_things),
        (f"{{v:{verb}}} {{c:{much}}} of|from|in {{t:object}}", _of_things),
    ]


def _in_all(verb: str, much: str) -> tuple[str, Callable[[Parts], Demand | None]]:
    return f"{{v:{verb}}} {{c:{much}}} of|from|in {{t:object}} {TOTAL}", _of_things


SPENDERS: dict[str, Rule] = {
    "a run": [(RUNS, lambda p: "run")],
    "no run": [(_NO_RUN, lambda p: "run")],
    "spender": [("{w:a run}", lambda p: p["w"]), ("{w:each of}", lambda p: p["w"])],
    "no spender": [("{w:no run}", lambda p: p["w"]), ("{w:none of}", lambda p: p["w"])],
    "spend so much": [*_spends("verb", "acts", "so much in all"), _in_all("verb", "most of all")],
    "spend too much": [*_spends("verb", "acts", "too much in all"), _in_all("verb", "over so much")],
    "spends so much": [*_spends("verbs", "does", "so much in all"), _in_all("verbs", "most of all")],
    "spends too much": [*_spends("verbs", "does", "too much in all"), _in_all("verbs", "over so much")],
    "spend up to": _spends("verb", "acts", "most of all"),
    "spend over": _spends("verb", "acts", "over so much"),
    "spends up to": _spends("verbs", "does", "most of all"),
    "spends over": _spends("verbs", "does", "over so much"),
    "get so much": [(f"{{a:added}} [{_WORTH}] {{c:so much in all}}", _got)],
    "get too much": [(f"{{a:added}} [{_WORTH}] {{c:too much in all}}", _got)],
    "totalled": [
        (f"{{w:spender}} {_BEING} [only] {_GET} {{q:get so much}}", _by),
        (f"{{w:spender}} {NO}|{_NOT_YET} [ever] {_GET} {{q:get too much}}", _by),
        (f"{{w:no spender}} {_BEING} [ever] {_GET} {{q:get too much}}", _by),
        (f"{{w:spender}} {_GETS} [only] {{q:get so much}}", _by),
        (f"{{w:no spender}} {_GETS} {{q:get too much}}", _by),
        (f"{{w:spender}} {_BEING} [only] {{q:spend so much}}", _by),
        (f"{{w:spender}} {NO}|{_NOT_YET} [ever] {{q:spend too much}}", _by),
        (f"{{w:no spender}} {_BEING} [ever] {{q:spend too much}}", _by),
        ("{w:spender} [only] {q:spends so much}", _by),
        ("{w:spender} never {q:spends too much}", _by),
        ("{w:no spender} [ever] {q:spends too much}", _by),
        (f"{{w:a run}} {_BEING} [only] {{q:spend up to}}", _by),
        (f"{{w:a run}} {NO}|{_NOT_YET} [ever] {{q:spend over}}", _by),
        (f"{{w:no run}} {_BEING} [ever] {{q:spend over}}", _by),
        ("{w:a run} [only] {q:spends up to}", _by),
        ("{w:a run} never {q:spends over}", _by),
        ("{w:no run} [ever] {q:spends over}", _by),
        (f"{{v:verbing}} {{c:too much in all}} is|are [strictly] {BANNED}", _of_things),
        (f"{{c:so much in all}} {MAY} be {{e:noun_done}}", _spent(True)),
    ],
}  # fmt: skip
