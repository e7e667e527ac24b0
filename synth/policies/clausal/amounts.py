"""More ways to say what amounts may come to: `total replicas over all scalings: 50 max`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, with_same
from synth.policies.clausal.words import MAY, NO, SHOULD
from synth.policies.patterns import compiled
from synth.policies.sizes import MEASURES

_TOTAL = (
    "in_total|altogether|in_all|overall|all_in_all|taken_together|together|combined|in_sum|all_told"
    "|all_together|when_added_up"
)
_UP = "add_up_to|total|come_to|sum_to|sum_up_to|amount_to|reach|add_to"
_OVER = "more_than|over|above"
_MOST = (
    "at_most|at_the_most|no_more_than|not_more_than|up_to|a_maximum_of|max|max.|maximum|at_or_below|within"
)
_UPS = "add_up_to|adds_up_to|total|come_to|amount_to|sum_up_to"
_EXCEED = "exceed|be_more_than|be_over|be_above|go_above|go_over|go_beyond|top|surpass|be_higher_than"
_LESS = "below|under|less_than"
_IN = "of|over|across|for|in"
_BE = "be|stay|remain|be_kept|lie|add_up_to|total|come_to|sum_up_to|sum_to|amount_to"
_IS = "is|are|stay|stays|remain|remains|add_up_to|adds_up_to|total|totals|come_to|comes_to|sum_up_to"


_MONEY = ("amount", "value", "price", "cost", "fee", "total", "charge", "fare")


def argument_added(field: str) -> str:
    """The argument that is added, of which a sentence may say several."""
    one = singular(field.lower())
    return one if one in _MONEY else field


def _summed(below: bool = False) -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        event: Event = p["a"]
        number, unit = p["n"]
        other = unit and "f" in p and singular(unit) != singular(argument_added(p["f"]))
        if other and not compiled(rf"(?!percent){MEASURES}").fullmatch(unit):
            return None
        if "s" in p:
            event = with_same(event, p["s"])
        field = argument_added(p["f"]) if "f" in p else unit
        if field in ("number", "count"):
            return None
        most = f"{'below' if below else 'at most'} {number}"
        return Demand("sum", (replace(event, single=False),), how=field, number=most) if field else None

    return made


def _word_and_action(p: Parts) -> tuple[str, Event]:
    return p["f"], p["a"]


def _things_done(below: bool = False) -> Callable[[Parts], Demand | None]:
    """`Total covers reserved at the same restaurant`, and no amount of money."""

    def made(p: Parts) -> Demand | None:
        field, event = p["t"]
        if "r" in p:
            event = replace(event, beside=(*event.beside, Adjunct("run", said=p["r"])))
        if singular(field) in ("amount", "total", "sum", "number") or not field.endswith("s"):
            return None
        return _summed(below)({**p, "f": field, "a": event})

    return made


def _done_together(p: Parts) -> Demand | None:
    """`All loads together must not load more than 1000 rows`."""
    return _summed()(p) if p["v"].action == p["a"].action else None


def _given_out(p: Parts) -> Demand | None:
    """`No more than 5000 claimed altogether`."""
    number, unit = p["n"]
    return None if unit else Demand("sum", (p["a"],), how="amount", number=f"at most {number}")


def several(grammar: Grammar, at: int) -> Iterator[Found]:
    """What amounts are added of: the amount of `a refund` is that of each."""
    if not compiled(r" *(?:an?|each|every|any|one|no|that|this)\b").match(grammar.text, at):
        yield from grammar.matches("added", at)
        yield from grammar.matches("sole of a run", at)


def _of_a_run(p: Parts) -> Event:
    """`The reserves of a run`."""
    event: Event = p["e"]
    return replace(event, single=False, beside=(*event.beside, Adjunct("run", said=p["r"])))


def _amount(p: Parts) -> Demand | None:
    """`Total paid per claim_id`, of which the amounts are added."""
    event: Event = p["a"]
    number, unit = p["n"]
    if "s" in p:
        event = with_same(event, p["s"])
    if "r" in p:
        event = replace(event, beside=(*event.beside, Adjunct("run", said=p["r"])))
    below = "below" if p.get("below") else "at most"
    return None if unit else Demand("sum", (event,), how="amount", number=f"{below} {number}")


AMOUNTS: dict[str, Rule] = {
    "of whom": [("{s:of_one}", lambda p: p["s"]), ("{s:same}", lambda p: p["s"])],
    "sole of a run": [("[all|the] {e:sole} {r:scope}", _of_a_run)],
    "total done": [("[the] total|sum|total_amount|amounts|total_amounts|sums {e:noun_done} [out|in_total]",
                    lambda p: p["e"])],
    "added up": several,
    "amount of": [("[the|all|all_the|all_of_the] {f:word}", lambda p: p["f"])],
    "total of": [
        ("[the] total|combined|summed|overall|cumulative|aggregate|added_up {f:word}", lambda p: p["f"]),
        ("[the] sum|total of [the|all|all_the] {f:word}", lambda p: p["f"]),
    ],
    "so much": [
        (f"{_MOST} {{n:summed}}", lambda p: p["n"]),
        ("{n:summed} at_most|at_the_most|max|max.|maximum|tops|or_less|and_no_more|and_not_more",
         lambda p: p["n"]),
    ],
    "things done": [
        ("[the] total|overall|combined [number|amount] [of] {f:word} {a:noun_done}", _word_and_action),
        ("[the] sum|number of [all|the|all_the] {f:word} {a:noun_done}", _word_and_action),
    ],
    "totalled": [
        ("{t:things done} [{s:of whom}] [{r:scope}] [,] {n:so much}", _things_done()),
        (f"{{t:things done}} [{{s:of whom}}] [{{r:scope}}] {NO} {_EXCEED} {{n:summed}}", _things_done()),
        (f"{{t:things done}} [{{s:of whom}}] [{{r:scope}}] {MAY}|{SHOULD} {_BE} {{n:so much}}",
         _things_done()),
        (f"{{t:things done}} [{{s:of whom}}] [{{r:scope}}] {SHOULD} {_BE} {_LESS} {{n:summed}}",
         _things_done(below=True)),
        (f"{{f:amount of}} {_IN} [all|the|all_the] {{a:added up}} [,] {_TOTAL} [,] {{n:so much}}", _summed()),
        (f"{{f:amount of}} {_IN} [all|the|all_the] {{a:added up}} {NO} {_UP} {_OVER} {{n:summed}} [{_TOTAL}]",
         _summed()),
        (f"{{f:amount of}} {_IN} [all|the|all_the] {{a:added up}} {MAY}|{SHOULD} {_UP} {{n:so much}} "
         f"[{_TOTAL}]", _summed()),
        (f"{{f:amount of}} {_IN} [all|the|all_the] {{a:added up}} {SHOULD} {_UP} {_LESS} {{n:summed}}",
         _summed(below=True)),
        (f"{{f:amount of}} {_IN} [all|the|all_the] {{a:added up}} {_TOTAL} {NO} {_EXCEED} {{n:summed}}",
         _summed()),
        (f"{{f:amount of}} {_IN} [all|the|all_the] {{a:added up}} {_TOTAL} {MAY}|{SHOULD} {_BE} "
         "{n:so much}", _summed()),
        (f"{{f:total of}} {_IN} [all|the|all_the] {{a:added up}} , {{n:so much}}", _summed()),
        (f"{{f:total of}} {_IN} [all|the|all_the] {{a:added up}} {MAY}|{SHOULD} {_BE} {{n:so much}}",
         _summed()),
        (f"{{f:total of}} {_IN} [all|the|all_the] {{a:added up}} {_IS} {{n:so much}}", _summed()),
        (f"{{f:total of}} {_IN} [all|the|all_the] {{a:added up}} {SHOULD} {_BE} {_LESS} {{n:summed}}",
         _summed(below=True)),
        (f"{{a:added up}} [,] {_TOTAL} [,] [{MAY}|{SHOULD}] {_BE} {_MOST} {{n:summed}} in|of {{f:word}}",
         _summed()),
        (f"{{a:added up}} [,] {_TOTAL} [,] {_IS} {_MOST} {{n:summed}} in|of {{f:word}}", _summed()),
        (f"{{a:added up}} [,] {_TOTAL} [,] {NO} {{v:verb}} {_OVER} {{n:summed}}", _done_together),
        (f"{{a:added up}} [,] {_TOTAL} [,] {MAY}|{SHOULD} {{v:verb}} {_MOST} {{n:summed}}", _done_together),
        (f"{{a:sole of a run}} {NO} {_UP} {_OVER} {{n:summed}} [{_TOTAL}]", _amount),
        (f"{{a:sole of a run}} {MAY}|{SHOULD} {_UP} {{n:so much}} [{_TOTAL}]", _amount),
        (f"{{a:added up}} {_UPS} {{n:so much}}", _amount),
        (f"{{a:total done}} [{{s:of whom}}] [{{r:scope}}] {NO} {_EXCEED} {{n:summed}}", _amount),
        (f"{{a:total done}} [{{s:of whom}}] [{{r:scope}}] {MAY}|{SHOULD} {_BE} {{n:so much}}", _amount),
        (f"{{a:total done}} [{{s:of whom}}] [{{r:scope}}] {SHOULD} {_BE} {_LESS} {{n:summed}}",
         lambda p: _amount({**p, "below": True})),
        ("{a:total done} [{s:of whom}] [{r:scope}] is|are limited|capped|restricted to|at {n:summed}",
         _amount),
        ("{a:total done} [{s:of whom}] [{r:scope}] , {n:so much}", _amount),
        ("[the] sum|total of all|all_the|the {a:added up} [{s:of whom}] [{r:scope}] , {n:so much}", _amount),
        ("keep [the] total {a:added up} below|under {n:summed}",
         lambda p: _amount({**p, "below": True})),
        (f"{_MOST} {{n:summed}} {MAY} be {{a:noun_done}} {_TOTAL}", _given_out),
        (f"{_MOST} {{n:summed}} {_TOTAL} over|across|in|for [all|the|all_the] {{a:added up}}", _summed()),
        (f"{{a:added up}} , {{n:summed}} {_TOTAL} at_most|at_the_most|max|maximum|tops", _summed()),
        (f"{_MOST} {{n:summed}} {{a:noun_done}} {_TOTAL}", _given_out),
        (f"{{n:summed}} {{a:noun_done}} {_TOTAL} at_most|at_the_most|max|maximum", _given_out),
    ],
}  # fmt: skip
