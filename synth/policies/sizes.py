"""Sizes as sentences say them: `more than 33 pallets`, `120 or less`, `at least 10 and at most 200`."""

from __future__ import annotations

from dataclasses import dataclass

from synth.policies.patterns import compiled

_CURRENCY = r"(?:EUR|USD|GBP|CHF|JPY|US dollars?|dollars?|euros?|pounds?(?! of)|francs?|yen)\b|[$€£]"
MEASURES = (
    r"(?:kg|kgs|kilos?|kilograms?|g|grams?|tons?|tonnes|mg|milligrams?|ml|millilit(?:er|re)s?|lit(?:er"
    r"|re)s?|km"
    r"|kilomet(?:er|re)s?|m|met(?:er|re)s?|cm|mb|gb|percent|degrees(?: celsius)?)\b|%|°c"
)
TIMES = r"(?:hours?|minutes?|days?|weeks?|months?)\b"
_N = r"-?\d+(?:\.\d+)?"
AN = rf"(?:[$€£] ?)?{_N}(?: ?(?:{_CURRENCY}))?"
_LESS = r"(?:less|lower|smaller|fewer|shorter|lighter|cheaper|colder|cooler|younger)"
_MORE = (
    r"(?:more|greater|higher|larger|bigger|longer|heavier|older|warmer|hotter|pricier|more expensive"
    r"|dearer|further)"
)
_SIZES: tuple[tuple[str, str], ...] = (
    (rf"(?:no|not) {_MORE} than (?P<n>{AN})", "at most"),
    (rf"(?:no|not) {_LESS} than (?P<n>{AN})", "at least"),
    (rf"{_MORE} than (?P<n>{AN})", "over"),
    (rf"{_LESS} than (?P<n>{AN})", "under"),
    (rf"not (?:over|above|exceeding|beyond) (?P<n>{AN})", "at most"),
    (rf"not (?:under|below) (?P<n>{AN})", "at least"),
    (rf"(?:over|above|exceeding|in excess of|beyond|upwards of) (?P<n>{AN})", "over"),
    (rf"(?:under|below|beneath) (?P<n>{AN})", "under"),
    (rf"(?:at least|a minimum of|from) (?P<n>{AN})(?: and (?:up|above|more|upwards))?(?! (?:to"
     rf"|and)\b)", "at least"),
    (rf"(?:at most|up to|a maximum of|at or below|at or under|within|maximally|max\.?) "
     rf"(?P<n>{AN})", "at most"),
    (rf"(?P<n>{AN})(?P<u>(?: [a-z]+)??) or (?:more|above|over|higher|greater|longer|heavier|upwards"
     rf"|older)", "at least"),
    (rf"(?P<n>{AN})(?P<u>(?: [a-z]+)??) or (?:less|below|under|fewer|lower|shorter|lighter|colder"
     rf"|cheaper)", "at most"),
    (rf"(?P<n>{AN})(?P<u>(?: [a-z]+)??) (?:at (?:the )?(?:very )?most|maximum|max|tops)", "at most"),
    (rf"(?P<n>{AN})(?P<u>(?: [a-z]+)??) (?:at (?:the )?(?:very )?least|minimum)", "at least"),
)  # fmt: skip
_RANGES = (
    rf"(?:between|from) (?P<n>{AN})(?P<u>(?: [a-z]+)??) (?:and|to|up to) (?P<m>{AN})",
    rf"(?:at least|a minimum of|no less than|not less than) (?P<n>{AN})(?P<u>(?: [a-z]+)??) (?:and|but) "
    rf"(?:at most|no more than|not more than|up to|a maximum of) (?P<m>{AN})",
    rf"(?:at least|a minimum of|no less than|not less than) (?P<n>{AN})(?P<u>(?: [a-z]+)??) (?:and|but) "
    rf"(?P<m>{AN})(?: [a-z]+)? at (?:the )?(?:very )?most",
)
_CONTRARY = {"over": "at most", "at most": "over", "under": "at least", "at least": "under",
             "outside": "between", "between": "outside"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """`more than 33 pallets`, as a comparison and a unit."""

    how: str
    numbers: tuple[str, ...]
    unit: str
    """What is counted or measured: `pallets`, `mg`; empty where it is a mere number, or money."""
    end: int

    @property
    def contrary(self) -> str:
        return _said(_CONTRARY[self.how], self.numbers)

    @property
    def words(self) -> str:
        return _said(self.how, self.numbers)

    @property
    def least(self) -> float:
        """The smallest of its numbers, whatever currency it is in."""
        return min(float(compiled(r"-?\d+(?:\.\d+)?").search(one)[0]) for one in self.numbers)  # type: ignore[index]


def _said(how: str, numbers: tuple[str, ...]) -> str:
    return f"{how} {numbers[0]}" + (
        f" {'and' if how == 'between' else 'to'} {numbers[1]}" if len(numbers) > 1 else ""
    )


_NOT_A_UNIT = (
    r"(?!(?:times?|calls?|per|in|of|or|and|at|on|for|to|from|by|with|must|may|can|should|has|have|is|are"
    r"|was|were"
    r"|needs?|requires?|before|after|only|never|always|first|unless|until|if|when|within|each|every|an?"
    r"|the|each"
    r"|afterwards?|together|altogether|has|not|without|another|later|again|either|that|which|who|call"
    r"|calls|for"
    r"|so|then|because|as|but|while|during|ever|anyway|whatever|outside|inside|either|means|implies|triggers"
    r"|gets|comes|goes|stays|takes|calls)\b)"
)


def size_at(text: str, at: int) -> Size | None:
    """The size that begins at a place of the text; with the unit behind its number."""
    for pattern in _RANGES:
        if m := compiled(pattern).match(text, at):
            unit, end = unit_at(text, m.end())
            said = (m["u"] or "").strip()
            return Size("between", (m["n"], m["m"]), unit or said, end)
    for pattern, how in _SIZES:
        if m := compiled(pattern).match(text, at):
            said = (m.groupdict().get("u") or "").strip()
            unit, end = ("", m.end()) if said else unit_at(text, m.end())
            return Size(how, (m["n"],), said or unit, end)
    return None


def unit_at(text: str, at: int) -> tuple[str, int]:
    m = compiled(rf" ?(?P<u>{MEASURES}|{TIMES})").match(text, at) or compiled(
        rf" (?P<u>{_NOT_A_UNIT}[a-z]+s)(?![\w'-])"
    ).match(text, at)
    if m is None:
        return "", at
    return {"%": "percent", "°c": "degrees"}.get(
        m["u"].lower(), m["u"].lower().removesuffix(" celsius")
    ), m.end()


def is_measure(unit: str) -> bool:
    return compiled(rf"(?:{MEASURES}|{TIMES})").fullmatch(unit) is not None
