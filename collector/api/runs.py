"""Runs, their spans, and what was found about them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, reader, writer
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.errors import BadRequest, NotFound
from collector.judging.assess import assess, outcome_of
from collector.judging.policies import load_all
from collector.metrics import Observed, measured
from collector.model import Rebuilt
from collector.otlp.spans import spans_of
from collector.rebuild import inside, rebuild
from collector.store import catalog, reads
from collector.store.recheck import make_due
from synth.cases import case_from_json
from synth.judge import Rules
from synth.observed import run_from_json

router = APIRouter(prefix="/api/v1", tags=["runs"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]
Limit = Annotated[int, Query(ge=1, le=1000, description="Items on one page.")]
Cursor = Annotated[str | None, Query(description="`cursor` of the previous page.")]
OUTCOMES = ("pass", "fail", "open", "undecided", "unbound")


@router.get("/runs")
def list_runs(
    access: Reader,
    case: str | None = None,
    policy: str | None = None,
    outcome: str | None = None,
    error_type: str | None = None,
    agent: str | None = None,
    service: str | None = None,
    tool: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Runs, newest first. `since`, `until` (ISO 8601, Unix seconds) bound the arrival of the first span."""
    wanted = run_filter(
        case=case, policy=policy, outcome=outcome, error_type=error_type, agent=agent, service=service,
        tool=tool, since=since, until=until,
    )  # fmt: skip
    with access.service.store.read() as connection:
        found = reads.list_runs(
            connection, access.project, wanted, limit=limit, before=views.place_cursor(cursor)
        )
    return views.page([views.run_item(row) for row in found.rows], limit, views.encode_place(found.end))


@router.get("/runs/{run_id}")
def show_run(access: Reader, run_id: str) -> dict[str, Any]:
    """One run with its calls, its verdict, policy results and the history of verdicts."""
    row, rebuilt, history = load_run(access, run_id)
    return views.run_detail(row, rebuilt, history)


@router.get("/runs/{run_id}/spans")
def show_spans(access: Reader, run_id: str) -> dict[str, Any]:
    """Every stored span of a run, in order of arrival."""
    with access.service.store.read() as connection:
        row = find_run(connection, access, run_id)
        payloads = reads.payloads_of(connection, row["id"])
    return {"items": [views.span_item(span) for span in spans_of(payloads)], "cursor": None}


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
    return views.page([views.finding_item(row) for row in rows], limit, rows[-1]["id"] if rows else None)


@router.get("/stats")
def show_stats(access: Reader) -> dict[str, Any]:
    """Counts of runs by outcome and error type, of spans, and of what waits to be judged."""
    with access.service.store.read() as connection:
        return reads.stats(connection, access.project)


FILTERS = ("case", "policy", "outcome", "error_type", "agent", "service", "tool", "since", "until")


@router.post("/recheck")
async def recheck(access: Writer, request: Request) -> dict[str, Any]:
    """Judge stored runs again, by the cases and policies of now: those that match the filters, which are
    as for the list of runs (`{}` = all). Verdicts so far stay in the history of each run."""
    said = await json_object(request)
    reject_unknown(said, set(FILTERS), "the filter")
    if wrong := [name for name, value in said.items() if not isinstance(value, str)]:
        raise BadRequest(f"{wrong[0]} is no text", "send the filters of GET /api/v1/runs as text")
    wanted = run_filter(**{name: said.get(name) for name in FILTERS})
    count = await run_in_threadpool(make_due, access.service.store, access.project, wanted, now=time.time())
    access.service.wake()
    return {"runs": count}


@router.post("/check")
async def check(access: Reader, request: Request) -> dict[str, Any]:
    """Judge one run record without storing it: against `case` (a Case) if given, else the stored case it
    names, and against `policies` (text of a policy file) if given, else the active ones."""
    said = await json_object(request)
    return await run_in_threadpool(_check, access, said)


def _check(access: Access, said: dict[str, Any]) -> dict[str, Any]:
    wrapped = isinstance(said.get("run"), dict)
    run = run_from_json(said["run"] if wrapped else said)
    case_json, policy_text = (said.get("case"), said.get("policies")) if wrapped else (None, None)
    case = case_from_json(case_json) if case_json is not None else None
    with access.service.store.read() as connection:
        if case is None and run.case_id is not None:
            stored = catalog.cases(connection, access.project, [run.case_id])
            if run.case_id not in stored:
                raise BadRequest(
                    f"case {run.case_id!r} is not known here", "post it to /api/v1/cases, or send `case`"
                )
            case = case_from_json(orjson.loads(stored[run.case_id]))
        files = [(row["name"], row["text"]) for row in catalog.active_policies(connection, access.project)]
    if policy_text is not None:
        if not isinstance(policy_text, str):
            raise BadRequest("`policies` is no text", "send the text of a policy file")
        files = [("request", policy_text)]
    settings = access.service.settings
    rules, policy_rules = Rules(z3=settings.z3_check), Rules(z3=settings.z3_check_policies)
    assessment = assess(run, case, load_all(files), rules, policy_rules)
    return {
        "run_id": run.id,
        "outcome": outcome_of(assessment, complete=run.ended),
        "verdict": assessment.verdict.to_json() if assessment.verdict else None,
        "policies": [result.to_json() for result in assessment.policies],
        "metrics": measured(Observed(run)),
    }


def load_run(access: Access, run_id: str) -> tuple[Any, Rebuilt, list[Any]]:
    """Row, rebuilt run and history of one run; raises NotFound."""
    with access.service.store.read() as connection:
        row = find_run(connection, access, run_id)
        own, guests = reads.spans_with_guests(connection, row["id"])
        history = reads.history(connection, row["id"])
    spans = list(spans_of(own))
    spans += inside(spans, list(spans_of(guests)))
    return row, rebuild(row["key"], spans), history


def find_run(connection: Any, access: Access, run_id: str) -> Any:
    row = reads.one_run(connection, access.project, run_id.lower())
    if row is None:
        raise NotFound(f"there is no run {run_id[:64]!r}", "GET /api/v1/runs lists the runs")
    return row


def run_filter(
    *, outcome: str | None, since: str | None, until: str | None, **others: str | None
) -> reads.Filter:
    """Query parameters as a filter; empty text means any. Raises BadRequest."""
    if outcome and outcome not in OUTCOMES:
        raise BadRequest(f"outcome is {outcome!r}", f"expected one of {', '.join(OUTCOMES)}")
    return reads.Filter(
        outcome=outcome or None,
        since=instant(since, "since"),
        until=instant(until, "until"),
        **{name: value or None for name, value in others.items()},
    )


def instant(value: str | None, name: str) -> float | None:
    """ISO 8601 (without an offset: UTC) or Unix seconds."""
    if not value:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise BadRequest(
            f"{name} is {value[:40]!r}", "expected a time such as 2026-11-20T10:00:00Z, or Unix seconds"
        ) from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
