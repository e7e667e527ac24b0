"""Wrappers that open and close records around host code, and what they do there.

A wrapper has three phases: `enter` (guarded), the host's function exactly once and bare, and `returned`
or `raised` (guarded; BaseException too, so that cancellation is seen). The host's function never runs
inside a `try` that could swallow something of its own: exceptions leave by a bare `raise`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Generic, Protocol, TypeVar

from . import otel, sdkspans
from .asking import DOOR, Asking, Change, Refuse
from .calls import Call, kind_of
from .harmless import guarded, note
from .machine import finish
from .runs import CURRENT, CallFrame, Frame, OpenRun
from .runtime import ACTIVE, recording

_set_current, _put_back, _silent = CURRENT.set, CURRENT.reset, otel.asks_for_silence

Enter = Callable[[Any, tuple[Any, ...], dict[str, Any]], "Visit | Call | CallVisit | None"]
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


class CallVisit(CallFrame):
    """One requested call with all that surrounds its tool: visit and frame in one."""

    __slots__ = ()

    @property
    def frame(self) -> CallVisit:
        return self

    def returned(self, result: Any) -> None:
        """The host function returned."""

    def raised(self, error: BaseException) -> None:
        """The host function raised."""


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

    unseen = False
    """Whether tools may run where its adapter does not see it: functions or other processes of the host."""

    def __init__(self, run: OpenRun) -> None:
        super().__init__(run)
        self.run = run

    def returned(self, result: Any) -> None:
        self.end(None)

    def raised(self, error: BaseException) -> None:
        self.end(None if isinstance(error, GeneratorExit) else error)

    def end(self, error: BaseException | None) -> None:
        """Report what was asked for and never taken up, then the run itself."""
        run = self.run
        if error is not None:
            run.pause = None
        finish(run, run.source, unseen=self.unseen, ended=error is None)
        run.close(error)


class Attempt(Visit):
    """One attempt at running the tool itself, below a visit that ends the call; the latest attempt counts."""

    __slots__ = ("call", "kind")

    def __init__(self, call: Call, kind: Callable[[BaseException], str | None] = kind_of) -> None:
        self.frame = self.call = call
        self.kind = kind
        call.attempts += 1

    def returned(self, result: Any) -> None:
        if self.call.attempts:  # else a guard has refused it
            self.call.error = self.call.kind = None

    def raised(self, error: BaseException) -> None:
        self.call.fail(error, self.kind(error))


def observe(read: Callable[[Any, tuple[Any, ...], dict[str, Any]], object]) -> Wrapper:
    """Look at the arguments of a host function before it runs."""

    def wrapper(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if recording():
            guarded(read, instance, args, kwargs)
        return wrapped(*args, **kwargs)

    return wrapper


class Around:
    """A wrapper that can also become one function with the host's, which costs a call less than two do."""

    def __init__(self, direct: Callable[..., Any]) -> None:
        """`direct(function, instance=None, *, of_class=False)`: the function in the host's place."""
        self.direct = direct

    def __call__(self, wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.direct(wrapped, instance)(*args, **kwargs)


def around(
    enter: Enter, refuse: Refuse | None = None, *, raises: bool = True, change: Change | None = None
) -> Around:
    """Record a plain function; with `refuse`, a guard may say that it is not to run.

    Where an exception of a guard that blocks would harm the framework, `raises` is false. With `change`, a
    person who is asked may have it run with other arguments.

    This is the hot path of the whole package, hence `recording`, `guarded` and `enter_frame` written out.
    """

    def direct(function: Any, instance: Any = None, *, of_class: bool = False) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            visit: Any = None
            if (
                ACTIVE.on
                and (args or not of_class)
                and not ((context := otel.current()) and _silent(context))
            ):
                try:
                    visit = enter(args[0], args[1:], kwargs) if of_class else enter(instance, args, kwargs)
                except Exception as error:
                    note(enter, error)
            if visit is None:
                return function(*args, **kwargs)
            frame = visit if isinstance(visit, Frame) else visit.frame
            token = _set_current(frame) if frame is None or frame.sdk is None else enter_frame(frame)
            run = function
            if refuse is not None and DOOR.guards:
                visit = Asking(function, visit, refuse, instance, of_class, raises, change)
                run = visit.run
            try:
                result = run(*args, **kwargs)
            except BaseException as error:
                leave(token)
                guarded(visit.raised, error)
                raise
            try:
                _put_back(token)
            except (TypeError, ValueError):
                leave(token)
            try:
                visit.returned(result)
            except Exception as error:
                note(visit.returned, error)
            return result

        return called

    return Around(direct)


def around_async(
    enter: Enter, refuse: Refuse | None = None, *, raises: bool = True, change: Change | None = None
) -> Around:
    """Record a coroutine function, likewise."""

    def direct(function: Any, instance: Any = None, *, of_class: bool = False) -> Any:
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            visit: Any = None
            if (
                ACTIVE.on
                and (args or not of_class)
                and not ((context := otel.current()) and _silent(context))
            ):
                try:
                    visit = enter(args[0], args[1:], kwargs) if of_class else enter(instance, args, kwargs)
                except Exception as error:
                    note(enter, error)
            if visit is None:
                return await function(*args, **kwargs)
            frame = visit if isinstance(visit, Frame) else visit.frame
            token = _set_current(frame) if frame is None or frame.sdk is None else enter_frame(frame)
            run = function
            if refuse is not None and DOOR.guards:
                visit = Asking(function, visit, refuse, instance, of_class, raises, change)
                run = visit.run_async
            try:
                result = await run(*args, **kwargs)
            except BaseException as error:
                leave(token)
                guarded(visit.raised, error)
                raise
            try:
                _put_back(token)
            except (TypeError, ValueError):
                leave(token)
            try:
                visit.returned(result)
            except Exception as error:
                note(visit.returned, error)
            return result

        return awaited

    return Around(direct)


class Body(Protocol):
    """A call that is open around its tool, before that begins."""

    in_body: bool
    attempts: int

    def breaks(self, error: BaseException) -> None:
        """The tool raised."""


def body_async(kind: type[Body]) -> Around:
    """Tell the open call around a coroutine function that its tool begins, for half of what a visit costs.

    The frame stays what it is; what the framework does after the tool counts as that call's own business.
    """

    def direct(function: Any, instance: Any = None, *, of_class: bool = False) -> Any:
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            frame: Any = CURRENT.get()
            if type(frame) is not kind or frame.in_body:
                return await function(*args, **kwargs)
            frame.attempts += 1
            frame.in_body = True
            try:
                return await function(*args, **kwargs)
            except BaseException as error:
                guarded(frame.breaks, error)
                raise

        return awaited

    return Around(direct)


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

    def waits(self) -> None:
        """The host waits for the next item."""

    def item(self, item: Any) -> None:
        """The host is about to get this item."""

    def raised(self, error: BaseException) -> None:
        """The stream broke; `ended` follows."""

    def ended(self) -> None:
        """The stream is exhausted, or the host stopped reading."""


_NOBODY = Watcher()


def watch_generator(begin: Callable[[Any], Watcher | None]) -> Wrapper:
    """Look at the items of a generator method; `begin` is asked when the host wants the first one."""

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
    watcher = guarded(begin, instance) or _NOBODY
    try:
        guarded(watcher.waits)
        for item in items:
            guarded(watcher.item, item)
            yield item
            guarded(watcher.waits)
    except BaseException as error:
        guarded(watcher.raised, error)
        raise
    finally:
        items.close()
        guarded(watcher.ended)


async def _async_watched(
    items: Any, begin: Callable[[Any], Watcher | None], instance: Any
) -> AsyncIterator[Any]:
    watcher = guarded(begin, instance) or _NOBODY
    try:
        guarded(watcher.waits)
        async for item in items:
            guarded(watcher.item, item)
            yield item
            guarded(watcher.waits)
    except BaseException as error:
        guarded(watcher.raised, error)
        raise
    finally:
        await items.aclose()
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
                    closing = steps.aclose()
                    await (closing if visit is None else _awaited_in_frame(visit.frame, closing))
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
