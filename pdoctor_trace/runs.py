"""Run identity: which agent run the code that is executing right now belongs to.

One context variable holds a `Frame`. It is set only around host code that we call through (the steps
of an agent loop, the body of a tool) and reset before control returns, so it never leaks into the
host. Every span of a run carries `pdoctor.run.id`; nested agents inherit the root's.

- A case is active (`case(...)`, or the baggage key `pdoctor.case.id`): the run id is the trace id, and
  everything inside shares both, also across several agent runs in a row.
- Otherwise each root run has a new trace, or joins the trace of the host's current OpenTelemetry span,
  and gets a run id of its own.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from operator import length_hint
from typing import Any, TypeVar, overload

import orjson

from . import announce, otel, runtime, sdkspans, semconv
from .wire import Pairs, as_dict, run_bytes, span_bytes

numbers = random.Random(os.urandom(16))
"""Our own generator: the host's `random.seed(7)` must not make ids repeat, nor we disturb its numbers."""

MAX_SHARED_STATES = 1_024
MAX_TAKEN_EARLY = 256
_NUMBERS = range(1 << 62)


def new_trace_id() -> int:
    return numbers.getrandbits(128) or 1


def new_span_id() -> int:
    return numbers.getrandbits(64) or 1


def reseed() -> None:
    """In a forked child: or both processes would draw the same ids."""
    numbers.seed(os.urandom(16))


class RunState:
    """What all spans of one root run share."""

    __slots__ = ("_turns", "case_id", "encoded", "ended", "run_id", "steps", "trace_id")

    def __init__(self, trace_id: int, run_id: str, case_id: str | None = None) -> None:
        self.trace_id, self.run_id, self.case_id = trace_id, run_id, case_id
        self.encoded = run_bytes(trace_id, (semconv.RUN_ID, run_id, semconv.CASE_ID, case_id))
        """What every span of the run has in common, encoded."""
        self.steps = iter(_NUMBERS)
        """Step numbers to take with `next`, which threads can do at once without a lock."""
        self._turns = iter(_NUMBERS)
        self.ended = False

    @property
    def calls(self) -> int:
        """Step numbers handed out so far, which is the number of calls the collector must see."""
        return len(_NUMBERS) - length_hint(self.steps)

    @property
    def turns(self) -> int:
        """Turn numbers handed out so far."""
        return len(_NUMBERS) - length_hint(self._turns)

    def pairs(self) -> dict[str, str | None]:
        """Attributes of every span of the run."""
        return {semconv.RUN_ID: self.run_id, semconv.CASE_ID: self.case_id}

    def next_turn(self) -> int:
        return next(self._turns)


class Request:
    """One tool call in a model's message."""

    __slots__ = ("arguments", "call_id", "has_text", "time_ns", "tool", "turn", "well_formed")

    def __init__(
        self,
        call_id: str | None,
        tool: str,
        arguments: bytes | None,
        turn: int,
        has_text: bool,
        time_ns: int,
        well_formed: bool = True,
    ) -> None:
        self.well_formed = well_formed
        self.call_id, self.tool, self.arguments = call_id, tool, arguments
        self.turn, self.has_text, self.time_ns = turn, has_text, time_ns


class Frame:
    """Where the code that is running stands: its run, the span above it and the call it is inside of.

    Open runs and open calls are frames themselves; no object here refers to itself or in a circle, so
    nothing waits for the garbage collector.
    """

    __slots__ = ("span_id", "state")

    state: RunState
    span_id: int
    run: OpenRun | None = None
    call: Any = None
    """The tool call whose body or surrounding machinery is running."""
    in_body: bool = False
    """Whether the tool itself runs; then nested agents and raw SDK loops are its own business."""
    quiet: bool = False
    """Whether a framework above reports the calls that the SDK layer would see."""
    sdk: Any = None
    """The same span in the host's own TracerProvider, where it has one."""

    @property
    def sdk_is_silent(self) -> bool:
        """Whether a raw SDK request made here belongs to a framework's own model layer."""
        if self.in_body:
            return False
        return self.quiet or (self.run is not None and self.run.models_running > 0)


class CallFrame(Frame):
    """Inside a call: around the tool's body (`in_body` false) or in it."""

    __slots__ = ("call", "in_body", "run", "sdk")

    def __init__(self, call: Any, *, in_body: bool) -> None:
        self.state, self.span_id, self.run, self.sdk = call.state, call.span_id, call.run, call.sdk
        self.call, self.in_body = call, in_body


