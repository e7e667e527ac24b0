"""The door for adapters: all that it takes to trace a framework, for our own adapters and for yours.

An adapter is data: a `Framework` with its targets, each a host function and a wrapper, and the readers that
make a `Call` or a `Visit` of what passes through. What stands in `__all__` is kept; everything else in the
package may change. A reader that raises is counted in `status()`, and the host's function runs all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .calls import (
    BAD_ARGUMENTS,
    CANCELLED,
    TIMED_OUT,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Call,
    kind_of,
    new_call,
    not_executed,
)
from .capture import field, type_name
from .harmless import guarded
from .raw_loops import claim, waits_for
from .runs import CallFrame, Frame, OpenRun, Request, current, run_here
from .runtime import argument_text, arguments, outcome, recording
from .tracebacks import without_our_frames
from .wrappers import (
    Attempt,
    Enter,
    InRun,
    RunVisit,
    Visit,
    Watcher,
    Wrapper,
    around,
    around_async,
    around_async_generator,
    around_generator,
    enter_frame,
    leave,
    observe,
    watch_async_generator,
    watch_generator,
)

__all__ = [
    "BAD_ARGUMENTS",
    "CANCELLED",
    "TIMED_OUT",
    "TOOL_RAISED",
    "UNKNOWN_TOOL",
    "Attempt",
    "Call",
    "CallFrame",
    "Enter",
    "Frame",
    "Framework",
    "InRun",
    "Limit",
    "OpenRun",
    "Request",
    "RunVisit",
    "Target",
    "Visit",
    "Watcher",
    "Wrapper",
    "argument_text",
    "arguments",
    "around",
    "around_async",
    "around_async_generator",
    "around_generator",
    "claim",
    "current",
    "enter_frame",
    "field",
    "guarded",
    "kind_of",
    "leave",
    "new_call",
    "not_executed",
    "observe",
    "outcome",
    "recording",
    "run_here",
    "type_name",
    "waits_for",
    "watch_async_generator",
    "watch_generator",
    "without_our_frames",
]


@dataclass(frozen=True, slots=True)
class Target:
    """One function of a framework that is wrapped when its module is imported."""

    module: str
    attribute: str
    """`function`, or `Class.method`."""
    wrapper: Wrapper
    optional: bool = False
    """True where only some of the supported versions have it: then its absence is no problem."""


class Limit(NamedTuple):
    """Something that is not recorded as in other frameworks; a test of its name shows it."""

    name: str
    reason: str
    """What is not recorded and why; a clause of the README table."""


@dataclass(frozen=True, slots=True)
class Framework:
    """One supported framework; a row of the README table."""

    name: str
    """Value of `pdoctor.source`."""
    title: str
    distribution: str
    """Package whose version decides; its name in the package index."""
    versions: str
    """Supported versions, as a version specifier."""
    targets: tuple[Target, ...]
    covers: str
    """What is recorded, in a few words."""
    limits: tuple[Limit, ...] = ()
    """What is known not to be recorded, and why."""
