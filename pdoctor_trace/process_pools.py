"""Tools that a loop gives to worker processes.

A model of this process asked for the call, and its next request carries the answer: so the call is this
process's, and the worker tells of none. A function that stands for no call which waits here is given away as
it is. Where the worker has a guard the tool is started as everywhere, since only that asks it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from typing import Any

from . import raw_loops, runtime
from .asking import DOOR
from .harmless import guarded
from .importing import when_imported
from .recorded import OF_A_TOOL


def patch_process_pools() -> None:
    """Wrap what gives functions to `ProcessPoolExecutor` and to `multiprocessing.Pool`."""
    when_imported("concurrent.futures.process", _patch_executor)
    when_imported("multiprocessing.pool", _patch_pool)


def named(parameters: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name, without the method's own object; extra positional ones under `args`."""
    found = dict(zip(parameters, args, strict=False))
    for own in ("self", "cls"):
        if parameters[:1] == (own,):
            found.pop(own, None)
    if len(args) > len(parameters):
        found["args"] = list(args[len(parameters) :])
    found.update(kwargs)
    return found


def _patch_executor(module: Any) -> None:
    submit = module.ProcessPoolExecutor.submit

    @functools.wraps(submit)
    def submitted(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, _given(fn, args, kwargs), *args, **kwargs)

    module.ProcessPoolExecutor.submit = submitted


def _patch_pool(module: Any) -> None:
    apply, thread_pool = module.Pool.apply_async, module.ThreadPool

    @functools.wraps(apply)
    def applied(self: Any, func: Any, args: Any = (), kwds: Any = None, *more: Any, **options: Any) -> Any:
        if type(args) is tuple and not isinstance(self, thread_pool):
            func = _given(func, args, kwds or {})
        return apply(self, func, args, {} if kwds is None else kwds, *more, **options)

    module.Pool.apply_async = applied
    for name in ("map", "map_async", "imap", "imap_unordered", "starmap", "starmap_async"):
        setattr(module.Pool, name, _mapping(getattr(module.Pool, name), thread_pool, name.startswith("star")))


def _mapping(method: Any, thread_pool: type, star: bool) -> Any:
    """One of the methods that give away a call for each item; `star`: an item holds all its arguments."""

    @functools.wraps(method)
    def mapped(self: Any, func: Any, iterable: Any, *more: Any, **options: Any) -> Any:
        if raw_loops.in_use() and runtime.recording() and not isinstance(self, thread_pool):
            func, iterable = guarded(_each, func, iterable, star) or (func, iterable)
        return method(self, func, iterable, *more, **options)

    return mapped


def _each(function: Any, items: Any, star: bool) -> tuple[Any, Any]:
    """The function and the items for workers, each with whether a model asked for it, where it is a tool.

    Items are read when and where the pool reads them.
    """
    tool, before, named_before = function, (), {}
    if type(function) is functools.partial:
        tool, before, named_before = function.func, function.args, function.keywords
    if type(getattr(tool, OF_A_TOOL, None)) is not tuple:
        return function, items
    here = copy_context()

    def told(item: Any) -> tuple[Any, ...]:
        given = (*before, *(item if star else (item,)))
        asked_for = here.run(guarded, _is_asked_for, tool, [(given, named_before)])
        return (bool(asked_for), *item) if star else (bool(asked_for), item)

    made = functools.partial(_Unrecorded(tool), *before, **named_before)
    return _Each(function, made, star), _Items(items, told) if hasattr(items, "__len__") else map(told, items)


class _Items:
    """Items of which a pool knows how many there are, and reads them once."""

    def __init__(self, items: Any, told: Callable[[Any], tuple[Any, ...]]) -> None:
        self.items, self.told = items, told

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return map(self.told, self.items)


class _Each:
    """The tool for a worker, once for each item."""

    def __init__(self, recorded: Any, unrecorded: Any, star: bool) -> None:
        self.recorded, self.unrecorded, self.star = recorded, unrecorded, star

    def __call__(self, *given: Any) -> Any:
        asked_for, *args = given if self.star else given[0]
        return (self.unrecorded if asked_for else self.recorded)(*args)


def _given(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the worker is to run."""
    if not (raw_loops.in_use() and runtime.recording()):
        return function
    return guarded(_for_worker, function, args, kwargs) or function


def _for_worker(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if type(function) is functools.partial:
        if getattr(function.func, "__module__", None) == "concurrent.futures.process":
            return _chunk_for_worker(function, args)
        if function.args or function.keywords:
            made = _for_worker(function.func, (*function.args, *args), {**function.keywords, **kwargs})
            return made and functools.partial(made, *function.args, **function.keywords)
    return _Unrecorded(function) if _is_asked_for(function, [(args, kwargs)]) else None


def _chunk_for_worker(chunk: Any, args: tuple[Any, ...]) -> Any:
    """`Executor.map` gives away several calls at a time, each by its positional arguments."""
    (function,), (calls,) = chunk.args, args
    found = _is_asked_for(function, [(given, {}) for given in calls])
    return functools.partial(chunk.func, _Unrecorded(function)) if found else None


def _is_asked_for(function: Any, calls: Iterable[tuple[tuple[Any, ...], dict[str, Any]]]) -> bool:
    """Whether a raw loop's model asked for all of these calls of a tool, which then begin elsewhere."""
    known = getattr(function, OF_A_TOOL, None)
    if type(known) is not tuple:
        return False
    name, parameters = known
    return raw_loops.begin_elsewhere(name, [named(parameters, *call) for call in calls])


class _Unrecorded:
    """The tool for a worker, where its wrapper is passed over."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function: Any = self.function
        if not DOOR.guards:
            function = getattr(function, "__wrapped__", function)
        return function(*args, **kwargs)
