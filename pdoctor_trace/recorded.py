"""The tools under `@tool` and `wrap_tools`, by where they were wrapped.

Where one that was wrapped at a place starts, the others of that place belong to the same agent and would be
seen when they start. So would one that stands recorded under its own name, for those that look for it there.
Any other function may be wrapped by one agent and run plainly by another.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Set
from types import FrameType
from typing import Any, NamedTuple

from .reading import field, in_mro

OF_A_TOOL = "__pdoctor_tool__"
"""Attribute of functions that are recorded: (tool's name, names of its parameters)."""
MOST, MOST_HELD = 10_000, 1_000
_PACKAGE = __name__.partition(".")[0]


class Wrapped(NamedTuple):
    """A function that was wrapped."""

    place: int
    """From `place`."""
    module: str
    qualname: str


_TOOLS: dict[str, set[Wrapped]] = {}


def place() -> int:
    """Stands for the code of the host that asks for a function to be wrapped."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    code = frame.f_code
    return hash((code.co_filename, code.co_name, code.co_firstlineno))


def remember(tool: str, function: Any, at: int) -> None:
    """A function has been wrapped there as that tool."""
    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    wrapped = _TOOLS.setdefault(tool, set()) if len(_TOOLS) < MOST else _TOOLS.get(tool)
    if wrapped is not None and len(wrapped) < MOST:
        wrapped.add(Wrapped(at, str(module), str(qualname)))


def is_recorded(tool: str, places: Set[int]) -> bool:
    """Whether that tool is seen when it starts, in a run in which such of these places have started."""
    found = _TOOLS.get(tool, ()) if places else ()
    return any(one.place in places or _stands_recorded(tool, one) for one in found)


def _stands_recorded(tool: str, wrapped: Wrapped) -> bool:
    """Whether the code that runs finds the recorded function where it would look for the function itself."""
    found: Any = sys.modules.get(wrapped.module)
    ways = [found]
    for name in wrapped.qualname.split("."):
        found = in_mro(found, name) if issubclass(type(found), type) else field(found, name)
        ways.append(found)
    if type(found) in (classmethod, staticmethod):
        found = found.__func__
    recorded = field(found, OF_A_TOOL)
    return type(recorded) is tuple and recorded[:1] == (tool,) and _in_reach(ways)


def _in_reach(ways: list[Any]) -> bool:
    """Whether a module whose code runs has one of these as a global, or in one that is a list or dict."""
    frame: FrameType | None = sys._getframe(1)
    wanted, looked_at = {id(one) for one in ways if one is not None}, set()
    while frame is not None:
        if id(frame.f_globals) not in looked_at:
            looked_at.add(id(frame.f_globals))
            for value in list(frame.f_globals.values()):
                if id(value) in wanted or not wanted.isdisjoint(map(id, _held(value))):
                    return True
        frame = frame.f_back
    return False


def _held(value: Any) -> Collection[Any]:
    kind = type(value)
    held: Collection[Any] = value.values() if kind is dict else value if kind in (list, tuple) else ()
    return list(held) if len(held) <= MOST_HELD else ()
