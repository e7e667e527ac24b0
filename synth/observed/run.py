"""What was observed: tool calls and the run they belong to (the neutral run record).

Sources of runs are files (`pdoctor check`), spans (the collector rebuilds them) and test code. The
JSON spelling is public: see "Run record" in `docs/formats.md`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, get_args

from synth.errors import BadInput
from synth.formal.partly import WHYS, Why
from synth.formal.trouble import Trouble, trouble_from_json
from synth.frozen import quick
from synth.observed.fields import (
    count_in,
    flag_in,
    kind_of,
    named_texts_in,
    object_in,
    path_of,
    text_in,
    texts_in,
)
from synth.observed.instant import Interval as Interval
from synth.observed.instant import instant_in, instant_to_json
from synth.observed.lines import json_lines, parse_json
from synth.observed.marks import ends_early, known

Status = Literal["ok", "running", "timeout", "crash", "abandoned"]

STATUSES: tuple[Status, ...] = get_args(Status)
MAX_CALLS = 100_000
FIELDS_LOST = "fields_lost"
"""Field of a run record: it may have had others, and objects in them more entries, that are not known."""
USAGE = "usage"
"""Field of a run record: what its models used, one entry for each reply."""
UNKNOWN = "unknown"
"""Field `execution` of a call that may have run or not; readers that do not know it take `executed`."""
SESSION_FIELDS = ("session", "session_id", "conversation_id", "thread_id")
"""Fields of a run record that may name its conversation, the best first."""
VERSIONS = ("pdoctor", "agent", "service")
"""Of the versions of a run those that may tell it apart from others, the best first."""


@quick
@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model requested, in the order of `Run.calls`."""

    id: str | None
    """The model's call id, or None; not unique within a run."""
    tool: str
    arguments: Any = None
    """JSON value; usually an object. Malformed arguments are the raw text. What ran, where it ran."""
    result: Any = None
    error: str | None = None
    """None = no error was seen."""
    start: Interval | None = None
    """None = not recorded: then list order is all that is known."""
    end: Interval | None = None
    finished: bool = True
    """False: the call began and no end was ever seen; its end counts as +infinity."""
    step: int | None = None
    """The same for calls of one model message (the span attribute `pdoctor.turn.index`)."""
    with_text: bool | None = None
    executed: bool | None = True
    """False: requested, but no tool ran (unknown tool, malformed arguments, blocked). None: not known."""
    attempts: int = 1
    asked_arguments: Any = None
    """What the model wrote, where it was run with something else. Rules do not read it."""
    partly: Mapping[str, Why] = field(default_factory=dict)
    """`arguments` or `result` -> why not all of it is known; as they stand above they have marks in them."""
    agent: str | None = None
    """Whose call it is, where the run has several agents; None = not said, then it is the run's agent's."""
    hash_key: str | None = None
    """Which key hashed values were made with: equal hashes of one key are of equal values."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the record that we do not know; policies may use them."""

    @property
    def succeeded(self) -> bool:
        """A call succeeds iff it ran and finished without error."""
        return self.executed is True and self.finished and self.error is None

    @property
    def known_arguments(self) -> Any:
        """The arguments with an `Unknown` wherever something is missing."""
        why = self.partly.get("arguments") if self.partly else None
        return self.arguments if why is None else known(self.arguments, why, self.hash_key)

    @property
    def known_result(self) -> Any:
        """The result with an `Unknown` wherever something is missing."""
        why = self.partly.get("result") if self.partly else None
        return self.result if why is None else known(self.result, why, self.hash_key)

    def moved(
        self, step: int | None, start: Interval | None, end: Interval | None, extra: Mapping[str, Any]
    ) -> ToolCall:
        """The same call in another model message and at other instants."""
        return replace(self, step=step, start=start, end=end, extra=extra)

    def to_json(self) -> dict[str, Any]:
        """The call as in a run record; what has its default value is left out."""
        said: dict[str, Any] = {**self.extra, "id": self.id, "name": self.tool, "arguments": self.arguments}
        more = (("asked_arguments", self.asked_arguments), ("result", self.result), ("error", self.error))
        said |= {k: v for k, v in more if v is not None}
        said |= instant_to_json("start", self.start) | instant_to_json("end", self.end)
        said |= {k: v for k, v in (("step", self.step), ("with_text", self.with_text)) if v is not None}
        if not self.executed:
            said["executed"] = False
        if self.executed is None:
            said["execution"] = UNKNOWN
        if self.finished is _seems_unfinished(said):
            said["finished"] = self.finished
        if self.attempts != 1:
            said["attempts"] = self.attempts
        if self.agent is not None:
            said["agent"] = self.agent
        if self.partly or _ending_early(said):
            said["partly"] = dict(self.partly)
        if self.hash_key is not None:
            said["hash_key"] = self.hash_key
        return said


