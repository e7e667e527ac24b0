"""Words for one and the same thing (`it`, `its`) in sentences that name no field.

Where all actions of the rule are done to one kind of thing (`suspend the line`, `restore the line`), which
the sentence names once, that is what must be the same. Otherwise the rule is about any calls of its tools, as
nothing says which thing a call is about, and whoever reads the rule, or a verdict of it, is told so.
"""

from __future__ import annotations

import re
from dataclasses import replace

from synth.policies.action_forms import ARTICLES, PARTICLES, singular
from synth.policies.evidence import Each, It
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.kind import Paths, PolicyKind
from synth.policies.things import things_of

_IT = re.compile(
    r"\b(?P<said>it|they|them|its|their)\b"
    r"(?! (?:is|was|has been) (?:not |never |strictly )?(?:allowed|permitted|forbidden|prohibited|banned"
    r"|important|required|mandatory|necessary|obligatory|essential)\b)(?! (?:own )?(?:turn|message)\b)",
    re.IGNORECASE,
)
_IN_ONE_RUN = re.compile(
    r"\b(?:never|not|no|forbidden|prohibited|banned)\b.* in (?:an?|any|one|a single|the same) "
    r"(?:run|conversation|session)\b"
    r"|^(?:an?|any|no) (?:run|conversation|session) (?:that|which|in which|where|with)\b",
    re.IGNORECASE,
)
"""What excludes another in a whole run does so whatever the two are done to."""
_DONE_TO_IT = re.compile(
    r"^(?:an?|any|every|each|all|the) (?:failed|failing|unsuccessful) [\w' -]+? (?:must|should|shall|has to"
    r"|have to|needs to|need to|is to|are to|is|are|gets|get)(?: always| then)*(?: be)? "
    r"(?!followed\b|answered\b)[a-z]+(?:ed|en|[oa]wn|ne|pt|lt|ld|nt|ut|id)\b",
    re.IGNORECASE,
)
"""`A failed deploy must be rolled back`: that deploy, and no other."""
_OF_TWO = (
    "precedence",
    "response",
    "absence_after",
    "between",
    "adjacency",
    "next_call",
    "gap",
    "times_before",
    "paired",
    "after_failures",
    "failure_first",
)
"""Kinds of rules between two actions or more, of which something could be the same."""


def of_one_thing(sentence: str, rule: PolicyKind) -> PolicyKind:
    """The rule of the same thing, where the sentence speaks of one."""
    rule = _of_it(sentence, rule)
    compares: Paths = getattr(rule, "same", ())
    if rule.kind not in (*_OF_TWO, "against") or compares or not can_compare(rule):
        return rule
    if any("*" in tools.names for tools in rule.tools) or _IN_ONE_RUN.search(sentence):
        return rule
    paths = [(Each(noun),) for noun in things_of(sentence, rule)]
    return replace(rule, same=tuple((path, path) for path in paths))  # type: ignore[type-var]


def _of_it(sentence: str, rule: PolicyKind) -> PolicyKind:
    """The rule of the same thing, where the sentence speaks of `it` and all actions are done to such one."""
    nouns = {_noun(tools.phrase) for tools in rule.tools}
    noun = nouns.pop() if len(nouns) == 1 else None
    told = compares_nothing(sentence, rule) or _is_done_to_what_failed(sentence, rule)
    if noun is None or not told or not can_compare(rule):
        return rule
    if any(tools.either for tools in rule.tools):
        return rule
    if len(re.findall(rf"\b{noun}(?:e?s)?\b", sentence, re.IGNORECASE)) > 1:
        return rule
    path = (It(noun),)
    return replace(rule, same=((path, path),))  # type: ignore[type-var]


def _is_done_to_what_failed(sentence: str, rule: PolicyKind) -> bool:
    same: Paths = getattr(rule, "same", ())
    failed = rule.kind == "response" and getattr(rule, "failed", False) and not same
    return failed and _DONE_TO_IT.search(sentence) is not None


def can_compare(rule: PolicyKind) -> bool:
    if not hasattr(rule, "same"):
        return False
    return not isinstance(rule, Gap) or (rule.within is not None and rule.side == "after")


def _noun(phrase: str) -> str | None:
    """What an action is done to: the last word of its name, after a verb."""
    words = [
        word
        for word in re.split(r" (?:with|whose|for|by) ", phrase.casefold())[0].split()
        if word not in ARTICLES
    ]
    if len(words) < 2 or not words[-1].isalpha() or words[-1] in PARTICLES:
        return None
    return singular(words[-1])


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
        else "'must start within TIME after' compares them 'with the same FIELD'"
    )
    return f"'{found['said'].lower()}' compares no arguments, so any calls of these tools count; {how}"
