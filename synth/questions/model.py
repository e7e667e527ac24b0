"""A question with its right answers, and when an answer is one of them."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

CALCULATOR, SEARCH, LOOKUP = "Calculator", "Search", "Lookup"

TOOLS: Mapping[str, tuple[str, ...]] = {
    "gsm8k": (CALCULATOR,), "hotpotqa": (SEARCH, LOOKUP), "triviaqa": (SEARCH, LOOKUP),
}  # fmt: skip
"""Data set -> the tools that an agent has (Crouse et al., section 4)."""

_NUMBER = re.compile(r"-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " ") | dict.fromkeys("‘’´`“”", " "))  # noqa: RUF001
_NONE = str.maketrans(dict.fromkeys(string.punctuation))


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a data set."""

    data: str
    """`gsm8k`, `hotpotqa` or `triviaqa`."""
    id: str
    text: str
    answers: tuple[str, ...]
    """Right ones; the first is the data set's own, the others are its aliases."""
    steps: tuple[tuple[str, str], ...] = ()
    """(tool, its input) that lead to the answer, as far as the data set says it."""


def is_right(answer: str, question: Question) -> bool:
    """Exact match: of GSM8K the last number, else the text as the data sets' own scripts take it."""
    if question.data == "gsm8k":
        said = last_number(answer)
        return said is not None and said == last_number(question.answers[0])
    readings = {_plain(answer), _spaced(answer)} - {""}
    return any({_plain(one), _spaced(one)} & readings for one in question.answers)


def last_number(text: str) -> Fraction | None:
    """The last number of a text, without separators of thousands; None where there is none."""
    found = _NUMBER.findall(text)
    return Fraction(found[-1].replace(",", "")) if found and len(found[-1]) < 1_000 else None


def _plain(text: str) -> str:
    """Lower case, without punctuation, articles and superfluous spaces (HotpotQA, SQuAD)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NONE)).split())


def _spaced(text: str) -> str:
    """The same with spaces in the place of punctuation (TriviaQA)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION).replace("_", " ")).split())
