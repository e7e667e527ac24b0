"""The observed side of the collector: spans as they arrive, and what was concluded from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from synth.formal import Trouble, Verdict
from synth.frozen import quick
from synth.observed import Run, ToolCall, Unseen

if TYPE_CHECKING:  # else whoever only reads spans would load all that policies need
    from synth.policies import PolicyResult

__all__ = [
    "Assessment", "Batch", "Binding", "ModelCall", "Piece", "Rebuilt", "Rejection", "Run", "Segment", "Span",
    "ToolCall", "Unseen",
]  # fmt: skip

SPAN_KEY_BYTES = 24
"""Trace id (16) and span id (8): what identifies a span within a project."""


HAS_IS_REMOTE, IS_REMOTE = 0x100, 0x200
"""OTLP span flags: is it known whether the parent is remote, and is it?"""
LAST_NS = 2**63 - 1
"""In the year 2262. OTLP's times go on to 2554, those of databases do not: later ones count as this."""
REDACTED = "pdoctor.redacted"
"""Attribute that the collector itself sets: the user's texts that stand for what it took out of a span."""
RUN_RECORD, RECORD_SCOPE = "pdoctor.run.record", "pdoctor.records"
"""Attribute with the JSON text of a run record that was handed in, and the scope of its span."""
NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})
NO_ATTRIBUTE: tuple[str | None, Any] = (None, None)
"""Key and value where a span has none."""


Events = tuple[tuple[str, Mapping[str, Any]], ...]


class Span(NamedTuple):
    """One received span, whatever its vocabulary; ids are lower-case hex.

    A named tuple, since one is made per stored span: a frozen dataclass takes four times as long.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    status: str
    """`unset`, `ok` or `error`."""
    status_message: str
    attributes: Mapping[str, Any]
    events: Events = ()
    """(name, attributes) each, in order."""
    resource: Mapping[str, Any] = NO_ATTRIBUTES
    scope: str = ""
    """Name of the instrumentation scope."""
    flags: int = 0
    """W3C trace flags and, from bit 8 on, whether the parent is known to be remote, as in OTLP."""
    trace_state: str = ""
    dropped: int = 0
    """Attributes that the sender left out because there were too many."""


@quick
@dataclass(frozen=True, slots=True)
class Segment:
    """The spans of one run that came in one request: the unit of storage."""

    run_id: str
    """`pdoctor.run.id`, else the trace id; 32 hex digits."""
    keys: tuple[bytes, ...]
    """`SPAN_KEY_BYTES` each, in the order of the spans in `payload`."""
    payload: bytes
    """An OTLP `TracesData` message of exactly these spans with their resources and scopes; see `otlp.raw`."""
    has_root: bool
    """One of them ends the run: it has no parent, or it announces the number of calls."""
    trace_ids: tuple[str, ...]
    """Traces other than `run_id` that the spans belong to."""
    shared: tuple[bytes, ...] = ()
    """Digests of the resources and scopes that the payload only names: those that are big."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A span that was not taken, and why; the sender is told."""

    span: str
    """Where it stood in the request, with its id as far as it had one."""
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """One decoded export request."""

    segments: tuple[Segment, ...]
    rejections: tuple[Rejection, ...] = ()
    shared: Mapping[bytes, bytes] = field(default_factory=dict)
    """Digest -> an encoded resource or scope with its schema URL, which segments name."""

    @property
    def size(self) -> int:
        """Bytes that wait in memory until they are stored."""
        spans = sum(len(s.payload) + SPAN_KEY_BYTES * len(s.keys) for s in self.segments)
        return spans + sum(map(len, self.shared.values()))


