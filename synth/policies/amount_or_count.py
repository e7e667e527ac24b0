"""Whether a limit may be one of amounts, where it is read as one of calls: `refund at most 500`."""

from __future__ import annotations

import re

from synth.policies.clausal.kinds_of_verbs import MONEY
from synth.policies.kinds.kind import PolicyKind

_MANY = 50
"""Calls that nobody counts without the word `times`."""
_SOME = 9
"""Calls that `limit refunds to 30` may not be said of: so much money is as likely."""
_LIMITED = re.compile(r"\b(?:limit|cap|restrict|exceed|keep|kept)", re.IGNORECASE)
_MONEY = re.compile(MONEY, re.IGNORECASE)


def may_be_an_amount(sentence: str, rule: PolicyKind) -> bool:
    """`Refund at most 500`: so many calls, or such an amount?"""
    most = getattr(rule, "most", None)
    money = _LIMITED.search(sentence) and any(_MONEY.search(tools.phrase) for tools in rule.tools)
    if rule.kind not in ("count", "rate") or not isinstance(most, int) or most <= (_SOME if money else _MANY):
        return False
    said = "|".join(f"{number:,}|{number}" for number in (most, most + 1))
    return re.search(rf"\b(?:{said})\b", sentence) is not None and not re.search(
        rf"\b(?:{said}) (?:times|calls|(?!calls|tops\b)[a-z]+s\b)", sentence, re.IGNORECASE
    )
