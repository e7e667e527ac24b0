"""Frozen dataclasses that are made quickly: those of which there are some for each run, call or rule."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick(cls: type[T]) -> type[T]:
    """A frozen dataclass with slots whose `__init__` fills the slots directly.

    The one that `dataclass` writes asks `object` to set each field by its name, which takes twice as long.
    Signature, defaults and everything else stay as they are. Raises TypeError for a class of another kind.
    """
    old: Any = cls.__init__
    known: dict[str, Any] = {}
    lines = []
    for field in fields(cls):  # type: ignore[arg-type]
        name, value = field.name, field.name
        if not field.init or not inspect.ismemberdescriptor(slot := getattr(cls, name, None)):
            raise TypeError(f"{cls.__name__}.{name} is no slot that its __init__ fills")
        known[f"_{name}"] = slot.__set__
        if field.default_factory is not MISSING:
            known[f"_new_{name}"] = field.default_factory
            known["_nothing"] = inspect.signature(cls).parameters[name].default
            value = f"_new_{name}() if {name} is _nothing else {name}"
        lines.append(f"_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    by_name = [field.name for field in fields(cls) if field.kw_only]  # type: ignore[arg-type]
    by_place = [field.name for field in fields(cls) if not field.kw_only]  # type: ignore[arg-type]
    names = ["self", *by_place, *(["*", *by_name] if by_name else [])]
    exec(f"def __init__({', '.join(names)}):\n    " + "\n    ".join(lines), known)
    made = known["__init__"]
    made.__defaults__, made.__kwdefaults__ = old.__defaults__, old.__kwdefaults__
    made.__annotations__, made.__qualname__ = old.__annotations__, old.__qualname__
    setattr(cls, "__init__", made)  # noqa: B010 (assigning would be a mistake in any other place)
    return cls
