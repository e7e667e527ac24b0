"""Runs, their spans, and what was found about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from math import isfinite
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, reader, writer
from collector.api.answers import JsonRoute
from collector.api.bodies import TooLarge, held_body, json_object, raw_body, reject_unknown
from collector.api.search import searched
from collector.errors import BadRequest, NotFound, Overloaded
from collector.judging.policies import as_concluded
from collector.judging.words import Words
from collector.memory import bounded
from collector.model import Rebuilt, Span
from collector.otlp.errors import ExportError
from collector.otlp.spans import spans_of
from collector.pipeline import asked
from collector.rebuild import Told, inside, rebuild, told
from collector.room import soon
from collector.store import catalog, keys, reads, retention
from collector.store.recheck import make_due
from collector.store.stored import Sizes, Stored, weights
from synth.cases import Case, case_from_json
from synth.formal import ERROR_TYPES

PAGE_BYTES = 8 * 1024 * 1024
"""A page of spans has no more after so many bytes of JSON."""
HEAVY_BYTES = 512 * 1024
"""Stored bytes of a run that waits for memory before it is read: it takes many times that."""
router = APIRouter(prefix="/api/v1", tags=["runs"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
Limit = Annotated[int, Query(ge=1, le=1000, description="Items on one page.")]
Cursor = Annotated[str | None, Query(description="`cursor` of the previous page.")]
SHOWN_AS = {
    "passed": "pass", "failed": "fail", "still open": "open", "not tested": "error", "not judged": "unbound",
}  # fmt: skip
"""What pages call an outcome, which filters accept."""
OUTCOMES = ("pass", "fail", "open", "undecided", "error", "unbound")


@router.get("/runs")
def list_runs(
    access: Reader,
    case: str | None = None,
    policy: str | None = None,
    outcome: str | None = None,
    error_type: str | None = None,
    agent: str | None = None,
    service: str | None = None,
    version: str | None = None,
    prompt: str | None = None,
    environment: str | None = None,
    tool: str | None = None,
    since: str | None = None,
    until: str | None = None,
    model: str | None = None,
    session: str | None = None,
    user: str | None = None,
    rule: str | None = None,
    q: Annotated[str, Query(description="A search line, instead of the single filters.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Runs, newest first. `since`, `until` (ISO 8601, Unix seconds) bound the arrival of the first span.

    `rule` is one that the run broke, `tool` may end in `*`. `q` is as on the page of runs:
    `outcome:fail agent:refunds rule:A2 "seattle" last:24h`.
    """
    wanted = run_filter(
        case=case, policy=policy, outcome=outcome, error_type=error_type, agent=agent, service=service,
        version=version, prompt=prompt, environment=environment, tool=tool, since=since, until=until,
        model=model, session=session, user=user, rule=rule,
    )  # fmt: skip
    if q:
        wanted = searched(q, access.now, run_filter)
    with access.service.store.read() as connection:
        found = reads.list_runs(
            connection, access.project, wanted, limit=limit, before=views.place_cursor(cursor)
        )
    return views.page([views.run_item(row) for row in found.rows], limit, views.encode_place(found.end))


@router.post("/runs")
async def hand_in(request: Request) -> dict[str, Any]:
    """Store run records (one, a list, or JSON lines), to be judged as runs that were traced are.

    For a key that may send spans. The run of a record has its id where that is 32 hex digits, else one made
    from it; a record that comes again is the same run, and another one of the same id takes its place.
    `ids` are those of the runs in the order of the records, `rejected` says what was not taken and why.
    """
    service = request.app.state.service
    headers = dict(request.scope["headers"])
    project = await service.authorize(headers)
    request.state.grant_again = partial(service.authorize, headers)
    coding = request.headers.get("content-encoding", "")
    async with held_body(request, service.settings.limits.body_bytes) as (body, held):
        try:
            batch = await service.intake.take(project, held, body, coding, "records")
        except ExportError as failure:
            raise (TooLarge if failure.http == 413 else BadRequest)(failure.message) from None
    rejected = [{"place": one.span, "reason": one.reason} for one in batch.rejections[:MOST_REJECTED]]
    return {
        "ids": [segment.run_id for segment in batch.segments],
        "rejected": rejected,
        "rejected_count": len(batch.rejections),
    }


