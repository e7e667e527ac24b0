"""Sentences of clauses: what is demanded, when, and only if what else has or has not happened.

The actions of a sentence stand as the file names them (see `inflected`). A sentence is taken apart as a
whole: each clause must be one of a few, and its actions must be the file's, so that no word is passed over.
What has one meaning is said in the language's words; what has two is refused with both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from synth.policies.names import Names, TwoReadings

_Meaning = Callable[[re.Match[str]], str]

_AGENT = r"(?:(?:the |an? )?(?:agent|assistant|bot|model|system|operator)|you|it|they|we)"
_WISH = r"(?:please |always |also |make sure(?: that)? |ensure(?: that)? |see to it that )*"
_BE_SURE = r"(?:make sure|ensure|see to it|be sure|take care)(?: that)?"
_HAS = r"(?: (?:happens|has happened|had happened|succeeds|has succeeded))?(?: (?:first|before|already))?"
_HAS_NOT = r" (?:has|had) not (?:yet )?(?:happened|succeeded)(?: (?:first|before|yet))?"
_NEVER = r"(?:never|do not|don['\u2019]t|must not|must never)(?: ever)?"
_CANNOT = r"(?:must|may|can|should|shall|will) (?:not|never) happen|cannot happen|can['\u2019]t happen"
_FAILS = r"(?:fails|failed|has failed|did not succeed)"
_AGAIN = r"(?: (?:afterwards|any ?more|again|after that|thereafter|later))?"
_AFTER = r"(?:after|once|when|if|as soon as|provided(?: that)?)"
_EVER = r"(?:after|once|when|whenever|as soon as|every time|each time)"
_D = r"(?:\w+ (?:seconds?|minutes?|hours?|days?))"


def composed(text: str, names: Names) -> str | None:
    """The sentence in the language's words; None where it is no such one. TwoReadings where two are meant."""
    said = " ".join(text.split()).rstrip(".")
    for pattern, meaning in _clauses(tuple(names.actions)):
        if match := pattern.fullmatch(said):
            return meaning(match)
    return None


@lru_cache(maxsize=16)
def _clauses(phrases: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], _Meaning], ...]:
    one = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
    some = rf"(?:the )?(?:{one})(?: and (?:the )?(?:{one}))*"
    any_ = rf"(?:the )?(?:{one})(?: (?:and|or) (?:the )?(?:{one}))*"
    a, b = rf"(?P<a>{some})", rf"(?P<b>{any_})"
    same = r"(?P<same>,? with the same [\w.]+(?: and [\w.]+)*)?"
    alone = rf"(?P<b>(?:the )?(?:{one}))"
    what = rf"(?:the )?(?:{one})"
    ban = rf"(?:(?:{_AGENT} )?{_NEVER} (?:call |use )?(?P<a>{what})|(?P<c>{what}) (?:{_CANNOT})){_AGAIN}"
    clauses: list[tuple[str, _Meaning]] = [
        # only what has happened allows it
        (rf"{_WISH}(?:if|when|as long as|while|where) {alone}{_HAS_NOT},? {ban}{same}", _needs),
        (rf"{_WISH}{ban},? (?:if|when|as long as|while|where) {alone}{_HAS_NOT}{same}", _needs),
        (rf"{_WISH}only (?:call |use )?{a} {_AFTER} {b}{_HAS}{same}", _needs),
        (rf"{_WISH}{a} only {_AFTER} {b}{_HAS}{same}", _needs),
        (rf"only {_AFTER} {b}{_HAS} (?:may|can|must|should) {a} happen{same}", _needs),
        (rf"{a} (?:may|can|could) happen {_AFTER} {b}{_HAS} only{same}", _needs),
        (rf"{_WISH}(?:immediately|directly|right|just) before {b}{_HAS}, {a}(?: must happen)?{same}",
         lambda m: f"{m['a']} must happen immediately before {m['b']}{_same(m)}"),
        # a failure forbids
        (rf"{_WISH}(?:if|when|once|whenever|after) {alone} {_FAILS},? {ban}",
         lambda m: f"If {m['b']} fails, {_banned(m)} must never happen afterwards"),
        (rf"{_WISH}{ban} (?:if|when|once|whenever|after) {alone} {_FAILS}",
         lambda m: f"If {m['b']} fails, {_banned(m)} must never happen afterwards"),
        # an answer to each
        (rf"{_BE_SURE} {a}{_HAS} (?:whenever|every time|each time) {b}{_HAS}",
         lambda m: f"{m['b']} must be followed by {m['a']}"),
        # it is required
        (rf"it is (?:mandatory|required|necessary|obligatory) to {a} before {b}{_HAS}{same}", _first),
        (rf"(?:{_AGENT} (?:must|should|has to|have to) )?{_WISH}{a} first,? before {b}{_HAS}{same}", _first),
        # two things may be meant
        (rf"{_BE_SURE} {a} (?:happens|is done) (?P<said>after) {b}{_HAS}{same}", _order_or_answer),
        (rf"{a} must happen (?P<said>after) {b} happens{same}", _order_or_answer),
        (rf"{_WISH}(?P<said>{_EVER}) {b}{_HAS},? (?:then )?{a}{same}", _order_or_answer),
        (rf"{_WISH}{a} (?P<said>after) {b}{_HAS}{same}", _order_or_answer),
        (rf"{_WISH}(?:first )?{b}(?: first)?(?:,| and|, and)? (?P<said>then) {a}", _order_or_answer),
        (rf"{_WISH}(?:first )?{b}, (?:and )?then {a},? (?:and )?then (?P<c>{some})", _three),
        (rf"{_WISH}{a}(?: must happen)? (?P<d>within {_D}) of {b}(?: happens)?", _around_or_after),
        (rf"{_WISH}{ban} (?P<d>within {_D}) of {b}(?: happens)?", _not_around_or_after),
        (rf"{_WISH}{ban} before {b} (?:happens|has happened|succeeds|has succeeded){same}", _needed_or_over),
    ]  # fmt: skip
    return tuple((re.compile(pattern, re.IGNORECASE), meaning) for pattern, meaning in clauses)


