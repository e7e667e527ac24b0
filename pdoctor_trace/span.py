"""Tool-call records: the only place that opens and closes them, and the wrappers that do so around host code.

A wrapper has three phases: `enter` (guarded), the host's function exactly once and bare, and `returned`
or `raised` (guarded; BaseException too, so that cancellation is seen). The host's function never runs
inside a `try` that could swallow something of its own: exceptions leave by a bare `raise`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from time import time_ns
from typing import Any, Generic, TypeVar

from . import sdkspans, semconv
from .capture import type_name
from .guard import guarded, note
from .runs import (
    CURRENT,
    Frame,
    OpenRun,
    Request,
    RunState,
    current,
    ids,
    new_span_id,
    sdk_above,
    state_outside,
)
from .runtime import ACTIVE, recording
from .wire import CallRecord, Head, as_dict

_random_bits = ids.getrandbits
_set_current = CURRENT.set
new_call: Any = object.__new__
"""A call without its `__init__`; the caller goes on with `begin`."""
EXACT, INFERRED = "exact", "inferred"
UNKNOWN_TOOL, BAD_ARGUMENTS, TOOL_RAISED = "unknown_tool", "bad_arguments", "tool_raised"
TIMED_OUT, CANCELLED = "timeout", "cancelled"

Enter = Callable[[Any, tuple[Any, ...], dict[str, Any]], "Visit | Call | None"]
"""Reads (instance, args, kwargs) of a host function about to run; None = nothing to record."""
Wrapper = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]
"""wrapt's (wrapped, instance, args, kwargs)."""


class Visit:
    """What to do around one call of a host function: a frame while it runs, a reaction to its end."""

    __slots__ = ("frame",)

    frame: Frame | None

    def __init__(self, frame: Frame | None) -> None:
        self.frame = frame

    def returned(self, result: Any) -> None:
        """The host function returned (or its generator is exhausted: then `result` is None)."""

    def raised(self, error: BaseException) -> None:
        """The host function raised."""


