"""Runs without any run span: conversations put together from single model calls.

Bare SDK loops under a vendor's instrumentation make one trace per model call. Such a trace tells, in
its own attributes, which conversation it continues. The evidence, the strongest first:

1. a session, conversation or thread id: one id is one run, whatever else is said;
2. `previous_response_id`: the response that a call continues;
3. tool call ids: a call that is given the answers to what an earlier call asked for. Ids are not unique
   (real runs reuse them), so open requests come before answered ones, and then the latest.

Only traces whose root is itself a model or tool call take part. A trace that has a run span, or that
belongs to a request of a service, is whole: several of them in one session stay several runs, and
policies of scope `session` judge them together. What belongs together depends on the set of traces
alone, never on the order in which they arrived; the run has the id of its earliest trace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from collector.dialects.names import INPUT_MESSAGES
from collector.dialects.reading import SeenCall, SeenModel, json_value, last_user_text, loaded, text
from collector.model import Piece, Span
from synth.observed import SESSION_FIELDS

SESSION_KEYS = (
    "gen_ai.conversation.id",
    "session.id",
    "gen_ai.thread.id",
    "thread.id",
    "conversation.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.conversation_id",
    "ai.telemetry.metadata.sessionId",
    "langfuse.session.id",
    "mlflow.trace.session",
    "langsmith.trace.session_id",
    *SESSION_FIELDS,
)
"""Where instrumentations, and programs themselves, put the id of a conversation; the first counts."""
_SESSION_KEYS = frozenset(SESSION_KEYS)

RESPONSE_KEYS = ("gen_ai.response.id", "llm.response.id", "response.id")
PREVIOUS = "previous_response_id"
IDS_READ = 200
"""Ids of one kind in one trace, the newest; a history may repeat thousands."""
KEY_LENGTH = 120


def session_of(span: Span) -> str | None:
    """The conversation that a span says it belongs to."""
    attributes = loaded(span)
    if _SESSION_KEYS.isdisjoint(attributes):
        return None
    for key in SESSION_KEYS:
        value = json_value(attributes.get(key)) if key == "mlflow.trace.session" else attributes.get(key)
        if found := text(value):
            return found
    return None


PERSON_KEYS = (
    "user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id",
    "langsmith.metadata.user_id", "ai.telemetry.metadata.userId", "mlflow.trace.user",
)  # fmt: skip
"""Where instrumentations, and programs themselves, put whom they work for; the first counts."""
_PERSON_KEYS = frozenset(PERSON_KEYS)


def person_of(span: Span) -> str | None:
    """Whom a span says it was for."""
    attributes = loaded(span)
    if _PERSON_KEYS.isdisjoint(attributes):
        return None
    for key in PERSON_KEYS:
        value = json_value(attributes.get(key)) if key == "mlflow.trace.user" else attributes.get(key)
        if found := text(value):
            return found
    return None


def piece_of(
    trace_id: str, spans: Sequence[Span], calls: Sequence[SeenCall], models: Sequence[SeenModel]
) -> Piece | None:
    """What a trace that is only model and tool calls says about its conversation; None: nothing."""
    told = [*(seen.span for seen in calls), *(seen.span for seen in models)]
    responses, previous = _responses(models)
    piece = Piece(
        trace_id=trace_id,
        started_ns=min(span.start_ns for span in spans),
        session=next((found for span in told if (found := session_of(span))), None),
        responses=responses,
        previous=previous,
        requested=_some(request.id for model in models for request in model.requests if request.id),
        answered=_some(call_id for model in models for call_id in model.answers),
        opening=next((_digest(said) for model in models if (said := _opening(model.span))), None),
    )
    return piece if links(piece) else None


def _responses(models: Sequence[SeenModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(ids of the responses, ids of those that they continue)."""
    found: list[str] = []
    continued: list[str] = []
    for model in models:
        attributes = loaded(model.span)
        said = json_value(attributes.get("output.value"))
        values = [attributes.get(key) for key in RESPONSE_KEYS]
        values.append(said.get("id") if isinstance(said, Mapping) else None)
        found += [known for value in values if (known := text(value))]
        continued += _previous(attributes)
    return _some(found), _some(continued)


def _previous(attributes: Mapping[str, Any]) -> Iterable[str]:
    for key, value in attributes.items():
        if key.endswith(PREVIOUS) and (found := text(value)):
            yield found
    for key in ("llm.invocation_parameters", "input.value"):
        said = attributes.get(key)
        if isinstance(said, str) and PREVIOUS in said:
            parsed = json_value(said)
            if isinstance(parsed, Mapping) and (found := text(parsed.get(PREVIOUS))):
                yield found


