"""One running collector: store, writer, checker; what the receivers and the API work with."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import math
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from collector.access import DEFAULT_PROJECT, Gate, Grant, bearer, check_bind, is_loopback
from collector.approvals import Approvals
from collector.budget import Budget
from collector.clock import Clock, passed
from collector.doors import Doors
from collector.errors import Overloaded
from collector.fair import Flow, Pace
from collector.fronts import Fronts, InClear, Sender
from collector.guarded import Guarded
from collector.judging.bind import case_texts
from collector.judging.names import names_of, warnings
from collector.judging.policies import read_policies
from collector.lead import Lead
from collector.logs import new_request_id, request_id
from collector.memory import Trimmer
from collector.model import Batch, Span
from collector.otlp.intake import Intake
from collector.otlp.redact_spans import redacted
from collector.otlp.redaction import read_redaction
from collector.pipeline.asked import Asked
from collector.pipeline.quick import Quick
from collector.pipeline.supervisor import ring
from collector.pipeline.watch import Watch
from collector.pipeline.writer import ANSWER_SECONDS, Writer
from collector.quota import OverQuota, Quota
from collector.rebuild import Told
from collector.remembered import Briefly, Newest, Remembered
from collector.settings import MIB, Settings
from collector.store import QUICK, Store, catalog, open_store, readiness, work
from collector.store.engine import project_id, real_address
from collector.telemetry import Figures, Telemetry
from collector.tls import Certificate
from collector.workers import TELL_SECONDS, Crew, Order
from synth.cases import read_cases
from synth.errors import BadInput
from synth.files import text_of

log = logging.getLogger("collector")

LONGEST_WAIT = 60
"""Seconds until a sender that is refused because judging is behind comes back."""
TOLD_LAG = 30.0
"""Seconds that runs wait for their verdicts until the pages say so."""
FREE_BYTES = 16 * MIB
MEASURED_RUNS = 1_000
"""Runs whose metrics are kept, in 2 MiB."""
COUNTED_RUNS = 30
TOLD_RUNS, TOLD_SECONDS = 2, 30.0
COMPARED = 4
"""Runs of which pages were asked last, with the course of their metrics: at most 100 kB each."""
HEAVY_LINE = 2
"""Answers about big runs that are worked at or waited for: each has a thread of those for pages."""
LEAST_MIB = 32
"""Of bodies that a worker may hold, however many there are."""
FAILED_SECONDS = 10.0
"""So long after spans could not be stored this collector says so, unless others were stored since."""


class Service:
    """Open with `Service(settings)`, end with `close()`; ending stores everything that was accepted."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        crew: Crew | None = None,
        order: Order | None = None,
    ) -> None:
        """`crew` and `order` are those of a worker beside the first one."""
        settings = replace(settings, store_url=real_address(settings.store_url))
        self.settings = settings
        self.crew = crew or Crew.of(settings.workers)
        self._order = order
        self.certificate = certificate_of(settings)
        """None = plain HTTP and gRPC."""
        self.fronts, self.in_clear = Fronts(settings.trusted_proxies), InClear()
        self.redactor = read_redaction(settings.redact) if settings.redact else None
        self.grpc_port: int | None = None
        """Where the gRPC receiver listens, once it does."""
        self._projects: dict[str, int] = {}
        size = self.crew.size
        self.doors = Doors(
            settings.max_connections // size,
            -(-settings.max_connections_per_address // size),
            self.fronts.trusts,
            self.crew.count,
        )
        self.heavy_line = threading.BoundedSemaphore(HEAVY_LINE)
        """Held while a big run is read for an answer, and while that is waited for."""
        self.lists = asyncio.Lock()
        """Held while a long list that was sent is read and stored."""
        self.budget = Budget(share_of(settings.in_flight_mib, size) * MIB)
        self.intake = Intake(self.put_spans, self.authorize, settings.limits, self.budget, self.crew.room)
        self.questions, self.refusals = Pace(), Pace()
        """How fast answers of pages and of the API follow each other, and those that say what is wrong."""
        self.telemetry, self.quota = Telemetry(), Quota(settings.max_spans_per_second)
        self.remembered = Remembered()
        self.compared = Remembered(most=COMPARED)
        """Populations of thousands of runs."""
        self.measured: Newest[Mapping[str, float]] = Newest(MEASURED_RUNS)
        """The metrics of runs, by what they depend on."""
        self.counted: Newest[Mapping[str, Any]] = Newest(COUNTED_RUNS)
        """What pages say is counted of a run, by what it depends on."""
        self.told: Briefly[tuple[list[Span], Told]] = Briefly(TOLD_RUNS, TOLD_SECONDS)
        """Long runs as their spans tell them, for who looks at their page again."""
        self.store: Store = open_store(settings.store_url, patience=QUICK)
        self.settings = settings = replace(settings, store_url=self.store.address)
        with contextlib.ExitStack() as failed:
            failed.callback(self.store.close)
            self.clock = clock or clock_for(self.store)
            self.started = self.clock() if order is None else order.started
            if self.crew.leads:
                self._take_over()
            self.gate = Gate(
                self.store, wall=self.clock, changed=self.crew.change_keys,
                elsewhere=lambda: self.crew.key_changes,
            )  # fmt: skip
            self.asked = Asked(settings, self.crew.room, share=size)
            self.quick = Quick(settings, self.crew.room, self.asked, share=size)
            self.guarded = Guarded(settings, self.quick, alone=size == 1)
            self.approvals = Approvals(alone=size == 1)
            self.writer = Writer(
                self.store,
                queue_bytes=settings.limits.queue_bytes,
                open_check=settings.open_check_seconds,
                after_commit=self.wake,
                clock=self.clock,
                took=self.telemetry.commits.took,
            )
            self.lead: Lead | None = None
            if self.crew.leads:
                self.lead = Lead(self.store, settings, self.clock, self.crew, self._tally)
            supervisors = self.lead.supervisors if self.lead else ()
            self.watch = Watch(self.store, self.clock, supervisors, self.telemetry.database.took)
            self.trimmer = Trimmer()
            failed.pop_all()
        said = {"store": "sqlite" if self.store.sqlite else "postgresql"}
        log.info("started", extra=said if size == 1 else {**said, "worker": self.crew.number})

    def _take_over(self) -> None:
        """Make the store this collector's, with the cases and policies that its settings name."""
        self.store.hold()
        check_bind(self.settings, self.store)
        if self.certificate is None and not (
            is_loopback(self.settings.host) or self.settings.trusted_proxies
        ):
            log.warning(
                "no TLS: keys and traces come in clear; use --tls-cert, or a front and --trusted-proxy"
            )
        if self.store.sqlite:  # one collector per file: what is held was held by one that is gone
            work.release(self.store)
        if late := work.come_back(self.store, now=self.clock()):
            log.warning("runs from the future: the machine's clock was set back", extra={"runs": late})
        load_files(self.store, self.project(), self.settings.cases, self.settings.policies, now=self.clock())

    def wake(self) -> None:
        """Tell the checkers that something changed."""
        if self.lead is not None:
            self.lead.wake()
        for bell in self._order.bells if self._order is not None else ():
            ring(bell)

    def figures(self) -> Figures:
        """What this worker counts."""
        counters = self.writer.counters
        found = Figures(
            self.telemetry,
            Counter(
                spans_stored_total=counters.spans,
                batches_stored_total=counters.batches,
                commits_total=counters.commits,
                requests_refused_total=counters.refused,
                store_failures_total=counters.failures,
                queue_bytes=self.writer.queued_bytes,
                bodies_refused_total=self.budget.refused,
                in_flight_bytes=self.budget.used,
                connections=self.doors.open,
                connections_refused_total=self.doors.refused,
                connections_dropped_total=self.doors.dropped,
                keys_in_clear_total=self.in_clear.requests,
            ),
            tuple(self._process_problems()),
        )
        if self.lead is not None:
            found.sums.update(self.lead.sums)
            found = replace(found, checkers=self.lead.checkers)
        if self._order is None:
            return found
        whole = copy.deepcopy(self._order.before)
        whole.add(found)
        return whole

    def all_figures(self) -> Figures:
        """What all workers of this collector count together."""
        found = Figures()
        found.add(self.figures())
        for _, _, figures in self.crew.others:
            found.add(figures)
        return found

    async def tell(self) -> None:
        """Let the other workers know for ever how this one is."""
        while True:
            self.crew.pages[self.crew.number].write(self.figures())
            if self.quota.rate:
                self.quota.elsewhere(self._spans_elsewhere())
            await asyncio.sleep(TELL_SECONDS)

    def _spans_elsewhere(self) -> Counter[str]:
        """Project -> spans that the other workers have taken."""
        return sum((figures.telemetry.spans for _, _, figures in self.crew.others), Counter())

    def start_workers(self, listening: int) -> None:
        if self.lead is not None and self.crew.size > 1:
            self.lead.start_workers(listening, self.grpc_port, self.started)

    @property
    def all_work(self) -> bool:
        """All workers take spans."""
        return all(age < math.inf for _, age, _ in self.crew.others)

    def stop_workers(self) -> None:
        """Ask the others to end."""
        if self.lead is not None:
            self.lead.stop_workers()

    def project(self, name: str = DEFAULT_PROJECT) -> int:
        """Row id of a project."""
        if name not in self._projects:
            self._projects[name] = project_id(self.store, name)
        return self._projects[name]

    async def put_spans(self, project: str, batch: Batch, flow: Flow) -> None:
        """Returns once the spans are durable and visible; raises Overloaded. Senders (`flow`) take turns."""
        count = sum(len(segment.keys) for segment in batch.segments)
        self._look_at_quota(project)
        self.quota.took(project, count)
        if self.redactor is not None:
            batch = await asyncio.to_thread(redacted, batch, self.redactor)
        known = self._projects.get(project)
        row = await asyncio.to_thread(self.project, project) if known is None else known
        try:
            await self.writer.store(row, batch, flow)
        except Overloaded:
            self.telemetry.refused[project] += 1
            self.quota.took(project, -count)
            raise
        self.telemetry.spans[project] += count
        for pace in (self.questions, self.refusals):
            pace.sent(flow.connection)

    def _look_at_quota(self, project: str) -> None:
        """Raises OverQuota."""
        try:
            self.quota.look(project)
        except OverQuota:
            self.telemetry.over_quota[project] += 1
            raise

    async def grant(self, token: str | None, scope: str) -> Grant:
        """As `Gate.grant`; the event loop never waits for the database."""
        if self.gate.remembers(token):
            return self.gate.grant(token, scope)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.to_thread(self.gate.grant, token, scope)
        except TimeoutError:
            raise Overloaded("the key could not be looked up", "check the database", retry_after=5) from None

    def sender_over_grpc(self, address: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """The address of who sent a call over a connection from `address`."""
        seen = Sender(address, "http" if self.certificate is None else "https")
        found = self.fronts.sender(seen, headers)
        self.in_clear.look(found, headers)
        return found.address

    async def authorize(self, headers: Mapping[bytes, bytes]) -> str:
        """Name of the project that the sender of spans may write to; raises Unauthorized or Forbidden.

        What is logged about the request from here on carries an id of its own.
        """
        request_id.set(new_request_id())
        header = headers.get(b"authorization", b"").decode("latin-1")
        project = (await self.grant(bearer(header), "ingest")).project_name
        if self.over_lag > 0:
            self.telemetry.refused[project] += 1
            said = f"runs have waited {self.watch.lag:.0f} s for their verdicts"
            wait = min(LONGEST_WAIT, math.ceil(self.over_lag))
            raise Overloaded(said, "send again later, or start more checkers", retry_after=wait)
        self._look_at_quota(project)
        return project

    @property
    def over_lag(self) -> float:
        """Seconds by which judging is further behind than it may be."""
        limit = self.settings.max_lag_seconds
        return self.watch.lag - limit if limit else 0.0

    @property
    def behind(self) -> str | None:
        """For the pages: that verdicts come late, and what that means for senders."""
        lag = f"runs have waited {self.watch.lag:.0f} s for their verdicts"
        if self.over_lag > 0:
            return f"Spans are refused: {lag}, {self.settings.max_lag_seconds:g} s at most."
        return f"{lag.capitalize()}." if self.watch.lag > TOLD_LAG else None

    def _tally(self) -> dict[str, int]:
        sums = self.all_figures().sums
        return {
            "requests": sums["batches_stored_total"],
            "spans": sums["spans_stored_total"],
            "refused": sums["requests_refused_total"] + sums["store_failures_total"],
            "judged": sums["runs_judged_total"],
        }

    async def problems(self) -> list[str]:
        """Why this collector is not ready, empty if it is; answered at once, whatever hangs."""
        await self.watch.looked()
        late = [self.behind] if self.over_lag > 0 and self.behind else []
        own = [*(self.watch.problems or self._disk_problems()), *late, *self._process_problems()]
        return list(dict.fromkeys([*own, *self.crew.problems]))

    def _disk_problems(self) -> list[str]:
        """A full disk shows only when something is really written."""
        file, failed = self.store.file, self.writer.counters.failed_at
        if file is not None and (free := shutil.disk_usage(file.parent).free) < FREE_BYTES:
            return [f"the disk of the store has only {free // MIB} MiB left"]
        if failed is not None and time.monotonic() - failed < FAILED_SECONDS:
            return ["the last spans could not be stored"]
        return []

    def _process_problems(self) -> list[str]:
        found = [] if self.writer.alive else ["the writer has ended; restart this collector"]
        return [*found, *(self.lead.problems if self.lead is not None else ())]

    def close(self) -> None:
        """Store what was accepted, then end the checkers."""
        self.trimmer.close()
        self.intake.close()
        self.writer.close()
        self.quick.close()
        self.asked.close()
        if self.lead is not None:
            self.lead.close()
        self.watch.close()
        if self.lead is None:
            self.crew.pages[self.crew.number].write(self.figures())
            self.store.close()
            return
        done = self._tally()
        self.lead.close_checkers()
        self.store.close()
        self.crew.close()
        log.info("stopped", extra=done)


def share_of(mib: int, workers: int) -> int:
    """The part of one worker in a budget of bytes: enough for the biggest body."""
    return mib if workers == 1 else max(mib // workers, LEAST_MIB)


def certificate_of(settings: Settings) -> Certificate | None:
    """Raises BadInput where there is none that can be used."""
    if settings.tls_cert is None:
        if settings.tls_key is not None:
            raise BadInput("a key without its certificate: name that with --tls-cert", field="--tls-key")
        return None
    return Certificate(settings.tls_cert, settings.tls_key)


def clock_for(store: Store) -> Clock:
    """The clock of this machine, or of the database where collectors of several machines share one."""
    there = readiness.clock_of(store)
    return Clock() if there is None else Clock(there - passed())


def load_files(
    store: Store, project: int, cases_file: Path | None, policies: Path | None, *, now: float
) -> None:
    """Store the cases of a file and the policies of a file or folder; raises BadInput with file and line."""
    if cases_file is not None:
        cases = {case.id: case for case in read_cases(cases_file)}
        bodies = {case_id: orjson.dumps(case.to_json()).decode() for case_id, case in cases.items()}
        texts = {case_id: case_texts(case) for case_id, case in cases.items()}
        catalog.put_cases(store, project, bodies, now=now, texts=texts)
    for path in policy_files(policies):
        text = text_of(path)
        found = read_policies(str(path), text)
        with store.read() as connection:
            names = names_of(connection, project)
        for unseen in warnings(found, names):
            log.warning("policy file %s: %s", path, unseen["explanation"])
        catalog.put_policy(store, project, path.stem, text, now=now)


def policy_files(place: Path | None) -> list[Path]:
    """The policy files at `place`, a file or a folder of *.yaml and *.yml."""
    if place is None:
        return []
    try:
        found = sorted(place.iterdir()) if place.is_dir() else None
    except OSError as problem:
        raise BadInput(f"cannot be read: {problem.strerror or problem}", file=str(place)) from None
    if found is None:
        return [place]
    return [regular(path) for path in found if path.suffix in (".yaml", ".yml")]


def regular(path: Path) -> Path:
    """The path of a file in a folder; BadInput where it is none that ends, or a link to nothing."""
    if not path.is_file():
        raise BadInput("no regular file: remove it from the folder, or name it otherwise", file=str(path))
    return path
