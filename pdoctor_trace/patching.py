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

_LATER = 0x20 | 0x80 | 0x100 | 0x200
"""Code flags of functions whose body does not run when they are called: all generators and coroutines."""
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
    """Plain methods get a plain function, as they are called most; wrapt keeps the kind of all others."""
    is_class, wrapper = isinstance(holder, type), target.wrapper
    original = _in_class(holder, name) if is_class else getattr(holder, name)
    if is_class and _is_plain(holder, original):
        setattr(holder, name, _method(original, wrapper))
        return
    from .functions import HostFunction, HostMethod, place

    where = place(holder, target.module), name
    if isinstance(original, classmethod | staticmethod):
        kind = HostMethod if isinstance(original, classmethod) else HostFunction
        made: Any = type(original)(kind(original.__func__, wrapper, where))
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


def _is_plain(cls: type, original: Any) -> bool:
    """Whether it runs when it is called, and is found where its name says; pickles have only that name."""
    return (
        type(original) is FunctionType
        and not original.__code__.co_flags & _LATER
        and (original.__module__, original.__qualname__)
        == (cls.__module__, f"{cls.__qualname__}.{original.__name__}")
        and vars(cls).get(original.__name__) is original
    )


def _method(original: FunctionType, wrapper: Wrapper) -> Any:
    @functools.wraps(original)
    def method(self: Any = _NOBODY, /, *args: Any, **kwargs: Any) -> Any:
        if self is _NOBODY:
            return original(**kwargs)
        return wrapper(MethodType(original, self), self, args, kwargs)

    made: Any = method
    made._self_wrapper = wrapper  # as wrapt calls it
    return made


def _wrapped_by(wrapper: Any, function: Any) -> bool:
    """Whether one of the function's layers is ours."""
    for _ in range(_MOST_LAYERS):
        if getattr(function, "_self_wrapper", None) is wrapper:
            return True
        function = getattr(function, "__wrapped__", None)
        if function is None:
            break
    return False
