"""Why a rule is: `the florist delivers once, so order at most one`, `to avoid complaints, ...`.

A reason demands nothing. What may itself be a demand, a condition, or names an action is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from synth.policies.composed import actions_in
from synth.policies.inflected import inflected
from synth.policies.names import Names
from synth.policies.patterns import compiled

_DEMANDS = compiled(
    r"^(?:no|nobody|nothing|none|only|do not|don['\u2019]t)\b|\b(?:if|when|whenever|(?<!only )once(?! "
    r"(?:a|per|every)\b| *$)|after|before|unless|until|while|during|must|mustn['\u2019]t"
    r"|may|should|shall|never|cannot|can['\u2019]t|can not|not allowed|forbidden|prohibited|ha(?:s|ve) "
    r"to|needs? to"
    r"|at most|at least|no more than|limit(?:ed)? to|provided|except|first|then|afterwards)\b"
)
_AIM = (
    "avoid|prevent|protect|save|spare|respect|reduce|keep|stay|stop|limit|control|guard|preserve|comply|not"
    "|make sure|ensure|minimi[sz]e|contain|meet|satisfy"
)
_SAKE = (
    "privacy|safety|security|compliance|legal|audit|cost|fairness|budget|quality|data protection|liability"
)
_WAYS = (
    r"^(?P<why>[^,;:]{8,120})[,;] (?:and )?(?:so|therefore|hence|that is why|which is why) "
    r"(?!that\b)(?P<rule>.+)$",
    rf"^(?P<why>(?:in order )?to (?:{_AIM}) [^,;:]{{3,80}}), (?P<rule>.+)$",
    r"^(?P<why>for (?:[\w-]+ ){1,3}reasons|for reasons of [\w ]{3,30}), (?P<rule>.+)$",
    rf"^(?P<why>for (?:the sake of )?(?:{_SAKE})(?: purposes)?), (?P<rule>.+)$",
    r"^(?P<why>(?:because|since|as) [^,;:]{8,120}), (?P<rule>.+)$",
    r"^(?P<rule>.+?),? (?P<why>because [^,;:]{8,120}|for (?:[\w-]+ ){1,3}reasons)$",
    r"^(?P<rule>[^;:]+), (?P<why>(?:since|as) [^,;:]{8,120})$",
)


def without_reason(sentence: str, names: Names) -> Iterator[str]:
    """What a sentence demands that says why as well."""
    text = " ".join(sentence.split()).removesuffix(".")
    if '"' in text or "\u201c" in text:
        return
    for pattern in _WAYS:
        m = compiled(pattern).match(text)
        if m and not _DEMANDS.search(m["why"]) and not actions_in(inflected(m["why"], names), names):
            yield m["rule"]
