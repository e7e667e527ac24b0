"""Tool-call records: the only place that opens and closes them."""

from __future__ import annotations

from time import time_ns
from typing import Any, NamedTuple

from . import meters, sdkspans, semconv
from .ids import new_span_id, numbers
from .reading import class_names, type_name
from .run_state import RunState
from .runs import Frame, OpenRun, current, run_here, sdk_above, state_outside
from .runtime import ACTIVE
from .same_call import Request, same_json
from .values import Truncated
from .wire import EVENTS, AttributeValue, CallRecord, Head, as_dict, event_bytes

_random_bits = numbers.getrandbits
new_call: Any = object.__new__
"""A call without its `__init__`; the caller goes on with `begin`."""
EXACT, INFERRED = "exact", "inferred"
UNKNOWN = "unknown"
UNKNOWN_TOOL, BAD_ARGUMENTS, TOOL_RAISED = "unknown_tool", "bad_arguments", "tool_raised"
TIMED_OUT, CANCELLED = "timeout", "cancelled"
TOOL_ERROR = "tool_error"
"""Error type of what a server answers with a flag, as the conventions for MCP have it."""
REFUSED = (UNKNOWN_TOOL, BAD_ARGUMENTS)
"""Errors of calls whose tool never ran."""


class Reading(NamedTuple):
    """What a tool's function gave, as its layer means it."""

    content: Any
    error: str | None = None
    """Text of a failure that was handed on as a result."""


