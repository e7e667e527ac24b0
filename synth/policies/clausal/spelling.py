"""A sentence in one spelling, before it is taken apart."""

from __future__ import annotations

import re

from synth.policies.kinds.count import NUMBERS
from synth.policies.patterns import compiled
from synth.policies.rewording import clock_times

_TABLE: tuple[tuple[str, str], ...] = (
    (r"[\u2018\u2019]", "'"),
    (r"[\u201c\u201d]", '"'),
    (r"\bcan't\b|\bcannot\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"\bshan't\b", "shall not"),
    (r"\b(has|have|had|is|are|was|were|did|does|do|must|should|could|need|may)n't\b", r"\1 not"),
    (r"\b(you|we|they)'ve\b", r"\1 have"),
    (r"\b(it|that|there|what)'s\b", r"\1 is"),
    (r"\bhalf an hour\b", "30 minutes"),
    (r"\ba quarter of an hour\b", "15 minutes"),
    (r"\b(?:an|one) hour and a half\b", "90 minutes"),
    (r"\bper (?=(?:second|minute|hour)\b)", "per 1 "),
    (r"\b(?:an?|any|one|each|every|the next|the following) "
     r"(?=(?:second|minute|hour|week)s?\b(?! (?:time|thing|one|call)))", "1 "),
    (r"\b(?P<the>the (?:last|past|previous|preceding)|during the) (?=(?:second|minute|hour)\b)",
     r"\g<the> 1 "),
    (r"\bthrice\b", "3 times"),
    (r"\btwice\b", "2 times"),
    (r"(\d),(?=\d{3}\b)", r"\1"),
    (r"(\d)-(?=(?:second|minute|hour|day)s?\b)", r"\1 "),
    (r"\bjust once\b", "only once"),
    (r"\bonly one time\b", "only once"),
    (r"\ba second time\b|\bmore than once\b|\bmore than one time\b", "more than 1 times"),
    (r"\ba third time\b", "more than 2 times"),
    (r"\b(at most|no more than|not more than|exactly|up to|a maximum of) once\b", r"\1 1 times"),
    (r"\bat least once\b", "at least 1 times"),
    (r"^(?P<lead>(?:after|if|once|when) (?:an?|the) (?P<n>[^,]+?) (?:has failed|fails|failed)), "
     r"(?:do not|never|don't) (?:attempt|try|make|start|do) another (?:one|try|attempt)\b",
     r"\g<lead>, no \g<n> may be made"),
    (r"\s*[;\u2013\u2014]\s*|: (?=[A-Za-z])", ", "),
    (r"\s+", " "),
)  # fmt: skip


def spelled(sentence: str) -> str:
    """Numbers as digits, clock times as `09:00`; quoted values as they are."""
    text = " ".join(sentence.split()).removesuffix(".").strip()
    quoted: list[str] = []

    def keep(m: re.Match[str]) -> str:
        quoted.append(m[0])
        return f"\x00{len(quoted) - 1}\x00"

    text = clock_times(re.sub(r'["\u201c][^"\u201d]*["\u201d]', keep, text))
    for pattern, said in _TABLE:
        text = compiled(pattern).sub(said, text)
    numbers = "|".join(sorted(set(NUMBERS) - {"once", "one"}, key=len, reverse=True))
    text = re.sub(
        rf"\b({numbers})\b(?!-)(?! (?:of the|another))",
        lambda m: str(NUMBERS[m[1].lower()]),
        text,
        flags=re.I,
    )
    return re.sub("\x00(\\d+)\x00", lambda m: quoted[int(m[1])], text).strip(" ,")
