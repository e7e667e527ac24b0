"""Put our wrapper around one function of a framework, once, whoever else has wrapped it.

A target that is missing in the installed version becomes a row of `status()`, never an exception.
"""

from __future__ import annotations

import functools
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from .harmless import guarded

if TYPE_CHECKING:
    from .adapter import Target
    from .wrappers import Wrapper

_GENERATOR, _COROUTINE = 0x20 | 0x100 | 0x200, 0x80
"""Code flags of functions; generators are also those that serve as coroutines, and asynchronous ones."""
WAITING, PATCHED, MISSING = "waiting", "patched", "missing"
_MOST_LAYERS = 50
_NOBODY: Any = object()


class Row:
    """What became of one target."""

    __slots__ = ("framework", "problem", "state", "target")

    def __init__(self, framework: str, target: Target) -> None:
        self.framework, self.target = framework, target
        self.state, self.problem = WAITING, ""

    def told(self) -> dict[str, Any]:
        """The row for `status()`."""
        return {
            "framework": self.framework,
            "target": f"{self.target.module}:{self.target.attribute}",
            "state": self.state,
            "optional": self.target.optional,
            "problem": self.problem,
        }


def patch_all(rows: list[Row], module: Any) -> None:
    for row in rows:
        guarded(patch, row, module)


def patch(row: Row, module: Any) -> None:
    """Wrap one target; where our wrapper is already, below others or not, it stays as it is.

    Also called when a module is reloaded or imported anew: its functions are new then.
    """
    holder, name = module, row.target.attribute
    if "." in name:
        class_name, _, name = name.partition(".")
        holder = getattr(module, class_name, None)
    if holder is None or not hasattr(holder, name):
        row.state = MISSING
        row.problem = f"{row.target.module} has no {row.target.attribute}"
        return
    if not _wrapped_by(row.target.wrapper, getattr(holder, name)):
        _wrap(holder, name, row.target)
    row.state, row.problem = PATCHED, ""


def _wrap(holder: Any, name: str, target: Target) -> None:
    """Most get a plain function, which costs half of a proxy's call; wrapt keeps the kind of all others."""
    is_class, wrapper = isinstance(holder, type), target.wrapper
    original = _in_class(holder, name) if is_class else getattr(holder, name)
    if _is_plain(holder, original):
        setattr(holder, name, _plain(original, wrapper, of_class=is_class))
        return
    from .functions import HostFunction, HostMethod, named, place

    where = place(holder, target.module), name
    at_home: Any = (
        named(original.__module__, original.__qualname__) if type(original) is FunctionType else None
    )
    if not is_class and _is_ours(at_home, wrapper) and at_home.__wrapped__ is original:
        made: Any = at_home  # the host has imported it from there, and has one function under two names
    elif isinstance(original, classmethod | staticmethod):
        kind = HostMethod if isinstance(original, classmethod) else HostFunction
        made = type(original)(kind(original.__func__, wrapper, where))
    elif is_class and not hasattr(type(original), "__get__"):
        made = staticmethod(HostFunction(original, wrapper, where))
    else:
        made = (HostMethod if is_class else HostFunction)(original, wrapper, where)
    setattr(holder, name, made)


def _in_class(cls: type, name: str) -> Any:
    """What stands in the class, or a class that it inherits from, before any binding."""
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return getattr(cls, name)


def _is_plain(holder: Any, original: Any) -> bool:
    """Whether it is no generator, and is found where its name says; pickles have only that name."""
    if type(original) is not FunctionType or original.__code__.co_flags & _GENERATOR:
        return False
    if isinstance(holder, type):
        home = holder.__module__, f"{holder.__qualname__}.{original.__name__}"
    else:
        home = holder.__name__, original.__name__
    is_home = (original.__module__, original.__qualname__) == home
    return is_home and vars(holder).get(original.__name__) is original


def _plain(original: FunctionType, wrapper: Wrapper, *, of_class: bool) -> Any:
    made = _one_function(original, wrapper, of_class=of_class)
    if made is None:
        if original.__code__.co_flags & _COROUTINE:
            make = _awaiting_method if of_class else _awaiting
        else:
            make = _calling_method if of_class else calling
        made = make(original, wrapper)
    made._self_wrapper = wrapper  # as wrapt calls it
    return made


def _one_function(original: FunctionType, wrapper: Wrapper, *, of_class: bool) -> Any:
    """The host's function and our wrapper in one, where that is of the same kind as the host's; else None."""
    from .wrappers import Around  # late: nothing is patched before a framework is imported

    if not isinstance(wrapper, Around):
        return None
    made = wrapper.direct(original, of_class=of_class)
    if (made.__code__.co_flags ^ original.__code__.co_flags) & _COROUTINE:
        return None
    return functools.wraps(original)(made)


def calling(function: Any, wrapper: Wrapper) -> Any:
    """A function that gives each of its calls to the wrapper of this one."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return wrapper(function, None, args, kwargs)

    return called


def _awaiting(function: Any, wrapper: Wrapper) -> Any:
    """The same of a coroutine function."""

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await wrapper(function, None, args, kwargs)

    return awaited


def _calling_method(function: FunctionType, wrapper: Wrapper) -> Any:
    @functools.wraps(function)
    def called(self: Any = _NOBODY, /, *args: Any, **kwargs: Any) -> Any:
        if self is _NOBODY:
            return function(**kwargs)
        return wrapper(MethodType(function, self), self, args, kwargs)

    return called


def _awaiting_method(function: FunctionType, wrapper: Wrapper) -> Any:
    @functools.wraps(function)
    async def awaited(self: Any = _NOBODY, /, *args: Any, **kwargs: Any) -> Any:
        if self is _NOBODY:
            return await function(**kwargs)
        return await wrapper(MethodType(function, self), self, args, kwargs)

    return awaited


def _wrapped_by(wrapper: Any, function: Any) -> bool:
    """Whether one of the function's layers is ours."""
    for _ in range(_MOST_LAYERS):
        if _is_ours(function, wrapper):
            return True
        function = getattr(function, "__wrapped__", None)
        if function is None:
            break
    return False


def _is_ours(function: Any, wrapper: Any) -> bool:
    return getattr(function, "_self_wrapper", None) is wrapper
