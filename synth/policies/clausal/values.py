"""What a sentence requires of an argument: `must be sms or passkey`, `may never be over 60`, `is mandatory`.

A modality, and one of some values, a size, a text with a beginning, given at all, another than its neighbour.
What is required is turned into what breaks it: comparisons that name no argument yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from synth.policies.clausal.bounds import among, is_identifier, multiple
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.words import SHOULD
from synth.policies.where import Comparison


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is said of an argument: comparisons that hold together, which name none yet."""

    every: tuple[Comparison, ...]
    lone: str = ""
    """The word in small letters that is its only value, if it is one."""


@dataclass(frozen=True, slots=True)
class Broken:
    """What an argument may not be, each by itself."""

    every: tuple[Comparison, ...]
    lone: str = ""


# ---------------------------------------------------------------- what is said of an argument

_GIVEN = (
    "given|set|stated|filled_in|filled|present|provided|specified|there|non-empty|nonempty|not_empty"
    "|not_blank"
    "|not_missing|included|supplied|passed|mandatory|required|obligatory|compulsory|needed|necessary|named"
    "|filled_out|a_must|not_be_empty|never_empty|never_missing|never_blank"
)
_MISSING = (
    "empty|missing|blank|left_empty|left_out|left_blank|omitted|absent|unset|not_given|not_set|not_stated"
)
_BE = (
    "be|lie|stay|remain|read|be_kept|be_set_to|be_one_of|be_either|be_exactly|be_any_of|come_to"
    "|amount_to"
    "|be_limited_to|fall|range|run|always_be|be_always|only_be|be_only|be_within|be_in|have_to_be|be_equal_to"
    "|say|have_the_value|be_called|always_lie|lie_anywhere|be_anywhere|have_a_length_of|have_length"
)
_IS = (
    "is|are|stays|stay|lies|lie|remains|remain|reads|equals|is_set_to|is_one_of|is_either|is_exactly"
    "|has_to_be"
    "|is_always|are_always|is_only|are_only|is_any_of|is_kept|ranges|is_called|are_one_of|always_is"
    "|always_are"
)
_IS_NOT = "is_never|is_not|are_never|are_not|is_not_to_be|never_is|never_are|is_never_to_be"
_MAY_ONLY = (
    "may_only|can_only|must_only|should_only|shall_only|may_only_ever|can_only_ever|is_allowed_to_only"
    "|are_only_allowed_to|is_only_allowed_to|has_to_only|could_only"
)
_NOT = (
    "must_not|must_never|may_not|may_never|should_not|should_never|shall_not|shall_never|can_not|can_never"
    "|will_not|will_never|is_not_to|are_not_to|is_never_to|are_never_to|is_not_allowed_to|are_not_allowed_to"
    "|must_not_ever|ought_not_to|is_never_allowed_to|are_never_allowed_to|never|do_not|does_not|not"
    "|may_not_ever"
)
_LIST = "one_of_:|one_of_these_:|one_of_the_following_:"
_ALONE = (
    "[,] [and|but] [only|nothing_else|no_other|no_others|nothing_but_these|no_other_value|no_one_else"
    "|nobody_else|not_anything_else]"
)


def _one(comparison: Comparison | None, lone: str = "") -> Wanted | None:
    return Wanted((comparison,), lone) if comparison is not None else None


def _among(op: Any) -> Callable[[Parts], Wanted | None]:
    make = among(op)
    return lambda p: _one(make(p), p["v"].said[0] if p["v"].loose else "")


def _among_all(p: Parts) -> Wanted | None:
    """`Is limited to senior and expert`: to any of them."""
    several = len(p["v"].every) > 1
    return _among("in")({"v": replace(p["v"], by_and=False)}) if several else None


def _size(p: Parts) -> Wanted:
    return Wanted((p["s"],))


def _part(op: Any) -> Callable[[Parts], Wanted | None]:
    def made(p: Parts) -> Wanted | None:
        return None if p["v"].by_and else Wanted((Comparison((), op, "text", p["v"].said),))

    return made


def _all_of_them(p: Parts) -> Wanted | None:
    first, more = p["p"], p["q"]
    among_both = {one.op for one in (*first.every[:1], *more.every[:1])} == {"in"}
    return None if first.lone or more.lone or among_both else Wanted((*first.every, *more.every))


def _neighbour(op: Any) -> Callable[[Parts], Wanted]:
    return lambda p: Wanted((Comparison((), op, other=p["o"]),))


def _needed(p: Parts) -> Broken:
    wanted: Wanted = p["p"]
    return Broken(tuple(one.contrary for one in wanted.every), wanted.lone)


def _banned(p: Parts) -> Broken | None:
    wanted: Wanted = p["p"]
    return Broken(wanted.every, wanted.lone) if len(wanted.every) == 1 else None


def _bounded(p: Parts) -> Broken | None:
    """`May be at most 500` allows no more; `may be over 500` allows, and forbids nothing."""
    bounds = all(one.op in ("<=", "inside") for one in p["p"].every)
    return _needed(p) if bounds else None


