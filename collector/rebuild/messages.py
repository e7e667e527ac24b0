"""What the user and the assistant said in a run, placed among its calls: `messages` of a run record.

A run of our own tracer goes from one message of the user to its end, and its span has that message. Other
vocabularies give every model call the conversation so far: what is new in it was said before that model
call. What the assistant said beside requests for tools is marked with `asks`. A model call that was given
something else (another agent's instructions, a shortened history) leaves open what the user said last, until
one that goes on with the conversation tells.

A message says with `partly`, as a call's values do, why not all of it is known.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from collector.dialects import SeenAgent, SeenCall, SeenModel
from collector.dialects.names import OUTPUT_MESSAGES, SCOPE_NAME
from collector.dialects.reading import Message, json_value, loaded, requests_and_answers, said_in
from collector.model import REDACTED, Rebuilt, Span
from collector.rebuild.places import begun
from synth.frozen import quick

MOST_MESSAGES = 500
MOST_TEXT = 1_000_000
"""Code points of all messages of a run; what comes later counts as cut."""
LONGEST_TEXT = 65_536
"""Code points of one message."""
BY_HOST = "user"
"""`pdoctor.source` of a run that the host's own code opened: what runs in it is no sub-agent."""

_CUT = re.compile(r"…$|… \(\+\d+ characters\)$")
_TAKEN_OUT = re.compile(r"__REDACTED__|\[redacted")
_HASHED = re.compile(r"str:\d+:(?:[0-9a-f]{16}|cut)")

Said = Mapping[str, Any]
"""One entry of `messages`."""


@quick
@dataclass(frozen=True, slots=True)
class Talk:
    """The messages of a run."""

    messages: tuple[Said, ...] = ()
    whole: bool = False
    """Nothing that is missing can add to them: the span of the run itself tells all of them."""


def talk_of(calls: Sequence[SeenCall], agents: Sequence[SeenAgent], models: Sequence[SeenModel]) -> Talk:
    """What the spans of a run tell; `calls` in the order of the run."""
    heard = _Heard(calls)
    asked = list(_asked(agents))
    ours = [agent for agent in asked if agent.span.scope == SCOPE_NAME]
    if ours:
        heard.queries(ours)
        heard.last_words(ours, models)
    elif any(model.given for model in models):
        heard.conversation(models)
    else:
        heard.queries(asked)
    several_clocks = len(heard.said) > 1 and any("clock" in seen.call.extra for seen in calls)
    doubtful = several_clocks and not _requests_agree(calls, heard.places)
    messages = in_doubt(heard.said, first=1) if doubtful else heard.said
    return Talk(tuple(messages), whole=len(ours) == 1 and ours[0].announced_calls is not None)


def _requests_agree(calls: Sequence[SeenCall], places: Mapping[int, int]) -> bool:
    """Do the model calls that asked for the calls say what the clocks say: which calls came before each?

    `places`: model call -> how many calls began before it, by the clocks.
    """
    turns = [seen.call.step for seen in calls]
    return bool(places) and all(
        turn is not None and (turn < model) is (position < place)
        for model, place in places.items()
        for position, turn in enumerate(turns)
    )


def certain_messages(
    rebuilt: Rebuilt, *, complete: bool, problems: Sequence[str]
) -> Mapping[str, list[Said]]:
    """The field `messages`, if there is one; while spans are missing, there may be others between them."""
    messages = rebuilt.run.extra.get("messages")
    if messages is None:
        return {}
    certain = rebuilt.whole_talk or (complete and not problems)
    return {"messages": messages if certain else in_doubt(messages)}


def in_doubt(messages: Iterable[Said], first: int = 0) -> list[Said]:
    """The messages where a later one may be missing, or its place wrong; from the user's `first` one on."""
    found: list[Said] = []
    users = 0
    for said in messages:
        mine = said["role"] == "user"
        found.append({**said, "partly": "ambiguous"} if mine and users >= first else said)
        users += mine
    return found


def _asked(agents: Iterable[SeenAgent]) -> Iterable[SeenAgent]:
    """The runs that a user began, of `agents` with the outermost first: none that began inside another's."""
    around: list[Span] = []
    for agent in agents:
        if not agent.query or any(_inside(agent.span, span) for span in around):
            continue
        yield agent
        if agent.source != BY_HOST:
            around.append(agent.span)


def _inside(span: Span, other: Span) -> bool:
    return other.start_ns <= span.start_ns and _end(span) <= _end(other)


def _end(span: Span) -> float:
    return span.end_ns or float("inf")


