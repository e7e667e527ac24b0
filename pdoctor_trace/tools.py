"""`@tool` and `wrap_tools`: exact times, results and errors of tools that no framework runs.

Inside a raw SDK loop the running tool is matched with the call that the model asked for (still one span,
now exact). Inside a framework's call of the same tool nothing is added. Anywhere else it is a call of
the active run, or of a run of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from . import raw_loops, runtime
from .guard import guarded
from .runs import USER, current
from .span import Call, Visit, around_async_generator, around_generator, enter_frame, leave

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str | None = None) -> Callable[[F], F]: ...


def tool(function: Any = None, /, *, name: str | None = None) -> Any:
    """Record each call of a function as a tool call, under the function's name or `name`.

    >>> @tool
    ... def search(query: str) -> str: ...
    """
    if function is None:
        return functools.partial(_wrapped, name=name)
    return _wrapped(function, name=name)


@overload
def wrap_tools(tools: Mapping[str, F]) -> dict[str, F]: ...
@overload
def wrap_tools(tools: Sequence[F]) -> list[F]: ...


def wrap_tools(tools: Any) -> Any:
    """A new dict (by tool name) or list of the same functions, each recorded like `@tool`."""
    if isinstance(tools, Mapping):
        return {key: _wrapped(function, name=key) for key, function in tools.items()}
    return [_wrapped(function) for function in tools]


def _wrapped(function: Any, *, name: str | None = None) -> Any:
    if getattr(function, "__pdoctor_tool__", False):
        return function
    tool_name = name or str(getattr(function, "__name__", type(function).__name__))
    enter = _entrance(tool_name, _parameters(function), getattr(function, "__doc__", None))
    made = _recording(function, enter)
    made.__pdoctor_tool__ = True
    return made


def _entrance(
    tool_name: str, parameters: tuple[str, ...], doc: str | None
) -> Callable[..., Visit | Call | None]:
    description = doc.strip().partition("\n")[0] if doc else None

    def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
        frame = current()
        if frame is not None and frame.call is not None and frame.call.tool == tool_name:
            return None
        given = _named(parameters, args, kwargs)
        if raw_loops.in_use():
            claimed = raw_loops.claim(None, tool_name, given)
            if claimed is not None:
                return claimed
        arguments = runtime.ACTIVE.capture.arguments(given)
        where = None if frame is None else (frame.state, frame.span_id, frame)
        return Call(USER, tool_name, arguments, description=description, where=where)

    return enter


def _recording(function: Any, enter: Callable[..., Visit | Call | None]) -> Any:
    import inspect

    if inspect.iscoroutinefunction(function):
        return _recording_coroutine(function, enter)
    if inspect.isgeneratorfunction(function):
        return _recording_generator(function, enter, around_generator)
    if inspect.isasyncgenfunction(function):
        return _recording_generator(function, enter, around_async_generator)

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        visit = guarded(enter, args, kwargs) if runtime.recording() else None
        if visit is None:
            return function(*args, **kwargs)
        token = enter_frame(visit.frame)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            guarded(visit.raised, error)
            raise
        leave(token)
        guarded(visit.returned, result)
        return result

    return recorded


def _recording_coroutine(function: Any, enter: Callable[..., Visit | Call | None]) -> Any:
    @functools.wraps(function)
    async def recorded(*args: Any, **kwargs: Any) -> Any:
        visit = guarded(enter, args, kwargs) if runtime.recording() else None
        if visit is None:
            return await function(*args, **kwargs)
        token = enter_frame(visit.frame)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            leave(token)
            guarded(visit.raised, error)
            raise
        leave(token)
        guarded(visit.returned, result)
        return result

    return recorded


def _recording_generator(function: Any, enter: Callable[..., Visit | Call | None], around: Any) -> Any:
    wrapper = around(lambda instance, args, kwargs: enter(args, kwargs))

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        return wrapper(function, None, args, kwargs)

    return recorded


def _parameters(function: Any) -> tuple[str, ...]:
    """Names of the positional parameters, for the spans' arguments."""
    import inspect

    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_varnames[: code.co_argcount] if code is not None else ()


def _named(parameters: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name, without the method's own object; extra positional ones under `args`."""
    if not args:
        return kwargs
    named = dict(zip(parameters, args, strict=False))
    for own in ("self", "cls"):
        if parameters[:1] == (own,):
            del named[own]
    if len(args) > len(parameters):
        named["args"] = list(args[len(parameters) :])
    named.update(kwargs)
    return named