MOST_REJECTED = 100
"""So many of the records that were not taken are told of; the rest is counted."""


@router.get("/runs/{run_id}")
def show_run(access: Reader, run_id: str) -> dict[str, Any]:
    """One run with its calls, its verdict, policy results and the history of verdicts (the newest 50).

    Of a long run the first 1,000 calls; `calls_cursor` leads to the rest (`/runs/ID/calls`).
    """
    with alone(access, run_id):
        row, rebuilt, history = load_run(access, run_id)
        return views.run_detail(row, rebuilt, history, load_case(access, row["case_id"]))


@router.delete("/runs/{run_id}")
def delete_run(access: Writer, run_id: str) -> dict[str, Any]:
    """Delete a run for good, with its spans, its verdicts and what was said of them."""
    with access.service.store.read() as connection:
        key = find_run(connection, access, run_id)["key"]
    return {"deleted": deleted(access, key=key)}


@router.delete("/runs")
def delete_several(access: Writer, session: str | None = None, user: str | None = None) -> dict[str, Any]:
    """Delete all runs of a `session` or of a `user` for good; of both, where both are given."""
    if not session and not user:
        raise BadRequest("nothing says which runs", "give `session` or `user`")
    return {"deleted": deleted(access, session=session or None, user=user or None)}


def deleted(access: Access, **which: str | None) -> int:
    """Delete runs, and write down who did."""
    count = retention.delete_runs(access.service.store, access.project, **which)
    named = ", ".join(f"{name} {value[:100]}" for name, value in which.items() if value)
    with access.service.store.write() as connection:
        keys.record(
            connection, access.project, access.actor, "runs.delete", f"{named} ({count})", now=access.now
        )
    return count


@router.get("/runs/{run_id}/calls")
def show_calls(
    access: Reader, run_id: str, limit: Limit = views.MOST_CALLS, cursor: Cursor = None
) -> dict[str, Any]:
    """The calls of a run, in order; `cursor` may be `calls_cursor` of the run."""
    first = views.row_cursor(cursor) or 0
    with alone(access, run_id):
        rebuilt = load_run(access, run_id)[1]
        following = views.next_place(first + limit, len(rebuilt.run.calls))
        return {"items": views.call_items(rebuilt, first, limit), "cursor": following}


@router.get("/runs/{run_id}/record")
def show_record(access: Reader, run_id: str) -> dict[str, Any]:
    """The run record, whole however long: what `pdoctor check` reads and `pdoctor runs export` writes."""
    with alone(access, run_id):
        return views.run_record(*load_run(access, run_id))


@router.get("/runs/{run_id}/spans")
def show_spans(
    access: Reader, run_id: str, limit: Limit = views.MOST_CALLS, cursor: Cursor = None
) -> Response:
    """The stored spans of a run, in order of arrival; a page ends early where its spans are big."""
    first = views.row_cursor(cursor) or 0
    with alone(access, run_id):
        with access.service.store.read() as connection:
            row = find_run(connection, access, run_id)
            stored = reads.stored_spans(connection, row["id"])
        spans = islice(spans_of(stored.payloads, stored.shared), first, None)
        items: list[bytes] = []
        size = 0
        for span in spans:
            if len(items) == limit or size > PAGE_BYTES:
                following = views.encode_cursor(first + len(items))
                break
            items.append(views.encoded(views.span_item(span)))
            size += len(items[-1])
        else:
            following = None
    body = b'{"items":[' + b",".join(items) + b'],"cursor":' + views.encoded(following) + b"}"
    return Response(body, media_type="application/json")


