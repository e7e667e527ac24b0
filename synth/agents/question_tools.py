"""Calculator, Search and Lookup as tools of an agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.agents.mock_tools import MockTool, ToolLog
from synth.errors import BadInput
from synth.questions import CALCULATOR, LOOKUP, SEARCH, Reader, calculate, read_corpus

ABOUT: Mapping[str, tuple[str, str, str]] = {
    CALCULATOR: ("Computes a formula and returns a number.", "formula", "Numbers, + - * / ^, parentheses."),
    SEARCH: (
        "Returns the first sentences of the page about an entity, or the titles that are most like it.",
        "entity", "The title of the page.",
    ),
    LOOKUP: (
        "Returns the next sentence with a text in it, on the page of the last successful Search.",
        "text", "The text to look for.",
    ),
}  # fmt: skip
"""Tool -> what it does, its one argument, and what that is."""


def question_tools(names: Sequence[str], corpus: str | None, log: ToolLog) -> tuple[MockTool, ...]:
    """The tools of one run; those that search need the folder or file of a corpus."""
    does: dict[str, Callable[[str], str]] = {CALCULATOR: calculate}
    if corpus is not None:
        reader = Reader(read_corpus(Path(corpus)))
        does |= {SEARCH: reader.search, LOOKUP: reader.lookup}
    return tuple(_tool(name, does[name], log) for name in names)


def _tool(name: str, does: Callable[[str], str], log: ToolLog) -> MockTool:
    about, argument, what = ABOUT[name]
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string", "description": what}},
        "required": [argument],
    }

    def answer(arguments: Mapping[str, Any]) -> str:
        given = arguments.get(argument, "")
        try:
            return does(given if isinstance(given, str) else json.dumps(given, default=repr))
        except BadInput as bad:
            return f"Error: {bad.message}"

    return MockTool(name, about, parameters, answer, log, text_is=argument)
