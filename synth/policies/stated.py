"""Rules that a run's own request states, where it is written in our language.

A person who writes `Fetch profile must happen before book flight.` into a request means it for that
run. The sentences are judged as policies are: what was not asked for need not happen.

Careful on purpose, since nobody reviews these rules: every sentence that demands something of a tool of
the run must be readable, and no sentence may make an exception, or none of the request is judged. Other
sentences are passed over. Names must be those of the run's tools. Clock times are not judged: a request
does not say in which time zone.
"""

from __future__ import annotations

import re
from functools import lru_cache

from synth.errors import BadInput
from synth.policies.kinds.window import Window
from synth.policies.model import Policy, PolicySet
from synth.policies.names import Names, Tools
from synth.policies.sentences import read_sentence

MAX_TEXT = 8_000
"""Code points of a request that is read; a longer one is a document, not rules."""
MAX_TOOLS = 200
MAX_SENTENCES = 60

_DEMAND_WORDS = ("must", "should", "shall", "has to", "have to", "need")
_DEMANDS = re.compile(r"\b(?:must|should|shall|ha(?:s|ve) to|needs? to)\b", re.IGNORECASE)
_EXCEPTS = re.compile(r"\b(?:unless|except\w*|ignore|disregard|instead|does not apply)\b", re.IGNORECASE)
_SENTENCES = 60

_DEMANDS = re.compile(r"\b(?:must|should|shall|ha(?:s|ve) to|needs? to)\b", re.IGNORECASE)
_SOUNDS_LIKE_A_RULE = re.compile(
    rf"{_DEMANDS.pattern}|\b(?:before|after|until|unless|except|never|only|once|first|then)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.\n]+(?:\.(?!\s|$)[^.\n]*)*\.?")


def stated_policies(query: str | None, tools: tuple[str, ...]) -> PolicySet | None:
    """The rules in a request over the tools of its run, one policy a sentence (`query/1`, ...); None = none.

    Quick where there is nothing: most requests end at the search for a word such as `must`.
    """
    if not query or len(query) > MAX_TEXT or not tools or len(tools) > MAX_TOOLS:
        return None
    lowered = query.lower()
    if not any(word in lowered for word in _DEMAND_WORDS):
        return None
    return _read(query, tuple(sorted(set(tools))))


@lru_cache(maxsize=1024)
def _read(query: str, tools: tuple[str, ...]) -> PolicySet | None:
    from synth.language.query import (
        paragraph_of,  # the language half, only for requests that sound like rules
    )

    actions = _actions(tools)
    names = Names(actions)
    mentioned = _mention(actions)
    found: list[Policy] = []
    text = paragraph_of(query) or query
    if _EXCEPTS.search(text):
        return None
    for sentence in _SENTENCE.findall(text):
        said = " ".join(sentence.split()).lstrip("-*• ")
        if not (mentioned.search(said) and _DEMANDS.search(said)):
            continue
        if len(found) == MAX_SENTENCES:
            return None
        try:
            rule = read_sentence(said, names)
        except BadInput:
            return None
        if isinstance(rule, Window):
            return None
        found.append(Policy(f"query/{len(found) + 1}", said, rule))
    return PolicySet(tuple(found), actions) if found else None


def _actions(tools: tuple[str, ...]) -> dict[str, Tools]:
    """Each tool by its name and by the words in it; words that stand for two tools are no name."""
    from synth.language.query import phrase_from_tool_name

    phrases: dict[str, set[str]] = {}
    for tool in tools:
        for phrase in {tool.lower(), phrase_from_tool_name(tool)}:
            phrases.setdefault(phrase, set()).add(tool)
    return {phrase: Tools(phrase, tuple(own)) for phrase, own in sorted(phrases.items()) if len(own) == 1}


def _mention(actions: dict[str, Tools]) -> re.Pattern[str]:
    words = sorted((re.escape(phrase).replace(r"\ ", r"\s+") for phrase in actions), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(words) or '(?!)'})(?!\w)", re.IGNORECASE)
