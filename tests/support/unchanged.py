"""What a host may do to its own functions while we trace them, as it does without us."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import pickle
import sys
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from types import MethodType
from typing import Any
from unittest import mock

from pdoctor_trace.installation import HERE
from pdoctor_trace.patching import PATCHED, Row

KINDS = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
NAMES = ("__name__", "__qualname__", "__module__", "__doc__")


class Host:
    """Takes over a patched method, for frameworks' own classes cannot be made out of nothing."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 7


@dataclasses.dataclass
class Holder:
    value: Any


def patched() -> list[Row]:
    """The targets of all frameworks that are patched here."""
    return [row for row in HERE.hooks.rows if row.state == PATCHED]


def problems(rows: list[Row]) -> list[str]:
    """What the host can no longer do with its functions: a line each."""
    return [f"{row.target.attribute}: {problem}" for row in rows for problem in _problems(row)]


def _problems(row: Row) -> Iterator[str]:
    holder, name = place(row)
    function = inspect.getattr_static(holder, name)
    plain = getattr(holder, name)
    original = _original(row, function)
    yield from _of_any(plain, original, lambda: getattr(holder, name))
    if isinstance(function, classmethod) != (type(plain) is MethodType):
        yield f"it is {type(plain)}"
    for kind in KINDS:
        if kind(plain) != kind(original):
            yield f"{kind.__name__} is {kind(plain)}"
    if isinstance(holder, type) and plain is function:
        yield from _of_a_method(function, original)


def place(row: Row) -> tuple[Any, str]:
    """(module or class, name there) of a target."""
    path = row.target.attribute.split(".")
    return functools.reduce(getattr, path[:-1], sys.modules[row.target.module]), path[-1]


def _original(row: Row, function: Any) -> Any:
    """What stood there before us."""
    while getattr(function, "_self_wrapper", None) is not row.target.wrapper:
        function = function.__wrapped__
    return function.__wrapped__


def _of_any(thing: Any, original: Any, again: Callable[[], Any]) -> Iterator[str]:
    """Of a function or a method of a class; `again` asks for it once more."""
    for name in NAMES:
        if getattr(thing, name) != getattr(original, name):
            yield f"{name} is {getattr(thing, name)!r}"
    if type(thing) is MethodType:
        original = MethodType(original, thing.__self__)
    if inspect.signature(thing) != inspect.signature(original):
        yield f"its signature is {inspect.signature(thing)}"
    if type(thing) is not MethodType and not inspect.isfunction(thing):
        yield f"it is {type(thing)}"
    if again() != thing or hash(again()) != hash(thing):
        yield "it is another each time"
    for way, same in _copies(thing):
        if same != thing or (type(thing) is not MethodType and same is not thing):
            yield f"{way} gives {same!r}"
    mock.create_autospec(thing)


def _copies(thing: Any) -> Iterator[tuple[str, Any]]:
    yield "copy", copy.copy(thing)
    yield "deepcopy", copy.deepcopy(thing)
    yield "deepcopy of a list", copy.deepcopy([thing])[0]
    yield "asdict", dataclasses.asdict(Holder(thing))["value"]
    yield "a process pool", pickle.loads(ForkingPickler.dumps(thing))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield f"pickle {protocol}", pickle.loads(pickle.dumps(thing, protocol))
        yield f"pickle {protocol} in Python", pickle.loads(pickle._dumps(thing, protocol))  # type: ignore[attr-defined]


def _of_a_method(function: Any, original: Any) -> Iterator[str]:
    name = function.__name__  # which may be another than in its class; copies of methods go by it
    setattr(Host, name, function)
    try:
        host, other = Host.__new__(Host), Host.__new__(Host)  # what is taken over may be its `__init__`
        method = getattr(host, name)
        if type(method) is not MethodType:
            yield f"bound, it is {type(method)}"
            return
        if (method.__self__, method.__func__) != (host, function) or method.__func__ is not function:
            yield "bound, it is of another object or function"
        if method != getattr(host, name) or method == getattr(other, name) or len({method, method}) > 1:
            yield "bound, it is not equal to itself alone"
        if inspect.signature(method) != inspect.signature(MethodType(original, host)):
            yield f"bound, its signature is {inspect.signature(method)}"
        for kind in KINDS:
            if kind(method) != kind(original):
                yield f"bound, {kind.__name__} is {kind(method)}"
        for way, same in _copies(method):
            if type(same) is not MethodType or same.__func__ is not function or same.__self__ != host:
                yield f"bound, {way} gives {same!r}"
        mock.create_autospec(method)
    finally:
        delattr(Host, name)
