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
        _wrap(holder, name, row.target.wrapper)
    row.state, row.problem = PATCHED, ""


def _wrap(holder: Any, name: str, wrapper: Wrapper) -> None:
    """A method that is a plain function gets a plain function: wrapt would make a proxy on each call."""
    original = vars(holder).get(name)
    if (
        isinstance(holder, type)
        and type(original) is FunctionType
        and not original.__code__.co_flags & _LATER
    ):
        setattr(holder, name, _method(original, wrapper))
        return
    import wrapt

    wrapt.wrap_function_wrapper(holder, name, wrapper)


def _method(original: FunctionType, wrapper: Wrapper) -> Any:
    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
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
