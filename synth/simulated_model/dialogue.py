"""What a request says, whatever API it came by: the one thing that planners may look at."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_ATTEMPT = re.compile(r"call_[0-9a-f]{12}_(\d+)_\d+\Z")


Way = Literal["calls", "streamed", "text"]
"""How calls are asked for: as data, as data in pieces, or in words that the agent has to read (ReAct)."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool the request says the model may call."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema."""


def offered(function: Mapping[str, Any]) -> OfferedTool:
    """The tool that an OpenAI function definition offers."""
    return OfferedTool(function["name"], function.get("description") or "", function.get("parameters") or {})


@dataclass(frozen=True, slots=True)
class Asked:
    """A call the model asked for earlier in this conversation, with what came back."""

    id: str
    tool: str
    arguments: str
    """The raw text, which need not be JSON."""
    answer: str | None = None
    """None: not answered (yet)."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One request in neutral form."""

    model: str
    text: str
    """Everything the user and the system said."""
    tools: tuple[OfferedTool, ...] = ()
    turns: tuple[tuple[Asked, ...], ...] = ()
    """The calls of each earlier model message, in order; a message without calls is an empty turn."""
    key: str = ""
    """The API key presented, which the harness makes different for every run."""
    attempt: int | None = None
    """Which conversation about this text it is, counted from 0; None = said nowhere, so it just begins."""
    planning: Any = None
    """The `PlanRequest` of a request for a plan as text."""
    way: Way = "calls"

    @property
    def asked(self) -> tuple[Asked, ...]:
        return tuple(call for turn in self.turns for call in turn)


@dataclass(frozen=True, slots=True)
class Ask:
    """A call the model asks for now."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says: calls, text, or both."""

    text: str | None
    asks: tuple[Ask, ...] = ()
    delay: float = 0.0
    """Seconds the model takes."""
    slips: bool = False
    """Where calls are asked for in words, these are words that no agent can read."""


def digest(*parts: object) -> str:
    """A short, stable fingerprint of what identifies a conversation."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()


def call_id(fingerprint: str, attempt: int, index: int) -> str:
    """The id of the index-th call of a conversation; it carries the attempt through stateless requests."""
    return f"call_{fingerprint[:12]}_{attempt}_{index}"


def attempt_of(ids: tuple[str, ...]) -> int | None:
    """The attempt that earlier call ids carry, None where there are none of ours."""
    found = (_ATTEMPT.match(one) for one in ids)
    return next((int(match[1]) for match in found if match), None)


def text_of(content: Any) -> str:
    """The text of a message's content, which is a string or a list of typed parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text", "")) for part in content if isinstance(part, dict))
    if isinstance(content, dict):
        return text_of(content.get("value", ""))
    return ""