def _same(m: re.Match[str]) -> str:
    said: str = m["same"] or ""
    return f" {said.lstrip(', ')}" if said else ""


def _banned(m: re.Match[str]) -> str:
    return str(m["a"] or m.groupdict().get("c"))


def _needs(m: re.Match[str]) -> str:
    return f"{m['b']} must happen before {_banned(m)}{_same(m)}"


def _sentence(text: str) -> str:
    return f"'{text[0].upper()}{text[1:]}'"


def _first(m: re.Match[str]) -> str:
    return f"{m['a']} must happen before {m['b']}{_same(m)}"


def _order_or_answer(m: re.Match[str]) -> str:
    a, b = m["a"], m["b"]
    same = _same(m) if "same" in m.re.groupindex else ""
    raise TwoReadings(
        f"cannot read '{m['said']}'; write {_sentence(f'{b} must be followed by {a}{same}')} where {a} may "
        f"not be left out, or {_sentence(f'{b} must happen before {a}{same}')} where {b} is needed first"
    )


def _three(m: re.Match[str]) -> str:
    a, b, c = m["b"], m["a"], m["c"]
    order = f"{a} must happen before {b}, and {b} must happen before {c}"
    raise TwoReadings(
        f"cannot read 'then'; write {_sentence(order)} where only the order counts, or two policies: "
        f"{_sentence(f'{a} must be followed by {b}')} and {_sentence(f'{b} must be followed by {c}')} "
        "where all of them have to come"
    )


def _needed_or_over(m: re.Match[str]) -> str:
    a, b, same = _banned(m), m["b"], _same(m)
    raise TwoReadings(
        f"cannot read 'before'; write {_sentence(f'{b} must happen before {a}{same}')} where {b} is needed "
        f"first, or {_sentence(f'{b} must never happen after {a}{same}')} where it is forbidden afterwards"
    )


def _not_around_or_after(m: re.Match[str]) -> str:
    a, b, d = _banned(m), m["b"], m["d"]
    after = _sentence(f"{a} must never happen {d} after {b}")
    raise TwoReadings(
        f"cannot read '{d} of'; write {after} where only what comes later is meant, or two policies: "
        f"{after} and {_sentence(f'{b} must never happen {d} after {a}')}"
    )


def _around_or_after(m: re.Match[str]) -> str:
    a, b, d = m["a"], m["b"], m["d"]
    raise TwoReadings(
        f"cannot read '{d} of'; write {_sentence(f'{a} must start {d} of {b}')}, before or after, or "
        f"{_sentence(f'{a} must start {d} after {b}')}, or {_sentence(f'{b} must be followed by {a} {d}')} "
        f"where {a} may not be left out"
    )
