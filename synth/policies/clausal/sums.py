"""What amounts of several calls may come to: `the pallets of one order must not total more than 60`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Demand, Event, with_same
from synth.policies.clausal.small import scope as scope_at
from synth.policies.clausal.words import AGENT, MAY, NO, NOT_A_THING, SHOULD
from synth.policies.patterns import compiled
from synth.policies.sizes import TIMES, unit_at

CURRENCY = r"(?:[\u20ac$\u00a3]|\b(?:eur|euros?|usd|us dollars?|dollars?|gbp|pounds?|chf|francs?|cents?)\b)"
"""As in a bound of one amount, it is what all amounts are in."""
_N = r"\d{1,30}(?:\.\d{1,30})?"


def summed(grammar: Grammar, at: int) -> Iterator[Found]:
    """(number, what is counted or measured) of `60`, `200 pallets`, `50 ml`; a currency says no more."""
    m = compiled(rf" *(?:{CURRENCY} ?)?(?P<n>{_N})(?:(?: ?{CURRENCY})|(?![\w:-]))(?! (?:times?)\b)").match(
        grammar.text, at
    )
    if m is None:
        return
    if compiled(CURRENCY).search(m[0]):
        yield (m["n"], ""), m.end()
        return
    unit, end = unit_at(grammar.text, m.end())
    if not unit:
        yield (m["n"], ""), m.end()
    elif unit not in ("runs", "calls", "conversations", "sessions") and not compiled(TIMES).fullmatch(unit):
        yield (m["n"], unit), end


def of_one(grammar: Grammar, at: int) -> Iterator[Found]:
    """`for one order`, `to any single customer`: whose amounts are added."""
    m = compiled(
        r" *(?:(?:to|for|of|from|out of|onto|into|on|by|in|at|with) "
        r"(?:one|any one|any|any single|one single|a single|each"
        r"|every|a given"
        r"|any given|one and the same|the same|that same|an?|an individual)|per) (?P<f>[a-z][a-z_]*(?: (?:id"
        r"|number)\b)?)(?![\w'-])"
    ).match(grammar.text, at)
    if m and m["f"].lower() not in NOT_A_THING and m["f"].lower() not in ("total", "all", "sum"):
        yield frozenset({m["f"].lower().replace(" ", "_")}), m.end()


def of_run(grammar: Grammar, at: int) -> Iterator[Found]:
    yield from scope_at(grammar, at)


def _of_whom(p: Parts) -> Event | None:
    """What several calls are of; `a single voucher` is worth so much by itself."""
    event = p.get("e") or passive(p)
    if event is None or (event.single and not event.about):
        return None
    event = replace(event, single=False)
    return with_same(event, p["s"]) if "s" in p else event


_MONEY_ITSELF = ("funds", "proceeds", "savings", "earnings", "wages", "winnings")
"""Of which no argument says how many: how much it is stands in an amount."""


def field_added(event: Event, unit: str) -> str:
    """What is added: what is said of it, else a thing that the file has many of, else an amount."""
    if unit:
        return unit
    last = event.noun[-1] if event.noun else ""
    if last in _MONEY_ITSELF:
        return "amount"
    return last if last.endswith("s") and singular(last) != last else "amount"


def _sum(below: bool = False) -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        event: Event = p["a"]
        number, unit = p["n"]
        if "s" in p:
            event = with_same(event, p["s"])
        field = p.get("f") or field_added(event, unit)
        return Demand("sum", (event,), how=field, number=f"{'below' if below else 'at most'} {number}")

    return made


def in_all(p: Parts) -> Demand | None:
    """`load no more than 200 pallets in total`."""
    verb: Event = p["v"]
    thing: Event | None = p.get("t")
    if thing is not None and (thing.action != verb.action or thing.single):
        return None
    number, unit = p["n"]
    event = replace(verb, single=False)
    if thing is not None:
        event = replace(event, noun=thing.noun, same=thing.same, about=thing.about, beside=thing.beside)
    own = unit and verb.noun and singular(unit) == singular(verb.noun[-1])
    if unit and thing is None and not own:
        return None
    if own and not verb.noun[-1].endswith("s"):
        return None
    if "s" in p:
        event = with_same(event, p["s"])
    return Demand(
        "sum", (event,), how=field_added(event, unit) if unit else "amount", number=f"at most {number}"
    )


_TOTAL = (
    "in_total|altogether|in_all|overall|all_in_all|taken_together|together|combined|in_sum|all_told"
    "|when_added_up"
)
_UP = "add_up_to|total|come_to|sum_to|sum_up_to|amount_to|sum_to_up_to|reach"
_OVER = "more_than|over|above"
_MOST = "at_most|no_more_than|not_more_than|up_to|a_maximum_of|at_or_below|within|a_total_of"
_EXCEED = (
    "exceed|be_more_than|be_over|be_above|go_above|go_over|go_beyond|top|surpass|be_higher_than"
    "|be_greater_than"
    "|go_higher_than|be_larger_than"
)
_BELOW = "below|under|less_than"
_BE = "be|stay|remain|be_kept|lie"


def _said(p: Parts) -> str | None:
    field: str = p["f"]
    if field.lower() in ("total", "sum"):
        return "total"
    return None if field.lower() in ("of", "the", "all", "for", "in", "from") else singular(field)


SUMS: dict[str, Rule] = {
    "summed": summed,
    "of_one": of_one,
    "added": [
        ("[all] [the|of_the] {e:event}", _of_whom),
        ("[all] {e:event} {s:of_one}", _of_whom),
        ("[all] {t:object} {d:past}", _of_whom),
        ("[all] {t:object} {d:past} {s:of_one}", _of_whom),
        ("[all] {e:sole} {s:of_one}", _of_whom),
        ("all [the] {e:sole}", _of_whom),
        ("[all] {e:noun_done}", _of_whom),
        ("[all] {e:noun_done} {s:of_one}", _of_whom),
    ],
    "totalled": [
        (f"{{a:added}} {NO} {_UP} {_OVER} {{n:summed}} [{_TOTAL}]", _sum()),
        (f"{{a:added}} {MAY}|{SHOULD} {_UP} {_MOST} {{n:summed}} [{_TOTAL}]", _sum()),
        (f"{{a:added}} {MAY}|{SHOULD} {_UP} {{n:summed}} at_most|at_the_most|and_no_more|or_less "
         f"[{_TOTAL}]", _sum()),
        (f"{{a:added}} [,] {_TOTAL} [,] {MAY}|{SHOULD} {_UP} {{n:summed}} at_most|at_the_most|and_no_more"
         f"|or_less", _sum()),
        (f"{{a:added}} {SHOULD} {_UP} {_BELOW} {{n:summed}} [{_TOTAL}]", _sum(below=True)),
        (f"{{a:added}} {NO} {_EXCEED} {{n:summed}} {_TOTAL}", _sum()),
        (f"{{a:added}} [,] {_TOTAL} [,] {NO} {_EXCEED}|{_UP.replace('|', '_more_than|')}_more_than "
         f"{{n:summed}}", _sum()),
        (f"{{a:added}} {SHOULD}|{MAY} {_BE} {_MOST} {{n:summed}} {_TOTAL}", _sum()),
        (f"{{a:added}} {SHOULD} {_BE} {_BELOW} {{n:summed}} {_TOTAL}", _sum(below=True)),
        (f"{{a:added}} [,] {_TOTAL} [,] {SHOULD}|{MAY} {_BE}|come_to|total {_MOST} {{n:summed}}", _sum()),
        (f"{{a:added}} [,] {_TOTAL} [,] {SHOULD} {_BE} {_BELOW} {{n:summed}}", _sum(below=True)),
        (f"{{x:amounts}} {{a:added}} {NO} {_EXCEED}|{_UP.replace('|', '_more_than|')}_more_than "
         f"{{n:summed}}", _sum_of := (
            lambda p: _sum()({**p, "f": p["x"] if p["x"] != "total" else None}))),
        (f"{{x:amounts}} {{a:added}} {SHOULD}|{MAY} {_BE}|come_to {_MOST} {{n:summed}}", _sum_of),
        (f"{{x:amounts}} {{a:added}} {SHOULD} {_BE} {_BELOW} {{n:summed}}",
         lambda p: _sum(below=True)({**p, "f": p["x"] if p["x"] != "total" else None})),
        ("{x:amounts} {a:added} is|are limited|capped|restricted to|at {n:summed}", _sum_of),
        # done by an agent
        (f"[{AGENT}] [{MAY}|{SHOULD}] {{v:verb}} {_MOST} {{n:summed}} {_TOTAL} [{{s:of_one}}]", in_all),
        (f"[{AGENT}] [{MAY}|{SHOULD}] {{v:verb}} {_MOST} {{n:summed}} [{{s:of_one}}] {_TOTAL}", in_all),
        (f"[{AGENT}] [{MAY}|{SHOULD}] {{v:verb}} {_MOST} {{n:summed}} of {{t:object}} [{{s:of_one}}] "
         f"{_TOTAL}", in_all),
        (f"[{AGENT}] [{MAY}|{SHOULD}] {{v:verb}} {_MOST} {{n:summed}} of {{t:object}} {_TOTAL} "
         f"[{{s:of_one}}]", in_all),
        (f"[{AGENT}] [{MAY}|{SHOULD}] {{v:verb}} {_MOST} {{n:summed}} in {{t:object}} [{{s:of_one}}] "
         f"[{_TOTAL}]", in_all),
        (f"never|do_not {{v:verb}} {_OVER} {{n:summed}} {_TOTAL} [{{s:of_one}}]", in_all),
        (f"never|do_not {{v:verb}} {_OVER} {{n:summed}} [{{s:of_one}}] {_TOTAL}", in_all),
        (f"never|do_not {{v:verb}} {_OVER} {{n:summed}} of {{t:object}} [{{s:of_one}}] {_TOTAL}", in_all),
        (f"never|do_not {{v:verb}} {_OVER} {{n:summed}} of {{t:object}} {_TOTAL} [{{s:of_one}}]", in_all),
        (f"never|do_not {{v:verb}} {_OVER} {{n:summed}} in {{t:object}} [{{s:of_one}}] [{_TOTAL}]", in_all),
        (f"{AGENT} {NO} {{v:verb}} {_OVER} {{n:summed}} {_TOTAL} [{{s:of_one}}]", in_all),
        (f"{AGENT} {NO} {{v:verb}} {_OVER} {{n:summed}} in {{t:object}} [{{s:of_one}}] [{_TOTAL}]", in_all),
        (f"{_MOST} {{n:summed}} in {{a:added}} [{_TOTAL}] [is|are] [allowed|permitted]", _sum()),
        (f"{_MOST} {{n:summed}} {MAY} be {{d:past}} {_TOTAL}", lambda p: _by_past(p)),
        (f"{_MOST} {{n:summed}} {_TOTAL} {MAY} be {{d:past}}", lambda p: _by_past(p)),
        (f"no {_OVER} {{n:summed}} {_TOTAL} {MAY} be {{d:past}}", lambda p: _by_past(p)),
        (f"{_OVER} {{n:summed}} {NO} be {{d:past}} {_TOTAL}", lambda p: _by_past(p)),
        (f"no {_OVER} {{n:summed}} {MAY} be {{d:past}} {_TOTAL}", lambda p: _by_past(p)),
    ],
    "amounts": [
        ("the total|combined|summed|overall|cumulative|aggregate|whole "
         "[of_the|of|of_all|of_all_the|for]", lambda p: "total"),
        ("the total|combined|summed|overall|cumulative {f:word} "
         "[of_the|of|of_all|of_all_the|for|in|from]", _said),
        ("the sum|total of_the|of_all|of_all_the|of [the] {f:word} of|for [the|all|all_the]", _said),
    ],
}  # fmt: skip


def _by_past(p: Parts) -> Demand | None:
    """`no more than 200 pallets may be loaded in total`."""
    number, unit = p["n"]
    event: Event = p["d"]
    noun = event.noun[-1] if event.noun else ""
    if not unit or singular(unit) != singular(noun) or not noun.endswith("s"):
        return None
    return Demand("sum", (replace(event, single=False),), how=unit, number=f"at most {number}")