class Call(Frame):
    """One requested tool call that is running, and the frame of its body; `close` writes its span."""

    __slots__ = (
        "agent",
        "arguments",
        "attempts",
        "call_id",
        "description",
        "error",
        "has_text",
        "inner_error",
        "kind",
        "parent_id",
        "rare",
        "run",
        "sdk",
        "source",
        "start_ns",
        "step",
        "timing",
        "tool",
        "turn",
    )

    agent: str | None
    """The agent whose turn it was."""
    error: BaseException | str | None
    """The error of the latest attempt."""
    inner_error: str | None
    """What a layer below (MCP) said about the same call; counts where nobody above says more."""
    rare: dict[str, AttributeValue] | None
    """Attributes that few calls have, and its events."""

    def __init__(
        self,
        source: str,
        tool: Any,
        arguments: bytes | None,
        *,
        call_id: Any = None,
        description: Any = None,
        start_ns: int | None = None,
        inside: Frame | None = None,
    ) -> None:
        self.begin(source, tool, arguments, call_id, description, start_ns, inside)

    def begin(
        self,
        source: str,
        tool: Any,
        arguments: bytes | None,
        call_id: Any,
        description: Any,
        start_ns: int | None,
        inside: Frame | None,
    ) -> None:
        """What `__init__` does; hot paths call this on a bare object, which Python 3.11 does much faster.

        `inside` is the frame it stands in, None = wherever the running code stands.
        """
        above = current() if inside is None else inside
        if above is None:
            self.run = self.agent = None
            state, self.parent_id = state_outside()
        else:
            self.run = run = above if isinstance(above, OpenRun) else above.run
            self.agent = None if run is None else run.turn_of
            state, self.parent_id = above.state, above.span_id
        self.start_ns = time_ns() if start_ns is None else start_ns
        self.sdk = None
        if (above is None or above.sdk is not None) and sdkspans.wanted():
            state = self._start_sdk_span(state, above, tool)
        else:
            self.span_id = _random_bits(64)
        self.state, self.step = state, next(state.steps)
        self.source, self.arguments = source, arguments
        self.tool = tool if type(tool) is str else type_name(tool)
        self.call_id = call_id if type(call_id) is str else None
        self.description = description if type(description) is str else None
        self.turn: int | None = None
        self.has_text: bool | None = None
        self.timing, self.attempts = EXACT, 1
        self.error = self.inner_error = self.rare = None
        self.kind: str | None = None

    in_body = True

    @property
    def call(self) -> Call:
        """The frame of a call's body is the call itself."""
        return self

    frame = call
    """What to do around the body, as a `Visit`: be the frame, then close with what came out."""

    def returned(self, result: Any) -> None:
        """The tool's own function returned."""
        self.close(ACTIVE.capture.result(result))

    def ended(self, said: Reading, end_ns: int | None = None) -> None:
        """The tool's own function returned, which may mean a failure."""
        if said.error is not None:
            self.fail(said.error, TOOL_RAISED)
        self.close(None if said.error is not None else ACTIVE.capture.result(said.content), end_ns=end_ns)

    def raised(self, error: BaseException) -> None:
        """The tool's own function raised."""
        self.fail(error)
        self.close()

    def _start_sdk_span(self, state: RunState, above: Frame | None, tool: Any) -> RunState:
        """Also in the host's provider; a call outside any run and trace then has that span's trace."""
        name = f"execute_tool {tool}" if type(tool) is str else "execute_tool"
        named = {
            semconv.OPERATION_NAME: "execute_tool",
            semconv.TOOL_NAME: tool if type(tool) is str else None,
            semconv.AGENT_NAME: self.agent,
        }
        self.sdk = sdkspans.start(name, sdk_above(above), self.start_ns, named)
        if self.sdk is None:
            self.span_id = new_span_id()
            return state
        trace_id, self.span_id = sdkspans.ids(self.sdk)
        return RunState(trace_id, f"{trace_id:032x}") if above is None and not self.parent_id else state

    @property
    def executed(self) -> bool:
        """Whether its tool is known to have run: it was started, or its answer was seen, and not refused."""
        return self.attempts > 0 and self.kind not in REFUSED

    @executed.setter
    def executed(self, ran: bool) -> None:
        self.attempts = max(self.attempts, 1) if ran else 0

    def tell(self, attribute: str, value: AttributeValue) -> None:
        """Set an attribute that few calls have."""
        self.rare = {**(self.rare or {}), attribute: value}

    def happened(self, event: str, told: dict[str, AttributeValue]) -> None:
        """Tell of something that happens now, as an event of the span."""
        now, before = time_ns(), (self.rare or {}).get(EVENTS, b"")
        made = event_bytes(event, now, tuple(part for pair in told.items() for part in pair))
        self.tell(EVENTS, before + made if isinstance(before, bytes) else made)
        if self.sdk is not None:
            sdkspans.happened(self.sdk, event, told, now)

    def not_started(self) -> None:
        """Whoever runs the tools did not start this one: it was blocked, or a person said no."""
        self.attempts = 0

    def unheard(self) -> None:
        """A model asked for it and nobody ever told of it again, so it may have run or not."""
        self.attempts = 0
        self.tell(semconv.EXECUTION, UNKNOWN)

    def ran_with(self, arguments: bytes | None) -> None:
        """What its tool was started with, where that is known; what the model wrote is kept if it differs."""
        if not same_json(self.arguments, arguments):
            asked, self.arguments = self.arguments, arguments
            self._was_asked_for_with(asked)

    def _was_asked_for_with(self, arguments: bytes | None) -> None:
        if arguments is not None and semconv.ASKED_ARGUMENTS not in (self.rare or ()):
            self.tell(semconv.ASKED_ARGUMENTS, arguments)

    def asked_by(self, request: Request | None) -> None:
        """Take over what the model's message said about this call."""
        if request is None:
            return
        self.turn, self.has_text = request.turn, request.has_text
        if self.call_id is None:
            self.call_id = request.call_id
        if not same_json(request.arguments, self.arguments):
            self._was_asked_for_with(request.arguments)

    def take_up(self) -> None:
        """Take over what the model's message said, where the loop that runs here asked for this call."""
        run = run_here(self.source)
        if run is not None:
            self.asked_by(run.take_request(self.call_id, self.tool, self.arguments))

    def close(self, result: bytes | None = None, *, end_ns: int | None = None) -> None:
        """Write the span, with the error that was set, if any."""
        end = time_ns() if end_ns is None else end_ns
        message = error_type = None
        if self.error is not None or self.inner_error is not None:
            result = None
            message, error_type = self._what_failed()
        start, arguments, kind = self.start_ns, self.arguments, self.kind
        executed = self.attempts > 0 and kind not in REFUSED
        description = (
            self.tool,
            self.description,
            self.agent,
            self.source,
            self.timing,
            executed,
            self.attempts,
            kind,
        )
        record: Any = (  # a CallRecord; naming its fields would cost a call
            _HEADS.get(description) or _head(description),
            self.state.encoded,
            self.span_id,
            self.parent_id,
            start,
            end if end > start else start,
            message,
            error_type,
            self.step,
            self.call_id,
            arguments,
            result,
            self.turn,
            self.has_text,
            self.rare,
        )
        exporter = ACTIVE.exporter
        if exporter is not None:
            exporter.put(record, (len(arguments) if arguments else 0) + (len(result) if result else 0))
        if self.sdk is not None:
            found = CallRecord._make(record)
            sdkspans.finish(self.sdk, self._sdk_attributes(found), message, found.end_ns)
        if executed and self.timing is EXACT and meters.provider() is not None and meters.wanted():
            meters.tool_ran(self.tool, self.agent, record[5] - start, error_type)

    def withdraw(self) -> None:
        """A pause broke it off, and it begins anew when its run goes on."""
        self.error = self.inner_error = self.kind = None
        if self.run is None:
            self.unheard()
            self.close()
        else:
            self.state.withdrawn.append(self)

    def as_request(self) -> Request:
        """The request that it came from."""
        return Request(
            self.call_id, self.tool, self.arguments, self.turn or 0, bool(self.has_text), self.start_ns
        )

    def _what_failed(self) -> tuple[str, str | None]:
        """(status message, error type); also settles the kind."""
        error = self.inner_error if self.error is None else self.error
        self.kind = self.kind or TOOL_RAISED
        said = self.kind if self.error is not None else TOOL_ERROR
        error_type = type_name(error) if isinstance(error, BaseException) else said
        return ACTIVE.capture.message(error), error_type

    def _sdk_attributes(self, record: CallRecord) -> dict[str, Any]:
        return {
            **self.state.pairs(),
            **as_dict(record.head.pairs),
            semconv.STEP_INDEX: record.step,
            semconv.TOOL_CALL_ID: record.call_id,
            semconv.TOOL_ARGUMENTS: record.arguments,
            semconv.TOOL_RESULT: record.result,
            semconv.TURN_INDEX: record.turn,
            semconv.TURN_HAS_TEXT: record.has_text,
            semconv.ERROR_TYPE: record.error_type,
            semconv.TRUNCATED: Truncated in (type(record.arguments), type(record.result)) or None,
            **{name: value for name, value in (record.rare or {}).items() if name != EVENTS},
        }

    def fail(self, error: BaseException | str, kind: str | None = None) -> None:
        """Set the error; the kind is told from the exception unless the adapter knows better."""
        self.error = error
        self.kind = kind or (kind_of(error) if isinstance(error, BaseException) else TOOL_RAISED)
        if self.run is not None and not isinstance(error, str):
            self.run.requests.of_a_tool(error)


