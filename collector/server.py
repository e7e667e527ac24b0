"""The collector as a server: its socket, its loop, and HTTP connections whose heads are bounded.

The server's own parser collects a header for as long as it comes: without `BoundedHeads`, one connection
could fill the memory, and many silent ones could use up every file that the process may open.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from collector import logs, memory
from collector.app import create_app
from collector.clock import Clock
from collector.doors import Doors
from collector.fair import REFUSED_SECONDS, Pace, flow_of
from collector.pipeline.garbage import ANSWERING, ANSWERING_ROUNDS, calm_garbage_collection
from collector.service import Service
from collector.settings import READY, Settings
from collector.tls import Greeting, accept
from collector.workers import Crew, Order

HEAD_BYTES = 64 * 1024
"""Request line and headers together; more is answered with 431."""
FIELDS = 256
"""Header fields of a request, and of what follows its body: each costs the event loop."""
HEAD_SECONDS = 20.0
"""From connecting, or from the first byte of a further request, to the end of its headers."""

PIPELINED = 16
"""Requests of a connection that may wait for an answer before theirs; each takes kilobytes."""
PIECES, PIECE_BYTES = 1024, 64
"""A body may come in so many pieces, or in more of so many bytes on average: each costs the event loop."""


TOO_LARGE = b"431 Request Header Fields Too Large"


class Abuse(Exception):
    """What no client does; the connection is closed after an answer of 400."""


def serve(settings: Settings) -> None:
    """Run until interrupted; prints `READY` and the address on standard output.

    Raises BadStore, BadInput (a bad policy or case file) or OSError (the address is taken).
    """
    memory.keep_little()
    logs.configure(settings.log_format, settings.log_level)
    with listening(settings) as sock:
        server = Server(settings, sock)
        _have_answers_go_first()
        server.run_here(lambda url: print(f"{READY}{url}", flush=True))  # noqa: T201


def serve_beside(
    order: Order, crew: Crew, sock: socket.socket, listen: Callable[[Callable[[], None]], None]
) -> None:
    """Run as one more worker until `listen`, which is given what stops it, says so."""
    memory.keep_little()
    logs.configure(order.settings.log_format, order.settings.log_level)
    service = Service(order.settings, Clock(order.clock), crew, order)
    server = Server(order.settings, sock, service)
    threading.Thread(target=listen, args=(server.stop,), daemon=True).start()
    _have_answers_go_first()
    server.run_here(lambda _url: None)


def _have_answers_go_first() -> None:
    """The event loop waits neither long for a search for cycles nor for a thread of this process."""
    calm_garbage_collection(ANSWERING, ANSWERING_ROUNDS)
    sys.setswitchinterval(SWITCH_SECONDS)


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """The bound socket; binding first means that a second collector fails before it touches the store."""
    with _bound(settings.host, settings.http_port, "--http-port") as sock:
        if settings.grpc_port:
            with _bound(settings.host, settings.grpc_port, "--grpc-port"):
                pass
        sock.listen(1024)
        yield sock


@contextlib.contextmanager
def _bound(host: str, port: int, option: str) -> Iterator[socket.socket]:
    """A socket at a port; OSError names both and the option that chooses another."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError as taken:
            hint = "is another collector running? " if taken.errno == errno.EADDRINUSE else ""
            off = ", or `off`" if option == "--grpc-port" else ""
            said = f"cannot listen on {host}:{port}: {taken.strerror}; {hint}{option} chooses another{off}"
            raise OSError(taken.errno, said) from None
        yield sock


SWITCH_SECONDS = 0.001
"""For which a thread may have the interpreter while the event loop waits for it."""
BACKLOG = 256
"""Connections that are accepted in one go."""
LAST_SECONDS = 0.3
"""For the rest of a body, once the collector ends."""