CURRENT: ContextVar[Frame | None] = ContextVar("pdoctor_trace_frame", default=None)

_shared: OrderedDict[int, RunState] = OrderedDict()
_shared_lock = threading.Lock()


def current() -> Frame | None:
    """The frame of the running code; one left over from a run that has ended counts as none."""
    frame = CURRENT.get()
    return None if frame is None or frame.state.ended else frame


def state_outside() -> tuple[RunState, int]:
    """State and parent span id of a tool call that stands in no run of ours."""
    around = otel.ambient()
    if around.trace_id:
        return _shared_state(around.trace_id, around.case_id), around.span_id
    return root_state()


def root_state(case_id: str | None = None, trace_id: int = 0) -> tuple[RunState, int]:
    """State and parent span id of a run with nothing of ours above it; `trace_id` where one is given."""
    around = otel.ambient()
    case = case_id or around.case_id
    if case is not None:
        return _shared_state(around.trace_id or trace_id or new_trace_id(), case), around.span_id
    if around.trace_id:
        return RunState(around.trace_id, f"{new_trace_id():032x}"), around.span_id
    trace_id = trace_id or new_trace_id()
    return RunState(trace_id, f"{trace_id:032x}"), 0


def _shared_state(trace_id: int, case_id: str | None) -> RunState:
    """Runs of one case and trace share their counters, also when they come one after the other.

    So do single tool calls outside any run that stand in one trace of the host.
    """
    with _shared_lock:
        state = _shared.get(trace_id)
        if state is None or state.case_id != case_id:
            state = _shared[trace_id] = RunState(trace_id, f"{trace_id:032x}", case_id)
        _shared.move_to_end(trace_id)
        if len(_shared) > MAX_SHARED_STATES:
            _shared.popitem(last=False)
        return state


