"""Liveness, readiness and metrics."""

from __future__ import annotations

import shutil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from collector.api.access import Access, metrics_reader
from collector.errors import CollectorError
from collector.service import Service
from collector.store import counts, reads
from collector.store.keys import project_ids
from collector.telemetry import Exposition, Figures, Kind

router = APIRouter(tags=["operation"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers, and says whose it is: tracers that were told no address ask."""
    return {"status": "ok", "service": "pdoctor"}


@router.get("/readyz")
async def readyz(request: Request) -> JSONResponse:
    """Spans can be stored and runs are judged; 503 with the reason otherwise."""
    service: Service = request.app.state.service
    problems = await service.problems()
    body: dict[str, Any] = {"status": "unready" if problems else "ready", "problems": problems}
    return JSONResponse(body, 503 if problems else 200)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(access: Annotated[Access, Depends(metrics_reader)]) -> Response:
    """Counters and gauges in the text format of Prometheus: of the key's project.

    Keys of the project `default` with the scope `metrics` or `admin` see all projects and the collector.
    """
    said = Exposition()
    everything = access.everywhere and bool(access.scopes & {"admin", "metrics"})
    figures = access.service.all_figures()
    if everything:
        of_collector(said, access.service, figures)
    try:
        of_projects(said, access.service, figures, None if everything else access.project)
    except CollectorError:  # the collector's own rows say why
        if not everything:
            raise
    return Response(str(said), media_type="text/plain; version=0.0.4; charset=utf-8")


def of_projects(said: Exposition, service: Service, figures: Figures, only: int | None) -> None:
    """What is counted of one project, or of each."""
    with service.store.read() as connection:
        names = {row["id"]: row["name"] for row in project_ids(connection) if only in (None, row["id"])}
        kept = counts.kept_of(connection, only)
        waiting = reads.waiting(connection, only)
        due, lag = reads.backlog(connection, service.clock(), only)
    runs: dict[tuple[str, str], int] = {}
    spans = dict.fromkeys(names.values(), 0)
    for group, (number, size) in kept.items():
        name = names.get(group.project)
        if name is not None:
            key = (name, group.outcome or "unbound")
            runs[key] = runs.get(key, 0) + (number if group.listed else 0)
            spans[name] += size
    by_outcome = [({"project": name, "outcome": outcome}, n) for (name, outcome), n in sorted(runs.items())]
    said.add("project_runs", "gauge", "Runs that are stored, by outcome.", by_outcome)
    sizes = [({"project": name}, size) for name, size in spans.items()]
    said.add("project_spans", "gauge", "Spans of judged runs.", sizes)
    late = [({"project": name}, waiting.get(number, 0)) for number, name in names.items()]
    said.add("project_runs_waiting", "gauge", "Runs that changed since they were judged.", late)
    for name, what, found in (
        ("project_spans_received_total", "Spans that were acknowledged.", figures.telemetry.spans),
        ("project_requests_refused_total", "Export requests told to come back.", figures.telemetry.refused),
        ("project_requests_over_quota_total", "The same for the quota.", figures.telemetry.over_quota),
    ):
        said.add(name, "counter", what, [({"project": p}, found[p]) for p in names.values()])
    prefix, whose = ("", {}) if only is None else ("project_", {"project": names[only]})
    said.add(f"{prefix}runs_due", "gauge", "Runs that wait for a checker now.", [(whose, due)])
    said.add(
        f"{prefix}check_lag_seconds",
        "gauge",
        "How long the longest-waiting run has been due.",
        [(whose, lag)],
    )


SUMS: tuple[tuple[str, Kind, str], ...] = (
    ("spans_stored_total", "counter", "New spans stored."),
    ("batches_stored_total", "counter", "Export requests stored."),
    ("commits_total", "counter", "Transactions that stored spans."),
    ("requests_refused_total", "counter", "Export requests refused because too much waited."),
    ("store_failures_total", "counter", "Transactions that failed."),
    ("queue_bytes", "gauge", "Decoded bytes that wait to be stored."),
    ("bodies_refused_total", "counter", "Bodies for which there was no room."),
    ("in_flight_bytes", "gauge", "Of bodies being read, decoded or queued."),
    ("connections", "gauge", "HTTP connections."),
    ("connections_refused_total", "counter", "New connections closed at once because all were in use."),
    ("connections_dropped_total", "counter", "Waiting connections closed because of a new one."),
    ("runs_judged_total", "counter", "Judgements made."),
    ("checker_restarts_total", "counter", "Checkers that ended."),
    ("worker_restarts_total", "counter", "Workers that ended."),
    ("keys_in_clear_total", "counter", "Requests with a key that came over a network without TLS."),
)  # fmt: skip
"""What the workers of a collector count, and adds up."""


def of_collector(said: Exposition, service: Service, figures: Figures) -> None:
    """How the collector itself is, all its workers together; nothing here asks the database."""
    telemetry, add = figures.telemetry, said.add
    for name, kind, what in SUMS:
        add(name, kind, what, figures.sums[name])
    add("checker_heartbeat_age_seconds", "gauge", "Since a checker's last sign of life.",
        [({"checker": str(k)}, age) for k, age in enumerate(figures.checkers)])  # fmt: skip
    add("worker_heartbeat_age_seconds", "gauge", "Since another worker's last sign of life.",
        [({"worker": str(k)}, age) for k, age, _ in service.crew.others])  # fmt: skip
    if service.certificate is not None:
        expires = service.certificate.pair.expires
        add("tls_certificate_expiry_seconds", "gauge", "When the certificate expires (Unix).", expires)
    add("database_up", "gauge", "Whether the database answered when it was asked last.",
        float(service.watch.answers))  # fmt: skip
    if service.store.file is not None:
        free = shutil.disk_usage(service.store.file.parent).free
        add("disk_free_bytes", "gauge", "On the disk of the store.", free)
    add(
        "clock_jump_seconds",
        "gauge",
        "By which the machine's clock was set since the start.",
        service.clock.jump,
    )
    add("uptime_seconds", "gauge", "Since the start.", service.clock() - service.started)
    answers = [
        ({"route": route, "method": method, "status": str(status)}, n)
        for (route, method, status), n in list(telemetry.answers.items())
    ]
    add("http_requests_total", "counter", "Answers over HTTP.", answers)
    took = [
        ({"route": route, "method": method}, one) for (route, method), one in list(telemetry.requests.items())
    ]
    said.histogram("http_request_seconds", "From the head of a request to the end of its answer.", took)
    codes = [({"service": name, "code": code}, n) for (name, code), n in list(telemetry.codes.items())]
    add("grpc_calls_total", "counter", "Calls over gRPC.", codes)
    calls = [({"service": name}, one) for name, one in list(telemetry.calls.items())]
    said.histogram("grpc_call_seconds", "From the head of a call over gRPC to its end.", calls)
    said.histogram("commit_seconds", "Transactions that store spans.", [({}, telemetry.commits)])
    said.histogram("database_seconds", "One small query, every second.", [({}, telemetry.database)])
    said.histogram("event_loop_lag_seconds", "How late the event loop is.", [({}, telemetry.loop)])