class Call(Frame):
    """One requested tool call that is running, and the frame of its body; `close` writes its span."""

    __slots__ = (
        "arguments",
        "attempts",
        "call_id",
        "description",
        "error",
        "executed",
        "has_text",
        "inner_error",
        "kind",
        "parent_id",
        "run",
        "sdk",
        "source",
        "start_ns",
        "step",
        "timing",
        "tool",
        "turn",
    )

    error: BaseException | str | None
    """The error of the latest attempt."""
    inner_error: str | None
    """What a layer below (MCP) said about the same call; counts where nobody above says more."""

    def __init__(
        self,
        source: str,
        tool: Any,
        arguments: bytes | None,
        *,
        call_id: Any = None,
        description: Any = None,
        start_ns: int | None = None,
        inside: Frame | None = None,
    ) -> None:
        self.begin(source, tool, arguments, call_id, description, start_ns, inside)

    def begin(
        self,
        source: str,
        tool: Any,
        arguments: bytes | None,
        call_id: Any,
        description: Any,
        start_ns: int | None,
        inside: Frame | None,
    ) -> None:
        """What `__init__` does; hot paths call this on a bare object, which Python 3.11 does much faster.

        `inside` is the frame it stands in, None = wherever the running code stands.
        """
        above = current() if inside is None else inside
        if above is None:
            self.run = None
            state, self.parent_id = state_outside()
        else:
            self.run = above if type(above) is OpenRun else above.run
            state, self.parent_id = above.state, above.span_id
        self.start_ns = time_ns() if start_ns is None else start_ns
        self.sdk = None
        if sdkspans.wanted():
            state = self._start_sdk_span(state, above, tool)
        else:
            self.span_id = _random_bits(64)
        self.state, self.step = state, next(state.steps)
        self.source, self.arguments = source, arguments
        self.tool = tool if type(tool) is str else type_name(tool)
        self.call_id = call_id if type(call_id) is str else None
        self.description = description if type(description) is str else None
        self.turn: int | None = None
        self.has_text: bool | None = None
        self.timing, self.executed, self.attempts = EXACT, True, 1
        self.error = self.inner_error = None
        self.kind: str | None = None

    in_body = True

    @property
    def call(self) -> Call:
        """The frame of a call's body is the call itself."""
        return self

    frame = call
    """What to do around the body, as a `Visit`: be the frame, then close with what came out."""

    def returned(self, result: Any) -> None:
        """The tool's own function returned."""
        self.close(ACTIVE.capture.result(result))

    def raised(self, error: BaseException) -> None:
        """The tool's own function raised."""
        self.fail(error)
        self.close()

    def _start_sdk_span(self, state: RunState, above: Frame | None, tool: Any) -> RunState:
        """Also in the host's provider; a call outside any run and trace then has that span's trace."""
        name = f"execute_tool {tool}" if type(tool) is str else "execute_tool"
        self.sdk = sdkspans.start(name, sdk_above(above), self.start_ns)
        if self.sdk is None:
            self.span_id = new_span_id()
            return state
        trace_id, self.span_id = sdkspans.ids(self.sdk)
        return RunState(trace_id, f"{trace_id:032x}") if above is None and not self.parent_id else state

    def asked_by(self, request: Request | None) -> None:
        """Take over what the model's message said about this call."""
        if request is not None:
            self.turn, self.has_text = request.turn, request.has_text

    def close(self, result: bytes | None = None, *, end_ns: int | None = None) -> None:
        """Write the span, with the error that was set, if any."""
        end = time_ns() if end_ns is None else end_ns
        message = error_type = None
        if self.error is not None or self.inner_error is not None:
            result = None
            message, error_type = self._what_failed()
        run, start, arguments = self.run, self.start_ns, self.arguments
        description = (
            self.tool,
            self.description,
            None if run is None else run.agent,
            self.source,
            self.timing,
            self.executed,
            self.attempts,
            self.kind,
        )
        record: Any = (  # a CallRecord; naming its fields would cost a call
            _HEADS.get(description) or _head(description),
            self.state.encoded,
            self.span_id,
            self.parent_id,
            start,
            end if end > start else start,
            message,
            error_type,
            self.step,
            self.call_id,
            arguments,
            result,
            self.turn,
            self.has_text,
        )
        exporter = ACTIVE.exporter
        if exporter is not None:
            exporter.put(record, (len(arguments) if arguments else 0) + (len(result) if result else 0))
        if self.sdk is not None:
            found = CallRecord._make(record)
            sdkspans.finish(self.sdk, self._sdk_attributes(found), message, found.end_ns)

    def _what_failed(self) -> tuple[str, str | None]:
        """(status message, error type); also settles the kind."""
        error = self.inner_error if self.error is None else self.error
        self.kind = self.kind or TOOL_RAISED
        error_type = type_name(error) if isinstance(error, BaseException) else self.kind
        return ACTIVE.capture.message(error), error_type

    def _sdk_attributes(self, record: CallRecord) -> dict[str, Any]:
        return {
            **self.state.pairs(),
            **as_dict(record.head.pairs),
            semconv.STEP_INDEX: record.step,
            semconv.TOOL_CALL_ID: record.call_id,
            semconv.TOOL_ARGUMENTS: record.arguments,
            semconv.TOOL_RESULT: record.result,
            semconv.TURN_INDEX: record.turn,
            semconv.TURN_HAS_TEXT: record.has_text,
            semconv.ERROR_TYPE: record.error_type,
        }

    def fail(self, error: BaseException | str, kind: str | None = None) -> None:
        """Set the error; the kind is told from the exception unless the adapter knows better."""
        self.error = error
        self.kind = kind or (kind_of(error) if isinstance(error, BaseException) else TOOL_RAISED)


Description = tuple[str, str | None, str | None, str, str, bool, int, str | None]
"""(tool, its description, agent, source, timing, executed, attempts, error kind)."""

_HEADS: dict[Description, Head] = {}
_MAX_HEADS = 4_096


def _head(described: Description) -> Head:
    """Span name and the attributes that repeat; shared by all spans that have them alike."""
    tool, description, agent, source, timing, executed, attempts, kind = described
    pairs = (
        semconv.OPERATION_NAME,
        "execute_tool",
        semconv.TOOL_NAME,
        tool,
        semconv.TOOL_TYPE,
        "function",
        semconv.TOOL_DESCRIPTION,
        description,
        semconv.AGENT_NAME,
        agent,
        semconv.SOURCE,
        source,
        semconv.TIMING,
        timing,
        semconv.EXECUTED,
        executed,
        semconv.ATTEMPTS,
        max(attempts, 1),
        semconv.ERROR_KIND,
        kind,
    )
    head = Head(f"execute_tool {tool}", pairs)
    if len(_HEADS) >= _MAX_HEADS:
        _HEADS.clear()
    _HEADS[described] = head
    return head


