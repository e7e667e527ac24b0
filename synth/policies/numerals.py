"""Numbers and times as people spell them out, in digits: `twenty-five`, `a hundred`, `half an hour`, `1h`."""

from __future__ import annotations

import re
from collections.abc import Callable

from synth.policies.patterns import compiled

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_BY_WORD = {
    **{f"{ten}{joint}{one}": 20 + 10 * k + n
       for k, ten in enumerate(_TENS) for n, one in enumerate(_ONES, 1) for joint in ("-", " ")},
    **{ten: 20 + 10 * k for k, ten in enumerate(_TENS)},
    "a hundred": 100, "one hundred": 100,
    "a couple of dozen": 24, "two dozen": 24, "a dozen": 12,
}  # fmt: skip
_WORDS = "|".join(sorted(_BY_WORD, key=len, reverse=True))
_UNQUOTED = r"(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)"
_UNITS = {"h": "hour", "hr": "hour", "min": "minute", "s": "second", "sec": "second"}
_HALF = {"one": 1, "an": 1, "a": 1, **{word: n for n, word in enumerate(_ONES, 1)}}

_TABLE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"\b(?P<n>{_WORDS})\b(?! (?:hundred|thousand))", lambda m: str(_BY_WORD[m["n"].lower()])),
    (r"\b(?:half an hour|half-hour|half hour|one half hour)\b", "30 minutes"),
    (r"\bhalf a minute\b", "30 seconds"),
    (r"\bhalf a day\b", "12 hours"),
    (r"\bthree[ -]quarters of an hour\b", "45 minutes"),
    (r"\b(?:a|one)[ -]quarter(?: of an|-)[ -]?hour\b", "15 minutes"),
    (rf"\b(?P<n>{'|'.join(_HALF)}|\d+) (?P<u>hour|minute)s? and a half\b", lambda m: _and_a_half(m)),
    (rf"\b(?P<n>{'|'.join(_ONES)}|\d+) and a half (?P<u>hour|minute)s?\b", lambda m: _and_a_half(m)),
    (r"\b(?P<n>\d+(?:\.\d+)?) ?(?P<u>hrs?|h|mins?|secs?|(?<=\d)s)(?![\w.-]*\w)", lambda m: _in_full(m)),
)  # fmt: skip


def in_digits(text: str) -> str:
    """The text with numbers over twenty, and times, in the language's words; quoted values as they are."""
    for pattern, said in _TABLE:
        text = compiled(pattern + _UNQUOTED).sub(said, text)
    return text


def _and_a_half(m: re.Match[str]) -> str:
    number = int(m["n"]) if m["n"].isdigit() else _HALF[m["n"].lower()]
    return f"{number * 60 + 30} {'minutes' if m['u'].lower() == 'hour' else 'seconds'}"


def _in_full(m: re.Match[str]) -> str:
    unit = m["u"].lower()
    name = _UNITS.get(unit) or _UNITS[unit.removesuffix("s")]
    return f"{m['n']} {name}{'' if m['n'] == '1' else 's'}"