@router.get("/findings")
def list_findings(
    access: Reader,
    rule: str | None = None,
    type: str | None = None,
    tool: str | None = None,
    run: str | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """What is wrong, newest first: one item per violated constraint or policy."""
    with access.service.store.read() as connection:
        rows = reads.list_findings(
            connection, access.project, rule=rule, type=type, tool=tool, run=run,
            limit=limit, before=views.row_cursor(cursor),
        )  # fmt: skip
        words = rule_words(connection, access.project, [row["run"] for row in rows])
    items = [
        views.finding_item(row, words.get((row["run"], row["rule"], row["explanation"]), {})) for row in rows
    ]
    return views.page(items, limit, rows[-1]["id"] if rows else None)


def rule_words(
    connection: Any, project: int, runs: Sequence[int]
) -> Mapping[tuple[int, str, str], Mapping[str, Any]]:
    """(run, rule, explanation) -> a finding of the run as it stands, with the words of its rule."""
    words = Words(connection, project)
    bodies = reads.newest_bodies(connection, sorted(set(runs)))
    return {
        (run, found["rule"], found["explanation"]): found
        for run, body in bodies.items()
        for found in words.findings(as_concluded(body))
    }


@router.get("/stats")
def show_stats(access: Reader) -> dict[str, Any]:
    """Counts of runs by outcome and error type, of spans, and of what waits to be judged."""
    with access.service.store.read() as connection:
        return reads.stats(connection, access.project)


FILTERS = (
    "case", "policy", "outcome", "error_type", "agent", "service", "version", "prompt", "environment", "tool",
    "since", "until",
)  # fmt: skip


@router.post("/recheck")
async def recheck(access: Writer, request: Request) -> dict[str, Any]:
    """Judge stored runs again, by the cases and policies of now: those that match the filters, which are
    as for the list of runs (`{}` = all). Verdicts so far stay in the history of each run."""
    said = await json_object(request)
    reject_unknown(said, set(FILTERS), "the filter")
    if wrong := [name for name, value in said.items() if not isinstance(value, str)]:
        raise BadRequest(f"{wrong[0]} is no text", "send the filters of GET /api/v1/runs as text")
    wanted = run_filter(**{name: said.get(name) for name in FILTERS})
    count = await run_in_threadpool(make_due, access.service.store, access.project, wanted, now=access.now)
    access.service.wake()
    return {"runs": count}


@router.post("/check")
async def check(access: Reader, request: Request) -> Response:
    """Judge one run record without storing it: against `case` (a Case) if given, else the stored case it
    names, and against `policies` (text of a policy file) if given, else the active ones."""
    body = await raw_body(request, asked.BODY_BYTES)
    kind = request.headers.get("content-type", "")
    said = await access.service.asked.judged(body, kind, access.project, request.is_disconnected)
    return Response(said, media_type="application/json")


@contextmanager
def alone(access: Access, run_id: str) -> Iterator[None]:
    """Heavy runs one at a time; raises Overloaded where too many wait, or it would take too long."""
    with access.service.store.read() as connection:
        row = find_run(connection, access, run_id)
        own = reads.own_runs(connection, row["id"])
        size = sum(size for _, size in weights(connection, own).values())
    if size <= HEAVY_BYTES:
        yield
        return
    if not access.service.heavy_line.acquire(blocking=False):
        raise Overloaded("other big runs are being read", "ask again in a moment", retry_after=5)
    try:
        with access.service.crew.room.reading(soon()):
            yield
    finally:
        access.service.heavy_line.release()


def load_run(access: Access, run_id: str) -> tuple[Any, Rebuilt, list[views.Entry]]:
    """Row, rebuilt run and history of one run; raises NotFound."""
    row, spans, history = load_spans(access, run_id)
    return row, rebuild(row["key"], spans), history


def load_spans(access: Access, run_id: str) -> tuple[Any, list[Span], list[views.Entry]]:
    """Row, spans and history of one run; raises NotFound."""
    with access.service.store.read() as connection:
        row = find_run(connection, access, run_id)
        stored = reads.spans_with_guests(connection, row["id"])
        history = history_of(connection, access.project, row)
    return row, spans_in(*stored), history


def spans_in(own: Stored, guests: Stored) -> list[Span]:
    """The spans of a run, and those in its traces without a run id that belong to it."""
    spans = list(bounded(spans_of(own.payloads, own.shared)))
    return spans + inside(spans, list(bounded(spans_of(guests.payloads, guests.shared))))


KEPT_BYTES, KEPT_SPANS = 16 * 1024 * 1024, 1_000
"""Stored bytes of a run that is kept for the next look at it, at most, and spans, at least."""


def load_told(access: Access, run_id: str) -> tuple[Any, list[Span], Told, list[views.Entry]]:
    """Row, spans, what they tell, and history of one run; raises NotFound.

    Of a long run the spans are read again, and put together, when there are others or half a minute is over.
    """
    kept = access.service.told
    with access.service.store.read() as connection:
        row = find_run(connection, access, run_id)
        history = history_of(connection, access.project, row)
        own, guests = reads.rows_with_guests(connection, row["id"])
        sizes = Sizes.of(connection, [*own, *guests])
        held = sizes.weights([*own, *guests])
        state = row["id"], row["key"], row["first_seen"], tuple(sorted(held.items()))
        if (known := kept.get(state)) is not None:
            return row, *known, history
        stored = [reads.of_several(connection, some, sizes.within(some)) for some in (own, guests)]
    spans = spans_in(*stored)
    run = told(row["key"], spans)
    if len(spans) >= KEPT_SPANS and sum(size for _, size in held.values()) <= KEPT_BYTES:
        kept.put(state, (spans, run))
    return row, spans, run, history


def history_of(connection: Any, project: int, row: Any) -> list[views.Entry]:
    rows = reads.history(connection, row["id"])
    return [entry_of(connection, project, row["key"], one) for one in rows]


def load_case(access: Access, case_id: str | None) -> Case | None:
    """A stored case; None where there is none of that id."""
    if case_id is None:
        return None
    with access.service.store.read() as connection:
        text = catalog.cases(connection, access.project, [case_id]).get(case_id)
    return None if text is None else case_from_json(orjson.loads(text))


def entry_of(connection: Any, project: int, run: str, row: Any) -> views.Entry:
    """A conclusion about a run (its key) with the words of the rules that it was reached by."""
    body, words = as_concluded(row["body"]), Words(connection, project)
    body["policies"] = [words.result(run, one) for one in body["policies"]]
    return views.Entry(row["at"], row["outcome"], row["error_type"], body)


SHORTEST_ID = 6
"""Characters of the beginning of an id that stand for it, where only one run begins so."""


def find_run(connection: Any, access: Access, run_id: str) -> Any:
    row = reads.one_run(connection, access.project, run_id.lower())
    if row is None and len(run_id) >= SHORTEST_ID:
        found = reads.runs_beginning(connection, access.project, run_id.lower(), 4)
        if len(found) > 1:
            some = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
            raise BadRequest(f"several runs begin with {run_id!r}: {some}", "give more of the id")
        row = reads.one_run(connection, access.project, found[0]) if found else None
    if row is None:
        raise NotFound(
            f"there is no run {run_id[:64]!r}",
            f"`pdoctor runs list` lists the runs; {SHORTEST_ID} characters of an id are enough",
        )
    return row


def run_filter(
    *, outcome: str | None, since: str | None, until: str | None, **others: str | None
) -> reads.Filter:
    """Query parameters as a filter; empty text means any. Raises BadRequest."""
    outcome = SHOWN_AS.get(outcome or "", outcome)
    if outcome and outcome not in OUTCOMES:
        raise BadRequest(f"outcome is {outcome!r}", f"expected one of {', '.join(OUTCOMES)}, not judged")
    error_type = others.get("error_type")
    if error_type and error_type not in ERROR_TYPES:
        raise BadRequest(f"error_type is {error_type[:40]!r}", f"expected one of {', '.join(ERROR_TYPES)}")
    named: dict[str, Any] = {name: value or None for name, value in others.items()}
    times = instant(since, "since"), instant(until, "until")
    return reads.Filter(outcome=outcome or None, since=times[0], until=times[1], **named)


def instant(value: str | None, name: str) -> float | None:
    """ISO 8601 (without an offset: UTC) or Unix seconds."""
    if not value:
        return None
    with suppress(ValueError):
        if isfinite(seconds := float(value)):
            return seconds
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise BadRequest(
            f"{name} is {value[:40]!r}", "expected a time such as 2026-11-20T10:00:00Z, or Unix seconds"
        ) from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
