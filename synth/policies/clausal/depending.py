"""What calls with certain arguments need, and what an argument must be as it was in another call.

`An inspection with a fee over 300 needs a consultation first`, `the amount paid must equal that approved for
the same claim`: each is said by the sentence of the language that means it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from synth.policies.clausal.argument_words import IF, NOT_TO
from synth.policies.clausal.bans import size_alone
from synth.policies.clausal.bounds import OVER, UNDER
from synth.policies.clausal.conditions import Asked, Conditions, asking, sized, so
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event, Fact
from synth.policies.clausal.subjects import done_to, is_plain, plain_calls
from synth.policies.clausal.words import AGENT, BANNED, BEFORE, SHOULD
from synth.policies.verbs import PARTICIPLES
from synth.policies.where import Path


@dataclass(frozen=True, slots=True)
class NeededFirst:
    """An action that calls with certain arguments need before them."""

    first: int
    calls: Asked


@dataclass(frozen=True, slots=True)
class AsLatest:
    """An argument that must be what it was in the latest call of another action."""

    what: int
    path: Path
    other: int
    beside: Path
    same: str
    how: str = "equal"
    """How it must stand to that, as the language says it."""
    order: Literal["as said", "by steps", "open"] = "as said"
    """Is `what` the later call? Of `differ from` what they do tells it, of two side by side nothing does."""


# ---------------------------------------------------------------- what is needed first


def _first(p: Parts) -> Event | None:
    """The action that a main clause demands, an earlier success, or a noun names."""
    event: Event = p["e"]
    return event if is_plain(event) and not event.outcome else None


def _demanded(p: Parts) -> Event | None:
    demand: Demand = p["d"]
    plain = demand.kind in ("must", "do", "do first", "have") and len(demand.events) == 1
    return _first({"e": demand.events[0]}) if plain and not demand.others else None


def _in_fact(aspect: str) -> Callable[[Parts], Event | None]:
    def made(p: Parts) -> Event | None:
        fact: Fact = p["f"]
        return _first({"e": fact.events[0]}) if fact.aspect == aspect and len(fact.events) == 1 else None

    return made


def _needed(p: Parts) -> NeededFirst | None:
    """`b` is needed before such calls of `w`, which conditions in front may be said of."""
    needed = _needed_by_all(p)
    return needed if needed and needed.calls[0].asked else None


def _needed_by_all(p: Parts) -> NeededFirst | None:
    calls: Asked = p["w"]
    if "l" in p:
        conditions, action = p["l"]
        if any(one.action != action for one in calls):
            return None
        calls = asking(calls, conditions)
    if "c" in p:
        calls = asking(calls, p["c"])
    if len(calls) != 1 or calls[0].action == p["b"].action:
        return None
    return NeededFirst(p["b"].action, calls) if p["b"].action >= 0 else None


def _by_such(p: Parts) -> NeededFirst:
    """`Over 500, a refund needs an approval first`: said of what needs it."""
    needed: NeededFirst = p["n"]
    return replace(needed, calls=asking(needed.calls, p["c"]))


def _of_size(p: Parts) -> Conditions:
    return (replace(p["s"], path=p["f"]),)


def _of_what(p: Parts) -> tuple[Conditions, int] | None:
    """`If the inspection fee exceeds 300`: of which calls that is said."""
    path, calls = p["x"]
    conditions = so({**p, "f": path})
    plain = len(calls) == 1 and not calls[0].asked
    return (conditions, calls[0].action) if conditions and plain else None


def _by_verb(p: Parts) -> NeededFirst | None:
    """`Inspections with a fee over 300: book only after ...`."""
    if p["t"].action != p["v"].action or p["t"].role:
        return None
    calls = plain_calls({"e": p["t"]})
    return _needed({"w": asking(calls, p["k"]), "b": p["b"]}) if calls else None


# ---------------------------------------------------------------- what must be as it was


def _value(p: Parts) -> tuple[Path, int] | None:
    path, calls = p["x"]
    named = len(calls) == 1 and not calls[0].asked and not calls[0].by_object
    return (path, calls[0].action) if named else None


def _value_done(p: Parts) -> tuple[Path, int] | None:
    """`The settlement amount approved`, `the amount last approved`: of what is done to that."""
    done: Event = p["d"]
    told = "t" in p and (p["t"].action != done.action or p["t"].role != done.role or p["t"].same)
    return None if told or not is_plain(done) or done.action < 0 else (p["f"], done.action)


def _value_of(p: Parts) -> tuple[Path, int] | None:
    return _value({"x": (p["f"], p["w"])})


def _other(p: Parts) -> tuple[Path, int] | None:
    """`That of the approval`: of the argument that was named."""
    return ((), p["e"].action) if is_plain(p["e"]) and p["e"].action >= 0 else None


def as_it_was(p: Parts) -> AsLatest | None:
    path, what = p["x"] if "x" in p else _own(p)
    (beside, other), same = p["y"]
    same = p.get("s") or same
    if what == other or what < 0 or other < 0 or not (path or beside) or is_done((*path, *beside)):
        return None
    return AsLatest(what, path or beside, other, beside or path, same)


def is_done(words: Path) -> bool:
    """`The amount paid` is no name of an argument."""
    return any(one.split("_")[-1] in PARTICIPLES or one.endswith(("ed", "_last")) for one in words)


def _own(p: Parts) -> tuple[Path, int]:
    """The argument `f` of the calls `w`, or of what is done."""
    calls: Asked = p["w"]
    return p.get("f", ()), calls[0].action if len(calls) == 1 and not calls[0].asked else -1


def _in(p: Parts) -> AsLatest | None:
    """`Paying an amount other than the one approved`."""
    calls = plain_calls({"e": p["e"]})
    return as_it_was({**p, "w": calls}) if calls else None


def _done_as(p: Parts) -> AsLatest | None:
    """`Settlements are to be paid in exactly the amount last approved`."""
    event = done_to(p)
    return None if event is None else _in({**p, "e": event})


def _other_way(p: Parts) -> AsLatest | None:
    """`No difference between the amount approved and the amount then paid`."""
    return as_it_was({"x": p["y"], "y": (p["x"], p.get("s", ""))})


def _with_same(p: Parts) -> AsLatest:
    known: AsLatest = p["a"]
    return replace(known, same=p["s"])


def _same(p: Parts) -> str:
    return str(p["f"][-1])


_LED_BY = "before|prior_to|ahead_of"
_BUT_FOR = "unless|until|before|without|except_after|prior_to"
_ONCE = "after|once|when|if|as_soon_as|provided_that|provided"
_NEED = (
    "needs|need|requires|require|must_be_preceded_by|has_to_be_preceded_by|have_to_be_preceded_by|calls_for"
)
_FIRST = f"{BEFORE}|in_advance|up_front|before_that"
_LAST = "[last|most_recently|latest|previously|lastly|just|already|earlier|then|before]"
_THE_LAST = "[the|its|a|an] [last|latest|most_recent|previous|preceding|corresponding|matching|prior]"
_EQUAL = (
    "equal|match|be_equal_to|be_the_same_as|be_identical_to|be_identical_with|agree_with|correspond_to"
    "|be|be_exactly|coincide_with|be_the_same_amount_as|always_match|always_equal|always_be_equal_to"
    "|always_be_the_same_as|tally_with"
)
_EQUALS = "equals|matches|is_equal_to|is_the_same_as|is_identical_to|agrees_with|corresponds_to|is|is_exactly"
_DIFFER = "differ_from|deviate_from|be_different_from|be_other_than|diverge_from|vary_from|be_unequal_to"
_OTHER = (
    "that|which differs_from|is_different_from|deviates_from|is_not_equal_to|is_not_the_same_as"
    "|does_not_match|does_not_equal|is_not|is_other_than"
)
_OTHERWISE = "different_from|other_than|unequal_to|differing_from|deviating_from|not_equal_to|not_matching"


def _needs(make: Callable[[Parts], NeededFirst | None]) -> Sequence[tuple[str, Callable[[Parts], Any]]]:
    """What is needed before such calls, in each frame."""
    return [
        (f"{{b:first demanded}} {_LED_BY} {{w:asked for}}", make),
        (f"{_LED_BY} {{w:asked for}} [,] [make_sure|ensure] [that] {{b:first demanded}}", make),
        ("{w:banned} unless|until {b:first done}", make),
        (f"{{w:banned}} {_BUT_FOR} {{b:first noun}}", make),
        (f"{{w:allowed alone}} {_ONCE} {{b:first done}}", make),
        ("{w:allowed alone} after|with {b:first noun}", make),
        (f"{{w:allowed}} only {_ONCE} {{b:first done}}", make),
        ("{w:allowed} only after|with {b:first noun}", make),
        (f"{{w:asked for}} {_NEED} {{b:first noun}}", make),
        (f"{{w:led}} {{b:first demanded}} {_FIRST}", make),
        (f"{{w:led}} {{b:first noun}} is|are [always] required|needed|mandatory|necessary {_FIRST}", make),
        (f"{{b:first noun}} {SHOULD} come|happen|take_place|be_done {_LED_BY} {{w:asked for}}", make),
        (
            f"{{b:first noun}} is|are [always] required|needed|mandatory|necessary {_LED_BY} {{w:asked for}}",
            make,
        ),
    ]


DEPENDING: dict[str, Rule] = {
    "first done": [
        ("{f:fact}", _in_fact("perfect")),
        ("{f:fact} {x:early}", _in_fact("perfect")),
    ],
    "not done": [("{f:fact}", _in_fact("not"))],
    "early": [(f"{BEFORE}|in_advance|up_front|before_that", lambda p: "first")],
    "first noun": [("{e:noun}", _first), ("{e:noun} {x:early}", _first), ("a|an|the prior {e:noun}", _first)],
    "first demanded": [
        ("{d:demand}", _demanded),
        ("{d:demand} {x:early}", _demanded),
        (f"{AGENT} {SHOULD} {{e:deed}}", _first),
        ("{e:deed}", _first),
        ("{f:fact}", _in_fact("present")),
        ("{f:fact}", _in_fact("perfect")),
    ],
    "asked for": [
        ("{w:whos}", lambda p: p["w"]),
        ("{w:clause}", lambda p: p["w"]),
        (f"{AGENT} may|can {{e:deed}}", plain_calls),
    ],
    "led by": [
        (f"{IF} {{x:whose argument}} {{p:is so}} [,|:]", _of_what),
        ("[a|an] {x:whose argument} [of] {p:said} means|requires|implies [that]", _of_what),
    ],
    "needed": _needs(_needed),
    "needed by all": _needs(_needed_by_all),
    "such": [
        (f"{IF} {{c:so}} [,]", lambda p: p["c"]),
        (f"{OVER} [a|an|the] {{f:plain field}} of {{m:number of}} [,]", sized(">")),
        (f"{UNDER} [a|an|the] {{f:plain field}} of {{m:number of}} [,]", sized("<")),
        ("{s:size} [,]", size_alone),
        ("for|with|at [a|an|the] {f:plain field} [of] {s:size} [,]", _of_size),
    ],
    "what depends": [
        ("{n:needed}", lambda p: p["n"]),
        ("{c:such} {n:needed by all}", _by_such),
        ("[a|an|the|any|every] {f:plain field} [of] {s:size} means|requires|implies [that] "
         "{n:needed by all}", lambda p: _by_such({**p, "c": _of_size(p)})),
        ("{t:thing} {k:asking} [,|:] {v:verb} only after {b:first noun}", _by_verb),
        (f"{{t:thing}} {{k:asking}} [,|:] {{v:verb}} only {_ONCE} {{b:first done}}", _by_verb),
        (f"{{l:led by}} {{b:first demanded}} {_LED_BY} {{w:asked for}}", _needed),
        (f"{{l:led by}} {_LED_BY} {{w:asked for}} [,] {{b:first demanded}}", _needed),
        ("{l:led by} {w:banned} unless|until {b:first done}", _needed),
        (f"{{l:led by}} {{w:banned}} {_BUT_FOR} {{b:first noun}}", _needed),
        (f"{{l:led by}} {{w:allowed alone}} {_ONCE} {{b:first done}}", _needed),
        ("{l:led by} {w:allowed alone} after|with {b:first noun}", _needed),
        (f"{{l:led by}} {{w:allowed}} only {_ONCE} {{b:first done}}", _needed),
        ("{l:led by} {w:allowed} only after|with {b:first noun}", _needed),
        (f"{{l:led by}} {{w:asked for}} {_NEED} {{b:first noun}}", _needed),
        (f"{{w:led}} {{b:first noun}} {SHOULD} come|happen|take_place|be_done first|beforehand", _needed),
        (f"{{w:led}} {{b:first noun}} {SHOULD} come|happen|take_place|be_done {_LED_BY} {{x:asked for}}",
         lambda p: _needed(p) if {one.action for one in p["x"]} == {one.action for one in p["w"]} else None),
        (f"{{w:banned}} {IF} {{c:so}} and {{b:not done}}", _needed),
        (f"{{w:banned}} {IF} {{c:so}} unless|until {{b:first done}}", _needed),
        ("{a:as it was}", lambda p: p["a"]),
        ("{s:of same} , {a:as it was}", _with_same),
    ],
    "of same": [
        ("for|of|with|on|in [the|one_and_the] same {f:plain field}", _same),
        ("{e:noun} of|for|with [the|one_and_the] same {f:plain field}", _same),
        ("for|of {t:thing} of|for|with [the|one_and_the] same {f:plain field}", _same),
    ],
    "value done": [
        ("{x:whose argument}", _value),
        ("{x:was done}", lambda p: p["x"]),
    ],
    "was done": [
        (f"{_THE_LAST} {{f:plain field}} [that_is|that_was] {_LAST} {{d:done}} [as|for|to] [{{t:thing}}]",
         _value_done),
        (f"{_THE_LAST} {{t:thing}} {{f:plain field}} [that_is|that_was] {_LAST} {{d:done}}", _value_done),
        (f"{_THE_LAST} {{d:done}} {{t:thing}} {{f:plain field}}", _value_done),
        (f"{_THE_LAST} {{d:done}} {{f:plain field}} of|for [the|a|an|each|every] {{t:thing}}", _value_done),
        (f"{{f:field}} of|in {_THE_LAST} {{w:whos}}", _value_of),
        (f"{{f:field}} of|for|in {{t:thing}} [that|which] {AGENT} {{d:verb}}", _value_done),
    ],
    "value before": [
        ("{x:value done}", lambda p: p["x"]),
        ("{x:value last}", lambda p: p["x"]),
    ],
    "value last": [
        (f"that of|in|from {_THE_LAST} {{e:noun}}", _other),
        (f"{_THE_LAST} {{e:noun}}", _other),
        (f"the_one|the_amount|the_value|that|what [that_was|which_was|was] {_LAST} {{d:done}}",
         lambda p: _other({"e": p["d"]})),
        (f"that of {_THE_LAST} {{d:done}} one", lambda p: _other({"e": p["d"]})),
        (f"{_THE_LAST} {{d:done}} one", lambda p: _other({"e": p["d"]})),
    ],
    "what was": [
        ("{y:value last}", lambda p: (p["y"], "")),
        ("{x:was done}", lambda p: (p["x"], "")),
        ("{y:value before} {s:of same}", lambda p: (p["y"], p["s"])),
    ],
    "as it was": [
        (f"{{x:value done}} {SHOULD} [always] {_EQUAL} {{y:what was}}", as_it_was),
        (f"{{x:value done}} {_EQUALS} {{y:what was}}", as_it_was),
        (f"{{x:value done}} {NOT_TO}|does_not|do_not [ever] {_DIFFER} {{y:what was}}", as_it_was),
        (f"{{w:led}} {{f:field}} {SHOULD} [always] {_EQUAL} {{y:what was}}", as_it_was),
        (f"{{w:led}} {{f:field}} {_EQUALS} {{y:what was}}", as_it_was),
        (f"{{w:banned}} with|in|for a|an {{f:plain field}} {_OTHER} {{y:what was}}", as_it_was),
        (f"{{w:banned}} with|in|for a|an {{f:plain field}} {_OTHERWISE} {{y:what was}}", as_it_was),
        (f"{{e:noun}} with|in|for a|an {{f:plain field}} {_OTHERWISE} {{y:what was}} is|are {BANNED}", _in),
        (f"{{e:noun}} {NOT_TO} [ever] deviate|differ in {{f:plain field}} from {{y:what was}}", _in),
        (f"{{e:noun}} {SHOULD} have the same {{f:plain field}} as {{o:value before}} {{s:of same}}",
         lambda p: _in({**p, "y": (p["o"], p["s"])})),
        (f"{{t:thing}} {SHOULD} be {{d:done}} in|with|for [exactly|precisely] {{y:what was}}", _done_as),
        (f"there {SHOULD} be no difference between {{x:value done}} and {{y:value done}}", _other_way),
    ],
}  # fmt: skip