def _either_banned(p: Parts) -> Broken | None:
    first, more = p["p"], p["q"]
    if len(first.every) > 1 or len(more.every) > 1 or first.lone or more.lone:
        return None
    return Broken((*first.every, *more.every))


def _both(p: Parts) -> Broken | None:
    first, more = p["n"], p["m"]
    return (
        Broken((*first.every, *more.every), first.lone or more.lone)
        if not (first.lone and more.lone)
        else None
    )


def _alike(op: Any) -> Callable[[Parts], Broken]:
    return lambda p: Broken((Comparison((), op),))


REQUIREMENTS: dict[str, Rule] = {
    "said": [
        (
            f"[one_of|any_of|either|exactly|equal_to|set_to|the_value|only|{_LIST}] {{v:values}} {_ALONE}",
            _among("in"),
        ),
        ("other_than|anything_but|different_from|anything_except|not {v:values}", _among("not in")),
        ("{s:size}", _size),
        ("a|an|any|some|always_a [whole|integer] multiple of {n:number of}", lambda p: _one(multiple(p))),
        ("divisible_by|in_steps_of|in_multiples_of|multiples_of {n:number of}", lambda p: _one(multiple(p))),
        (_GIVEN, lambda p: Wanted((Comparison((), "given"),))),
        (_MISSING, lambda p: Wanted((Comparison((), "missing"),))),
        ("the_same_as|equal_to|identical_to|identical_with {o:its field}", _neighbour("same")),
        (
            "[something|anything|someone|somebody] different_from|other_than|not_the_same_as|unlike"
            "|distinct_from {o:its field}",
            _neighbour("differs"),
        ),
        ("different_from|distinct_from {o:field}", _neighbour("differs")),
        ("starting|beginning with {v:values}", _part("starts")),
        ("not starting|beginning with {v:values}", _part("not starts")),
        ("ending in|with {v:values}", _part("ends")),
        ("not ending in|with {v:values}", _part("not ends")),
        ("prefixed with|by {v:values}", _part("starts")),
        ("with|having the_prefix {v:values}", _part("starts")),
        ("without the_prefix {v:values}", _part("not starts")),
        ("anything|something other_than|else_than|different_from {v:values}", _among("not in")),
        ("anything|something but|except {v:values}", _among("not in")),
        ("no|none other_than {v:values}", _among("in")),
        ("nothing but|except|other_than {v:values}", _among("in")),
        ("containing|including|mentioning the_word|the_words {v:values}", _part("word")),
        ("containing|including|mentioning {v:values}", _part("contains")),
    ],
    "do": [
        (f"{_BE} {{p:said}}", lambda p: p["p"]),
        ("equal|match {p:said}", lambda p: None if p["p"].lone else p["p"]),
        ("start|begin with {v:values}", _part("starts")),
        ("end|finish in|with|on {v:values}", _part("ends")),
        ("contain|include|mention|have_in_it the_word|the_words {v:values}", _part("word")),
        ("contain|include|mention {v:values}", _part("contains")),
        ("go above|over|beyond {n:number of}", lambda p: Wanted((_sized(">", p),))),
        ("go|fall|drop|be_set below|under {n:number of}", lambda p: Wanted((_sized("<", p),))),
        ("have the_prefix {v:values}", _part("starts")),
        ("be_prefixed with|by {v:values}", _part("starts")),
        ("be_limited|be_capped|be_restricted to|at {n:number of}", lambda p: Wanted((_sized("<=", p),))),
        ("exceed|surpass|top {n:number of}", lambda p: Wanted((_sized(">", p),))),
        ("have|contain|comprise|be_of|be {s:size}", lambda p: _size(p) if p["s"].type == "length" else None),
        ("differ from {o:field}", _neighbour("differs")),
        ("match|equal {o:its field}", lambda p: _neighbour("same")(p) if is_identifier(p["o"]) else None),
    ],
    "is so": [
        (f"{_IS} {{p:said}}", lambda p: p["p"]),
        ("starts|begins|start|begin with {v:values}", _part("starts")),
        ("ends|finishes|end|finish in|with|on {v:values}", _part("ends")),
        ("contains|includes|mentions|contain the_word|the_words {v:values}", _part("word")),
        ("contains|includes|mentions|contain {v:values}", _part("contains")),
        (
            "has|contains|have|contain|comprises {s:size}",
            lambda p: _size(p) if p["s"].type == "length" else None,
        ),
        ("differs|differ from {o:field}", _neighbour("differs")),
        ("exceeds|surpasses|tops|exceed {n:number of}", lambda p: Wanted((_sized(">", p),))),
        ("goes|go above|over|beyond {n:number of}", lambda p: Wanted((_sized(">", p),))),
        ("goes|go|falls|drops below|under {n:number of}", lambda p: Wanted((_sized("<", p),))),
        ("is|are limited|capped|restricted to|at {n:number of}", lambda p: Wanted((_sized("<=", p),))),
        ("is|are limited|restricted|confined to {v:values}", _among_all),
        ("is|are prefixed with|by {v:values}", _part("starts")),
        ("has|have the_prefix {v:values}", _part("starts")),
        ("is|are neither {v:values}", _among("not in")),
        ("does|do not {p:do}", lambda p: _turned(p["p"]) if len(p["p"].every) == 1 else None),
        ("is|are not {p:said}", lambda p: _turned(p["p"]) if len(p["p"].every) == 1 else None),
    ],
    "saids": [
        ("{p:said}", lambda p: p["p"]),
        ("{p:said} [,] and|but {q:said}", _all_of_them),
    ],
    "dos": [
        ("{p:do}", lambda p: p["p"]),
        ("{p:do} [,] and|but [to] {q:do}", _all_of_them),
        ("{p:do} [,] and|but {q:said}", _all_of_them),
        ("{p:do} [,] and|but not {q:do}", lambda p: _all_of_them({**p, "q": _turned(p["q"])})),
    ],
    "doeses": [
        ("{p:is so}", lambda p: p["p"]),
        ("{p:is so} [,] and|but {q:is so}", _all_of_them),
        ("{p:is so} [,] and|but {q:said}", _all_of_them),
    ],
    "need": [
        ("{n:own need}", lambda p: p["n"]),
        ("{p:saids}", lambda p: None if p["p"].lone else _needed(p)),
        (": {p:saids}", _needed),
    ],
    "own need": [
        (f"{SHOULD} [always|also|both|at_all_times] {{p:dos}}", _needed),
        (f"{_MAY_ONLY} {{p:do}}", _needed),
        ("may|can|could {p:do}", _bounded),
        (f"{SHOULD}|may|can be neither {{p:said}} nor {{q:said}}", _either_banned),
        (f"{SHOULD}|may|can be neither {{p:said}}", _banned),
        ("[always|only] {p:doeses}", _needed),
        (f"{_NOT} [ever] {{p:do}}", _banned),
        (f"{_NOT} [ever] {{p:do}} or|nor {{q:said}}", _either_banned),
        (f"{_NOT} [ever] {{p:do}} or|nor {{q:do}}", _either_banned),
        (f"{_IS_NOT} [ever] {{p:said}}", _banned),
        (f"{_IS_NOT} [ever] {{p:said}} or|nor {{q:said}}", _either_banned),
        ("never {p:said}", _banned),
        ("never {p:is so}", _banned),
        ("is|are neither {p:said}", _banned),
        ("is|are neither {p:said} nor {q:said}", _either_banned),
    ],
    "needs": [
        ("{n:need}", lambda p: p["n"]),
        ("{n:need} [,] and|but [it|they] [also] {m:own need}", _both),
        ("{n:need} , {m:own need}", _both),
    ],
    "alike": [
        (
            f"{SHOULD} [always] differ|be_different|be_distinct|not_be_the_same|not_be_equal|be_unequal"
            "|be_different_people|be_different_persons|be_two_different_people|be_two_people|not_match"
            "|not_coincide|be_two_different_persons|be_different_ones|not_be_identical",
            _alike("same"),
        ),
        (
            f"{_NOT} [ever] be_the_same|be_equal|be_identical|match|be_alike|coincide"
            f"|be_one_and_the_same|agree"
            "|be_the_same_one|be_the_same_person|be_one_person|be_one_and_the_same_person",
            _alike("same"),
        ),
        ("differ|are_different|are_always_different|always_differ|are_distinct", _alike("same")),
        (f"{_IS_NOT} the_same|equal|identical|alike|one_and_the_same", _alike("same")),
        ("never|do_not match|coincide", _alike("same")),
        ("[are] never|not the_same|equal|identical|alike", _alike("same")),
        (f"{SHOULD} [always] be_the_same|be_equal|be_identical|match|agree|coincide", _alike("differs")),
        (f"{_NOT} [ever] differ|be_different", _alike("differs")),
        ("are [always] the_same|equal|identical", _alike("differs")),
        (f"{_IS_NOT} different", _alike("differs")),
    ],
}


def _sized(op: Any, p: Parts) -> Comparison:
    number, unit = p["n"]
    kind = "length" if unit == "characters" else "number"
    return Comparison((), op, kind, (number,), "" if kind == "length" else unit)  # type: ignore[arg-type]


def _turned(wanted: Wanted) -> Wanted:
    return Wanted(tuple(one.contrary for one in wanted.every), wanted.lone if len(wanted.every) == 1 else "x")


def as_range(conditions: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
    """Two bounds of one argument are a range, as if it was said in one."""
    if len(conditions) != 2 or {one.op for one in conditions} != {"<=", ">="}:
        return conditions
    low, high = sorted(conditions, key=lambda one: one.op, reverse=True)
    alike = replace(low, op="<=", values=high.values) == high and low.values <= high.values
    return (replace(low, op="inside", values=(*low.values, *high.values)),) if alike else conditions
