"""Calls of tools and of models whose longest parts are read from the span when somebody first looks at them.

Most verdicts depend on tools, times and errors alone. Parsing arguments and results, and filling every
field of a frozen dataclass, took half of the time that reading a call takes; of the messages of models a
page shows a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from collector.dialects import names
from collector.dialects.reading import (
    Message,
    SeenModel,
    json_value,
    last_user_text,
    loaded,
    losses,
    messages_in,
    requests_and_answers,
    said_in,
    text,
    whole,
)
from collector.model import Span, ToolCall
from synth.observed import Interval, Why, has_marks

NO_EXTRA: Mapping[str, Any] = {}
LATER: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "arguments": lambda said: json_value(said.get(names.TOOL_ARGUMENTS)),
    "asked_arguments": lambda said: json_value(said.get(names.ASKED_ARGUMENTS)),
    "result": lambda said: json_value(said.get(names.TOOL_RESULT)),
    "step": lambda said: whole(said.get(names.TURN_INDEX)),
    "with_text": lambda said: said.get(names.TURN_HAS_TEXT),
    "partly": lambda said: {},
    "hash_key": lambda said: text(said.get(names.HASH_KEY)),
    "agent": lambda said: text(said.get(names.AGENT_NAME)),
    "attempts": lambda said: whole(said.get(names.ATTEMPTS)) or 1,
}
"""Field -> how the attributes of a GenAI tool span tell it."""


@dataclass(slots=True)
class Looks:
    """How often somebody looked at a value of a call: what it was given or gave, or what of it is known."""

    times: int = 0


LOOKED = Looks()
VALUES = frozenset(("arguments", "result", "partly"))


class DeferredCall(ToolCall):
    """A ToolCall in every respect; the fields of `LATER` come from `said` at the first look."""

    __slots__ = ("said",)

    said: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        read = LATER.get(name)
        if read is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        LOOKED.times += name in VALUES
        value = read(self.said) if name != "partly" else _partly(self, self.said)
        object.__setattr__(self, name, value)
        return value

    def moved(
        self, step: int | None, start: Interval | None, end: Interval | None, extra: Mapping[str, Any]
    ) -> ToolCall:
        """As that of `ToolCall`; what nobody has looked at yet stays so."""
        try:
            said = _get_said(self)
        except AttributeError:  # made by `replace`, with every field
            return super().moved(step, start, end, extra)
        call = deferred_call(self.id, self.tool, self.error, start, end, self.executed, said)
        _step(call, step)
        _extra(call, extra)
        return call

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return _values(self) == _values(other)

    __hash__ = ToolCall.__hash__


def _partly(call: ToolCall, said: Mapping[str, Any]) -> Mapping[str, Why]:
    """What our tracer says of its values; what else is known of attributes that lost their end."""
    found = _known_in_part(call, said)
    return {**found, "result": "ambiguous"} if said.get(names.AMBIGUOUS) is True else found


def _known_in_part(call: ToolCall, said: Mapping[str, Any]) -> Mapping[str, Why]:
    content = said.get(names.CONTENT)
    arguments, result = said.get(names.TOOL_ARGUMENTS), said.get(names.TOOL_RESULT)
    if content == "none":
        return {"arguments": "absent", "result": "absent"}
    if content is not None:
        kept = {"arguments": arguments, "result": result}
        return {name: "hashed" for name, value in kept.items() if value is not None}
    cut: dict[str, Why] = {}
    if said.get(names.TRUNCATED):
        cut = {name: "cut" for name in ("arguments", "result") if has_marks(getattr(call, name))}
    texts = [said for said in (arguments, result) if isinstance(said, str)]
    return cut | losses({"arguments": call.arguments, "result": call.result}, texts)


_FIELDS = tuple(part.name for part in fields(ToolCall))


def _values(call: ToolCall) -> tuple[Any, ...]:
    return tuple(getattr(call, name) for name in _FIELDS)


_new = object.__new__
_get_said = DeferredCall.said.__get__  # type: ignore[attr-defined,misc]
_said, _id, _tool, _error, _start, _end, _finished, _executed, _extra, _step = (
    getattr(DeferredCall, name).__set__
    for name in ("said", "id", "tool", "error", "start", "end", "finished", "executed", "extra", "step")
)


def deferred_call(
    call_id: str | None,
    tool: str,
    error: str | None,
    start: Interval | None,
    end: Interval | None,
    executed: bool | None,
    said: Mapping[str, Any],
) -> ToolCall:
    """A call that has ended, with the attributes that tell the rest."""
    call = _new(DeferredCall)
    _said(call, said)
    _id(call, call_id)
    _tool(call, tool)
    _error(call, error)
    _start(call, start)
    _end(call, end)
    _finished(call, True)
    _executed(call, executed)
    _extra(call, NO_EXTRA)
    return call


class DeferredModel(SeenModel):
    """A SeenModel in every respect; what its messages say is read at the first look at any of it.

    `before` is a call whose history this one may go on with, see `in_turn`.
    """

    __slots__ = ("asked", "before", "news", "output")

    def __getattr__(self, name: str) -> Any:
        read = OF_MESSAGES.get(name)
        if read is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = read(self)
        object.__setattr__(self, name, value)
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SeenModel):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _MODEL_FIELDS)

    __hash__ = SeenModel.__hash__


IN_TURN = 64
"""Calls of which each asks the one before it, so that Python's stack is deep enough."""


