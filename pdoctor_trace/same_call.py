"""Which sightings are one call: the one rule, for frameworks, raw loops, MCP and `@tool` alike.

A call is seen where a model asks for it, where its tool starts, maybe once more where the tool hands it on to
a server, and where a later request carries the answer. Two sightings are one call by

1. the same id and tool;
2. nesting: a start inside a call is that call where it goes by the same name, or where it is only the way to
   the tool (an MCP client's `call_tool`), its name is what is left of the other's without a server's prefix
   or suffix, and the arguments agree. Functions that call one another are calls of their own, whatever their
   arguments;
3. tool and equal arguments, in the order of asking, where one of the two has no id.

What none of this joins are separate calls. Arguments are JSON text, as the content mode keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import orjson


class Sighting(Protocol):
    """What is known of a call where a model asked for it."""

    @property
    def call_id(self) -> str | None: ...
    @property
    def tool(self) -> str: ...
    @property
    def arguments(self) -> bytes | None: ...


class Request:
    """One tool call in a model's message."""

    __slots__ = (
        "arguments",
        "call_id",
        "doubtful",
        "has_text",
        "time_ns",
        "told",
        "tool",
        "turn",
        "well_formed",
    )

    def __init__(
        self,
        call_id: str | None,
        tool: str,
        arguments: bytes | None,
        turn: int,
        has_text: bool | None,
        time_ns: int,
        well_formed: bool = True,
    ) -> None:
        self.well_formed, self.told = well_formed, False
        """Whether it was told of already, when it was not known how it would go on."""
        self.doubtful = False
        """Whether a person was asked about it, and is not known to have said yes."""
        self.call_id, self.tool, self.arguments = call_id, tool, arguments
        self.turn, self.has_text, self.time_ns = turn, has_text, time_ns


AnySighting = TypeVar("AnySighting", bound=Sighting)


def asked_for(
    open_calls: Iterable[AnySighting], call_id: str | None, arguments: bytes | None
) -> AnySighting | None:
    """The oldest of the open calls of one tool that a start with this id and these arguments is."""
    named, nameless = [], []
    for one in open_calls:
        if one.call_id == call_id is not None:
            named.append(one)
        elif one.call_id is None or call_id is None:
            nameless.append(one)
    if named:  # ids repeat
        equal = (one for one in named if same_json(one.arguments, arguments))
        return named[0] if len(named) == 1 else next(equal, named[0])
    if not nameless or arguments is None:
        return nameless[0] if nameless else None
    by_arguments = (one for one in nameless if same_json(one.arguments, arguments))
    return next(by_arguments, None) or next(
        (one for one in nameless if holds(arguments, one.arguments)), None
    )


def is_inside(
    outer_tool: str, outer_arguments: bytes | None, tool: str, way: Callable[[], bytes | None] | None
) -> bool:
    """Whether a start of `tool` inside a call is that call.

    `way` gives the arguments where what starts is not a tool but the way to one.
    """
    if outer_tool == tool or way is None:
        return outer_tool == tool
    return goes_by(outer_tool, tool, way=True) and agree(outer_arguments, way())


def goes_by(name: str, tool: str, way: bool) -> bool:
    """Whether the name is the tool's or, on the way to it, the tool's with a server's prefix or suffix."""
    if name == tool or not way or not tool:
        return name == tool
    before, found, after = name.rpartition(tool)
    return bool(found) and not before[-1:].isalnum() and not after[:1].isalnum()


def same_json(one: bytes | None, other: bytes | None) -> bool:
    """Whether two JSON texts say the same."""
    if one is None or other is None or one == other:
        return one == other
    return bool(orjson.loads(bytes(one)) == orjson.loads(bytes(other)))  # of which some may be cut


def holds(all_of_it: bytes | None, some: bytes | None) -> bool:
    """Whether a JSON object has all that another has: tools are also started with more than was asked for."""
    whole, part = _object(all_of_it), _object(some)
    return bool(part) and all(name in whole and whole[name] == value for name, value in part.items())


def agree(one: bytes | None, other: bytes | None) -> bool:
    """Whether two JSON objects say nothing different, and something alike if both say anything."""
    if one == other:
        return True
    first, second = _object(one), _object(other)
    common = first.keys() & second.keys()
    return bool(common or not first or not second) and all(first[name] == second[name] for name in common)


def _object(text: bytes | None) -> dict[str, Any]:
    value = None if text is None else orjson.loads(text)
    return value if isinstance(value, dict) else {}
