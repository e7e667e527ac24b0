"""Sentences whose main statement is what calls may be given: `scale deployment: replicas at least 2`.

A subject (an action, which of its calls, and an argument), and what is required of it (`values`). Each
sentence is turned into what it forbids of the calls: comparisons, each by itself.
"""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.bans import BANS, MAY_NOT, called_with, size_alone, with_this
from synth.policies.clausal.bounds import is_identifier, names_an_argument, takes_words
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.subjects import ANY_CALL, SUBJECTS, TEXT, Calls, Given, about, statement
from synth.policies.clausal.values import Broken, Wanted
from synth.policies.clausal.words import BANNED, SHOULD
from synth.policies.nouns import Counted
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Path


def _of_field(p: Parts) -> Given | None:
    return statement(p["w"], about(p["f"], p["n"]))


def _in_what(p: Parts) -> Given | None:
    """`... in launch campaign`: a lone word before it may be of the words behind, as in `conditional on`."""
    return None if p["n"].lone else _of_field(p)


def _of_noun_field(p: Parts) -> Given | None:
    """`voucher value`: not `the technician assigned`, nor the `trip ids` of whatever call."""
    done = compiled(r".*(?:ed|ing)|ids?").fullmatch(p["f"][-1]) is not None
    return None if done else _of_field(p)


def _banned_of(p: Parts) -> Given | None:
    """`deltas under -50 are forbidden in adjustments`."""
    return statement(p["w"], called_with(p))


def _of_two(p: Parts) -> Given | None:
    return statement(p["w"], _two(p))


def _two(p: Parts) -> tuple[Comparison, ...] | None:
    return None if p["f"] == p["g"] else (replace(p["n"].every[0], path=p["f"], other=p["g"]),)


def _of_any(p: Parts) -> Given | None:
    """Of arguments alone: each call that has them."""
    broken = about(p["f"], p["n"])
    if not broken or any(one.op in ("missing", "given") for one in broken):
        return None
    named = dict.fromkeys(path for one in broken for path in (p["f"], one.other) if path)
    return Given((Calls(ANY_CALL, tuple(Comparison(path, "given") for path in named)),), broken)


def _any_two(p: Parts) -> Given | None:
    if not (is_identifier(p["f"]) and is_identifier(p["g"])):
        return None
    both = (Comparison(p["f"], "given"), Comparison(p["g"], "given"))
    return statement((Calls(ANY_CALL, both),), _two(p))


def _must_be_given(p: Parts) -> Given | None:
    path: Path = p["f"]
    if not names_an_argument(path):
        return None
    return statement(p["w"], (Comparison(path, "missing"),))


def _filled(p: Parts) -> Given | None:
    return statement(p["w"], (Comparison(p["f"], "missing"),))


def _needed(p: Parts) -> Given | None:
    """Given, and so: what is not there is not so."""
    wanted: Wanted = p["p"]
    broken = about(p["f"], Broken(tuple(one.contrary for one in wanted.every), wanted.lone))
    if not broken or any(one.op in ("missing", "given") for one in broken):
        return None
    return statement(p["w"], (Comparison(p["f"], "missing"), *broken))


def _both_given(p: Parts) -> Given | None:
    first, more = _must_be_given(p), _must_be_given({**p, "f": p["g"]})
    return replace(first, broken=(*first.broken, *more.broken)) if first and more else None


def _needed_so(p: Parts) -> Given | None:
    """`needs reason fraud`: not `needs supervisor approval`."""
    plain = not p["p"].lone or takes_words(p["f"])
    return _needed(p) if plain else None


def _used(p: Parts) -> Given | None:
    """`must use method passport or id_card`."""
    wanted: Wanted = p["p"]
    if wanted.lone and not takes_words(p["f"]):
        return None
    broken = Broken(tuple(one.contrary for one in wanted.every), wanted.lone)
    return statement(p["w"], about(p["f"], broken))


def by_unit(p: Parts) -> Given | None:
    """`A suspension runs 1 to 30 days`: the unit says which argument."""
    size: Comparison = p["s"]
    if size.type == "length":
        return statement(p["w"], (replace(size.contrary, path=TEXT),))
    if size.type != "number" or not compiled(r"[a-z]+s").fullmatch(size.unit) or _is_of_time(size.unit):
        return None
    return statement(p["w"], (replace(size.contrary, path=(Counted(size.unit),)),))


def _not_by_unit(p: Parts) -> Given | None:
    return by_unit({**p, "s": p["s"].contrary})


def _is_of_time(unit: str) -> bool:
    """Is it how long a call may take, too?"""
    return compiled("hours|minutes|seconds|dollars|euros|pounds|francs").fullmatch(unit) is not None


def _never_led(p: Parts) -> Given | None:
    """`set limit: never above 5000`."""
    return statement(p["w"], size_alone(p)) if p["s"].op in (">", ">=", "<") else None


def where(p: Parts) -> Given:
    one: Given = p["g"]
    calls = tuple(replace(own, asked=(*own.asked, *p["u"])) for own in one.calls)
    return replace(one, calls=calls)


