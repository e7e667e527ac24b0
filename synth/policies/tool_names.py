"""Actions named by their tool, or with words around the name: `a call to issue_refund`.

Each is given by its phrase, as other readers know it.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

from synth.policies.names import Names
from synth.policies.patterns import compiled

_KIND = r"(?:tool|action|step|function|operation|endpoint|method|task)"
_CALLS = r"(?:tool )?(?:calls?|invocations?|executions?|uses?|usages?)"
_DOING = r"(?:calling|invoking|using|running|executing|performing|triggering|call|invoke|use|execute|trigger)"
_DET = r"(?:(?P<det>the|an?|any|every|each|all|another|no) )?"
_MARK = r"[\"\u201c\u201d`']?"
_KEPT = ("every", "each", "all", "another", "no")
"""What is said of each, or of none, stays before the name."""


def with_phrases(text: str, names: Names) -> str:
    """The sentence with its actions by their phrases; as it was where none is named otherwise."""
    shown = " ".join(text.split())
    for phrase, pattern in _patterns(_known(names)):
        shown = compiled(pattern).sub(partial(_named, phrase), shown)
    return shown


def _known(names: Names) -> tuple[tuple[str, str], ...]:
    """(phrase, its only tool) of each action but `any tool`."""
    return tuple(
        (phrase, one.names[0] if len(one.names) == 1 and one.where is None else phrase)
        for phrase, one in names.actions.items()
        if one.names != ("*",)
    )


@lru_cache(maxsize=16)
def _patterns(known: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    found = []
    for phrase, tool in sorted(known, key=lambda one: -len(one[0])):
        ways = {_joined(phrase), _joined(tool)}
        name = rf"{_MARK}(?:{'|'.join(sorted(ways, key=len, reverse=True))})(?:\(\))?{_MARK}"
        lead = (
            rf"(?:(?P<of>{_CALLS}) (?:to|of) (?:the )?(?:{_KIND} )?"
            rf"|(?P<doing>{_DOING}) (?:the )?(?:{_KIND} )?|{_KIND} )"
        )
        tail = rf"(?: {_KIND}s?\b)?(?: (?P<calls>{_CALLS})\b)?"
        alone = [one for one in (phrase, tool) if re.search("[ _-]", one)]
        own = rf"{_MARK}(?:{'|'.join(map(_joined, alone))})(?:\(\))?{_MARK}"
        plain = rf"{lead}{name}{tail}|{name}(?: {_KIND}s?\b| (?P<called>{_CALLS})\b|(?<=\(\)))"
        found.append(
            (phrase, rf"(?<![\w'-]){_DET}(?:{plain}{f'|(?P<bare>{own})' if alone else ''})(?![\w-])")
        )
    return tuple(found)


def _joined(name: str) -> str:
    """`issue refund` as a pattern of `issue_refund`, `issue-refund`, `issueRefund`."""
    return "[ _-]?".join(map(re.escape, re.split(r"[ _-]", name)))


def _named(phrase: str, m: re.Match[str]) -> str:
    said = m.groupdict()
    det = (said.get("det") or "").lower()
    if said.get("bare") and said["bare"].casefold() == phrase.casefold():
        return m[0]
    calls = said.get("of") or said.get("calls") or said.get("called") or ""
    several = calls.lower().endswith("s") and not phrase.endswith("s")
    name = f"{phrase}s" if several else phrase
    kept = f"{det} " if det in _KEPT else ""
    whole = f"{kept}{name}"
    return f"{whole[:1].upper()}{whole[1:]}" if m[0][:1].isupper() else whole
