"""Signs and short words in full: `w/o tests`, `5/min`, `10k`, `max.`, `1'000`, and sentences all in "
"capitals."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from synth.policies.patterns import compiled

_UNITS = {
    "h": "hour", "hr": "hour", "hour": "hour", "min": "minute", "minute": "minute", "s": "second",
    "sec": "second", "second": "second", "run": "run", "conv": "conversation", "chat": "conversation",
    "conversation": "conversation", "session": "session",
}  # fmt: skip
_THOUSANDS = {
    "one": 1, "a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twenty": 20, "fifty": 50, "hundred": 100, "a hundred": 100, "one hundred": 100,
}  # fmt: skip
_FIELD = r"[a-z]\w*"
_TABLE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?<![\w/])w/o(?![\w/])\.?", "without"),
    (r"(?<![\w/])w/(?= ?\w)", "with "),
    (r"(?<=\w) & (?=\w)", " and "),
    (r"\b(max|min)\.(?=,? ?[\w$\u20ac\u00a3])", r"\1 "),
    (r"\b(max|min)\.$", r"\1"),
    (rf"(?<=\d)(?: ?x)? ?/ ?(?P<u>{'|'.join(_UNITS)})\b", lambda m: f" per {_UNITS[m['u'].lower()]}"),
    (r"(?<=[a-z]) ?/ ?(?P<u>h|hr|min|sec|conv|chat)\b", lambda m: f" per {_UNITS[m['u'].lower()]}"),
    (r"\b(?P<n>\d+(?:\.\d+)?)k\b", lambda m: str(round(float(m["n"]) * 1000))),
    (
        rf"\b(?P<n>{'|'.join(sorted(_THOUSANDS, key=len, reverse=True))}|\d{{1,3}}) thousand\b",
        lambda m: str(int(_THOUSANDS.get(m["n"].lower()) or m["n"]) * 1000),
    ),
    (r"\b(?P<n>two|three|four|five|six|seven|eight|nine) "
     r"hundred\b", lambda m: f"{_THOUSANDS[m['n'].lower()]}00"),
    (r"(?<=\d)['\u2019](?=\d{3}\b)", ""),
    (r"\b(\d{1,3}(?:,\d{3})*)\.00\b", r"\1"),
    (r"(?<![\w\"])(?P<c>(?-i:EUR|USD|GBP|CHF)) (?P<n>\d(?:[\d,.]*\d)?)(?![\w:])(?! (?:times"
     r"|calls)\b)", r"\g<n> \g<c>"),
    (rf"\b(?P<a>\d[\d.]*) ?(?:<=|\u2264) ?(?P<f>{_FIELD}) ?(?:<="
     rf"|\u2264) ?(?P<b>\d[\d.]*)", r"\g<f> between \g<a> and \g<b>"),
    (r"\b(?P<w>wait|leave|pause|keep|gap|interval|every|for) ?(?:>=|\u2265) ?(?=\d)", r"\g<w> at least "),
    (r"^(?:>=|\u2265) ?(?=\d)", "at least "),
    (r"^(?:<=|\u2264) ?(?=\d)", "at most "),
    (
        r"\b(?P<n>\d{1,3})m (?=(?:apart|after|before|between|later|earlier|pause|gap|window|wait|or more)\b)",
        r"\g<n> minutes ",
    ),
    (r"\b(?P<w>within|every|wait|per|pause of|last|next|any) (?P<n>\d{1,3})m\b", r"\g<w> \g<n> minutes"),
    (r"^(?P<a>(?:no |all )?[a-z]+s) ?(?:>=|\u2265) ?(?=\d)", r"\g<a> of at least "),
    (r"^(?P<a>(?:no |all )?[a-z]+s) ?> ?(?=\d)", r"\g<a> over "),
    (r"^(?P<a>[^:\"]*[<>\d][^:\"]*?) ?(?:->|=>|-->|==>|\u2192|\u21d2) ?", r"\g<a>: "),
    (r"(?:->|=>|-->|==>|\u2192|\u21d2)", "\u2192"),
    (r"\b(?P<a>\d{1,2}) ?(?P<to>-|\u2013|to|and) ?(?P<b>\d{1,2}) ?(?:h|hrs|o'clock)\b(?! (?:after|before|of"
     r"|from|later|apart))", lambda m: _hours(m)),
)  # fmt: skip


def _hours(m: re.Match[str]) -> str:
    """`09:00 to 17:00`, of `9-17h`."""
    if not (int(m["a"]) <= 24 and int(m["b"]) <= 24):
        return m[0]
    joint = m["to"] if m["to"].isalpha() else "to"
    return f"{int(m['a']):02}:00 {joint} {int(m['b']):02}:00"


def in_full(sentence: str, phrases: Collection[str]) -> str:
    """The sentence without short signs; as it is where the name of an action has one, and in quotes."""
    if any(_unquoted(phrase) != phrase for phrase in phrases):
        return sentence
    return re.sub(r'[^"\u201c\u201d]+|["\u201c][^"\u201d]*["\u201d]?', lambda m: _outside(m[0]), sentence)


def _outside(part: str) -> str:
    return part if part[:1] in '"\u201c' else _unquoted(part)


def _unquoted(text: str) -> str:
    for pattern, said in _TABLE:
        text = compiled(pattern).sub(said, text)
    return text


def in_small_letters(sentence: str) -> str:
    """A sentence that is in capitals throughout."""
    capitals = len(sentence.split()) > 3 and sentence.upper() == sentence and '"' not in sentence
    return sentence.lower() if capitals else sentence
