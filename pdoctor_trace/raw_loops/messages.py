"""What a request to a model and its reply say, whatever the wire format; the adapters fill these in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pdoctor_trace.calls import Reading
from pdoctor_trace.definitions import Offer
from pdoctor_trace.elsewhere import token, token_of_ids
from pdoctor_trace.runtime import argument_text


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's answer as a request carries it."""

    call_id: str
    content: Any
    failed: bool = False
    """Only where the wire format has an error flag."""
    asked_in: int = -1
    """Ordinal of the model's message that asked for it, where the history shows it."""
    last: bool = True
    """Whether nothing of the model's comes after it; older answers do not tell a conversation."""

    @property
    def reading(self) -> Reading:
        """What it says of the call."""
        text = self.content if type(self.content) is str else ""
        return Reading(self.content, text or "the tool reported an error" if self.failed else None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that a model's message asks for."""

    call_id: str | None
    tool: str
    arguments: Any
    """The model's text, or an object where the wire format has one."""


_NO_ID = "function_call:"


def made_id(number: int) -> str:
    """What stands for the id that a call has not; its place tells it from the others."""
    return f"{_NO_ID}{number}"


def number_of(call_id: str | None) -> int | None:
    """The place of a call without an id; None where it has one."""
    number = (call_id or "").removeprefix(_NO_ID)
    return int(number) if number != call_id and number.isdecimal() else None


def as_kept(asked: Asked) -> bytes | None:
    """Its arguments as JSON text, by content mode."""
    return argument_text(asked.arguments)[0]


@dataclass(slots=True)
class Outgoing:
    """A request to a model, whatever the wire format."""

    source: str
    history: list[int] = field(default_factory=list)
    """Hash of the history up to each item that is not the model's own."""
    answers: list[Answer] = field(default_factory=list)
    """Answers to the latest message that asked for their id, in order."""
    asked: dict[str, Asked] = field(default_factory=dict)
    """Calls found in the history, by id (the latest)."""
    system: str | None = None
    """Text of the first system message."""
    query: str | None = None
    """Text of the latest message of the user."""
    user_last: bool = False
    """Whether the request ends with that message."""
    tools: list[Offer] = field(default_factory=list)
    key: str | None = None
    """Server-held conversation that this request continues."""
    conversation: str | None = None
    """Id of the conversation, where the user gave one."""
    model: str | None = None
    has_model_items: bool = False
    unnamed: int = 0
    """Calls without an id so far."""
    held: bool = False
    """Whether the server may hold the history, so that a request need not show it."""

    def count_on(self, left_out: int) -> None:
        """Older calls without an id were left out of the history: the others have later places."""

        def moved(call_id: str) -> str:
            number = number_of(call_id)
            return call_id if number is None else made_id(number + left_out)

        self.unnamed += left_out
        self.answers = [replace(answer, call_id=moved(answer.call_id)) for answer in self.answers]
        self.asked = {moved(key): replace(one, call_id=moved(key)) for key, one in self.asked.items()}

    @property
    def answers_last(self) -> bool:
        """Whether the request ends with tool answers: then the run goes on."""
        return any(answer.last for answer in self.answers)

    def last_asked(self) -> list[Asked] | None:
        """The calls that the answers at its end are for; None where the history does not show all of them."""
        found = [self.asked.get(answer.call_id) for answer in self.answers if answer.last]
        return [one for one in found if one is not None] if found and None not in found else None

    def token(self) -> str | None:
        """What the process that asked for the calls answered last left as a token."""
        if self.held:
            return token_of_ids(answer.call_id for answer in self.answers if answer.last)
        asked = self.last_asked()
        return None if asked is None else token(self.query, asked)