@dataclass
class _Heard:
    """The messages so far."""

    calls: Sequence[SeenCall]
    """In order."""
    said: list[Said] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    """What the user said, message by message."""
    latest: Said | None = None
    """The entry of the last of them."""
    unsure: bool = False
    """Does the newest entry say that the user may have said something else?"""
    left: int = MOST_TEXT
    places: dict[int, int] = field(default_factory=dict)
    """Model call -> how many calls began before it."""

    @cached_property
    def starts(self) -> Sequence[int]:
        """When each call began."""
        return [begun(seen) for seen in self.calls]

    def queries(self, agents: Iterable[SeenAgent]) -> None:
        """Each of these runs began with a message of the user."""
        for agent in agents:
            if agent.query and self.users[-1:] != [agent.query]:
                at = self._place(agent.span) if self.users else 0
                self._add("user", agent.query, at, partly=_partly(agent.query, agent.span))

    def last_words(self, agents: Sequence[SeenAgent], models: Sequence[SeenModel]) -> None:
        """What the models of these runs said when they asked for no tool; their runs began with a query.

        Where no request to a model was seen, the span of the run tells its answer.
        """
        own = {agent.span.span_id: agent for agent in agents}
        for model in models:
            if model.said and not model.requests and model.span.parent_id in own:
                self._add("assistant", model.said, self._place(model.span, ended=True))
        asked = {model.span.parent_id for model in models}
        for span in (agent.span for key, agent in own.items() if key not in asked):
            made = json_value(loaded(span).get(OUTPUT_MESSAGES))
            answer = said_in(made)
            if answer and not requests_and_answers(made)[0]:
                self._add("assistant", answer, self._place(span, ended=True))
        self.said.sort(key=lambda said: said["before_call"])

    def conversation(self, models: Iterable[SeenModel]) -> None:
        """Each of these model calls was given the conversation so far, and said something."""
        for turn, model in enumerate(models):
            at = self.places[turn] = self._place(model.span)
            if not self.said and at > 0:
                self._open("absent", 0)
            if model.given is None:
                self._open("absent", at)
            else:
                self._given(model.given, at, model.span)
            if model.said:
                place = self._place(model.span, ended=True)
                self._add("assistant", model.said, place, asks=bool(model.requests))

    def _given(self, given: Sequence[Message], at: int, span: Span) -> None:
        users = [message.text for message in given if message.role == "user"]
        count = _new(self.users, users)
        if count is None:
            self._open("ambiguous", at)
        elif count:
            self._goes_on(given, count, at, span)
        elif self.unsure and users:
            self._again(at)

    def _goes_on(self, given: Sequence[Message], count: int, at: int, span: Span) -> None:
        """Take in the user's last `count` messages, at the beginning also the assistant's between them."""
        left = count
        begins = not self.users
        for message in given[_from(given, count) :]:
            if message.role == "user":
                left -= 1
                partly = message.partly or _partly(message.text, span)
                self._add("user", message.text, at, partly=partly)
            elif begins:
                self._add("assistant", message.text, at)

    def _again(self, at: int) -> None:
        """What the user said last is certain again."""
        if self.latest is not None:
            self._put({**self.latest, "before_call": at})
            self.unsure = False

    def _open(self, why: str, at: int) -> None:
        """From here on the user may have said something that is not known."""
        if not self.unsure:
            self._put({"role": "user", "content": None, "before_call": at, "partly": why})
            self.unsure = True

    def _add(self, role: str, text: str, at: int, *, partly: str | None = None, asks: bool = False) -> None:
        kept = text[: min(LONGEST_TEXT, self.left)]
        self.left -= len(kept)
        why = partly or ("cut" if len(kept) < len(text) else None)
        content = kept or (None if why else "")
        entry = {"role": role, "content": content, "before_call": at} | ({"partly": why} if why else {})
        if asks:
            entry["asks"] = True
        self._put(entry)
        if role == "user":
            self.users.append(text)
            self.latest, self.unsure = entry, False

    def _put(self, entry: Said) -> None:
        """Add it; the last one that there is room for says that more may have been said."""
        if len(self.said) < MOST_MESSAGES - 1:
            self.said.append(entry)
        elif len(self.said) == MOST_MESSAGES - 1:
            at = entry["before_call"]
            self.said.append({"role": "user", "content": None, "before_call": at, "partly": "cut"})

    def _place(self, span: Span, *, ended: bool = False) -> int:
        """How many calls began before."""
        return bisect_left(self.starts, span.end_ns if ended else span.start_ns)


def _new(known: Sequence[str], given: Sequence[str]) -> int | None:
    """How many of the last in `given` come after the `known` ones; None = it does not go on from them."""
    if not known or not given:
        return len(given)
    for at in range(len(given) - len(known), -1, -1):
        if given[at : at + len(known)] == known:
            return len(given) - at - len(known)
    for size in range(min(len(known), len(given)), 0, -1):
        if known[-size:] == given[:size]:
            return len(given) - size
    older = any(known[at : at + len(given)] == given for at in range(len(known) - len(given)))
    return 0 if older else None


def _from(given: Sequence[Message], count: int) -> int:
    """Where the last `count` messages of the user begin."""
    places = [at for at, message in enumerate(given) if message.role == "user"]
    return places[-count]


def _partly(text: str, span: Span) -> str | None:
    """Why a text is not all that was said: it carries the mark of somebody who took something out."""
    if _HASHED.fullmatch(text):
        return "hashed"
    marks = loaded(span).get(REDACTED)
    redacted = isinstance(marks, list | tuple) and any(isinstance(m, str) and m in text for m in marks)
    if redacted or _TAKEN_OUT.search(text):
        return "absent"
    return "cut" if _CUT.search(text) else None