@quick
@dataclass(frozen=True, slots=True)
class Unseen:
    """Calls that were made and that nobody saw, and where they began."""

    problem: str = ""
    """How that is known; one of the run's `problems`."""
    after: int | None = None
    """Position of a call that began before each of them; None = not known."""
    before: int | None = None
    """Position of a call that began after each of them; None = not known."""
    calls: int | None = None
    """How many; None = not known."""
    tool: str | None = None
    """Of what was asked for, if that is known; such a gap follows from the call, and no record has it."""

    def to_json(self) -> dict[str, Any]:
        places = (("after", self.after), ("before", self.before), ("calls", self.calls))
        return {"problem": self.problem, **{name: value for name, value in places if value is not None}}


@quick
@dataclass(frozen=True, slots=True)
class Run:
    """One agent run: what was asked, which tools were offered, which calls were made."""

    id: str
    calls: tuple[ToolCall, ...]
    """In observed order: sorted by (start, sequence), or list order where there are no times."""
    case_id: str | None = None
    query: str | None = None
    tools: tuple[str, ...] | None = None
    """Names of the offered tools; None = unknown, then no tool is an unknown tool."""
    agent: str | None = None
    source: str | None = None
    model: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    """What made the run: `pdoctor` (what the host set), `agent`, `service`, and `prompt`, a digest of the
    system message."""
    environment: str | None = None
    """Where it ran: `production`, `staging`, ..."""
    status: Status = "ok"
    """`running` = not ended, the verdict may stay open; `abandoned` = nobody went on with what waited."""
    trouble: Trouble | None = None
    """What ended the run, where that was not the agent: then what it left undone proves nothing."""
    wall_seconds: float | None = None
    iterations: int | None = None
    problems: tuple[str, ...] = ()
    """Gaps in the evidence (dropped spans, holes in the step index); with any, absence proves nothing."""
    unseen: tuple[Unseen, ...] = ()
    """What is known of the calls behind `problems`; a problem without an entry may hide any calls."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return self.status != "running"

    @property
    def version(self) -> str | None:
        """The version by which runs are told apart: what the host set, else the agent's or the service's."""
        return next((self.versions[name] for name in VERSIONS if name in self.versions), None)

    @property
    def closed(self) -> bool:
        """Did the agent have its time? What it still owes then is owed for good."""
        return self.ended and self.trouble is None and self.status != "abandoned"

    @property
    def gaps(self) -> tuple[Unseen, ...]:
        """What may have happened beside what was seen, one entry for each reason to think so."""
        return *self.lost, *self.possible

    @property
    def possible(self) -> tuple[Unseen, ...]:
        """The calls that may have run at any time after they were asked for, or not at all."""
        at = [i for i, call in enumerate(self.calls) if call.executed is None]
        if not at:
            return ()
        some = ", ".join(f"{i} ({self.calls[i].tool})" for i in at[:3]) + (", ..." if len(at) > 3 else "")
        said = f"it is not known whether these calls ran: {some}"
        return tuple(Unseen(said, after=i, calls=1, tool=self.calls[i].tool) for i in at)

    @property
    def lost(self) -> tuple[Unseen, ...]:
        """What was not seen at all."""
        if not self.problems:
            return self.unseen
        located = {gap.problem for gap in self.unseen}
        return *self.unseen, *(Unseen(problem) for problem in self.problems if problem not in located)

    def to_json(self) -> dict[str, Any]:
        """The neutral run record; `run_from_json` reads it back to an equal Run."""
        said: dict[str, Any] = {**self.extra, "run_id": self.id}
        for name in ("source", "model", "case_id", "agent"):
            if getattr(self, name) is not None:
                said[name] = getattr(self, name)
        said["query"] = self.query
        said["tools"] = None if self.tools is None else list(self.tools)
        said["calls"] = [call.to_json() for call in self.calls]
        if self.versions:
            said["versions"] = dict(self.versions)
        if self.environment is not None:
            said["environment"] = self.environment
        if self.status != "ok":
            said["status"] = self.status
        if self.trouble is not None:
            said["trouble"] = self.trouble.to_json()
        for name in ("wall_seconds", "iterations"):
            if getattr(self, name) is not None:
                said[name] = getattr(self, name)
        if self.problems:
            said["problems"] = list(self.problems)
        if self.unseen:
            said["unseen"] = [gap.to_json() for gap in self.unseen]
        if self.labels:
            said["labels"] = dict(self.labels)
        return said


def run_from_json(said: Any, *, file: str | None = None, line: int | None = None) -> Run:
    """A run record as a Run; unknown fields are kept, wrong types are BadInput with place and field."""
    try:
        return _run(said)
    except BadInput as bad:
        raise bad.at(file=file, line=line) from None


def read_runs(source: str | Path | IO[bytes], *, name: str | None = None) -> Iterator[Run]:
    """The runs of a JSON-lines file, a binary stream, or standard input (`-`); empty lines are skipped.

    BadInput names file and line for whatever is not a run record; one line may have 64 MiB. `name` is what
    a stream is called there.
    """
    if not isinstance(source, str | Path):
        yield from _runs_of(source, name or str(getattr(source, "name", "stream")))
    elif str(source) == "-":
        yield from _runs_of(sys.stdin.buffer, "standard input")
    else:
        try:
            with Path(source).open("rb") as stream:
                yield from _runs_of(stream, str(source))
        except OSError as problem:
            raise BadInput(f"cannot be read: {problem.strerror or problem}", file=str(source)) from problem


def _runs_of(stream: IO[bytes], file: str) -> Iterator[Run]:
    for number, said in json_lines(stream, file):
        yield run_from_json(said, file=file, line=number)


_RUN_FIELDS = {
    "run_id", "source", "model", "case_id", "agent", "query", "tools", "calls", "versions", "environment",
    "status", "trouble", "wall_seconds", "iterations", "problems", "unseen", "labels",
}  # fmt: skip
_CALL_FIELDS = {
    "id", "name", "arguments", "asked_arguments", "result", "error", "start", "end", "start_ns", "end_ns",
    "step", "with_text", "executed", "execution", "attempts", "agent", "finished", "partly", "hash_key",
}  # fmt: skip


def _run(said: Any) -> Run:
    if not isinstance(said, dict):
        raise BadInput(f"a run record must be a JSON object, got {kind_of(said)}")
    run_id = text_in(said, "run_id")
    if not run_id:
        raise BadInput("a run needs a run_id that is not empty", field="run_id")
    calls = said.get("calls")
    if not isinstance(calls, list):
        raise BadInput(f"expected a list of calls, got {kind_of(calls)}", field="calls")
    if len(calls) > MAX_CALLS:
        raise BadInput(f"{len(calls)} calls in one run (at most {MAX_CALLS})", field="calls")
    return Run(
        id=run_id,
        calls=tuple(_call(call, f"calls[{i}]") for i, call in enumerate(calls)),
        case_id=text_in(said, "case_id"),
        query=text_in(said, "query"),
        tools=texts_in(said, "tools"),
        agent=text_in(said, "agent"),
        source=text_in(said, "source"),
        model=text_in(said, "model"),
        versions=named_texts_in(said, "versions"),
        environment=text_in(said, "environment"),
        status=_status(said),
        trouble=trouble_from_json(said.get("trouble")),
        wall_seconds=_seconds(said),
        iterations=count_in(said, "iterations"),
        problems=texts_in(said, "problems") or (),
        unseen=_gaps(said, len(calls)),
        labels=object_in(said, "labels"),
        extra={name: value for name, value in said.items() if name not in _RUN_FIELDS},
    )


def _gaps(said: Mapping[str, Any], calls: int) -> tuple[Unseen, ...]:
    listed = said.get("unseen")
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise BadInput(f"expected a list of objects, got {kind_of(listed)}", field="unseen")
    return tuple(_gap(gap, calls, f"unseen[{i}]") for i, gap in enumerate(listed))


def _gap(said: Any, calls: int, where: str) -> Unseen:
    if not isinstance(said, dict):
        raise BadInput(f"expected an object, got {kind_of(said)}", field=where)
    places = {name: count_in(said, name, where) for name in ("after", "before")}
    for name, place in places.items():
        if place is not None and place >= calls:
            raise BadInput(f"there is no call {place}", field=f"{where}.{name}")
    after, before = places["after"], places["before"]
    return Unseen(text_in(said, "problem", where) or "", after, before, count_in(said, "calls", where))


def _call(said: Any, where: str) -> ToolCall:
    if not isinstance(said, dict):
        raise BadInput(f"a call must be an object, got {kind_of(said)}", field=where)
    name = text_in(said, "name", where)
    if not name:
        raise BadInput("a call needs the name of its tool", field=f"{where}.name")
    start, end = instant_in(said, "start", where), instant_in(said, "end", where)
    if start and end and end[1] < start[0]:
        raise BadInput(
            f"ends before it starts (start {said['start']}, end {said['end']})", field=f"{where}.end"
        )
    finished = flag_in(said, "finished", where)
    attempts = count_in(said, "attempts", where)
    return ToolCall(
        id=text_in(said, "id", where),
        tool=name,
        arguments=_arguments(said.get("arguments")),
        asked_arguments=_arguments(said.get("asked_arguments")),
        result=said.get("result"),
        error=text_in(said, "error", where),
        start=start,
        end=end,
        finished=not _seems_unfinished(said) if finished is None else finished,
        step=count_in(said, "step", where),
        with_text=flag_in(said, "with_text", where),
        executed=_executed(said, where),
        attempts=1 if attempts is None else attempts,
        agent=text_in(said, "agent", where),
        partly=_partly(said, where),
        hash_key=text_in(said, "hash_key", where),
        extra={name: value for name, value in said.items() if name not in _CALL_FIELDS},
    )


def _arguments(said: Any) -> Any:
    """Arguments as a value: many recorders keep the JSON text of the model; broken text stays text."""
    if not isinstance(said, str) or said.lstrip()[:1] != "{":
        return said
    try:
        value = parse_json(said)
    except BadInput:
        return said
    return value


def _executed(said: Mapping[str, Any], where: str) -> bool | None:
    executed, execution = flag_in(said, "executed", where), text_in(said, "execution", where)
    if execution not in (None, UNKNOWN):
        raise BadInput(f"expected {UNKNOWN!r}, got {execution!r}", field=path_of(where, "execution"))
    return None if execution else executed is not False


def _partly(said: Mapping[str, Any], where: str) -> Mapping[str, Why]:
    found = said.get("partly")
    if found is None:
        return _ending_early(said)
    if not isinstance(found, dict) or not found.keys() <= {"arguments", "result"}:
        raise BadInput("expected an object with arguments and result", field=path_of(where, "partly"))
    for name, why in found.items():
        if why not in WHYS:
            wrong = f"expected one of {', '.join(WHYS)}, got {kind_of(why)}"
            raise BadInput(wrong, field=path_of(where, f"partly.{name}"))
    return dict(found)


def _ending_early(said: Mapping[str, Any]) -> Mapping[str, Why]:
    """JSON that ends in the middle, of a call that ran without an error, has lost its end on the way."""
    if said.get("executed") is False or said.get("error") is not None:
        return {}
    texts = {name: said.get(name) for name in ("arguments", "result")}
    cut = [name for name, text in texts.items() if isinstance(text, str) and _is_json_cut(text)]
    return dict.fromkeys(cut, "cut")


def _is_json_cut(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and ends_early(text)


def _seems_unfinished(said: Mapping[str, Any]) -> bool:
    """A record with a start but neither end, result nor error is of a call that never came back."""
    return (
        said.get("start") is not None
        and said.get("end") is None
        and said.get("result") is None
        and said.get("error") is None
        and said.get("executed") is not False
    )


def _status(said: Mapping[str, Any]) -> Status:
    value = said.get("status")
    if value is None:
        return "ok"
    if value not in STATUSES:
        raise BadInput(f"expected one of {', '.join(STATUSES)}, got {value!r}", field="status")
    status: Status = value
    return status


def _seconds(said: Mapping[str, Any]) -> float | None:
    value = said.get("wall_seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise BadInput(f"expected seconds from 0 on, got {kind_of(value)}", field="wall_seconds")
    return float(value)
