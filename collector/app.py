"""The collector as one ASGI application, and ways to run it.

Export requests do not go through the web framework: they are taken out before it, see `otlp.http`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import signal
import socket
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from fastapi import FastAPI

from collector import logs
from collector.access import is_loopback
from collector.api import catalog, description, errors, health, keys, runs
from collector.api import settings as settings_api
from collector.heads import BoundedHeads
from collector.logs import REQUEST_ID, request_id
from collector.otlp.http import PATHS, receiver
from collector.pipeline.garbage import calm_garbage_collection
from collector.service import Service
from collector.settings import Settings
from collector.ui import pages

log = logging.getLogger("collector")

App = Callable[[Any, Any, Any], Awaitable[None]]
READY = "pdoctor collector ready at "
"""Start of the line that `serve` prints once it takes spans; the address follows."""


def create_app(settings: Settings, service: Service | None = None) -> App:
    """The whole collector; its store and checkers live until the shutdown event.

    Without a `service`, one is made at the start-up event.
    """
    web = _web(settings, service)

    async def store(project: str, batch: Any) -> None:
        service: Service = web.state.service
        await service.put_spans(project, batch)

    async def authorize(headers: Any) -> str:
        service: Service = web.state.service
        request_id.set(new_request_id())
        return await service.ingest_project(headers)

    web.state.store, web.state.authorize = store, authorize
    otlp = receiver(store, authorize, settings.limits)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            problem = foreign(scope, settings)
            if problem:
                await _refuse(send, problem)
            elif scope["path"] in PATHS:
                await otlp(scope, receive, send)
            else:
                await noted(web, scope, receive, send)
        elif scope["type"] == "lifespan":
            await web(scope, receive, send)

    return app


PREFIX = uuid.uuid4().hex[:8]
_NUMBERS = count(1)


def new_request_id() -> str:
    """Different in every process, cheap enough for every export request."""
    return f"{PREFIX}-{next(_NUMBERS)}"


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
        await web(scope, receive, guarded(watched, mine))
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


def _web(settings: Settings, service: Service | None) -> FastAPI:
    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = service or await asyncio.to_thread(Service, settings)
        grpc_server = None
        if settings.grpc_port is not None:
            from collector.otlp import grpc_in  # a quarter of the start-up time, and not always wanted

            grpc_server, app.state.service.grpc_port = await grpc_in.start(
                settings.host, settings.grpc_port, app.state.store, app.state.authorize, settings.limits
            )
        try:
            yield
        finally:
            if grpc_server is not None:
                await grpc_server.stop(5)
            await asyncio.to_thread(app.state.service.close)

    app = FastAPI(
        title="PDoctor Trace collector",
        description="Runs of LLM agents, judged. Spans go to `POST /v1/traces` (OTLP).",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
    )
    errors.install(app, pages.login_page)
    for part in (runs, catalog, keys, settings_api, health, pages):
        app.include_router(part.router)
    description.describe(app)
    return app


PAGE_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Tool results are hostile input: even one that slips through as markup can load and run nothing."""


def guarded(send: Any, request: str) -> Any:
    """`send` with `PAGE_HEADERS` and the request's id on every answer."""
    more = (*PAGE_HEADERS, (b"x-request-id", request.encode()))

    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return with_headers


def foreign(scope: Any, settings: Settings) -> str | None:
    """Why a request cannot come from where it should, None where it may.

    A page elsewhere can make a browser send requests here: under a name that resolves to loopback
    (DNS rebinding), or across origins.
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if is_loopback(settings.host) and any(not own_name(host) for host in hosts):
        return f"Host is {hosts[0].decode('latin-1')[:80]!r}, this collector listens on loopback only"
    if len(hosts) > 1:
        return "there is more than one Host"
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return None
    origins = [value for name, value in scope["headers"] if name == b"origin"]
    if any(origin.partition(b"://")[2] != b"".join(hosts) for origin in origins):
        return f"Origin is {origins[0].decode('latin-1')[:80]!r}, requests from other sites are refused"
    return None


HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?", re.IGNORECASE)


@lru_cache(maxsize=256)
def own_name(host: bytes) -> bool:
    """Whether a Host header names this machine itself."""
    found = HOST.fullmatch(host)
    return found is not None and is_loopback(found[1].decode().lower())


async def _refuse(send: Any, problem: str) -> None:
    hint = "use http://127.0.0.1:PORT"
    body = orjson.dumps(errors.error_body("forbidden_host", problem, hint))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def serve(
    *,
    host: str = "127.0.0.1",
    http_port: int = 4318,
    store: str = "sqlite:///pdoctor.db",
    policies: Path | None = None,
    cases: Path | None = None,
    **others: Any,
) -> None:
    """Run until interrupted; prints `READY` and the address on standard output.

    Raises BadStore, BadInput (a bad policy or case file) or OSError (the address is taken).
    """
    settings = Settings(
        store_url=store, host=host, http_port=http_port, policies=policies, cases=cases, **others
    )
    logs.configure(settings.log_format, settings.log_level)
    with listening(settings) as sock:
        server = Server(settings, sock)
        calm_garbage_collection()
        server.run_here(lambda url: print(f"{READY}{url}", flush=True))  # noqa: T201


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """The bound socket; binding first means that a second collector fails before it touches the store."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    if settings.grpc_port:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.host, settings.grpc_port))
            except OSError as taken:
                raise OSError(
                    f"the gRPC port {settings.grpc_port} cannot be had ({taken.strerror}); "
                    "choose another one with --grpc-port, or `off`"
                ) from None
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((settings.host, settings.http_port))
        sock.listen(1024)
        yield sock


class _Uvicorn(uvicorn.Server):
    """Ends in good order at a signal, and then does not raise it again: the exit code is 0."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


class Server:
    """One collector in this process, on a socket that is already bound."""

    def __init__(self, settings: Settings, sock: socket.socket) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.url = f"http://{host}:{sock.getsockname()[1]}"
        self._sock = sock
        config = uvicorn.Config(
            create_app(settings, Service(settings)),
            http=BoundedHeads,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )
        self._uvicorn = _Uvicorn(config)

    def run_here(self, ready: Callable[[str], None]) -> None:
        """Serve in this thread until a signal or `stop`; calls `ready(url)` once requests are taken."""
        watcher = threading.Thread(target=self._announce, args=(ready,), daemon=True)
        watcher.start()
        self._uvicorn.run(sockets=[self._sock])

    def _announce(self, ready: Callable[[str], None]) -> None:
        while not self._uvicorn.started:
            if self._uvicorn.should_exit:
                return
            threading.Event().wait(0.01)
        ready(self.url)

    def stop(self) -> None:
        self._uvicorn.should_exit = True


@contextlib.contextmanager
def running(settings: Settings) -> Iterator[str]:
    """A collector in a thread of this process; gives its address, stops it at the end."""
    up = threading.Event()
    failures: list[BaseException] = []

    def work(server: Server) -> None:
        try:
            server.run_here(lambda _url: up.set())
        except BaseException as failure:
            failures.append(failure)
        finally:
            up.set()

    with listening(settings) as sock:
        server = Server(settings, sock)
        thread = threading.Thread(target=work, args=(server,), name="pdoctor-collector")
        thread.start()
        up.wait()
        if failures:
            thread.join()
            raise failures[0]
        try:
            yield server.url
        finally:
            server.stop()
            thread.join()
