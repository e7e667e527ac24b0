"""Liveness, readiness and metrics."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from collector.api.access import Access, reader
from collector.service import Service
from collector.store import reads

router = APIRouter(tags=["operation"])


@router.get("/healthz")
def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz(request: Request) -> JSONResponse:
    """Spans can be stored and runs are judged; 503 with the reason otherwise."""
    service: Service = request.app.state.service
    problems = service.problems()
    body: dict[str, Any] = {"status": "unready" if problems else "ready", "problems": problems}
    return JSONResponse(body, 503 if problems else 200)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(access: Annotated[Access, Depends(reader)]) -> Response:
    """Counters and gauges in the text format of Prometheus."""
    service = access.service
    counters = service.writer.counters
    with service.store.read() as connection:
        unjudged, lag = reads.backlog(connection, time.time())
    rows: list[tuple[str, str, str, float]] = [
        ("spans_stored_total", "counter", "New spans stored.", counters.spans),
        ("batches_stored_total", "counter", "Export requests stored.", counters.batches),
        ("commits_total", "counter", "Transactions that stored spans.", counters.commits),
        (
            "requests_refused_total",
            "counter",
            "Export requests refused because too much waited.",
            counters.refused,
        ),
        ("store_failures_total", "counter", "Transactions that failed.", counters.failures),
        ("queue_bytes", "gauge", "Decoded bytes that wait to be stored.", service.writer.queued_bytes),
        ("runs_due", "gauge", "Runs that wait for a checker now.", unjudged),
        ("check_lag_seconds", "gauge", "How long the longest-waiting run has been due.", lag),
        ("runs_judged_total", "counter", "Judgements made.", sum(s.judged for s in service.supervisors)),
        (
            "checker_restarts_total",
            "counter",
            "Checkers that ended.",
            sum(s.restarts for s in service.supervisors),
        ),
        ("uptime_seconds", "gauge", "Since the start.", time.time() - service.started),
    ]
    lines = []
    for name, kind, what, value in rows:
        full = f"pdoctor_{name}"
        lines += [f"# HELP {full} {what}", f"# TYPE {full} {kind}", f"{full} {value:g}"]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")
