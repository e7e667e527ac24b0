"""`PDOCTOR_EXPORT=otel`: every span goes through a TracerProvider of the OpenTelemetry SDK; no records leave.

That is the host's provider where it has one. Else it is one of our own, with the standard exporter and all
that OTEL_* variables say of exporters, samplers, batches, limits and resource; it is ours alone and not made
the global one, so what else the host traces goes nowhere. Only an endpoint that was named to us
(`PDOCTOR_ENDPOINT`) counts more than those variables.
"""

from __future__ import annotations

import atexit
import importlib
import os
import threading
import time
from collections.abc import Callable
from contextvars import Context
from typing import Any

from . import announce, process_end
from .export import start_untraced
from .harmless import guarded
from .ids import numbers
from .resource import resource_attributes
from .settings import LOG, Settings
from .wire import Span

NEEDED = "PDOCTOR_EXPORT=otel needs the OpenTelemetry SDK: pip install 'pdoctor-trace[otel]'"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


class SdkExport:
    """What `Exporter` is for records: it is told of every span, delivers in the end, announces runs."""

    last_problem = ""

    def __init__(self, settings: Settings) -> None:
        try:
            self._trace = importlib.import_module("opentelemetry.trace")
            importlib.import_module("opentelemetry.sdk.trace")
        except ImportError as error:
            raise ImportError(f"{NEEDED} ({error})") from error
        self._settings = settings
        self._own: Any = None
        self._hosts: Any = None
        self._recorded = 0
        self._closing: threading.Thread | None = None
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._awake = False

    # -- where spans go

    def provider(self) -> Any:
        """The host's, else our own; None where that cannot be made."""
        hosts = getattr(self._trace, "_TRACER_PROVIDER", None)
        if hosts is not None:
            if hosts is not self._hosts:
                self._found(hosts)
            return hosts
        if self._own is None and not self.last_problem:
            with self._lock:
                self._own = self._own or self._made()
        return self._own

    def _found(self, hosts: Any) -> None:
        """The host's provider ends with the program: what is still open is told before that."""
        self._hosts = hosts
        atexit.unregister(process_end.run_ends)
        atexit.register(process_end.run_ends)

    def _made(self) -> Any:
        """In a context without a run of ours: the thread of the batches would go on in it."""
        try:
            return Context().run(_provider, self._settings)
        except Exception as error:
            self.last_problem = f"{NEEDED} ({type(error).__name__}: {error})"
            LOG.error("pdoctor_trace: nothing is recorded: %s", self.last_problem)
            return None

    # -- as `Exporter`

    def put(self, span: Span, size: int = 0) -> None:
        """A span has ended; the SDK has it already."""
        with self._lock:
            self._recorded += 1
        if not self._awake:
            self.wake_up()

    is_taken = False

    @property
    def asleep(self) -> bool:
        return not self._awake

    def wake_up(self) -> None:
        """Be there when the process ends, and tell of runs that last."""
        with self._lock:
            if self._awake:
                return
            self._awake = True
        process_end.also_when_a_worker_process_ends()
        if self._settings.announce_after:
            thread = threading.Thread(target=self._announce, name="pdoctor_trace announcer", daemon=True)
            guarded(start_untraced, thread)

    def _announce(self) -> None:
        after, stop = self._settings.announce_after, self._stop
        while not stop.wait(after):
            for run in guarded(announce.late, time.time_ns(), after) or ():
                guarded(run.announce_in_sdk, time.time_ns())

    def last_words(self) -> None:
        """The program ends: tell of the runs that go on."""
        for run in announce.ending(time.time_ns()):
            guarded(run.announce_in_sdk, time.time_ns())

    def flush(self, timeout: float | None = None) -> bool:
        """Have the providers deliver; False where one said no, or the time was up."""
        deadline = time.monotonic() + (self._settings.exit_timeout if timeout is None else timeout)
        if self._closing is not None:
            self._closing.join(max(deadline - time.monotonic(), 0))
            return not self._closing.is_alive()
        ways = [one for one in (self._own, self._hosts) if hasattr(one, "force_flush")]
        done = [_flushed(one, max(deadline - time.monotonic(), 0)) for one in ways]
        return all(done)

    def close(self, limit: float | None = None) -> None:
        """The process ends."""
        self.flush(limit)

    def retire(self) -> None:
        """Other settings hold from now on; what our own provider has is delivered in the background."""
        self._stop.set()
        if self._own is not None:
            self._closing = threading.Thread(target=self._own.shutdown, name="pdoctor_trace end", daemon=True)
            start_untraced(self._closing)

    def forget_parent(self) -> None:
        """In a forked child; the SDK forgets the parent's spans itself."""
        self._recorded = 0
        self._closing = None
        self._reset()

    def counters(self) -> dict[str, int]:
        """How many spans were made; what became of them only the SDK knows."""
        return {
            "recorded": self._recorded,
            "queued": int(self._closing is not None and self._closing.is_alive()),
        }


def _flushed(provider: Any, seconds: float) -> bool:
    """The SDK does not keep to the time limit that it is given."""
    answers: list[bool] = []

    def flush() -> None:
        answers.append(provider.force_flush(int(seconds * 1e3)) is not False)

    process_end.in_another_thread(flush, seconds)
    return answers == [True]


def _provider(settings: Settings) -> Any:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        """Of our own generator: the host may seed that of Python."""

        def generate_span_id(self) -> int:
            return numbers.getrandbits(64) or 1

        def generate_trace_id(self) -> int:
            return numbers.getrandbits(128) or 1

    said = resource_attributes(version=settings.version)
    ours = {key: value for key, value in said.items() if "telemetry" not in key}
    exporters = [make() for make in _exporters(settings)]
    provider = TracerProvider(resource=Resource.create(ours), id_generator=Ids(), shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _exporters(settings: Settings) -> list[Callable[[], Any]]:
    """Those that OTEL_TRACES_EXPORTER names, made by calling them."""
    named = [name.strip() for name in os.environ.get("OTEL_TRACES_EXPORTER", "").split(",") if name.strip()]
    return [_exporter(name, settings) for name in named or ["otlp"] if name != "none"]


def _exporter(name: str, settings: Settings) -> Callable[[], Any]:
    if name != "otlp":
        return _of_another_distribution(name)
    protocol = next((found for key in _PROTOCOLS if (found := os.environ.get(key, "").strip())), "")
    if protocol == "grpc" and not settings.endpoint_named:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return lambda: Http(**_named(settings))


def _named(settings: Settings) -> dict[str, Any]:
    """Endpoint and key, where they were told to us rather than to OpenTelemetry."""
    if not settings.endpoint_named:
        return {}
    base = settings.endpoint.rstrip("/")
    endpoint = base if base.endswith("/v1/traces") else f"{base}/v1/traces"
    headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
    return {"endpoint": endpoint, "headers": headers}


def _of_another_distribution(name: str) -> Callable[[], Any]:
    from importlib.metadata import entry_points

    found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
    if not found:
        raise LookupError(f"OTEL_TRACES_EXPORTER names {name!r}, which no installed distribution brings")
    made: Callable[[], Any] = found[0].load()
    return made
