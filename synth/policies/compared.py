"""Words for one and the same thing (`it`, `its`) in sentences that compare no arguments.

Such a rule is about any calls of its tools: no field says which thing a call is about. Whoever reads the
rule, or a verdict of it, is told so.
"""

from __future__ import annotations

import re

from synth.policies.kinds.kind import Paths, PolicyKind

_IT = re.compile(
    r"\b(?P<said>it|they|them|its|their)\b"
    r"(?! (?:is|was|has been) (?:not |never |strictly )?(?:allowed|permitted|forbidden|prohibited|banned"
    r"|important|required|mandatory|necessary|obligatory|essential)\b)(?! (?:own )?(?:turn|message)\b)",
    re.IGNORECASE,
)
_OF_TWO = ("precedence", "response", "absence_after", "between", "adjacency", "gap", "times_before", "paired")
"""Kinds of rules between two actions or more, of which something could be the same."""


def compares_nothing(sentence: str | None, rule: PolicyKind) -> str:
    """What is to be said of a rule whose sentence means one thing and compares none; empty of any other."""
    same: Paths = getattr(rule, "same", ())
    if sentence is None or rule.kind not in _OF_TWO or same:
        return ""
    found = _IT.search(sentence)
    if found is None or len({tools.key for tools in rule.tools}) < 2:
        return ""
    how = (
        "end the sentence in 'with the same FIELD' where one and the same is meant"
        if rule.kind != "gap"
        else "a time between calls of one and the same thing is not in the language"
    )
    return f"'{found['said'].lower()}' compares no arguments, so any calls of these tools count; {how}"
