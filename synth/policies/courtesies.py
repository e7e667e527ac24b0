"""What is around a rule and says nothing of it: `please`, `Rule:`, bullets, exclamation marks."""

from __future__ import annotations

from collections.abc import Iterable

from synth.policies.clausal.spelling import OF_EACH
from synth.policies.patterns import compiled

_BULLET = r"(?:[-*\u2022\u2013]|\d{1,2}[.)]|#+) +"
_HEAD = (
    r"(?:(?:please )?note|(?:(?:house|hard|general|business|golden|strict|basic|our|the) )?rule|important"
    r"|policy|reminder|attention|nb|n\.b\.|p\.s\.|warning|requirement)"
    r"(?: (?:no\.? ?)?\d{1,3})?(?: ?:| [-\u2013]) *"
)
_KIND = r"(?:please|kindly|pls|thanks|thank you|many thanks)"
_LEADS = compiled(rf"^(?:{_BULLET}|{_HEAD}|(?:please|kindly|pls),? )+(?=\S)")
_ENDS = compiled(
    rf"(?:,? ?\b(?:please|kindly|pls)|,+ ?{_KIND}|[.!;,] ?(?:please|thanks|thank you|many thanks))?[ .!]*$"
)
_INSIDE = compiled(r"(?<=[\w,]) (?:please|kindly|pls)\b,?(?= )")
_TIME = r"\d{1,2}(?::\d\d)?(?: ?[ap]m)?"
_NIGHT = compiled(
    r" (?:at night|during the night|overnight),? ?\(?(?:i\.e\.|that is|meaning)?,? ?(?:from |between )?"
    rf"(?P<since>{_TIME}) ?(?:to|until|and|-|\u2013) ?(?P<until>{_TIME})\)?(?![\w:])"
)
"""Hours that are said after what they are called."""
_MIDNIGHTS = compiled(
    r"\b(?P<day>(?:an?|per|each|every|any|one) (?:calendar )?day|per calendar day),? \(?(?:that is"
    r"|i\.e\.|meaning"
    r"|counted|counting|measured|reckoned)?,? ?(?:from |running from )?midnight to midnight\)?(?!\w)"
)
"""A day is one of the calendar where that is said behind it."""
_WORDS = frozenset(["please", "kindly", "pls", "thanks"])
_HEADS = frozenset(["note", "rule", "important", "policy", "reminder", "attention", "warning", "requirement"])
_OF_ITS_OWN = compiled(
    r"\b(?:obtain|got|get|give|grant|need|requir|ask|request)\w*\b.*\b(?:separately|individually|individual)\b"
)
"""What is got for each by itself: no word of how a limit counts."""


def without_courtesies(sentence: str, phrases: Iterable[str]) -> str:
    """The sentence without what is said around it; as it is where an action is called so."""
    for phrase in phrases:
        if phrase.casefold() in _HEADS or _WORDS & set(phrase.casefold().split()):
            return sentence
    text = " ".join(sentence.split())
    if '"' not in text and "\u201c" not in text:
        text = _INSIDE.sub("", text)
        for pattern, said in () if _OF_ITS_OWN.search(text) else OF_EACH:
            text = compiled(pattern).sub(said, text)
    text = _MIDNIGHTS.sub("per calendar day", text)
    text = _NIGHT.sub(r" between \g<since> and \g<until>", text)
    bare = _ENDS.sub("", _LEADS.sub("", text)).strip()
    full = " ".join(sentence.split())
    if bare in (full, full.removesuffix(".")) or not bare:
        return sentence
    return bare
