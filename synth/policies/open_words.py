"""Words that leave open what a rule says: hours of the clock, and how long a failure forbids.

The rule was read, and its sentence has a second meaning that it does not say: TwoReadings says both.
"""

from __future__ import annotations

import re

from synth.errors import BadInput
from synth.policies.composed import quoted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.arguments import with_the_same
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.window import Window
from synth.policies.names import TwoReadings

_CLOCK_HOUR = re.compile(
    r"\b(?P<said>each (?P<u>hour|minute)|(?:clock|calendar) (?P<v>hour|minute)s?|hourly)\b"
    r"(?! (?:of|after|before|later|apart|between|ago|window)\b)",
    re.IGNORECASE,
)
"""What is not said as a rate is: `3 an hour` is 3 in any 60 minutes."""
_FOR_GOOD = re.compile(
    r"\b(?:never|must not happen|afterwards?|again|any ?more|any longer|no longer|later|thereafter"
    r"|from (?:then|that point) on"
    r"|for the (?:rest|remainder)|after that|ever|for good|once|no (?:further|more)|nothing|any further"
    r"|(?:in|of|during) (?:the|that|this|the same) (?:run|conversation|session)|only)\b",
    re.IGNORECASE,
)
_MIDNIGHT = re.compile(r"\b(?:midnight|24:00)", re.IGNORECASE)


def no_two_meanings(sentence: str, rule: PolicyKind) -> None:
    """TwoReadings where the words of a sentence leave open what its rule takes for granted."""
    _no_clock_hour(sentence, rule)
    _no_open_ban(sentence, rule)
    _not_past_the_day(sentence, rule)
    _no_second_first(sentence, rule)


def _no_clock_hour(sentence: str, rule: PolicyKind) -> None:
    """`5 each hour`: in any 60 minutes, or from 10:00 to 11:00."""
    found = _CLOCK_HOUR.search(sentence)
    if found is None or rule.kind not in ("rate", "total") or getattr(rule, "time", None) is None:
        return
    unit = (found["u"] or found["v"] or "hour").lower()
    any_of_them = "60 minutes" if unit == "hour" else "60 seconds"
    raise TwoReadings(
        f"cannot read {found['said']!r}; write 'within 1 {unit}' where any {any_of_them} are meant; "
        f"{'an' if unit == 'hour' else 'a'} {unit} of the clock (10:00 to "
        f"{'11:00' if unit == 'hour' else '10:01'}) is not in the language"
    )


def _no_open_ban(sentence: str, rule: PolicyKind) -> None:
    """`If B fails, do not A`: for good, or until B succeeds."""
    if not isinstance(rule, AbsenceAfter) or not rule.failed or rule.within is not None:
        return
    if _FOR_GOOD.search(sentence) or any(
        set(what.names) & {*trigger.names, "*"} for trigger, what in rule.pairs
    ):
        return
    trigger, what = rule.pairs[0]
    same = with_the_same(rule.same)
    never = f"If {trigger.phrase} fails, {what.phrase} must never happen"
    raise TwoReadings(
        "cannot read how long this is forbidden; write "
        f"{quoted(f'{never} afterwards{same}')} where it is for good, or "
        f"{quoted(f'{never} until {trigger.phrase} succeeds{same}')}"
    )


def _not_past_the_day(sentence: str, rule: PolicyKind) -> None:
    """`Never after midnight` is said of the hours that follow, which are of the next day."""
    if not isinstance(rule, Window) or not _MIDNIGHT.search(sentence):
        return
    if any(since in (None, 0) and until in (None, 24 * 60) for _, since, until in rule.limits):
        raise BadInput(
            "cannot read 'midnight', with which a day ends; write between which hours it is, as in "
            "'must happen between 06:00 and 24:00'"
        )


def _no_second_first(sentence: str, rule: PolicyKind) -> None:
    """`Never pay again` allows the first, and says not after what."""
    again = re.search(r"\b(?:again|another|a second)\b", sentence, re.IGNORECASE)
    if again is None or not isinstance(rule, Count) or rule.most != 0 or rule.ended is not None:
        return
    a = rule.what[0].phrase
    raise TwoReadings(
        f"cannot read {again[0]!r}; write {quoted(f'{a} must happen at most 1 time')}, or "
        f"{quoted(f'{a} must never happen after ACTION')}"
    )
