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

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Container, Iterable
from contextvars import ContextVar
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import announce, otel, pauses, runtime, sdkspans, semconv, trouble
from .definitions import Offer, definitions, schema_text
from .elsewhere import HERE
from .harmless import guarded
from .ids import new_span_id, new_trace_id
from .reading import class_names
from .recorded import is_recorded
from .run_state import RunState
from .same_call import Request, asked_for, same_json
from .spoken import input_messages
from .usage import Usage
from .wire import Pairs, SpanName, SpanRecord, as_dict, kept, span_bytes

if TYPE_CHECKING:
    from .workflows import Workflow

MAX_SHARED_STATES = 1_024
MAX_TAKEN_EARLY = 256


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
    asks_a_model: bool = False
    """Whether a layer above talks to a model, and tells of the request."""
    known_as: str | None = None
    """What those that run the tool of this call know it by, where that is another name."""

    @property
    def sdk_is_silent(self) -> bool:
        """Whether a raw SDK request made here belongs to a framework's own model layer."""
        if self.in_body:
            return False
        return self.quiet or (self.run is not None and self.run.models_running > 0)


class CallFrame(Frame):
    """Inside a call: around the tool's body (`in_body` false) or in it."""

    __slots__ = ("call", "in_body", "run", "sdk")

    def __init__(self, call: Any, *, in_body: bool = False) -> None:
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
        "continues",
        "conversation",
        "facts",
        "link",
        "model",
        "models_running",
        "parent_id",
        "pause",
        "prompt",
        "pseudo_tools",
        "query",
        "quiet",
        "requests",
        "resumed",
        "root",
        "schemas",
        "sdk",
        "source",
        "start_ns",
        "started_here",
        "tools",
        "turn_of",
        "usage",
        "version",
        "workflow",
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
        resumes: str | None = None,
        workflow: Workflow | None = None,
    ) -> None:
        """`resumes`: the token of the pause that it goes on from; `workflow`: the span that is around it."""
        frame = current()
        self.start_ns = time.time_ns() if start_ns is None else start_ns
        named = {semconv.OPERATION_NAME: "invoke_agent", semconv.AGENT_NAME: agent}
        before = pauses.PAUSED.take(resumes) if resumes is not None and frame is None else None
        outer = sdk_above(frame) if before is None else before.sdk_above()
        self.workflow = workflow
        if workflow is not None:
            outer = workflow.begin(new_span_id(), outer, self.start_ns)
        self.sdk = sdkspans.start(_run_name(agent), outer, self.start_ns, named)
        trace_id, self.span_id = (0, new_span_id()) if self.sdk is None else sdkspans.ids(self.sdk)
        self.resumed = resumes if before is None and frame is None else None
        """Token of the pause in another process that it goes on from."""
        self.continues, self.link = resumes is not None, None
        self.pause: pauses.Pause | None = None
        if before is not None:
            self.state, self.parent_id = before.after(trace_id)
            self.link = before.link(self.state, self.sdk)
        elif frame is None:
            self.state, self.parent_id = root_state(case_id, trace_id)
        else:
            self.state, self.parent_id = frame.state, frame.span_id
            if resumes is not None and frame.run is not None:
                frame.run._goes_on(resumes)
        self.above = frame.run if frame is not None else None
        self.root = frame is None
        above = None if frame is None or frame.in_body else self.above
        self.requests: trouble.Requests = trouble.Requests() if above is None else above.requests
        """Model requests made on behalf of the root run, or of the tool that this agent runs in."""
        self.source, self.agent, self.query = source, agent, query
        self.turn_of = agent
        """The agent whose turn it is; another than `agent` after a hand-over."""
        self.conversation = conversation
        self.facts: bytes | None = None
        """What else the host's code says of it: a JSON object."""
        self.model: str | None = None
        self.version: str | None = None
        """Of the agent, where the host says it."""
        self.prompt: str | None = None
        """Digest of the system message of its first request."""
        self.tools: dict[str, str | None] = {}
        """Offered tools: name -> description, in the order first offered."""
        self.schemas: dict[str, bytes] = {}
        """Offered tools: name -> JSON schema of the parameters, where it is known and may be kept."""
        self.pseudo_tools: set[str] = set()
        """Names that models call to give structured output or to hand over; no tool runs for those."""
        self.started_here: Container[str] = ()
        """Tools that the framework itself starts, where that is seen: an answer tells of none that ran."""
        self.usage = Usage()
        self.models_running = 0
        """Model requests of the framework under way; the SDK layer below them is silent."""
        self._requests: list[Request] = []
        self._taken_early: deque[tuple[str | None, str]] = deque(maxlen=MAX_TAKEN_EARLY)
        """Calls that ran before their model message was complete (some frameworks stream that way)."""
        self.quiet = quiet
        if query is not None and self.above is not None and self.above.query is None:
            self.above.query = query
        if before is not None:
            self.query = query or before.query
            self.tools, self.schemas, self.pseudo_tools = map(copy, before.offered)
        if self.root:
            announce.watch(self)
            runtime.ready()

    @property
    def run(self) -> OpenRun:  # type: ignore[override]
        """A run's frame is the run itself."""
        return self

    def offer(self, tools: Iterable[Offer]) -> None:
        """Add tools that the model may call; a surrounding run that knows of none takes them over."""
        above = self.above if self.above is not None and self.above.source == USER else None
        for name, description, *parameters in tools:
            if name not in self.tools:
                self.tools[name] = description
                schema = schema_text(parameters[0]) if parameters else None
                if schema is not None:
                    self.schemas[name] = schema
            if above is not None and name not in above.tools:
                above.tools[name] = description
                above.schemas.update((key, text) for key, text in self.schemas.items() if key == name)

    def instructed(self, system: Any) -> None:
        """The text of the system message of a request; the first one counts."""
        if self.prompt is None and type(system) is str:
            self.prompt = runtime.ACTIVE.capture.prompt_digest(system)

    def request(self, request: Request) -> None:
        """Remember what a model asked for until a tool layer takes it up."""
        key = (request.call_id, request.tool)
        if request.call_id is not None:
            HERE.add_of_framework(key)
        if self._taken_early and key in self._taken_early:
            self._taken_early.remove(key)
        else:
            self._requests.append(request)

    def has_started(self, call_id: str | None, tool: str) -> bool:
        """Whether such a call ran here although no model was seen asking for it."""
        return (call_id, tool) in self._taken_early

    def starts_here(self, tool: str) -> bool:
        """Whether that tool is seen when it starts, so that an answer alone does not say that it ran.

        One that has not started yet is where it is recorded, and so is another one that has started.
        """
        state = self.state
        return tool in self.started_here or tool in state.seen_starting or is_recorded(tool, state.wrapped_at)

    @property
    def has_requests(self) -> bool:
        """Whether anything that a model asked for has not been taken up."""
        return bool(self._requests or self.state.left)

    def take_request(
        self, call_id: str | None, tool: str, arguments: bytes | None = None, *, early: bool = True
    ) -> Request | None:
        """The open request that a start of this tool is (see `same_call`); ids repeat, so it is taken out.

        `early`: where there is none, it may yet come.
        """
        if early:
            self.state.seen_starting.add(tool)
        for requests in (self._requests, self.state.left):
            found = None
            for one in requests if call_id is not None else ():
                if one.call_id == call_id and one.tool == tool:
                    found = found or one
                    if arguments is None or same_json(one.arguments, arguments):  # ids repeat
                        found = one
                        break
            if found is None:
                of_the_name = [one for one in requests if one.tool == tool]
                found = asked_for(of_the_name, call_id, arguments)
                if found is None and early and call_id is None and of_the_name:
                    found = of_the_name[0]  # somebody has changed the arguments
            if found is not None:
                requests.remove(found)
                if early:
                    self.state.started.append((found.call_id, tool, found.arguments))
                return found
        if early and call_id is not None:
            self._taken_early.append((call_id, tool))
        return None

    def take_all_requests(self) -> list[Request]:
        """What was asked for and never taken up, without calls that only give structured output."""
        left = [request for request in self._requests if request.tool not in self.pseudo_tools]
        self._requests = []
        if self.root:
            waited = (request for request in self.state.left if not request.told)
            left, self.state.left = [*waited, *left], []
        return left

    def wait_for(self, reason: str, token: str | None = None, here: str | None = None) -> None:
        """It is paused, and so is every run that it stands in; the arguments are those of `Pause`."""
        self.pause = pauses.Pause(reason, token, here)
        if self.above is not None:
            self.state.waiting += (self.parent_id,)
            self.above.wait_for(reason, token, here)

    def withdrawn_call(self, call_id: str | None, tool: str) -> Any:
        """The call that was broken off and begins anew in the same run, if there is one; taken out."""
        for call in self.state.withdrawn:
            if call.call_id == call_id and call.tool == tool:
                self.state.withdrawn.remove(call)
                return call
        return None

    def leave_requests(self) -> None:
        """Keep what was asked for until the run goes on."""
        self.state.left += [request for request in self._requests if request.tool not in self.pseudo_tools]
        self._requests = []

    def leave(self, token: str) -> None:
        """Whoever comes with this token goes on with the run."""
        offered = self.tools, self.schemas, self.pseudo_tools
        part = pauses.Part(self.state, self.span_id, sdkspans.name_of(self.sdk), self.query, offered)
        pauses.PAUSED.keep(token, part)

    def _goes_on(self, token: str) -> None:
        """A run that stands in it goes on from a pause, which it may have seen itself."""
        known = self.pause is not None and self.pause.key == token
        self.pause = None if known else self.pause
        if self.above is not None:
            self.above._goes_on(token)
        elif not known and not self.continues:
            self.resumed = token

    def close(
        self, error: BaseException | None = None, end_ns: int | None = None, *, cut_short: bool = False
    ) -> None:
        """Write the span of the run; a root run says how many calls there were, and whether trouble ended it.

        `cut_short`: where the newest model request failed, nothing came after it.
        """
        state = self.state
        if self.root:
            announce.forget(self)
            if state.case_id is None:
                state.ended = True
        end = max(time.time_ns() if end_ns is None else end_ns, self.start_ns)
        message = None if error is None else runtime.ACTIVE.capture.message(error)
        if self.root and self.pause is not None and self.pause.key is not None:
            self.leave(self.pause.key)
        pairs = self._attributes(error)
        if self.above is not None and self.above.requests is self.requests:
            self.above.usage.newest = self.usage.newest or self.above.usage.newest
        if self.root:
            pairs += pauses.attributes(self.pause, self.resumed)
            idle = not (state.calls or state.turns)
            pairs += guarded(trouble.pairs, self.requests, error, idle, cut_short) or ()
        around, name = self.workflow, _run_name(self.agent)
        above = self.parent_id if around is None else around.span_id
        self._write(name, (self.span_id, above, self.sdk), end, message, pairs, self.link)
        if around is not None:
            ids = around.span_id, self.parent_id, around.sdk
            self._write(around.title, ids, end, message, around.pairs(as_dict(pairs)))

    def _write(
        self,
        name: str,
        ids: tuple[int, int, Any],
        end_ns: int,
        message: str | None,
        pairs: Pairs,
        link: SpanName | None = None,
    ) -> None:
        """A span of this run on both paths; `ids`: its own, its parent's, and itself in the provider."""
        own, parent, sdk = ids
        common, start = self.state.encoded, self.start_ns
        whole, size = kept(pairs)
        runtime.emit(SpanRecord(common, own, parent, name, start, end_ns, message, whole, False, link), size)
        if sdk is not None:
            sdkspans.finish(sdk, {**self.state.pairs(), **as_dict(pairs)}, message, end_ns)

    @property
    def waits(self) -> bool:
        """Whether a model has been asked on its behalf and has not answered."""
        return self.requests.wait_ms() is not None

    def announcement(self, now_ns: int) -> bytes:
        """A span that says that the run goes on, and of what it is."""
        own, parent = new_span_id(), self.span_id
        name, pairs = _run_name(self.agent), self._announced()
        return span_bytes(self.state.encoded, own, parent, name, self.start_ns, now_ns, None, pairs)

    def announce_in_sdk(self, now_ns: int) -> None:
        """Make the same span where the run's own is in a TracerProvider."""
        if self.sdk is not None:
            said = {**self.state.pairs(), **as_dict(self._announced())}
            span = sdkspans.start(_run_name(self.agent), self.sdk, self.start_ns, said)
            if span is not None:
                sdkspans.finish(span, said, None, now_ns)

    def _announced(self) -> Pairs:
        goes_on = (semconv.RUN_GOING_ON, True, semconv.RUN_RESUMED, self.resumed)
        return (*self._attributes(None, ended=False), *goes_on, *trouble.waiting(self.requests))

    def _attributes(self, error: BaseException | None, *, ended: bool = True) -> Pairs:
        body = (
            semconv.INPUT_MESSAGES,
            input_messages(self.query),
            semconv.TOOL_DEFINITIONS,
            definitions(self.tools, self.schemas),
            semconv.CONVERSATION_ID,
            self.conversation,
            semconv.REQUEST_MODEL,
            self.model,
            semconv.AGENT_VERSION,
            self.version,
            semconv.PROMPT_HASH,
            self.prompt,
            semconv.RUN_CALLS,
            self.state.calls if self.root and ended else None,
            semconv.ERROR_TYPE,
            None if error is None else class_names(type(error))[0],
        )
        return (
            semconv.OPERATION_NAME,
            "invoke_agent",
            semconv.AGENT_NAME,
            self.agent,
            semconv.SOURCE,
            self.source,
            *body,
            *self.usage.pairs(),
            semconv.RUN_FACTS,
            self.facts,
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
    run = frame if isinstance(frame, OpenRun) else frame.run
    return run if isinstance(run, kind) and run.source == source else None


def _run_name(agent: str | None) -> str:
    return f"invoke_agent {agent}" if agent else "invoke_agent"


def sdk_above(frame: Frame | None) -> Any:
    """The host-side span of the frame above, None outside any run, False where the run has none."""
    return None if frame is None else frame.sdk or False


USER = "user"
"""Source of runs that the host's own code opened with `run()` or `case()`."""
