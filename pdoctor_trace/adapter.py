"""The door for adapters: all that it takes to trace a framework, for our own adapters and for yours.

An adapter is data: a `Framework` with its targets, each a host function and a wrapper, and the readers that
make a `Call` or a `Visit` of what passes through. What stands in `__all__` is kept; everything else in the
package may change. A reader that raises is counted in `status()`, and the host's function runs all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .asking import Asking, Change, Given, Refuse, Refused, asked_stream, call_of, merged, with_arguments
from .calls import (
    BAD_ARGUMENTS,
    CANCELLED,
    TIMED_OUT,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Call,
    Reading,
    kind_of,
    new_call,
)
from .chats import Chat, Reply, provider_name
from .chats import begin as begin_chat
from .harmless import guarded
from .machine import HistoryAnswer, answered, around_of, asked_elsewhere, decided, gives_way, not_executed
from .pauses import APPROVAL, INPUT, OTHER, TIMER, Pause, forget_pause, is_paused, key_here, key_with
from .raw_loops import claim, waits_for
from .reading import field, type_name
from .runs import CallFrame, Frame, OpenRun, current, run_here
from .runtime import argument_text, arguments, outcome, recording
from .same_call import Request
from .semconv import MCP_METHOD, MCP_PROTOCOL, MCP_SESSION, RPC_REQUEST, RPC_STATUS
from .spoken import output_messages
from .tracebacks import without_our_frames
from .workflows import Workflow
from .wrappers import (
    Attempt,
    CallVisit,
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
    body_async,
    enter_frame,
    leave,
    observe,
    watch_async_generator,
    watch_generator,
)

__all__ = [
    "APPROVAL",
    "BAD_ARGUMENTS",
    "CANCELLED",
    "INPUT",
    "MCP_METHOD",
    "MCP_PROTOCOL",
    "MCP_SESSION",
    "OTHER",
    "RPC_REQUEST",
    "RPC_STATUS",
    "TIMED_OUT",
    "TIMER",
    "TOOL_RAISED",
    "UNKNOWN_TOOL",
    "Asking",
    "Attempt",
    "Call",
    "CallFrame",
    "CallVisit",
    "Change",
    "Chat",
    "Enter",
    "Frame",
    "Framework",
    "Given",
    "HistoryAnswer",
    "InRun",
    "Limit",
    "OpenRun",
    "Pause",
    "Reading",
    "Refuse",
    "Refused",
    "Reply",
    "Request",
    "RunVisit",
    "Target",
    "Visit",
    "Watcher",
    "Workflow",
    "Wrapper",
    "answered",
    "argument_text",
    "arguments",
    "around",
    "around_async",
    "around_async_generator",
    "around_generator",
    "around_of",
    "asked_elsewhere",
    "asked_stream",
    "begin_chat",
    "body_async",
    "call_of",
    "claim",
    "current",
    "decided",
    "enter_frame",
    "field",
    "forget_pause",
    "gives_way",
    "guarded",
    "is_paused",
    "key_here",
    "key_with",
    "kind_of",
    "leave",
    "merged",
    "new_call",
    "not_executed",
    "observe",
    "outcome",
    "output_messages",
    "provider_name",
    "recording",
    "run_here",
    "type_name",
    "waits_for",
    "watch_async_generator",
    "watch_generator",
    "with_arguments",
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
    """What is not recorded and why; a clause of the table in docs/frameworks.md."""


@dataclass(frozen=True, slots=True)
class Framework:
    """One supported framework; a row of the table in docs/frameworks.md."""

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
