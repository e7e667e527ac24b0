"""Functions of the host under our wrapper that stay what they were to whoever looks at them.

wrapt keeps name, signature and kind of a function, yet its proxies can be neither copied nor pickled, and
bound they are no methods. These can: a copy is the function itself, a pickle holds nothing but its name
(so it is read where nobody traces, too), and on an object they are methods like any other. That the type of
the function itself is another than `FunctionType` is what remains: only a proxy has the code flags by which
coroutine and generator functions are told.
"""

from __future__ import annotations

import functools
import importlib
import sys
from types import MethodType, ModuleType
from typing import Any

import wrapt


class HostFunction(wrapt.FunctionWrapper):  # type: ignore[type-arg]  # old releases know no arguments
    """A function of a module, or what a static or class method is made of."""

    def __init__(self, function: Any, wrapper: Any, where: tuple[Any, str]) -> None:
        """`where`: (from `place`, name there)."""
        super().__init__(function, wrapper)
        self._self_where = where

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __copy__(self) -> HostFunction:
        return self

    def __deepcopy__(self, memo: Any) -> HostFunction:
        return self

    def __reduce__(self) -> Any:
        if named(self.__module__, self.__qualname__) is self:
            return self.__qualname__
        return getattr, self._self_where

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


class HostMethod(HostFunction):
    """A function of a class: its wrapper gets the object apart from the arguments."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not args:
            return self.__wrapped__(**kwargs)
        instance = args[0]
        wrapper: Any = self._self_wrapper
        bound = self.__wrapped__.__get__(instance, type(instance))
        return wrapper(bound, instance, args[1:], kwargs)


def place(holder: Any, module: str) -> Any:
    """What stands in a pickle for a class, or for the module of that name."""
    return _Module(module) if isinstance(holder, ModuleType) else holder


class _Module:
    """Not by what the module says that it is called: some take over another's name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> Any:
        return importlib.import_module, (self._name,)


def named(module: str | None, qualname: str) -> Any:
    """What stands under that name in an imported module; None where nothing does."""
    found = sys.modules.get(module or "")
    return functools.reduce(lambda holder, name: getattr(holder, name, None), qualname.split("."), found)
