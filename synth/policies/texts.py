"""What a text is made of: its parts, its length, the clock time that it says; None where that is open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from synth.formal.partly import Unknown

Part = Literal["starts", "ends", "contains", "word"]

_CLOCK = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ])?(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d(?:\.\d+)?))?"
)


def has_part(value: Any, part: Part, wanted: Sequence[float | str]) -> bool | None:
    """Has a text one of these parts? Open where only small and capital letters differ, but for words."""
    texts = [str(one) for one in wanted]
    if isinstance(value, Unknown):
        return _part_of_cut(value, part, texts)
    if not isinstance(value, str):
        return None
    if any(_has(value, part, one) for one in texts):
        return True
    return None if any(_has(value.casefold(), part, one.casefold()) for one in texts) else False


def _has(value: str, part: Part, one: str) -> bool:
    if part == "starts":
        return value.startswith(one)
    if part == "ends":
        return value.endswith(one)
    if part == "contains":
        return one in value
    return re.search(rf"(?<!\w){re.escape(one)}(?!\w)", value, re.IGNORECASE) is not None


def _part_of_cut(value: Unknown, part: Part, texts: Sequence[str]) -> bool | None:
    """Its beginning may tell."""
    begins = value.begins
    if begins is None:
        return None
    if part in ("starts", "contains") and any(_has(begins, part, one) for one in texts):
        return True
    known = part == "starts" and all(len(begins) >= len(one) for one in texts)
    return has_part(begins, part, texts) if known else None


def length_of(value: Any) -> int | None:
    """How many characters a text has."""
    if isinstance(value, Unknown):
        return value.length if value.is_text else None
    return len(value) if isinstance(value, str) else None


def clock_of(value: Any) -> float | None:
    """The minute of the day that a text says: `21:30`, or with a date before it; with a zone it is open."""
    found = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else int(found["h"]) * 60 + int(found["m"]) + float(found["s"] or 0) / 60


def clock_said(minute: float | str) -> str:
    whole = int(minute)
    return f"{whole // 60:02}:{whole % 60:02}"


def nearly_equal(a: Any, b: Any) -> bool:
    """Are they the same but for spelling: small letters, spaces, a number in a text?"""
    return not isinstance(a, Unknown) and not isinstance(b, Unknown) and _bare(a) == _bare(b)


def _bare(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value).casefold().strip()
