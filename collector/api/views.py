"""Rows and rebuilt runs as the JSON of the API."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from collector.errors import BadRequest
from collector.judging.words import case_is_unknown
from collector.metrics import Observed, measured, observed
from collector.metrics.progress import progress_rates
from collector.model import LAST_NS, Part, Rebuilt, Span, ToolCall
from collector.rebuild.messages import certain_messages
from collector.store.reads import Place
from synth.cases import Case
from synth.observed import Interval
from synth.plans import gold_plans, plan_of_run, plan_to_json, run_passed, run_scores

Row = Any
"""A row of the store: column name -> value."""

ITEM_FIELDS = (
    "agent", "service", "source", "model", "session", "case_id", "outcome", "error_type", "complete",
    "spans", "findings", "prompt", "environment", "tokens",
)  # fmt: skip


def run_item(row: Row) -> dict[str, Any]:
    """A run in a list."""
    start, end = row["started_ns"], row["ended_ns"]
    return {
        "id": row["key"],
        **{name: row[name] for name in ITEM_FIELDS},
        "version": row["release"],
        "complete": bool(row["complete"]),
        "calls_count": row["calls"],
        "judged": row["checked"] == row["version"],
        "started_at": iso_ns(start),
        "ended_at": iso_ns(end),
        "duration_ms": None if start is None or end is None else (end - start) / 1e6,
        "first_seen": iso(row["first_seen"]),
        "last_seen": iso(row["last_seen"]),
        "joined_into": row["joined"] if row["joined"] != row["key"] else None,
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """One conclusion about a run."""

    at: float
    outcome: str | None
    error_type: str | None
    body: Mapping[str, Any]


MOST_CALLS = 1000
"""Calls, or spans, in one answer."""


def run_detail(
    row: Row, rebuilt: Rebuilt, history: Sequence[Entry], case: Case | None = None
) -> dict[str, Any]:
    """A run alone: what `run_told` says, and its first `MOST_CALLS` calls.

    `record` is null where it would have more than that.
    """
    short = len(rebuilt.run.calls) <= MOST_CALLS
    return {
        **run_told(row, rebuilt, history, case),
        "calls": call_items(rebuilt, 0, MOST_CALLS),
        "calls_cursor": next_place(MOST_CALLS, len(rebuilt.run.calls)),
        "record": run_record(row, rebuilt, history) if short else None,
    }


def run_told(
    row: Row, rebuilt: Rebuilt, history: Sequence[Entry], case: Case | None = None,
    measures: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What was concluded about a run, and every earlier conclusion; `measures` where they are known."""
    current = history[-1].body if history else {}
    verdict, policies = current.get("verdict"), current.get("policies", [])
    return {
        **run_item(row),
        "versions": dict(rebuilt.run.versions),
        "query": rebuilt.run.query,
        "tools": list(rebuilt.run.tools) if rebuilt.run.tools is not None else None,
        "status": current.get("status", "running"),
        "trouble": current.get("trouble"),
        "verdict": verdict,
        "policies": policies,
        "verdicts": ([verdict] if verdict else []) + list(policies),
        **(measures_of(rebuilt, history, case) if measures is None else measures),
        "problems": current.get("problems", []),
        "suggested_rules": current.get("suggested_rules", []),
        "parts": [part_item(part) for part in rebuilt.parts],
        "waits": None if rebuilt.waits is None else part_item(rebuilt.waits),
        "history": [history_item(entry) for entry in history],
    }


def measures_of(rebuilt: Rebuilt, history: Sequence[Entry], case: Case | None) -> dict[str, Any]:
    """What is counted of a run: its metrics, their course, and its plan beside that of the case."""
    seen = observed(rebuilt, case, history[-1].body.get("problems", ()) if history else ())
    short = len(rebuilt.run.calls) <= MOST_CALLS
    return {
        "metrics": measured(seen), "progress": rates_item(seen), "plan": plan_item(seen) if short else None,
    }  # fmt: skip


def rates_item(seen: Observed) -> dict[str, Any]:
    """Progress and repetition after each call, as far as they are known, of the first `MOST_CALLS` calls."""
    rates = {"progress": progress_rates(seen), "repetition": seen.repetition}
    return {name: None if of is None else list(of[:MOST_CALLS]) for name, of in rates.items()}


def plan_item(seen: Observed) -> dict[str, Any] | None:
    """The calls as a plan beside the gold plan of the case, and its scores; None without a gold plan."""
    scores = run_scores(seen.run, seen.case)
    if scores is None or seen.case is None:
        return None
    gold = gold_plans(seen.case)
    return {
        "gold": plan_to_json(gold[0]),
        "done": plan_to_json(plan_of_run(seen.run, gold)),
        "scores": scores[0].to_json(),
        "with_alternatives": scores[1].to_json(),
        "passed": run_passed(seen.run),
    }


def part_item(part: Part) -> dict[str, Any]:
    """A part of a run that paused, or that another process went on with."""
    return {
        "run_id": part.run_id,
        "trace_id": part.trace_id,
        "started_at": iso_ns(part.started_ns),
        "ended_at": iso_ns(part.ended_ns),
        "calls": part.calls,
        "state": part.state,
        "reason": part.reason,
    }


def tells_no_time(at: Interval) -> bool:
    """Is an instant known on one side only, or not at all?"""
    return at[1] >= LAST_NS or (at[0] == 0 < at[1])


