"""Tool-call records: the only place that opens and closes them, and the wrappers that do so around host code.

A wrapper has three phases: `enter` (guarded), the host's function exactly once and bare, and `returned`
or `raised` (guarded; BaseException too, so that cancellation is seen). The host's function never runs
inside a `try` that could swallow something of its own: exceptions leave by a bare `raise`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, cast

from . import runtime, sdkspans, semconv
from .capture import type_name
from .guard import guarded
from .runs import CURRENT, Frame, OpenRun, Request, RunState, ids, new_span_id, place, sdk_above
from .wire import CallRecord, Head, as_dict

_random_bits = ids.getrandbits
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
        "__dict__",
        "arguments",
        "call_id",
        "description",
        "parent_id",
        "run",
        "sdk",
        "source",
        "start_ns",
        "step",
        "tool",
    )

    def __init__(
        self,
        source: str,
        tool: Any,
        arguments: bytes | None,
        *,
        call_id: Any = None,
        description: Any = None,
        start_ns: int | None = None,
        where: tuple[RunState, int, Frame | None] | None = None,
    ) -> None:
        state, self.parent_id, above = place() if where is None else where
        self.start_ns = time.time_ns() if start_ns is None else start_ns
        self.sdk = None
        if sdkspans.wanted():
            state = self._start_sdk_span(state, above, tool)
        else:
            self.span_id = _random_bits(64)
        self.source = source
        self.arguments = arguments
        self.state = state
        self.tool = tool if type(tool) is str else type_name(tool)
        self.call_id = call_id if type(call_id) is str else None
        self.description = description if type(description) is str else None
        self.run = None if above is None else above.run
        self.step = state.next_step()

    in_body = True

    # Defaults on the class: most calls keep them, and what is not set costs nothing.
    turn: int | None = None
    has_text: bool | None = None
    timing = EXACT
    executed = True
    attempts = 1
    error: BaseException | str | None = None
    """The error of the latest attempt."""
    inner_error: str | None = None
    """What a layer below (MCP) said about the same call; counts where nobody above says more."""
    kind: str | None = None

    @property
    def call(self) -> Call:
        """The frame of a call's body is the call itself."""
        return self

    frame = call
    """What to do around the body, as a `Visit`: be the frame, then close with what came out."""

    def returned(self, result: Any) -> None:
        """The tool's own function returned."""
        self.close(runtime.ACTIVE.capture.result(result))

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
        end = time.time_ns() if end_ns is None else end_ns
        error = self.inner_error if self.error is None else self.error
        if error is not None:
            self.kind, result = self.kind or TOOL_RAISED, None
        state = self.state
        head = _head(
            self.tool,
            self.description,
            None if self.run is None else self.run.agent,
            self.source,
            self.timing,
            self.executed,
            max(self.attempts, 1),
            self.kind,
        )
        message = error_type = None
        if error is not None:
            message = runtime.ACTIVE.capture.message(error)
            error_type = type_name(error) if isinstance(error, BaseException) else self.kind
        start, arguments = self.start_ns, self.arguments
        record = (
            head,
            state.trace_id,
            state.attributes,
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
        size = (len(arguments) if arguments else 0) + (len(result) if result else 0)
        runtime.emit(cast(CallRecord, record), size)
        if self.sdk is not None:
            sdkspans.finish(self.sdk, self._sdk_attributes(CallRecord._make(record)), message, record[6])

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


@functools.lru_cache(maxsize=4_096)
def _head(
    tool: str,
    description: str | None,
    agent: str | None,
    source: str,
    timing: str,
    executed: bool,
    attempts: int,
    kind: str | None,
) -> Head:
    """Span name and the attributes that repeat; shared by all spans that have them alike."""
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
        attempts,
        semconv.ERROR_KIND,
        kind,
    )
    return Head(f"execute_tool {tool}", pairs)


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
        where=(run.state, run.span_id, run),
    )
    call.asked_by(request)
    call.executed = False
    if not request.well_formed:
        call.fail("the arguments are not valid JSON", BAD_ARGUMENTS)
    elif run.tools and call.tool not in run.tools:
        call.fail(f"no tool {call.tool!r} was offered", UNKNOWN_TOOL)
    call.close(end_ns=request.time_ns)


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
        if runtime.recording():
            guarded(read, instance, args, kwargs)
        return wrapped(*args, **kwargs)

    return wrapper


def around(enter: Enter) -> Wrapper:
    """Record a plain function."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        visit = guarded(enter, instance, args, kwargs) if runtime.recording() else None
        if visit is None:
            return wrapped(*args, **kwargs)
        token = enter_frame(visit.frame)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            leave(token)
            guarded(visit.raised, error)
            raise
        leave(token)
        guarded(visit.returned, result)
        return result

    return wrapper


def around_async(enter: Enter) -> Wrapper:
    """Record a coroutine function."""

    async def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        visit = guarded(enter, instance, args, kwargs) if runtime.recording() else None
        if visit is None:
            return await wrapped(*args, **kwargs)
        token = enter_frame(visit.frame)
        try:
            result = await wrapped(*args, **kwargs)
        except BaseException as error:
            leave(token)
            guarded(visit.raised, error)
            raise
        leave(token)
        guarded(visit.returned, result)
        return result

    return wrapper


def around_generator(enter: Enter) -> Wrapper:
    """Record a generator function; the frame is set only while the generator itself runs."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        steps = wrapped(*args, **kwargs)
        return _steps(steps, enter, instance, args, kwargs) if runtime.recording() else steps

    return wrapper


def around_async_generator(enter: Enter) -> Wrapper:
    """Record an async generator function; the frame is set only while the generator itself runs."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        steps = wrapped(*args, **kwargs)
        return _async_steps(steps, enter, instance, args, kwargs) if runtime.recording() else steps

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
        return _watched(items, begin, instance) if runtime.recording() else items

    return wrapper


def watch_async_generator(begin: Callable[[Any], Watcher | None]) -> Wrapper:
    """Look at the items of an async generator method."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        items = wrapped(*args, **kwargs)
        return _async_watched(items, begin, instance) if runtime.recording() else items

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
