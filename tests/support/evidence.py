"""Complete runs as the spans that tell of them, and what happens to spans on their way.

Each change leaves the mark that it leaves in production: a lost span a hole in the numbering, a machine its
name. `remarked` takes the mark away again, for the tests that show a property failing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from collector.dialects.names import SCOPE_NAME
from collector.judging.bind import Arrival, bound_run, ending
from collector.model import Span
from collector.rebuild import rebuild
from collector.settings import Settings
from pdoctor_trace import semconv
from pdoctor_trace.capture import Capture
from pdoctor_trace.values import Truncated
from pdoctor_trace.wire import as_dict
from synth.observed.run import Run, ToolCall
from tests.support.traces import MS, T0
from tests.support.traces import request as export_request

EPS = 50 * MS
"""How far two clocks may be from each other, ns."""
HOSTS = ("mercury", "venus", "mars")
HOUR = 3600 * 10**9
Change = Callable[[list[Span], random.Random], list[Span]]


# ---------------------------------------------------------------- a run as spans


def spans_of(run: Run, trace: str) -> list[Span]:
    """The spans that our tracer sends for a run of which everything is known, the run's own one last."""
    timed = all(call.start and call.end for call in run.calls)
    calls = run.calls if timed else tuple(_with_times(run.calls))
    spans = [_call_span(call, number, run, trace) for number, call in enumerate(calls)]
    first = min((span.start_ns for span in spans), default=T0)
    last = max((span.end_ns for span in spans), default=T0)
    said = {"gen_ai.operation.name": "invoke_agent", "pdoctor.run.id": trace, "pdoctor.run.calls": len(spans)}
    if run.tools is not None:
        said["gen_ai.tool.definitions"] = _json([{"name": name} for name in run.tools])
    if run.agent is not None:
        said["gen_ai.agent.name"] = run.agent
    root = Span(trace, "f" * 16, None, "invoke_agent", first - MS, last + MS, "unset", "", said)  # type: ignore[arg-type]
    return [span._replace(scope=SCOPE_NAME, resource=resource(HOSTS[0])) for span in (*spans, root)]


def resource(host: str) -> dict[str, str]:
    return {"service.name": "tested", "host.name": host}


