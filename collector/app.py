"""The collector as one ASGI application.

Export requests do not go through the web framework: they are taken out before it, see `otlp.http`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import FastAPI

from collector.api import (
    alerts,
    approvals,
    campaigns,
    catalog,
    compare,
    description,
    errors,
    findings,
    guard,
    health,
    inbox,
    keys,
    making,
    measures,
    projects,
    runs,
    trying,
)
from collector.fair import REFUSED_SECONDS, Flow, flow_of
from collector.fronts import Sender
from collector.logs import REQUEST_ID, new_request_id, request_id
from collector.origins import PROBES, guarded, refusal, refuse
from collector.otlp.http import HAS_SPANS, PATHS, receiver
from collector.service import Service
from collector.store.leaving import Asker, asker
from collector.telemetry import Telemetry
from collector.ui import alerts as alerts_page
from collector.ui import approvals as approvals_page
from collector.ui import campaigns as campaign_pages
from collector.ui import cases as case_pages
from collector.ui import compare as compare_page
from collector.ui import explorer as explorer_page
from collector.ui import findings as findings_page
from collector.ui import help as help_pages
from collector.ui import overview, pages, runs_page
from collector.ui import policies as policy_pages
from collector.ui import settings as settings_page

log = logging.getLogger("collector")

PAGE_THREADS = 4
"""For pages and the API: with more, receiving spans would wait longer for the interpreter."""
GRPC_SECONDS = 1.0
"""For calls over gRPC that are not done when the collector ends."""
ANSWER_SECONDS = 0.002
"""Of the event loop, for a page or an answer of the API: so many are begun until others have their turn."""
AT_ONCE = (*PROBES, "/api/v1/guard")
"""Answered without waiting for others: a tool waits for the guard."""
App = Callable[[Any, Any, Any], Awaitable[None]]

API = (
    alerts, findings, runs, compare, measures, campaigns, making, trying, guard, approvals, catalog, inbox,
    keys, projects, health,
)  # fmt: skip
"""Modules with the routes of the HTTP API."""
PAGES = (
    alerts_page,
    approvals_page,
    case_pages,
    settings_page,
    overview,
    runs_page,
    findings_page,
    policy_pages,
    pages,
    campaign_pages,
    compare_page,
    explorer_page,
    help_pages,
)
"""Modules with those of the pages."""


def create_app(service: Service) -> App:
    """The whole collector over HTTP; the shutdown event closes the service."""
    web, settings = _web(service), service.settings
    otlp, answer = receiver(service.intake), partial(noted, web)
    questions, refusals = service.questions, service.refusals

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            peer = flow_of(scope.get("client"))
            seen = service.fronts.sender(Sender(peer.who, scope["scheme"]), scope["headers"])
            service.in_clear.look(seen, scope["headers"], scope["path"])
            scope["scheme"] = seen.scheme
            flow = scope["flow"] = Flow(seen.address, peer.connection)
            if seen.address != peer.who:
                scope["client"] = (seen.address, 0)
            if why := refusal(scope, settings):
                await refuse(send, why)
            elif scope["path"] in PATHS:
                await refusals.turn(flow)
                status, _ = await measured(otlp, scope, receive, send, service.telemetry)
                if is_refused(status) or scope.get(HAS_SPANS) is False:
                    refusals.took(flow, REFUSED_SECONDS)
            elif scope["path"] in AT_ONCE:
                await measured(answer, scope, receive, send, service.telemetry)
            else:
                await questions.turn(flow)
                await service.intake.slices.begin(Flow(f"{flow.who} asks", flow.connection), ANSWER_SECONDS)
                status, seconds = await measured(answer, scope, receive, send, service.telemetry)
                questions.took(flow, max(seconds, REFUSED_SECONDS * is_refused(status)))
        elif scope["type"] == "lifespan":
            await web(scope, receive, send)

    return app


def is_refused(status: int) -> bool:
    """Was it the sender's fault?"""
    return 400 <= status < 500 and status not in (408, 429)


async def measured(app: App, scope: Any, receive: Any, send: Any, telemetry: Telemetry) -> tuple[int, float]:
    """Answer a request, and count how long that took (seconds) and how it ended (status)."""
    status, began = 0, time.perf_counter()

    async def watched(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        await send(message)

    try:
        await app(scope, receive, watched)
    finally:
        route = scope["path"] if scope["path"] in PATHS else getattr(scope.get("route"), "path", "other")
        seconds = time.perf_counter() - began
        telemetry.answered(route, scope["method"], status, seconds)
    return status, seconds


async def noted(web: App, scope: Any, receive: Any, send: Any) -> None:
    """Answer a request for a page or of the API; what changes or fails leaves a line in the log."""
    given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
    mine = given if REQUEST_ID.fullmatch(given) else new_request_id()
    request_id.set(mine)
    status, began = 0, time.perf_counter()

    async def watched(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        await send(message)

    try:
        async with awaited(scope, receive) as listening:
            await web(scope, listening, guarded(watched, mine))
    finally:
        quiet = status < 400 and scope["method"] in ("GET", "HEAD")
        said = {
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round((time.perf_counter() - began) * 1e3, 1),
            "project": scope.get("project"),
            "actor": scope.get("actor"),
        }
        log.log(logging.DEBUG if quiet else logging.INFO, "request", extra=said)


@contextlib.asynccontextmanager
async def awaited(scope: Any, receive: Any) -> AsyncIterator[Any]:
    """What is read from the store in the block is read as long as somebody waits; gives their `receive`.

    That is for questions: what changes something is done whether or not somebody waits for the end of it.
    """
    if scope["method"] not in ("GET", "HEAD"):
        yield receive
        return
    who, first, is_heard = Asker(), asyncio.ensure_future(receive()), False

    async def listen() -> None:
        message = await asyncio.shield(first)
        while message["type"] != "http.disconnect":
            message = await receive()
        await asyncio.to_thread(who.leave)

    async def listening() -> Any:
        nonlocal is_heard
        if is_heard:
            return await receive()
        is_heard = True
        return await asyncio.shield(first)

    asking, task = asker.set(who), asyncio.create_task(listen())
    try:
        yield listening
    finally:
        asker.reset(asking)
        task.cancel()
        first.cancel()


def _web(service: Service) -> FastAPI:
    settings = service.settings

    @contextlib.asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = PAGE_THREADS
        grpc_server = None
        if settings.grpc_port is not None:
            from collector.otlp import grpc_in  # not always wanted

            grpc_server, service.grpc_port = await grpc_in.start(
                settings.host,
                settings.grpc_port,
                service.intake,
                certificate=service.certificate,
                doors=service.doors,
                sender_of=service.sender_over_grpc,
                called=service.telemetry.called,
                shared=service.crew.size > 1,
            )
        watching = [asyncio.create_task(service.telemetry.feel_loop()), asyncio.create_task(pages.warm())]
        if service.crew.size > 1:
            watching.append(asyncio.create_task(service.tell()))
        try:
            yield
        finally:
            for task in watching:
                task.cancel()
            if grpc_server is not None:
                await grpc_server.stop(GRPC_SECONDS)
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="PDoctor Trace collector",
        description="Runs of LLM agents, judged. Spans go to `POST /v1/traces` (OTLP).",
        lifespan=life,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    errors.install(app, pages.login_page, pages.message_page)
    for part in (*API, *PAGES):
        app.include_router(part.router)
    description.describe(app)
    return app