class _Uvicorn(uvicorn.Server):
    """Ends in good order at a signal, and then does not raise it again: the exit code is 0.

    Connections over TLS, and those that several workers share, are accepted by ours: see `collector.tls`.
    """

    service: Service
    _accepting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        service, crew = self.service, self.service.crew
        if not sockets or (service.certificate is None and crew.size == 1):
            await super().startup(sockets)
            return
        await super().startup([])
        context = service.certificate.context("http/1.1") if service.certificate else None
        accepting = accept(sockets[0], context, service.doors, self._connection, lambda: crew.has_fewest)
        self._accepting = asyncio.create_task(accepting)
        service.start_workers(sockets[0].fileno())

    def _connection(self) -> Any:
        made: Any = self.config.http_protocol_class
        return made(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.stop_workers()
        if self._accepting is not None:
            self._accepting.cancel()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They are for the first worker."""
        with super().capture_signals() if self.service.crew.leads else contextlib.nullcontext():
            yield

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


class Server:
    """One collector in this process, or one worker of it, on a socket that is already bound."""

    def __init__(self, settings: Settings, sock: socket.socket, service: Service | None = None) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        scheme = "http" if settings.tls_cert is None else "https"
        self.url = f"{scheme}://{host}:{sock.getsockname()[1]}"
        self._sock = sock
        service = service or Service(settings)
        config = uvicorn.Config(
            create_app(service),
            http=type("Connection", (BoundedHeads,), {"doors": service.doors, "refusals": service.refusals}),
            backlog=BACKLOG,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # whom to believe is `Fronts`'
            timeout_graceful_shutdown=10,
        )
        self._uvicorn = _Uvicorn(config)
        self._uvicorn.service = service

    def run_here(self, ready: Callable[[str], None]) -> None:
        """Serve in this thread until a signal or `stop`; calls `ready(url)` once requests are taken."""
        watcher = threading.Thread(target=self._announce, args=(ready,), daemon=True)
        watcher.start()
        self._uvicorn.run(sockets=[self._sock])

    def _announce(self, ready: Callable[[str], None]) -> None:
        while not (self._uvicorn.started and self._uvicorn.service.all_work):
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


class BoundedHeads(HttpToolsProtocol):
    """The HTTP side of one connection; request line and headers are bounded in size and time."""

    doors: ClassVar[Doors]
    refusals: ClassVar[Pace]
    greeting: Greeting | None = None
    """What it was until it had shaken hands."""
    head_bytes = HEAD_BYTES
    head_seconds = HEAD_SECONDS
    _size = 0
    _in_head = True
    _heads = 0
    _fields = 0
    _pieces = _body_size = _beside = 0
    """Of the body that comes: its parts, their bytes, and all bytes that came since its head."""
    _timer: asyncio.TimerHandle | None = None
    _is_refused = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._unanswered: deque[RequestResponseCycle] = deque()
        if self.greeting is not None:
            self.doors.gone(self.greeting)
        if self.doors.enter(self, self.client[0] if self.client else ""):
            self._start_timer()
        else:
            self._end(b"503 Service Unavailable", b"\r\nretry-after: 1")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        for cycle in self._unanswered:  # the server itself knows only the newest of a pipeline
            cycle.disconnected = True
        self.doors.gone(self)
        super().connection_lost(exc)
        self._let_go()

    def _let_go(self) -> None:
        """Of all requests, each of which holds its connection: none waits for a search for cycles."""
        self._unanswered.clear()
        self.pipeline.clear()
        self.cycle = None  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        before = self._heads
        super().data_received(data)
        if self._in_head and self._heads == before:
            self._size += len(data)
            if self._size > self.head_bytes:
                self._refuse(TOO_LARGE)
            elif self._timer is None:
                self._start_timer()
        elif not self._in_head and self._heads == before:
            self._beside += len(data)
            if self._beside > 2 * (self.head_bytes + self._body_size):
                self._refuse(TOO_LARGE)  # what goes on without end is no body

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED:
            raise Abuse
        self._fields = self._pieces = self._body_size = self._beside = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        if self._fields > FIELDS:
            self._refuse(TOO_LARGE)
            raise Abuse
        if self._in_head:  # what follows a body was looked at by no front, and says nothing here
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._pieces += 1
        self._body_size += len(body)
        if self._pieces > PIECES and self._body_size < self._pieces * PIECE_BYTES:
            raise Abuse
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        self.doors.reading(self)
        super().on_headers_complete()
        if self.cycle is not None:
            self._unanswered.append(self.cycle)

    def on_message_complete(self) -> None:
        self._in_head, self._size = True, 0
        self._heads += 1
        self.doors.answering(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._unanswered:
            self._unanswered.popleft()
        super().on_response_complete()
        if not self.doors.is_reading(self):
            self.doors.silent(self)

    def shutdown(self) -> None:
        """The collector ends: who is being answered still is, a body that does not come is not waited for."""
        super().shutdown()
        if self.doors.is_reading(self):
            self.loop.call_later(LAST_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if self.doors.is_reading(self):
            self.leave()

    def leave(self) -> None:
        self.transport.close()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._refuse, b"408 Request Timeout")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def send_400_response(self, msg: str) -> None:
        self._in_its_turn(partial(super().send_400_response, msg))

    def _refuse(self, status: bytes) -> None:
        self._in_its_turn(partial(self._end, status))

    def _end(self, status: bytes, more: bytes = b"") -> None:
        headers = b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        self.transport.write(b"HTTP/1.1 " + status + more + headers)
        self.transport.close()

    def _in_its_turn(self, refuse: Callable[[], object]) -> None:
        """Refuse what came, but not one thing right after the other; nothing more is read meanwhile."""
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        flow = flow_of(self.client)
        self.refusals.took(flow, REFUSED_SECONDS)
        wait = self.refusals.wait(flow)
        if wait:
            self.transport.pause_reading()
            self.loop.call_later(wait, self._unless_gone, refuse)
        else:
            refuse()

    def _unless_gone(self, refuse: Callable[[], object]) -> None:
        if not self.transport.is_closing():
            refuse()
