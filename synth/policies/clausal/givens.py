"""From a sentence to what it forbids calls to be given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from synth.policies.clausal.against import AGAINST, doers
from synth.policies.clausal.bounds import BOUNDS
from synth.policies.clausal.conditions import CONDITIONS
from synth.policies.clausal.depending import DEPENDING, AsLatest, NeededFirst
from synth.policies.clausal.fitting import FITTING
from synth.policies.clausal.matching import Grammar, Rule, TooLong
from synth.policies.clausal.pairs import PAIRS
from synth.policies.clausal.passing import PASSING
from synth.policies.clausal.reader import MAX_LENGTH, rules_of, together
from synth.policies.clausal.spelling import CONTRACTIONS, without_quoted
from synth.policies.clausal.statements import STATEMENTS
from synth.policies.clausal.subjects import Given, checked, told
from synth.policies.clausal.values import REQUIREMENTS
from synth.policies.clausal.values_first import VALUES_FIRST
from synth.policies.kinds.count import NUMBERS
from synth.policies.numerals import in_digits
from synth.policies.patterns import compiled

_TABLE = (
    *CONTRACTIONS,
    (r"(\d),(?=\d{3}\b)", r"\1"),
    (r"(\d) ?[\u2013\u2014] ?(?=\d)", r"\1 to "),
    (r"(?<![\w-])(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)(?![\w-])", r"\1 to \2"),
    (r"\s*[;\u2013\u2014]\s*", ", "),
    (r"\s*(>=|<=|!=|==|=)\s*", r" \1 "),
    (r"\s([<>])\s*(?=\d)", r" \1 "),
    (r" == ", " = "),
    (r" != ", " other than "),
    (r"\u2265 ?", ">= "),
    (r"\u2264 ?", "<= "),
    (r":(?= |$)", " :"),
    (r"\bin [\[{(]([^\])}]+)[\])}]", r"one of \1"),
    (r" \(([^()]*)\)", r" , \1"),
)  # fmt: skip
_ENSURED = compiled(
    r"^(?:(?:please |always |you must |you have to |the agent (?:must|has to) )?"
    r"(?:(?:make sure|ensure|be sure|see to it|take care)(?: that)?|(?:check|guarantee) that) "
    r"|it must be ensured that )"
    r"(?!to )"
)
"""What demands no more than the words behind it."""
_EACH_TIME = compiled(
    r",? (?:each time|every time|at all times|in all cases|in every case|without exception)$"
)


def given(sentence: str, phrases: tuple[str, ...]) -> tuple[Given, ...]:
    """What a sentence may forbid of the arguments of calls, each reading once; () where it is no such one."""
    return _whole("what is given", sentence, phrases)


def depending(sentence: str, phrases: tuple[str, ...]) -> tuple[NeededFirst | AsLatest, ...]:
    """What a sentence may ask of such calls beside, each reading once."""
    return _whole("what depends", sentence, phrases)


def _whole(rule: str, sentence: str, phrases: tuple[str, ...]) -> tuple[Any, ...]:
    if len(sentence) > MAX_LENGTH:
        return ()
    rules = _rules(phrases)
    found: dict[Any, None] = {}
    for text in _spelled(sentence):
        try:
            found |= dict.fromkeys(Grammar(text, rules).whole(rule))
        except (TooLong, RecursionError):
            return ()
    return tuple(found)


@lru_cache(maxsize=16)
def _rules(phrases: tuple[str, ...]) -> dict[str, Rule]:
    rules, actions = rules_of(phrases)
    own: dict[str, Rule] = {**BOUNDS, **REQUIREMENTS, **STATEMENTS}
    return {
        **rules,
        **together(own, FITTING, PAIRS, PASSING, CONDITIONS, VALUES_FIRST, DEPENDING, AGAINST),
        "doer": doers(actions.values()),
        "told": told(actions.values()),
        "checked": checked(actions.values()),
    }


def _spelled(sentence: str) -> Iterator[str]:
    """The sentence in one spelling; and once for each `X's` that may be whose argument it is."""
    text, put_back = without_quoted(" ".join(sentence.split()).removesuffix(".").strip())
    text = in_digits(text)
    for pattern, said in _TABLE:
        text = compiled(pattern).sub(said, text)
    numbers = "|".join(sorted(set(NUMBERS) - {"once", "twice", "one"}, key=len, reverse=True))
    text = compiled(rf"\b({numbers})\b(?![\w-])").sub(lambda m: str(NUMBERS[m[1].lower()]), text)
    text = compiled(r"\b(\d+|a) (hundred|thousand)\b").sub(_in_full, text)
    text = _EACH_TIME.sub("", _ENSURED.sub("", text))
    text = re.sub(r"^[A-Z](?=[a-z]| )", lambda m: m[0].lower(), text)
    for one in (
        text,
        *(f"{text[: m.start()]} {text[m.start() :]}" for m in re.finditer(r"(?<=\w)'s? ", text)),
    ):
        yield put_back(one)


def _in_full(m: re.Match[str]) -> str:
    """`20 thousand` as `20000`."""
    number = 1 if m[1].lower() == "a" else int(m[1])
    return str(number * (100 if m[2].lower() == "hundred" else 1000))
