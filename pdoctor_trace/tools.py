"""`@tool` and `wrap_tools`: exact times, results and errors of tools that no framework runs.

Inside a raw SDK loop the running tool is matched with the call that the model asked for (still one span,
now exact). Inside a framework's call of the same tool nothing is added. Anywhere else it is a call of
the active run, or of a run of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from . import raw_loops, recorded, runtime, semconv
from .asking import Change, Given, merged
from .calls import Call, new_call
from .harmless import guarded
from .machine import around_of
from .patching import calling
from .process_pools import named
from .recorded import OF_A_TOOL
from .runs import USER, current
from .runtime import ACTIVE
from .values import NOT_KEPT, Truncated
from .wrappers import Enter, Visit, around, around_async, around_async_generator, around_generator

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


def state(value: Any) -> None:
    """Inside a tool: the state of what it acts on, as it is now, for metrics; the model does not see it.

    The last word of a call counts. It is sent in content mode `full` only, and whole or not at all. Outside
    of a call that is recorded as it runs, nothing happens.

    >>> @tool
    ... def act(move: str) -> str:
    ...     seen = game.step(move)
    ...     pdoctor_trace.state({"progress": game.progress, "board": game.board})
    ...     return seen
    """
    if runtime.recording():
        guarded(_stated, value)


def _stated(value: Any) -> None:
    frame = current()
    if frame is None or frame.call is None:
        return
    kept = ACTIVE.capture.facts({"state": value})
    if kept is not None and kept != NOT_KEPT and not isinstance(kept, Truncated):
        frame.call.tell(semconv.TOOL_STATE, kept)


def _wrapped(function: Any, *, name: str | None = None) -> Any:
    if isinstance(function, classmethod | staticmethod):
        return type(function)(_wrapped(function.__func__, name=name))
    if getattr(function, OF_A_TOOL, None):
        return function
    tool_name = name or str(getattr(function, "__name__", type(function).__name__))
    parameters = _parameters(function)
    place = recorded.place()
    made = _recording(function, _entrance(tool_name, parameters, getattr(function, "__doc__", None), place))
    setattr(made, OF_A_TOOL, (tool_name, parameters))
    recorded.remember(tool_name, function, place)
    return made


def _entrance(tool_name: str, parameters: tuple[str, ...], doc: str | None, place: int) -> Enter:
    description = doc.strip().partition("\n")[0] if doc else None

    def enter(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | Call | None:
        frame = current()
        given = named(parameters, args, kwargs) if args else kwargs
        if frame is not None and frame.call is not None and around_of(frame, tool_name) is not None:
            frame.state.wrapped_at.add(place)
            return None
        if raw_loops.in_use():
            claimed = raw_loops.claim(None, tool_name, given)
            if claimed is not None:
                if claimed.frame is not None:
                    claimed.frame.state.wrapped_at.add(place)
                return claimed
        to_json = ACTIVE.capture.arguments
        call: Call = new_call(Call)
        call.begin(USER, tool_name, to_json(given), None, description, None, frame)
        return call

    return enter


def _recording(function: Any, enter: Enter) -> Any:
    """A function of the same kind, so that whoever inspects it sees what the original is."""
    import inspect

    change = _changing(function)
    if inspect.iscoroutinefunction(function):
        return functools.wraps(function)(around_async(enter, _refuse, change=change).direct(function))
    if inspect.isgeneratorfunction(function):
        return calling(function, around_generator(enter))
    if inspect.isasyncgenfunction(function):
        return calling(function, around_async_generator(enter))
    return functools.wraps(function)(around(enter, _refuse, change=change).direct(function))


def _refuse(visit: Any, text: str, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The loop hands on what the tool returns."""
    return text


def _changing(function: Any) -> Change:
    parameters = _parameters(function)
    own = parameters[:1] if parameters[:1] in (("self",), ("cls",)) else ()

    def change(
        changed: dict[str, Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Given:
        import inspect

        signature = inspect.signature(function)
        made, by_place = merged(named(parameters, args, kwargs), changed), [*args[: len(own)]]
        kinds = [(one, one.kind) for one in signature.parameters.values()][len(own) :]
        takes_more = any(kind is inspect.Parameter.VAR_POSITIONAL for _, kind in kinds)
        more = made.pop("args", ()) if takes_more and "args" not in kwargs else ()
        if type(more) not in (list, tuple):
            raise TypeError("`args` must be a list")
        for one, kind in kinds:
            if kind is kind.POSITIONAL_ONLY or (more and kind is kind.POSITIONAL_OR_KEYWORD):
                if kind is kind.POSITIONAL_ONLY and one.name in kwargs:
                    raise TypeError(f"there are two arguments {one.name!r}")
                value = made.pop(one.name, one.default)
                if value is one.empty:
                    raise TypeError(f"missing a required argument: {one.name!r}")
                by_place.append(value)
        given = (*by_place, *more)
        signature.bind(*given, **made)  # raises TypeError for what it does not take
        return given, made

    return change


def _parameters(function: Any) -> tuple[str, ...]:
    """Names of the positional parameters, for the spans' arguments."""
    import inspect

    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ()
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return names[1:] if inspect.ismethod(function) else names  # which has its object already