@dataclass(frozen=True, slots=True)
class Binding:
    """What a harness says about a trace: which case it runs and, at the end, how it ended."""

    trace_id: str
    case_id: str
    status: str | None = None
    """`ok`, `timeout` or `crash`; None while the agent still works."""
    wall_seconds: float | None = None
    iterations: int | None = None
    at: float = 0.0
    """Arrival, Unix seconds."""
    trouble: Trouble | None = None
    """What kept the agent from being tested, where the harness knows."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one trace without a run span says about the conversation that it is part of."""

    trace_id: str
    started_ns: int
    session: str | None = None
    responses: tuple[str, ...] = ()
    """Ids of the model responses in it."""
    previous: tuple[str, ...] = ()
    """Ids of the responses that its model calls continue."""
    requested: tuple[str, ...] = ()
    """Ids of the tool calls that its models asked for."""
    answered: tuple[str, ...] = ()
    """Ids of the tool calls whose results its models were given."""
    opening: str | None = None
    """Digest of the user's first words."""
    tokens: tuple[str, ...] = ()
    """Of a part of a run: by what the part is known that goes on after it."""
    resumed: tuple[str, ...] = ()
    """Of a part of a run: the tokens of what it goes on with."""

    @property
    def is_part(self) -> bool:
        """Is it part of a run of our own tracer?"""
        return bool(self.tokens or self.resumed)


@quick
@dataclass(frozen=True, slots=True)
class Part:
    """What one process, or one after the other, did of a run that paused or went on elsewhere."""

    run_id: str
    """Its own; the run has that of its first part."""
    trace_id: str
    started_ns: int
    ended_ns: int
    calls: int
    """That it announced, with those of its run id before it."""
    state: str | None = None
    """How it ended: `paused`, `unanswered` (asked calls were never heard of again), else None."""
    reason: str | None = None
    """What it waited for: `approval`, `input`, `timer` or `other`."""


@quick
@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model, as far as its span tells; tokens are None where it does not."""

    start_ns: int
    end_ns: int
    input_tokens: int | None = None
    output_tokens: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A run as its spans tell it, with what the spans alone know."""

    run: Run
    span_ids: tuple[str, ...]
    """Of `run.calls`, position by position."""
    has_root: bool
    is_topped: bool
    """An agent's span of another tracer lies over all calls: what is above it belongs to no run of ours."""
    expected_calls: int | None
    """`pdoctor.run.calls`, if a root span announced it."""
    arrived_calls: int
    """Calls of the tracer that announced: those of other libraries say nothing of its own."""
    tail: Unseen | None
    """The announced calls after the last that arrived; None where calls are not numbered."""
    started_ns: int | None
    ended_ns: int | None
    spans: int
    is_agent: bool
    """False: nothing here says that an agent ran (spans of an ordinary service in the same trace)."""
    service: str | None = None
    session: str | None = None
    person: str | None = None
    """Whom the run was for, as its spans name them."""
    piece: Piece | None = None
    """Set where the spans are one trace of a conversation, see `collector.rebuild.conversations`."""
    pending: bool | None = None
    """Without a run span: does the newest model call wait for answers? None = something else says the end."""
    whole_talk: bool = False
    """Does a span of the run itself tell all of its messages? Otherwise what is missing may hold more."""
    models: tuple[ModelCall, ...] = ()
    """Model calls in order; empty where nothing needed them."""
    tokens: int | None = None
    """What all model calls were given and wrote; None where none says so."""
    model_wait: float | None = None
    """Seconds that a model request had been without an answer when the program was ended."""
    is_ours: bool = False
    """Did our own tracer tell of its calls?"""
    is_record: bool = False
    """Was it handed in as a run record? Then that says all there is, how it ended among it."""
    parts: tuple[Part, ...] = ()
    """In order of time; empty where the run is whole."""
    waits: Part | None = None
    """The part that nothing went on from, where it did not simply end."""
    error_kinds: Mapping[int, str] = field(default_factory=dict)
    """Position of a failed call -> what its span calls the failure (`timeout`, `ValueError`, ...)."""

    @property
    def is_paused(self) -> bool:
        """Does it wait for a person or a timer?"""
        return self.waits is not None and self.waits.state == "paused"

    @property
    def all_calls_arrived(self) -> bool:
        """The root span ended and every call that it announced is here."""
        return self.has_root and self.expected_calls is not None and self.arrived_calls >= self.expected_calls


@quick
@dataclass(frozen=True, slots=True)
class Assessment:
    """What the collector concluded about one run."""

    run_id: str
    verdict: Verdict | None
    """None where the run is bound to no case."""
    policies: tuple[PolicyResult, ...] = ()
    """One per policy that applies."""
    suggested: tuple[str, ...] = ()
    """Sentences of the run's request that could be rules, and are not judged."""