class OpenRun(Frame):
    """An agent run that is going on; closed once, it becomes an `invoke_agent` span."""

    __slots__ = (
        "_requests",
        "_taken_early",
        "above",
        "agent",
        "conversation",
        "model",
        "models_running",
        "parent_id",
        "pseudo_tools",
        "query",
        "quiet",
        "root",
        "sdk",
        "source",
        "start_ns",
        "tools",
    )

    def __init__(
        self,
        source: str,
        *,
        agent: str | None = None,
        query: str | None = None,
        case_id: str | None = None,
        conversation: str | None = None,
        quiet: bool = False,
        start_ns: int | None = None,
    ) -> None:
        frame = current()
        self.start_ns = time.time_ns() if start_ns is None else start_ns
        self.sdk = sdkspans.start(_run_name(agent), sdk_above(frame), self.start_ns)
        trace_id, self.span_id = (0, new_span_id()) if self.sdk is None else sdkspans.ids(self.sdk)
        if frame is None:
            self.state, self.parent_id = root_state(case_id, trace_id)
        else:
            self.state, self.parent_id = frame.state, frame.span_id
        self.above = frame.run if frame is not None else None
        self.root = frame is None
        self.source, self.agent, self.query = source, agent, query
        self.conversation = conversation
        self.model: str | None = None
        self.tools: dict[str, str | None] = {}
        """Offered tools: name -> description, in the order first offered."""
        self.pseudo_tools: set[str] = set()
        """Names that models call to give structured output or to hand over; no tool runs for those."""
        self.models_running = 0
        """Model requests of the framework under way; the SDK layer below them is silent."""
        self._requests: list[Request] = []
        self._taken_early: deque[tuple[str | None, str]] = deque(maxlen=MAX_TAKEN_EARLY)
        """Calls that ran before their model message was complete (some frameworks stream that way)."""
        self.quiet = quiet
        if query is not None and self.above is not None and self.above.query is None:
            self.above.query = query
        if self.root:
            announce.watch(self)
            runtime.ready()

    @property
    def run(self) -> OpenRun:  # type: ignore[override]
        """A run's frame is the run itself."""
        return self

    def offer(self, tools: Iterable[tuple[str, str | None]]) -> None:
        """Add tools that the model may call; a surrounding run that knows of none takes them over."""
        for name, description in tools:
            self.tools.setdefault(name, description)
            if self.above is not None and self.above.source == USER:
                self.above.tools.setdefault(name, description)

    def request(self, request: Request) -> None:
        """Remember what a model asked for until a tool layer takes it up."""
        key = (request.call_id, request.tool)
        if key in self._taken_early:
            self._taken_early.remove(key)
        else:
            self._requests.append(request)

    @property
    def has_requests(self) -> bool:
        """Whether anything that a model asked for has not been taken up."""
        return bool(self._requests)

    def take_request(self, call_id: str | None, tool: str) -> Request | None:
        """The oldest open request with this id and tool; ids repeat, so it is taken out."""
        for request in self._requests:
            if request.call_id == call_id and request.tool == tool:
                self._requests.remove(request)
                return request
        if call_id is not None:
            self._taken_early.append((call_id, tool))
        return None

    def take_all_requests(self) -> list[Request]:
        """What was asked for and never taken up, without calls that only give structured output."""
        left = [request for request in self._requests if request.tool not in self.pseudo_tools]
        self._requests = []
        return left

    def close(self, error: BaseException | None = None, end_ns: int | None = None) -> None:
        """Write the span of the run; a root run says how many calls there were."""
        state = self.state
        if self.root:
            announce.forget(self)
            if state.case_id is None:
                state.ended = True
        end = max(time.time_ns() if end_ns is None else end_ns, self.start_ns)
        message = None if error is None else runtime.ACTIVE.capture.message(error)
        pairs = self._attributes(error)
        own, parent = self.span_id, self.parent_id
        span = span_bytes(
            state.encoded, own, parent, _run_name(self.agent), self.start_ns, end, message, pairs
        )
        runtime.emit(span, len(span))
        if self.sdk is not None:
            sdkspans.finish(self.sdk, {**state.pairs(), **as_dict(pairs)}, message, end)

    def announcement(self, now_ns: int) -> bytes:
        """A span that says that the run goes on, and of what it is."""
        pairs = (*self._attributes(None, ended=False), semconv.RUN_GOING_ON, True)
        own, parent = new_span_id(), self.span_id
        name = _run_name(self.agent)
        return span_bytes(self.state.encoded, own, parent, name, self.start_ns, now_ns, None, pairs)

    def _attributes(self, error: BaseException | None, *, ended: bool = True) -> Pairs:
        capture = runtime.ACTIVE.capture
        body = (
            semconv.INPUT_MESSAGES,
            _input_messages(capture.query(self.query)),
            semconv.TOOL_DEFINITIONS,
            _definitions(self.tools),
            semconv.CONVERSATION_ID,
            self.conversation,
            semconv.REQUEST_MODEL,
            self.model,
            semconv.RUN_CALLS,
            self.state.calls if self.root and ended else None,
            semconv.ERROR_TYPE,
            None if error is None else type(error).__name__,
        )
        return (
            semconv.OPERATION_NAME,
            "invoke_agent",
            semconv.AGENT_NAME,
            self.agent,
            semconv.SOURCE,
            self.source,
            *body,
        )


AnyRun = TypeVar("AnyRun", bound=OpenRun)


@overload
def run_here(source: str) -> OpenRun | None: ...
@overload
def run_here(source: str, kind: type[AnyRun]) -> AnyRun | None: ...


def run_here(source: str, kind: type[Any] = OpenRun) -> Any:
    """The open run of this framework whose loop the running code is part of, None where there is none.

    A model call made inside a tool's body is not a request of the outer run: it is the tool's own business.
    """
    frame = current()
    if frame is None or frame.in_body:
        return None
    run = frame.run
    return run if isinstance(run, kind) and run.source == source else None


def _run_name(agent: str | None) -> str:
    return f"invoke_agent {agent}" if agent else "invoke_agent"


def sdk_above(frame: Frame | None) -> Any:
    """The host-side span of the frame above, None outside any run, False where the run has none."""
    return None if frame is None else frame.sdk or False


USER = "user"
"""Source of runs that the host's own code opened with `run()` or `case()`."""


def _input_messages(query: str | None) -> bytes | None:
    if query is None:
        return None
    clean = query.encode("utf-8", "replace").decode()
    return orjson.dumps([{"role": "user", "parts": [{"type": "text", "content": clean}]}])


def _definitions(tools: Mapping[str, str | None]) -> bytes | None:
    if not tools:
        return None
    return orjson.dumps([_definition(name, description) for name, description in tools.items()])


def _definition(name: str, description: str | None) -> dict[str, str]:
    found = {"name": name}
    if description:
        found["description"] = description.encode("utf-8", "replace").decode()
    return found