Description = tuple[str, str | None, str | None, str, str, bool, int, str | None]
"""(tool, its description, agent, source, timing, executed, attempts, error kind)."""

_HEADS: dict[Description, Head] = {}
_MAX_HEADS = 4_096


def _head(described: Description) -> Head:
    """Span name and the attributes that repeat; shared by all spans that have them alike."""
    tool, description, agent, source, timing, executed, attempts, kind = described
    pairs = (
        semconv.OPERATION_NAME,
        "execute_tool",
        semconv.TOOL_NAME,
        tool,
        semconv.TOOL_TYPE,
        "function",
        semconv.TOOL_DESCRIPTION,
        description,
        semconv.AGENT_NAME,
        agent,
        semconv.SOURCE,
        source,
        semconv.TIMING,
        timing,
        semconv.EXECUTED,
        executed,
        semconv.ATTEMPTS,
        max(attempts, 1),
        semconv.ERROR_KIND,
        kind,
    )
    head = Head(f"execute_tool {tool}", pairs)
    if len(_HEADS) >= _MAX_HEADS:
        _HEADS.clear()
    _HEADS[described] = head
    return head


def kind_of(error: BaseException) -> str:
    """The error kind of an exception that left a tool."""
    cls = type(error)
    if issubclass(cls, TimeoutError):
        return TIMED_OUT
    if issubclass(cls, KeyboardInterrupt | GeneratorExit) or class_names(cls)[0] == "CancelledError":
        return CANCELLED
    return TOOL_RAISED