def in_turn(models: Iterable[SeenModel]) -> None:
    """Let each of these calls, in order, go through only what its history has more than the one before.

    An agent gives its model the same messages again and again: together they grow with the square of them.
    """
    latest: dict[str, tuple[int, SeenModel]] = {}
    for model in models:
        count, before = latest.get(model.span.scope, (0, None))
        if count % IN_TURN and type(model) is type(before) is DeferredModel:
            _before(model, before)
        latest[model.span.scope] = count + 1, model


def _news(model: Any) -> tuple[Any, Any]:
    """(the call before, the messages after its own); where there is none, None and all messages."""
    said = loaded(model.span).get(names.INPUT_MESSAGES)
    before = model.before
    if before is not None and isinstance(said, str) and isinstance(before.news[1], list):
        known = loaded(before.span).get(names.INPUT_MESSAGES)
        if isinstance(known, str) and _goes_on(said, known):
            more = json_value(f"[{said[len(known) :]}")
            if isinstance(more, list) and more:
                return before, more
    return None, json_value(said)


def _goes_on(said: str, known: str) -> bool:
    """Does one JSON list begin with all that is in another, and have more?"""
    end = len(known) - 1
    return known[end:] == "]" and said[end : end + 1] == "," and said.startswith(known[:end])


def _answers(model: Any) -> Mapping[str, Any]:
    before, news = model.news
    found = {} if news is None else requests_and_answers(news)[1]
    return found if before is None else {**before.answers, **found}


def _query(model: Any) -> str | None:
    before, news = model.news
    found = None if news is None else last_user_text(news)
    return before.query if found is None and before is not None else found


def _given(model: Any) -> tuple[Message, ...] | None:
    before, news = model.news
    found = messages_in(news)
    return found if before is None else (*before.given, *(found or ()))


def _read_whole(model: Any) -> frozenset[str]:
    messages = ((names.INPUT_MESSAGES, model.news[1]), (names.OUTPUT_MESSAGES, model.output))
    return frozenset([name for name, value in messages if not isinstance(value, str)])


OF_MESSAGES: Mapping[str, Callable[[Any], Any]] = {
    "before": lambda model: None,
    "news": _news,
    "answers": _answers,
    "query": _query,
    "given": _given,
    "output": lambda model: json_value(loaded(model.span).get(names.OUTPUT_MESSAGES)),
    "asked": lambda model: requests_and_answers(model.output),
    "requests": lambda model: tuple(model.asked[0]),
    "with_text": lambda model: model.asked[2],
    "said": lambda model: said_in(model.output),
    "read_whole": _read_whole,
}
"""Field -> how the messages tell it: what a model was told (`news`), and what it answered (`output`)."""
_MODEL_FIELDS = tuple(part.name for part in fields(SeenModel))
_before, _span, _tools, _model, _session, _input_tokens, _output_tokens = (
    getattr(DeferredModel, name).__set__
    for name in ("before", "span", "tools", "model", "session", "input_tokens", "output_tokens")
)


def deferred_model(
    span: Span,
    tools: tuple[str, ...] | None,
    model: str | None,
    session: str | None,
    input_tokens: int | None,
    output_tokens: int | None,
) -> SeenModel:
    """A model call, with what is told of it beside its messages."""
    seen = _new(DeferredModel)
    _span(seen, span)
    _tools(seen, tools)
    _model(seen, model)
    _session(seen, session)
    _input_tokens(seen, input_tokens)
    _output_tokens(seen, output_tokens)
    return seen
