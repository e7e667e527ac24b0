"""What lies between two actions: `in the time between`, `after A and before B`, `keep it free of`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Fact
from synth.policies.clausal.words import AGENT, SHOULD

_SPAN = (
    "time|period|interval|stretch|phase|span|window|time_window|gap|time_span|stretch_of_time"
    "|period_of_time|space"
)
_ANYWHERE = (
    "anywhere|any_time|anytime|at_any_point|at_any_time|at_any_moment|at_some_point|at_any_point_in_time"
    "|somewhere|at_a_time|at_a_point|at_all|in|at_no_time|at_no_point|ever"
)
_FREE = "free|clear of|from"
_FOLLOWS = "follows|comes_after|comes_next|comes_later|succeeds|follows_after|comes_afterwards"


def _between(p: Parts) -> Adjunct | None:
    one, other = p["a"], p["b"]
    if one.outcome or other.outcome or one.beside or other.beside:
        return None
    return Adjunct("between", Fact((one,), "noun"), Fact((other,), "noun"))


def _of_one_object(p: Parts) -> Adjunct | None:
    """`Between holding and releasing a shipment`."""
    one, other = p["v"], p["b"]
    if one.action == other.action or not other.noun or one.noun[-1:] != other.noun[-1:]:
        return None
    return _between({"a": replace(one, same=other.same, about=other.about, itself=other.itself), "b": other})


def _kept_free(p: Parts) -> Demand | None:
    """`Keep the time between A and B free of C`."""
    events, joint = p["es"]
    if joint == "and":
        return None
    first = replace(events[0], beside=(*events[0].beside, p["x"]))
    return Demand("never", (first, *events[1:]), joint=joint)


BETWEEN: dict[str, Rule] = {
    "the_next": [
        (f"{{e:event}} that|which {_FOLLOWS} [it|that|them]", lambda p: p["e"]),
        (
            "the_next|the_following|the_subsequent|the_ensuing|a_subsequent|a_following|a_later {e:event}",
            lambda p: p["e"],
        ),
        ("{e:event} thereafter|afterwards|after_it|after_that|following_it", lambda p: p["e"]),
    ],
    "latter": [("{e:event}", lambda p: p["e"]), ("{e:the_next}", lambda p: p["e"])],
    "span": [
        ("between [each|every|any] {a:event} and [then] {b:latter}", _between),
        ("between {v:verbing} and {b:event}", _of_one_object),
    ],
    "adjunct": [
        (
            "after {a:event} but before {b:latter}",
            lambda p: (x := _between(p)) and replace(x, kind="after until"),
        ),
        (
            "from {a:event} until|till|up_to {b:latter}",
            lambda p: (x := _between(p)) and replace(x, kind="after until"),
        ),
        (f"in|during|within|throughout the|any {_SPAN} from {{a:event}} to {{b:latter}}", _between),
        ("between {a:event} and {b:the_next}", lambda p: (x := _between(p)) and replace(x, said="next")),
        (f"{_ANYWHERE} {{x:span}}", lambda p: p["x"]),
        (f"in|during|within|throughout the|any|this {_SPAN} {{x:span}}", lambda p: p["x"]),
        (
            f"in|during|within|throughout the|any|this {_SPAN} that|which lies|passes|is {{x:span}}",
            lambda p: p["x"],
        ),
    ],
    "demand": [
        (f"[always] keep|leave the|any {_SPAN} {{x:span}} {_FREE} {{es:events}}", _kept_free),
        (
            f"{AGENT} {SHOULD} [always] keep|leave the|any {_SPAN} {{x:span}} {_FREE} {{es:events}}",
            _kept_free,
        ),
        (
            f"the|any {_SPAN} {{x:span}} {SHOULD}|is [always] [be|stay|remain|kept|be_kept] {_FREE}"
            " {es:events}",
            _kept_free,
        ),
    ],
}
