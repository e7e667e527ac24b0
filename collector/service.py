"""One running collector: store, writer, checker; what the receivers and the API work with."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import orjson

from collector.access import DEFAULT_PROJECT, Gate, Grant, bearer, check_bind
from collector.errors import CollectorError
from collector.judging.bind import case_texts
from collector.judging.policies import read_policies
from collector.logs import new_request_id, request_id
from collector.model import Batch
from collector.notify.events import EventExporter
from collector.notify.webhooks import Courier
from collector.otlp.redact_spans import redacted
from collector.otlp.redaction import read_redaction
from collector.pipeline.supervisor import Supervisor
from collector.pipeline.writer import Writer
from collector.settings import MIB, Settings
from collector.store import Store, catalog, open_store, readiness, retention, work
from collector.store.engine import project_id
from synth.cases import read_cases
from synth.errors import BadInput

log = logging.getLogger("collector")

LOOK_SECONDS = 1.0
"""Readiness is looked at so often at most: looking writes."""
FREE_BYTES = 16 * MIB
FAILED_SECONDS = 10.0
"""So long after spans could not be stored this collector says so, unless others were stored since."""


class Service:
    """Open with `Service(settings)`, end with `close()`; ending stores everything that was accepted."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.started = time.time()
        self.redactor = read_redaction(settings.redact) if settings.redact else None
        self.grpc_port: int | None = None
        """Where the gRPC receiver listens, once it does."""
        self._projects: dict[str, int] = {}
        self._looked: tuple[float, list[str]] = (-math.inf, [])
        self._stop = threading.Event()
        self.store: Store = open_store(settings.store_url)
        with contextlib.ExitStack() as failed:
            failed.callback(self.store.close)
            self._take_over()
            self.gate = Gate(self.store)
            self.supervisors = [Supervisor(self.store, settings) for _ in range(settings.checkers)]
            self.courier = Courier(self.store, settings)
            endpoint = settings.events_endpoint
            self.events = EventExporter(self.store, endpoint) if endpoint else None
            self.writer = Writer(
                self.store,
                queue_bytes=settings.limits.queue_bytes,
                open_check=settings.open_check_seconds,
                after_commit=self.wake,
            )
            self._janitor = threading.Thread(target=self._clean, name="pdoctor-janitor", daemon=True)
            self._janitor.start()
            failed.pop_all()
        log.info("started", extra={"store": "sqlite" if self.store.sqlite else "postgresql"})

    def _take_over(self) -> None:
        """Make the store this collector's, with the cases and policies that its settings name."""
        self.store.hold()
        check_bind(self.settings, self.store)
        if self.store.sqlite:  # one collector per file: what is held was held by one that is gone
            work.release(self.store)
        load_files(self.store, self.project(), self.settings.cases, self.settings.policies)

    def wake(self) -> None:
        """Tell the checkers that something changed."""
        for supervisor in self.supervisors:
            supervisor.wake()

    def project(self, name: str = DEFAULT_PROJECT) -> int:
        """Row id of a project."""
        if name not in self._projects:
            self._projects[name] = project_id(self.store, name)
        return self._projects[name]

    async def put_spans(self, project: str, batch: Batch) -> None:
        """Returns once the spans are durable and visible; raises Overloaded."""
        if self.redactor is not None:
            batch = await asyncio.to_thread(redacted, batch, self.redactor)
        await self.writer.store(self.project(project), batch)

    async def grant(self, token: str | None, scope: str) -> Grant:
        """As `Gate.grant`; the event loop never waits for the database."""
        if self.gate.remembers(token):
            return self.gate.grant(token, scope)
        return await asyncio.to_thread(self.gate.grant, token, scope)

    async def authorize(self, headers: Mapping[bytes, bytes]) -> str:
        """Name of the project that the sender of spans may write to; raises Unauthorized or Forbidden.

        What is logged about the request from here on carries an id of its own.
        """
        request_id.set(new_request_id())
        header = headers.get(b"authorization", b"").decode("latin-1")
        return (await self.grant(bearer(header), "ingest")).project_name

    def _clean(self) -> None:
        """Now and then: delete expired runs, in small transactions, and say what was done meanwhile."""
        said = self._tally()
        while not self._stop.wait(self.settings.janitor_seconds):
            try:
                deleted = 0
                while (batch := retention.prune(self.store, now=time.time())) and not self._stop.is_set():
                    deleted += batch
                if deleted:
                    log.info("expired runs deleted", extra={"runs": deleted})
                    retention.shrink(self.store)
            except CollectorError as failure:
                log.warning("old runs could not be deleted: %s", failure.message)
            except Exception:
                log.exception("old runs could not be deleted")
            if (tally := self._tally()) != said:
                said = tally
                log.info("so far", extra=tally)

    def _tally(self) -> dict[str, int]:
        counters = self.writer.counters
        return {
            "requests": counters.batches,
            "spans": counters.spans,
            "refused": counters.refused + counters.failures,
            "judged": sum(supervisor.judged for supervisor in self.supervisors),
        }

    def problems(self) -> list[str]:
        """Why this collector is not ready, empty if it is; asked again after a second at the earliest."""
        at, found = self._looked
        if time.monotonic() - at > LOOK_SECONDS:
            found = [*self._store_problems(), *self._process_problems()]
            self._looked = (time.monotonic(), found)
        return found

    def _store_problems(self) -> list[str]:
        """A full disk shows only when something is really written."""
        try:
            readiness.touch(self.store, now=time.time())
        except CollectorError as failure:
            return [failure.message]
        file, failed = self.store.file, self.writer.counters.failed_at
        if file is not None and (free := shutil.disk_usage(file.parent).free) < FREE_BYTES:
            return [f"the disk of the store has only {free // MIB} MiB left"]
        if failed is not None and time.monotonic() - failed < FAILED_SECONDS:
            return ["the last spans could not be stored"]
        return []

    def _process_problems(self) -> list[str]:
        found = [] if self.writer.alive else ["the writer has ended; restart this collector"]
        if any(not supervisor.healthy for supervisor in self.supervisors):
            found.append("a checker process is not running; it is being restarted")
        return found

    def close(self) -> None:
        """Store what was accepted, then end the checkers."""
        self._stop.set()
        self.writer.close()
        self.courier.close()
        if self.events is not None:
            self.events.close()
        self._janitor.join(10)
        done = self._tally()
        for supervisor in self.supervisors:
            supervisor.close()
        self.store.close()
        log.info("stopped", extra=done)


def load_files(store: Store, project: int, cases_file: Path | None, policies: Path | None) -> None:
    """Store the cases of a file and the policies of a file or folder; raises BadInput with file and line."""
    if cases_file is not None:
        cases = {case.id: case for case in read_cases(cases_file)}
        bodies = {case_id: orjson.dumps(case.to_json()).decode() for case_id, case in cases.items()}
        texts = {case_id: case_texts(case) for case_id, case in cases.items()}
        catalog.put_cases(store, project, bodies, now=time.time(), texts=texts)
    for path in policy_files(policies):
        text = path.read_text(encoding="utf-8")
        read_policies(str(path), text)
        catalog.put_policy(store, project, path.stem, text, now=time.time())


def policy_files(place: Path | None) -> list[Path]:
    """The policy files at `place`, a file or a folder of *.yaml and *.yml."""
    if place is None:
        return []
    if place.is_dir():
        return sorted(path for path in place.iterdir() if path.suffix in (".yaml", ".yml"))
    if not place.exists():
        raise BadInput("there is no such file or folder", file=str(place))
    return [place]
