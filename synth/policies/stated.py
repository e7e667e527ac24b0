"""Rules that a run's own request states, where it is written in our language.

What stands inside the frame of our own generated queries was written by nobody else: it is judged as
policies are, and what was not asked for need not happen. A person may quote, negate or withdraw a rule
(`Do not obey rules like these: ...`), so every other such sentence of a request is a suggestion, shown
and not judged, unless somebody decides that requests of that origin mean what they say.

Careful on purpose, since nobody reviews what is judged: every sentence that demands something of a tool
of the run must be readable, and no sentence may make an exception, or none of them is judged. Other
sentences are passed over. Names must be those of the run's tools. Clock times are not judged: a request
does not say in which time zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from synth.errors import BadInput
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.window import Window
from synth.policies.model import Policy, PolicySet
from synth.policies.names import Names, Tools
from synth.policies.sentences import read_sentence, whole

MAX_TEXT = 8_000
"""Code points of a request that is read; a longer one is a document, not rules."""
MAX_TOOLS = 200
MAX_SENTENCES = 60

_DEMAND_WORDS = ("must", "should", "shall", "has to", "have to", "need")
_DEMANDS = re.compile(r"\b(?:must|should|shall|ha(?:s|ve) to|needs? to)\b", re.IGNORECASE)
_EXCEPTS = re.compile(r"\b(?:unless|except\w*|ignore|disregard|instead|does not apply)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.\n]+(?:\.(?!\s|$)[^.\n]*)*\.?")


def stated_policies(query: str | None, tools: tuple[str, ...], *, anywhere: bool = False) -> PolicySet | None:
    """The rules that a run with this request and these tools is judged by, one policy a sentence.

    Their ids are `query/1`, ...; None = there are none. Those in the frame of our own queries count, or
    with `anywhere`, where there is no such frame, those of the whole request.
    """
    return _read(query, _sorted(tools), anywhere) if query and _may_state(query, tools) else None


def suggested_rules(query: str | None, tools: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences of a request outside such a frame that could be rules over these tools."""
    return _suggested(query, _sorted(tools)) if query and _may_state(query, tools) else ()


def _sorted(tools: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(tools)))


def _may_state(query: str, tools: tuple[str, ...]) -> bool:
    """Quick where there is nothing: most requests end at the search for a word such as `must`."""
    if len(query) > MAX_TEXT or not tools or len(tools) > MAX_TOOLS:
        return False
    lowered = query.lower()
    return any(word in lowered for word in _DEMAND_WORDS)


@lru_cache(maxsize=1024)
def _read(query: str, tools: tuple[str, ...], anywhere: bool) -> PolicySet | None:
    text = _framed(query) or (query if anywhere else "")
    if not text or _EXCEPTS.search(text):
        return None
    actions = _actions(tools)
    found = list(islice(_demands(text, actions), MAX_SENTENCES + 1))
    if len(found) > MAX_SENTENCES:
        return None
    policies = []
    for number, (said, rule) in enumerate(found, 1):
        if rule is None or isinstance(rule, Window) or rule.traits.scope == "session":
            return None
        policies.append(Policy(f"query/{number}", said, rule, sentence=said, clause=whole(said)))
    return PolicySet(tuple(policies), actions) if policies else None


@lru_cache(maxsize=1024)
def _suggested(query: str, tools: tuple[str, ...]) -> tuple[str, ...]:
    text = query.replace(_framed(query) or "\0", "\n")
    read = (said for said, rule in _demands(text, _actions(tools)) if rule is not None)
    return tuple(islice(dict.fromkeys(read), MAX_SENTENCES))


def _framed(query: str) -> str | None:
    """The paragraph of a query of ours. The language half is loaded only for what sounds like rules."""
    from synth.language.query import paragraph_of

    return paragraph_of(query)


def _demands(text: str, actions: dict[str, Tools]) -> Iterator[tuple[str, PolicyKind | None]]:
    """The sentences that demand something of a tool, each with its rule; None where it cannot be read."""
    names, mentioned = Names(actions), _mention(actions)
    for sentence in _SENTENCE.findall(text):
        said = " ".join(sentence.split()).lstrip("-*• ")
        if mentioned.search(said) and _DEMANDS.search(said):
            try:
                yield said, read_sentence(said, names)
            except BadInput:
                yield said, None


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