def kind_of(error: BaseException) -> str:
    """The error kind of an exception that left a tool."""
    cls = type(error)
    if issubclass(cls, TimeoutError):
        return TIMED_OUT
    if issubclass(cls, KeyboardInterrupt | GeneratorExit) or cls.__name__ == "CancelledError":
        return CANCELLED
    return TOOL_RAISED


def not_executed(request: Request, source: str, run: OpenRun) -> None:
    """Write the span of a call that a model asked for and no tool took up."""
    call = Call(
        source,
        request.tool,
        request.arguments,
        call_id=request.call_id,
        start_ns=request.time_ns,
        inside=run,
    )
    call.asked_by(request)
    call.executed = False
    if not request.well_formed:
        call.fail("the arguments are not valid JSON", BAD_ARGUMENTS)
    elif run.tools and call.tool not in run.tools:
        call.fail(f"no tool {call.tool!r} was offered", UNKNOWN_TOOL)
    call.close(end_ns=request.time_ns)


AnyRun = TypeVar("AnyRun", bound=OpenRun)


class InRun(Visit, Generic[AnyRun]):
    """Something that a framework does on behalf of a run, in the frame that is there already."""

    __slots__ = ("run",)

    def __init__(self, run: AnyRun) -> None:
        super().__init__(CURRENT.get())
        self.run = run


class RunVisit(Visit):
    """One run of an agent of a framework."""

    __slots__ = ("run",)

    def __init__(self, run: OpenRun) -> None:
        super().__init__(run)
        self.run = run

    def returned(self, result: Any) -> None:
        self.end(None)

    def raised(self, error: BaseException) -> None:
        self.end(None if isinstance(error, GeneratorExit) else error)

    def end(self, error: BaseException | None) -> None:
        """Report what was asked for and never taken up, then the run itself."""
        for request in self.run.take_all_requests():
            not_executed(request, self.run.source, self.run)
        self.run.close(error)


# -- wrappers


def observe(read: Callable[[Any, tuple[Any, ...], dict[str, Any]], object]) -> Wrapper:
    """Look at the arguments of a host function before it runs."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if recording():
            guarded(read, instance, args, kwargs)
        return wrapped(*args, **kwargs)

    return wrapper


def around(enter: Enter) -> Wrapper:
    """Record a plain function.

    This is the hot path of the whole package, hence `guarded` and `enter_frame` written out.
    """

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        visit = None
        if recording():
            try:
                visit = enter(instance, args, kwargs)
            except Exception as error:
                note(enter, error)
        if visit is None:
            return wrapped(*args, **kwargs)
        frame = visit if isinstance(visit, Call) else visit.frame
        token = _set_current(frame) if frame is None or frame.sdk is None else enter_frame(frame)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            leave(token)
            guarded(visit.raised, error)
            raise
        leave(token)
        try:
            visit.returned(result)
        except Exception as error:
            note(visit.returned, error)
        return result

    return wrapper


def around_async(enter: Enter) -> Wrapper:
    """Record a coroutine function, likewise."""

    async def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        visit = None
        if recording():
            try:
                visit = enter(instance, args, kwargs)
            except Exception as error:
                note(enter, error)
        if visit is None:
            return await wrapped(*args, **kwargs)
        frame = visit if isinstance(visit, Call) else visit.frame
        token = _set_current(frame) if frame is None or frame.sdk is None else enter_frame(frame)
        try:
            result = await wrapped(*args, **kwargs)
        except BaseException as error:
            leave(token)
            guarded(visit.raised, error)
            raise
        leave(token)
        try:
            visit.returned(result)
        except Exception as error:
            note(visit.returned, error)
        return result

    return wrapper


def around_generator(enter: Enter) -> Wrapper:
    """Record a generator function; the frame is set only while the generator itself runs."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        steps = wrapped(*args, **kwargs)
        return _steps(steps, enter, instance, args, kwargs) if recording() else steps

    return wrapper


