"""Bans of two actions, or after two: each by itself, or both together? Bans while something is not done."""

from __future__ import annotations

import re

from synth.errors import BadInput
from synth.policies.composed import quoted
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import TwoReadings

_NOT_AFTER_EACH = re.compile(
    r"\b(?:not|never|cannot|\w+n['\u2019]t)\b.* (?P<said>(?:after|following) (?:each|every)) ", re.IGNORECASE
)


def no_ban_after_each(sentence: str, rule: PolicyKind) -> None:
    """TwoReadings for `do not send a receipt after every payment`, which may allow it after some."""
    if rule.kind == "absence_after" and (found := _NOT_AFTER_EACH.search(sentence)):
        what, after = rule.tools[1].phrase, rule.tools[0].phrase
        raise TwoReadings(
            f"cannot read '{found['said']}' of what must not happen; write "
            f"{quoted(f'{what} must never happen after {after}')} where the first of them forbids it"
        )


_NOT_BOTH = re.compile(r"\b(?:not|never|cannot|\w+n['\u2019]t) (?P<said>[^,]* and) ", re.IGNORECASE)
_NOR = re.compile(r"\b(?:n?or|neither|both)\b", re.IGNORECASE)


def is_ban_of_several(rule: PolicyKind) -> bool:
    """Is each of several actions forbidden?"""
    most = getattr(rule, "most", None)
    return rule.kind == "count" and most == 0 and len({t.names for t in rule.tools}) > 1


def no_ban_of_both(sentence: str, rule: PolicyKind) -> None:
    """TwoReadings for `do not ship and refund`, which may forbid each of them, or both together."""
    if is_ban_of_several(rule) and (found := _NOT_BOTH.search(sentence)) and not _NOR.search(sentence):
        one, other = (tools.phrase for tools in rule.tools[:2])
        raise TwoReadings(
            f"cannot read '{found['said']}' of what must not happen; write "
            f"{quoted(f'{one} and {other} must never both happen')} where one of them is allowed, or "
            f"{quoted(f'{one} or {other} must never happen')} where none is"
        )


_AFTER_BOTH = re.compile(
    r"\b(?:after|once|when|if|as soon as) (?P<said>[^,]*\b(?:has|have|was|were|is|are) [^,]* and "
    r"(?!(?:never|not|no|do)\b)[^,]*\b(?:has|have|was|were|is|are) )",
    re.IGNORECASE,
)


def no_ban_after_both(sentence: str, rule: PolicyKind) -> None:
    """BadInput for `once it is paid and it is shipped, never cancel`, which is after both of them."""
    if rule.kind != "absence_after" or len({t.names for t in rule.tools}) <= 2:
        return
    if found := _AFTER_BOTH.search(sentence):
        one, what = rule.tools[0].phrase, rule.tools[1].phrase
        raise BadInput(
            f"cannot read '{found['said'].strip()}' of two that must both have happened; write "
            f"{quoted(f'{what} must never happen after {one}')} where one of them forbids it"
        )


_NOT_SUCCEEDED = re.compile(
    r"\b(?:if|when|whenever|while|as long as|where) (?P<what>[^,]+?) (?P<has>has|have)(?: not|n['\u2019]t)"
    r"(?: yet| already| yet already)? succeeded\b"
    r"(?! (?:since|again|\d|once|twice|\w+ times))",
    re.IGNORECASE,
)
_BANS = re.compile(
    r"\b(?:never|no|not|cannot|\w+n['\u2019]t|forbidden|prohibited|banned|off limits)\b", re.IGNORECASE
)


def needed_first(sentence: str) -> str:
    """`Never pay if the check has not succeeded`, said by what is needed: it need not have been tried."""
    found = _NOT_SUCCEEDED.search(sentence)
    if found is None or re.search(r"\bfail", sentence, re.IGNORECASE):
        return sentence
    rest = f"{sentence[: found.start()]} {sentence[found.end() :]}"
    if not _BANS.search(rest):
        return sentence
    unless = "Unless" if found[0][0].isupper() else "unless"
    said = f"{unless} {found['what']} {found['has']} succeeded"
    return f"{sentence[: found.start()]}{said}{sentence[found.end() :]}"