def _unless(p: Parts) -> Given:
    return where({**p, "u": tuple(one.contrary for one in p["u"])})


NEED = (
    "needs|need|requires|require|must_have|must_carry|must_state|must_give|must_include|must_contain"
    "|have_to_have"
    "|must_name|must_come_with|has_to_have|has_to_carry|has_to_state|has_to_give|has_to_include|have_to_carry"
    "|have_to_state|have_to_give|have_to_include|should_have|should_carry|should_state|needs_to_have"
    "|need_to_have"
    "|must_always_have|must_always_carry|must_specify|has_to_specify|have_to_specify|has_to_name|have_to_name"
    "|must_set|must_provide|demands|demand|calls_for|call_for|asks_for|always_needs|always_need|must_be_given"
    "|must_be_made_with|has_to_come_with|must_have_set|must_mention|takes|take|carries|carry"
    "|is_only_valid_with"
    "|are_only_valid_with|must_record|has_to_be_made_with|has_to_be_given|may_only_be_made_with"
)
_TO_BE = (
    "to_be_given|to_be_filled_in|to_be_set|to_be_filled|to_be_stated|to_be_provided|to_be_present"
    "|to_be_specified"
    "|filled_in|given|set|stated|to_be_named|to_be_there|to_be_non-empty|to_be_included"
)

STATEMENTS: dict[str, Rule] = {
    **SUBJECTS,
    **BANS,
    "so": [("{f:field} {p:is so}", with_this)],
    "what is given": [
        ("{g:main}", lambda p: p["g"]),
        ("{g:only last}", lambda p: p["g"]),
        ("unless {u:so} , {g:only last}", _unless),
        ("if|when|whenever|where {u:so} , [then] {g:only last}", where),
        ("{g:main} [,] [but] unless {u:so}", _unless),
        ("unless {u:so} , {g:main}", _unless),
        ("{g:main} [,] if|when|where|whenever {u:so}", where),
        ("if|when|whenever|where {u:so} , [then] {g:main}", where),
    ],
    "main": [
        # an argument, and what it must be
        ("{f:field} of|in|for|on|with|to {w:whos} [:] {n:needs}", _of_field),
        ("{w:whos} 's {f:field} [:] {n:needs}", _of_field),
        ("{w:whos} {f:plain field} [:] {n:needs}", _of_noun_field),
        ("{w:led} {f:field} [:] {n:needs}", _of_field),
        ("{f:field} {n:needs} {w:when given}", _of_field),
        ("{f:field} {n:needs} {w:in what}", _in_what),
        ("{f:own name} {n:needs}", _of_any),
        (f"{{f:plain field}} {{p:said}} is|are {BANNED} in|for|on|with {{w:whos}}", _banned_of),
        ("no {f:plain field} {p:said} in|for|on|with {w:whos}", _banned_of),
        # two arguments of one call
        ("[both] {f:field} and {g:field} of|in|for|on {w:whos} {n:alike}", _of_two),
        ("{w:led} [both] {f:field} and {g:field} {n:alike}", _of_two),
        ("[both] {f:field} and {g:field} {n:alike} {w:when given}", _of_two),
        ("[both] {f:field} and {g:field} {n:alike} {w:in what}", _of_two),
        ("[both] {f:field} and {g:field} {n:alike}", _any_two),
        # what a call needs
        (f"{{w:whos}} {NEED} {{f:field}}", _must_be_given),
        (f"{{w:whos}} {NEED} {{f:field}} {_TO_BE}", _filled),
        (
            f"{{w:whos}} {NEED} a|an|some|the non-empty|nonempty|filled|filled-in|filled-out {{f:field}}",
            _filled,
        ),
        (f"{{w:whos}} {NEED} {{f:field}} =|:|of|set_to|to_be|that_is|which_is {{p:said}}", _needed),
        (f"{{w:whos}} {NEED} {{f:field}} {{p:said}}", _needed_so),
        (f"{{w:whos}} {NEED} {{f:field}} [that|which] {{p:is so}}", _needed),
        (f"{{w:whos}} {SHOULD} [always] be {{f:own name}} {{p:said}}", _needed),
        (
            f"{{w:whos}} {SHOULD}|may_only|can_only [always] use|be_made_with {{f:field}} [of] {{p:said}}",
            _used,
        ),
        ("{w:led} {f:field} = {p:said}", _needed),
        (f"{{w:whos}} {NEED} {{f:field}} and {{g:field}}", _both_given),
        # a size by its unit
        ("{w:led} {s:size had}", by_unit),
        ("{w:led} never {s:size}", _never_led),
        (f"{{w:whos}} {MAY_NOT} [ever] be|have|contain|run|last|cover|hold {{s:size had}}", _not_by_unit),
        (
            "{w:whos} runs|run|lasts|last|spans|has|have|holds|covers|is|are|is_for|are_for"
            "|contains {s:size had}",
            by_unit,
        ),
        (
            f"{{w:whos}} {SHOULD}|may_only [always] run|last|span|have|hold|cover|be|be_for"
            f"|contain {{s:size had}}",
            by_unit,
        ),
        ("{g:ban}", lambda p: p["g"]),
    ],
}