def around_async_generator(enter: Enter) -> Wrapper:
    """Record an async generator function; the frame is set only while the generator itself runs."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        steps = wrapped(*args, **kwargs)
        return _async_steps(steps, enter, instance, args, kwargs) if recording() else steps

    return wrapper


class Watcher:
    """What to do with the items of a stream as the host reads them."""

    __slots__ = ()

    def item(self, item: Any) -> None:
        """The host is about to get this item."""

    def ended(self) -> None:
        """The stream is exhausted, or the host stopped reading."""


def watch_generator(begin: Callable[[Any], Watcher | None]) -> Wrapper:
    """Look at the items of a generator method; `begin` is asked when the first one has come."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        items = wrapped(*args, **kwargs)
        return _watched(items, begin, instance) if recording() else items

    return wrapper


def watch_async_generator(begin: Callable[[Any], Watcher | None]) -> Wrapper:
    """Look at the items of an async generator method."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        items = wrapped(*args, **kwargs)
        return _async_watched(items, begin, instance) if recording() else items

    return wrapper


def _watched(items: Any, begin: Callable[[Any], Watcher | None], instance: Any) -> Iterator[Any]:
    watcher = None
    try:
        for item in items:
            watcher = watcher or guarded(begin, instance)
            if watcher is not None:
                guarded(watcher.item, item)
            yield item
    finally:
        items.close()
        if watcher is not None:
            guarded(watcher.ended)


async def _async_watched(
    items: Any, begin: Callable[[Any], Watcher | None], instance: Any
) -> AsyncIterator[Any]:
    watcher = None
    try:
        async for item in items:
            watcher = watcher or guarded(begin, instance)
            if watcher is not None:
                guarded(watcher.item, item)
            yield item
    finally:
        await items.aclose()
        if watcher is not None:
            guarded(watcher.ended)


def _steps(
    steps: Any, enter: Enter, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Generator[Any, Any, Any]:
    """What `yield from` does, with the frame set while the host's generator runs."""
    visit = guarded(enter, instance, args, kwargs)
    if visit is None:
        return (yield from steps)
    frame = visit.frame
    try:
        item = _in_frame(frame, next, steps)
        while True:
            try:
                sent = yield item
            except GeneratorExit:
                if hasattr(steps, "close"):
                    _in_frame(frame, steps.close)
                raise
            except BaseException as error:
                if not hasattr(steps, "throw"):
                    raise
                item = _in_frame(frame, steps.throw, error)
            else:
                item = _in_frame(frame, next, steps) if sent is None else _in_frame(frame, steps.send, sent)
    except StopIteration as end:
        result = end.value
    except BaseException as error:
        guarded(visit.raised, error)
        raise
    guarded(visit.returned, None)
    return result


async def _async_steps(
    steps: Any, enter: Enter, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> AsyncGenerator[Any, Any]:
    """The same for an async generator, for which there is no `yield from`."""
    visit = guarded(enter, instance, args, kwargs)
    try:
        step = anext(steps)
        while True:
            item = await (step if visit is None else _awaited_in_frame(visit.frame, step))
            try:
                sent = yield item
            except GeneratorExit:
                if hasattr(steps, "aclose"):
                    await steps.aclose()
                raise
            except BaseException as error:
                if not hasattr(steps, "athrow"):
                    raise
                step = steps.athrow(error)
            else:
                step = anext(steps) if sent is None else steps.asend(sent)
    except StopAsyncIteration:
        pass
    except BaseException as error:
        if visit is not None:
            guarded(visit.raised, error)
        raise
    if visit is not None:
        guarded(visit.returned, None)


def _in_frame(frame: Frame | None, step: Callable[..., Any], *arguments: Any) -> Any:
    token = enter_frame(frame)
    try:
        return step(*arguments)
    finally:
        leave(token)


async def _awaited_in_frame(frame: Frame | None, step: Awaitable[Any]) -> Any:
    token = enter_frame(frame)
    try:
        return await step
    finally:
        leave(token)


def enter_frame(frame: Frame | None) -> Any:
    """Make a frame current, and its span in the host's provider with it; gives the token for `leave`."""
    token = CURRENT.set(frame)
    if frame is None or frame.sdk is None:
        return token
    return token, sdkspans.attach(frame.sdk)


def leave(token: Any) -> None:
    """Put the frame back; a generator resumed in another context has no token there, and that is fine."""
    if type(token) is tuple:
        token, attached = token
        sdkspans.detach(attached)
    try:
        CURRENT.reset(token)
    except ValueError:
        CURRENT.set(None)
