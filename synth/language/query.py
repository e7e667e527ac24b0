"""The full text that an agent reads: the paragraph inside instructions that give nothing away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from synth.formal.constraints import clock
from synth.observed.instants import START_TIME

_INTRODUCTION = (
    "You are assisting {role}. Every activity named below has a tool of its own, and calling that tool "
    "carries the activity out.\n\n"
)
_BEGIN = "These rules hold for the activities:\n\n"
_END = "\n\nFind an order of the activities that keeps every rule."
_ORDER_TASK = (
    " Then call each of the {count} tools exactly once, one after another, in that order. "
    "When all of them have been called, say that the work is done."
)
_DAY = (
    "The working day runs from {begin} to {end}. Only one activity can be carried out at a time, and all of "
    "them must start and end within the working day. Whatever a rule wants before a clock time must have "
    "ended by then; whatever it wants after a clock time must not start earlier.\n\n"
)
_TIMED_TASK = (
    " Then call each of the {count} tools exactly once, one after another, in that order, and pass the time "
    'at which the activity starts as {start}, written "HH:MM". How long an activity takes is not known '
    "in advance: only the answer of its tool tells. If an answer shows that your plan can no longer keep "
    "the rules, halt at once, make a new plan with what you have learned, and start over from the beginning "
    "of the day; only the last attempt counts. "
    "When an attempt has called all of the tools, say that the work is done."
)
_PARAGRAPH = re.compile(f"{re.escape(_BEGIN)}(.*?){re.escape(_END)}", re.DOTALL)
_ROLE = re.compile(r"You are assisting (.+?)\. Every activity named below")
_HORIZON = re.compile(r"The working day runs from (\d\d):(\d\d) to (\d\d):(\d\d)\.")

_DESCRIPTION = "Carries out {phrase}."
_DESCRIBED = re.compile(r"(?:Carries out|Does the task:) (.+)\.", re.DOTALL)


def query_text(paragraph: str, role: str, count: int, horizon: tuple[int, int] | None = None) -> str:
    """The text for the agent; `horizon` (minutes after midnight) makes it a timed one."""
    introduction = _INTRODUCTION.format(role=role)
    if horizon is None:
        return f"{introduction}{_BEGIN}{paragraph}{_END}{_ORDER_TASK.format(count=count)}"
    day = _DAY.format(begin=clock(horizon[0]), end=clock(horizon[1]))
    return f"{introduction}{day}{_BEGIN}{paragraph}{_END}{_TIMED_TASK.format(count=count, start=START_TIME)}"


def role_of(query: str) -> str:
    """Whom a query of ours says that the agent assists, as in `a beekeeper`; else `an assistant`."""
    found = _ROLE.match(query)
    return found[1] if found else "an assistant"


def paragraph_of(query: str) -> str | None:
    """The paragraph inside a query of ours, wherever it stands in a longer text; None if there is none."""
    found = _PARAGRAPH.search(query)
    return found[1] if found else None


def horizon_of(query: str) -> tuple[int, int] | None:
    """The working day that a timed query states, minutes after midnight; None for an order query."""
    found = _HORIZON.search(query)
    if found is None:
        return None
    hours_begin, minutes_begin, hours_end, minutes_end = map(int, found.groups())
    return hours_begin * 60 + minutes_begin, hours_end * 60 + minutes_end


def describe(phrase: str) -> str:
    """The description of a tool made for an activity."""
    return _DESCRIPTION.format(phrase=phrase)


def phrase_of(tool: str, description: str = "") -> str:
    """The name that sentences use for a tool: from its description if we wrote it, else from its name."""
    described = _DESCRIBED.fullmatch(description.strip())
    return described[1] if described else phrase_from_tool_name(tool)


def phrase_from_tool_name(tool: str) -> str:
    """`get_userDetails` -> `get user details`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", tool)
    return " ".join(re.sub(r"[^\w]+|_+", " ", spaced).lower().split()) or tool


def tool_name(phrase: str) -> str:
    """`the stand-up meeting` -> `stand_up_meeting`."""
    words = re.findall(r"[a-z0-9]+", phrase.lower())
    return "_".join(words[1:] if words[:1] == ["the"] and len(words) > 1 else words)


def names_of_tools(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """`{"id", "phrase", "tool"}` for tools given as `{"name", "description"}`; the id is the tool's name."""
    return [
        {
            "id": tool["name"],
            "phrase": phrase_of(tool["name"], tool.get("description") or ""),
            "tool": tool["name"],
        }
        for tool in tools
    ]