def _with_times(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Calls one after the other: a model message takes a second, a call 200 ms."""
    timed: list[ToolCall] = []
    at, turn = T0, object()
    for call in calls:
        at += 1000 * MS if call.step != turn or call.step is None else MS
        timed.append(replace(call, start=(at, at), end=(at + 200 * MS,) * 2))
        at, turn = at + 200 * MS, call.step
    return timed


def _call_span(call: ToolCall, number: int, run: Run, trace: str) -> Span:
    assert call.start is not None
    assert call.end is not None
    said = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.arguments": _json(call.arguments),
        "pdoctor.run.id": trace,
        "pdoctor.step.index": number,
        **({} if call.id is None else {"gen_ai.tool.call.id": call.id}),
        **({} if call.result is None else {"gen_ai.tool.call.result": _json(call.result)}),
        **({} if call.step is None else {"pdoctor.turn.index": call.step}),
        **({} if call.with_text is None else {"pdoctor.turn.has_text": call.with_text}),
        **({} if call.executed else {"pdoctor.tool.executed": False}),
    }
    status, words = ("unset", "") if call.error is None else ("error", str(call.error))
    return Span(
        trace, f"{number + 1:016x}", "f" * 16, "execute_tool", call.start[0], call.end[0], status, words, said
    )


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


# ---------------------------------------------------------------- and back


def run_of(spans: Sequence[Span]) -> Run:
    """The run as the collector judges it when nothing more is waited for."""
    rebuilt = rebuild(spans[0].trace_id, spans)
    return bound_run(rebuilt, None, ending(rebuilt, None, Arrival(1e12, 0.0, 0.0), Settings()), None)


def body_of(spans: Sequence[Span]) -> bytes:
    """The spans as one export request."""
    whole = None
    for span in spans:
        said = {
            "trace": span.trace_id,
            "id": int(span.span_id, 16),
            "parent": None if span.parent_id is None else int(span.parent_id, 16),
            "name": span.name,
            "start": span.start_ns,
            "end": span.end_ns,
            "error": span.status_message or ("failed" if span.status == "error" else None),
            "at": span.attributes,
        }
        one = export_request(said, scope=span.scope, resource=dict(span.resource))
        if whole is None:
            whole = one
        else:
            whole.resource_spans.extend(one.resource_spans)
    assert whole is not None
    return whole.SerializeToString()


# ---------------------------------------------------------------- what happens on the way


def lose(spans: list[Span], r: random.Random, most: int = 3) -> list[Span]:
    """Up to that many calls never arrive."""
    calls = _calls(spans)
    gone = r.sample(calls, min(len(calls), r.randint(1, most)))
    return [span for span in spans if span not in gone]


def repeat(spans: list[Span], r: random.Random) -> list[Span]:
    """Some spans come twice, some of them as other spans that tell of the same call."""
    again = [span for span in spans if r.random() < 0.4]
    renamed = [
        span._replace(span_id=f"{r.getrandbits(63):016x}") if r.random() < 0.5 and span.parent_id else span
        for span in again
    ]
    return [*spans, *renamed]


def shuffle(spans: list[Span], r: random.Random) -> list[Span]:
    """They arrive in another order."""
    return r.sample(spans, len(spans))


def rename(spans: list[Span], r: random.Random) -> list[Span]:
    """Other ids everywhere."""
    trace = f"{r.getrandbits(127) | 1 << 126:032x}"
    ids = {span.span_id: f"{r.getrandbits(63) | 1:016x}" for span in spans}
    names = {"pdoctor.run.id": trace}
    calls = {span.attributes.get("gen_ai.tool.call.id") for span in spans} - {None}
    of_calls = {said: f"call_{r.getrandbits(60)}" for said in sorted(calls, key=str)}
    return [
        span._replace(
            trace_id=trace,
            span_id=ids[span.span_id],
            parent_id=None if span.parent_id is None else ids[span.parent_id],
            attributes={
                name: of_calls.get(value, value) if name == "gen_ai.tool.call.id" else names.get(name, value)
                for name, value in span.attributes.items()
            },
        )
        for span in spans
    ]


def one_clock_off(spans: list[Span], r: random.Random) -> list[Span]:
    """One machine is all there is, and its clock is wrong by hours."""
    off = r.randint(-5, 5) * HOUR + r.randint(-EPS, EPS)
    return [_moved(span, off) for span in spans]


def several_hosts(spans: list[Span], r: random.Random, most: int = EPS) -> list[Span]:
    """Calls ran on several machines, whose clocks differ by at most `most` ns."""
    least = -r.randint(0, most)
    offs = {host: r.randint(least, least + most) for host in HOSTS[1 : r.randint(2, 3)]}
    return [_on(r.choice([*offs, HOSTS[0]]), offs, span) for span in spans]


def _on(host: str, offs: Mapping[str, int], span: Span) -> Span:
    """The span from a machine; the first one's clock is right."""
    if span.parent_id is None or host not in offs:
        return span
    return _moved(span, offs[host])._replace(resource=resource(host))


def never_heard_of(spans: list[Span], r: random.Random) -> list[Span]:
    """Of some calls nobody knows whether they ran."""
    return [_unanswered(span) if span.parent_id and r.random() < 0.3 else span for span in spans]


def _unanswered(span: Span) -> Span:
    gone = (semconv.TOOL_RESULT,)
    said = {name: value for name, value in span.attributes.items() if name not in gone}
    said |= {semconv.EXECUTED: False, semconv.EXECUTION: "unknown", semconv.TIMING: "inferred"}
    return span._replace(status="unset", status_message="", attributes=said)


VALUES = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")


def cut(spans: list[Span], r: random.Random) -> list[Span]:
    """The tracer of some calls keeps only so much of a value."""
    capture = Capture(limit=r.choice((9, 14, 20)))
    kept = (semconv.CONTENT in span.attributes or r.random() < 0.5 for span in spans)
    return [span if whole else _captured(span, capture) for span, whole in zip(spans, kept, strict=True)]


def hashed(spans: list[Span], r: random.Random) -> list[Span]:
    """The tracer tells shapes, or nothing, of values."""
    mode = r.choice(("shape", "shape", "none"))
    capture = Capture(mode, hash_key=r.choice(("", "key")))
    return [_captured(span, capture) for span in spans]


def _captured(span: Span, capture: Capture) -> Span:
    """The span as the tracer sends it that keeps values so."""
    said: dict[str, Any] = dict(span.attributes)
    for name in VALUES:
        if name in said:
            value = orjson.loads(said.pop(name))
            kept = capture.arguments(value) if name == VALUES[0] else capture.result(value)
            if kept is not None:
                said[name] = kept.decode()
            if isinstance(kept, Truncated):
                said[semconv.TRUNCATED] = True
    return span._replace(attributes=said | as_dict(capture.pairs))


def _moved(span: Span, off: int) -> Span:
    return span._replace(start_ns=span.start_ns + off, end_ns=span.end_ns + off)


def _calls(spans: Sequence[Span]) -> list[Span]:
    return [span for span in spans if span.parent_id is not None]


MARKED: tuple[Change, ...] = (never_heard_of, lose, several_hosts, hashed, cut, repeat, shuffle, rename)
"""What leaves its mark, and may happen to any run, in this order: what is sent again is the same."""


def on_the_way(spans: list[Span], r: random.Random) -> list[Span]:
    """Some of it, in any combination."""
    for change in MARKED:
        if r.random() < (0.15 if change is hashed else 0.4):
            spans = change(spans, r)
    return spans


BY_THE_CLOCK = ("window", "timetable")
"""Kinds of rules that ask what time of day it is."""


def by_another_clock(spans: Sequence[Span]) -> bool:
    """Is the one clock that calls show another than the right one? Then that tells the time of day."""
    hosts = {span.resource["host.name"] for span in spans if span.parent_id}
    return len(hosts) == 1 and hosts != {HOSTS[0]}


# ---------------------------------------------------------------- marks taken away


def unnumbered(spans: list[Span], r: random.Random) -> list[Span]:
    """A loss that leaves no mark: the calls that came are numbered anew, and so many are announced."""
    rest = lose(spans, r)
    calls = sorted(_calls(rest), key=lambda span: span.attributes["pdoctor.step.index"])
    places = {span.span_id: place for place, span in enumerate(calls)}
    return [_renumbered(span, places, len(calls)) for span in rest]


def _renumbered(span: Span, places: dict[str, int], calls: int) -> Span:
    own = (
        {"pdoctor.run.calls": calls}
        if span.parent_id is None
        else {"pdoctor.step.index": places[span.span_id]}
    )
    return span._replace(attributes={**span.attributes, **own})


def taken_for_never_run(spans: list[Span], r: random.Random) -> list[Span]:
    """Some calls are said not to have run, though nobody knows."""
    return [_without_mark(span) for span in never_heard_of(spans, r)]


def _without_mark(span: Span) -> Span:
    kept = {name: value for name, value in span.attributes.items() if name != semconv.EXECUTION}
    return span._replace(attributes=kept)


too_far: Change = partial(several_hosts, most=100 * EPS)
"""Clocks that differ by more than they are said to."""