def _shown(call: ToolCall) -> dict[str, Any]:
    """A call as people see it; what no clock tells is null, the record has the bounds that are known."""
    said = call.to_json()
    for name, at in (("start", call.start), ("end", call.end)):
        if at is not None and tells_no_time(at):
            said[name] = None
            said.pop(f"{name}_ns", None)
    return said


def call_items(rebuilt: Rebuilt, first: int, limit: int) -> list[dict[str, Any]]:
    """Calls from position `first` on."""
    part = slice(first, first + limit)
    return [
        {**_shown(call), "index": index, "span_id": span_id}
        for index, (call, span_id) in enumerate(
            zip(rebuilt.run.calls[part], rebuilt.span_ids[part], strict=True), first
        )
    ]


def run_record(row: Row, rebuilt: Rebuilt, history: Sequence[Entry]) -> dict[str, Any]:
    """The run as `pdoctor check` reads it."""
    current = history[-1].body if history else {}
    known_later = ("status", "trouble", "case_id", "wall_seconds", "iterations", "problems", "unseen")
    record = {**current.get("extra", {}), **rebuilt.run.to_json(), "status": "running"}
    record |= {name: current[name] for name in known_later if current.get(name)}
    # Whoever reads the record may know the case, and would take this for a gap in what was seen.
    if (problems := record.get("problems")) and record.get("case_id"):
        record["problems"] = [said for said in problems if said != case_is_unknown(record["case_id"])]
    said = certain_messages(rebuilt, complete=bool(row["complete"]), problems=current.get("problems", []))
    return {**record, **said}


def history_item(entry: Entry) -> dict[str, Any]:
    said = ("verdict", "policies", "status", "problems")
    return {
        "at": iso(entry.at),
        "outcome": entry.outcome,
        "error_type": entry.error_type,
        **{name: value for name, value in entry.body.items() if name in said},
    }


def span_item(span: Span) -> dict[str, Any]:
    """One span, ids in hex, times in nanoseconds."""
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "status": span.status,
        "status_message": span.status_message,
        "scope": span.scope,
        "attributes": printable(span.attributes),
        "events": [{"name": name, "attributes": printable(attributes)} for name, attributes in span.events],
        "resource": printable(span.resource),
    }


DEEPEST = 200
"""Levels of an answer; what lies deeper was nested by nobody who wants to read it."""


def printable(value: Any, levels: int = DEEPEST) -> Any:
    """Any value as JSON: bytes become base64 text, what is no number null, and depth has an end."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping | list | tuple) and not levels:
        return "..."
    if isinstance(value, Mapping):
        return {str(k): printable(v, levels - 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item, levels - 1) for item in value]
    return value


def encoded(said: Any) -> bytes:
    """JSON of what an endpoint returns; senders' bytes, huge integers and depths are in it somehow."""
    try:
        return orjson.dumps(said, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return json.dumps(printable(said)).encode()


def finding_item(row: Row, words: Mapping[str, Any]) -> dict[str, Any]:
    """A finding; `words` are those of its rule, as far as they can be had."""
    return {
        "id": row["id"],
        "run_id": row["key"],
        "agent": row["agent"],
        "case_id": row["case_id"],
        **{name: row[name] for name in ("rule", "type", "code", "tool", "sentence", "explanation")},
        **{name: words.get(name) for name in ("text", "file", "version")},
        "calls": orjson.loads(row["calls"]),
    }


def page(items: Sequence[Any], limit: int, last: int | str | None) -> dict[str, Any]:
    """A list answer; the cursor is opaque, and null on the last page."""
    full = len(items) == limit and last is not None
    return {"items": list(items), "cursor": encode_cursor(last) if full else None}


def encode_cursor(value: int | str | None) -> str:
    return base64.urlsafe_b64encode(str(value).encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except ValueError:
        raise foreign_cursor() from None


def next_place(after: int, total: int) -> str | None:
    """The cursor of what follows in a list of known length."""
    return encode_cursor(after) if after < total else None


def row_cursor(cursor: str | None) -> int | None:
    """A cursor of a list that is ordered by row id."""
    value = decode_cursor(cursor)
    try:
        return None if value is None else row_number(value)
    except ValueError:
        raise foreign_cursor() from None


def row_number(said: str) -> int:
    """A row id; raises ValueError for what none can be."""
    if not (said.isascii() and said.isdigit()) or len(said) > 18:
        raise ValueError(said)
    return int(said)


def foreign_cursor() -> BadRequest:
    return BadRequest("the cursor is not one of ours", "take `cursor` from the previous page as it is")


def place_cursor(cursor: str | None) -> Place | None:
    """A cursor of the list of runs."""
    value = decode_cursor(cursor)
    if value is None:
        return None
    try:
        order, seen, number = value.split(" ")
        place = Place(float.fromhex(seen), row_number(number), order == "n")
    except (ValueError, OverflowError):
        raise foreign_cursor() from None
    if not math.isfinite(place.first_seen) or encode_place(place) != value:
        raise foreign_cursor()
    return place


def encode_place(place: Place | None) -> str | None:
    if place is None:
        return None
    return f"{'n' if place.by_number else 't'} {place.first_seen.hex()} {place.id}"


def iso(seconds: float | None) -> str | None:
    return (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    )


def iso_ns(ns: int | None) -> str | None:
    """A span's time; senders may write nonsense, which stays readable as a number."""
    if ns is None:
        return None
    try:
        return iso(ns / 1e9)
    except (OverflowError, ValueError, OSError):
        return f"{ns} ns"