FIRST_MESSAGES = 10
"""The user's first words are looked for among so many messages."""


def _opening(span: Span) -> str | None:
    """The first words of the user in what a model call was given."""
    attributes = loaded(span)
    listed = json_value(attributes.get(INPUT_MESSAGES))
    if isinstance(listed, list):
        first = next(
            (m for m in listed[:FIRST_MESSAGES] if isinstance(m, dict) and m.get("role") == "user"), None
        )
        return last_user_text([first]) if first else None
    for prefix, inner in (("llm.input_messages", "message."), ("gen_ai.prompt", "")):
        for number in range(FIRST_MESSAGES):
            base = f"{prefix}.{number}.{inner}"
            if attributes.get(f"{base}role") == "user":
                return text(attributes.get(f"{base}content"))
    return None


def _some(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))[-IDS_READ:]


def _digest(said: str) -> str:
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=16).hexdigest()


def links(piece: Piece) -> set[str]:
    """Keys under which traces of one conversation, or parts of one run, find each other."""
    named = [("session", [piece.session] if piece.session else [])]
    named += [("response", [*piece.responses, *piece.previous])]
    named += [("call", [*piece.requested, *piece.answered])]
    named += [("token", [*piece.tokens, *piece.resumed])]
    return {link_of(kind, value) for kind, values in named for value in values}


def link_of(kind: str, value: str) -> str:
    return f"{kind}:{_short(value)}"


def _short(value: str) -> str:
    plain = value.replace("\x00", "")
    return plain if len(plain) <= KEY_LENGTH else _digest(plain)


# ---------------------------------------------------------------- which pieces make one conversation


@dataclass(slots=True)
class _Conversation:
    """The pieces of one conversation so far, in order of time."""

    pieces: list[Piece] = field(default_factory=list)
    session: str | None = None
    opening: str | None = None
    responses: set[str] = field(default_factory=set)
    requested: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    """Requested and not answered yet."""

    def add(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.session = self.session or piece.session
        self.opening = self.opening or piece.opening
        self.responses.update(piece.responses)
        self.open.difference_update(piece.answered)
        self.open.update(piece.requested)
        self.requested.update(piece.requested)


def conversations(pieces: Iterable[Piece]) -> list[tuple[Piece, ...]]:
    """The pieces grouped by conversation, each group and the groups themselves in order of time."""
    found: list[_Conversation] = []
    for piece in sorted(pieces, key=lambda one: (one.started_ns, one.trace_id)):
        conversation = _continued(found, piece)
        if conversation is None:
            conversation = _Conversation()
            found.append(conversation)
        conversation.add(piece)
    return [tuple(conversation.pieces) for conversation in found]


def _continued(found: Sequence[_Conversation], piece: Piece) -> _Conversation | None:
    """The conversation that a piece goes on with, by the strongest evidence there is."""
    if piece.session is not None:
        same = next((one for one in found if one.session == piece.session), None)
        if same is not None:
            return same
    latest = [one for one in reversed(found) if one.session is None or piece.session is None]
    previous, answered = set(piece.previous), set(piece.answered)
    if previous:
        chained = next((one for one in latest if previous & one.responses), None)
        if chained is not None:
            return chained
    if not answered:
        return None
    waiting = [one for one in latest if answered & one.open]
    if waiting:  # `max` keeps the first of equals: the latest
        return max(waiting, key=lambda one: (_opens_alike(one, piece), len(answered & one.open)))
    return next((one for one in latest if answered & one.requested and _opens_alike(one, piece)), None)


def _opens_alike(one: _Conversation, piece: Piece) -> bool:
    """They begin with the same words of the user, as far as that is known."""
    return one.opening is None or piece.opening is None or one.opening == piece.opening


# ---------------------------------------------------------------- stored form


def piece_to_json(piece: Piece) -> str:
    return orjson.dumps(
        [
            piece.trace_id, piece.started_ns, piece.session, piece.responses, piece.previous,
            piece.requested, piece.answered, piece.opening, piece.tokens, piece.resumed,
        ]
    ).decode()  # fmt: skip


def piece_from_json(body: str) -> Piece:
    trace_id, started_ns, session, responses, previous, requested, answered, opening, *of_part = orjson.loads(
        body
    )
    ids = (tuple(responses), tuple(previous), tuple(requested), tuple(answered))
    tokens = map(tuple, of_part)  # rows of before runs had parts have none
    return Piece(trace_id, started_ns, session, *ids, opening, *tokens)
