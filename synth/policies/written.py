"""Policy files that we write ourselves: names for tools, and text as YAML."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable


def phrases_of(tools: Iterable[str]) -> dict[str, str]:
    """Tool -> the words that stand for it: from its name, unless they would be ambiguous."""
    from synth.language.query import phrase_from_tool_name  # the language half

    wanted = {tool: phrase_from_tool_name(tool) for tool in tools}
    common = Counter(wanted.values())
    taken = {phrase for phrase, count in common.items() if count > 1} | {"any tool", "call any tool"}
    return {tool: tool if phrase in taken else phrase for tool, phrase in wanted.items()}


_BARE = re.compile(r"[A-Za-z][A-Za-z0-9 _-]*[A-Za-z0-9_]\.?")
_YAML_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def scalar(text: str) -> str:
    """`text` as a YAML scalar."""
    bare = _BARE.fullmatch(text) and text.lower() not in _YAML_WORDS
    return text if bare else json.dumps(text, ensure_ascii=False)


def printable(text: str) -> str:
    """`text` as a comment can have it."""
    return "".join(char if char.isprintable() else " " for char in text)
