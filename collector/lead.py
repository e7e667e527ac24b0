"""What a collector has once, however many processes receive for it: checkers, deliveries, the janitor, and
those other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from collector.clock import Clock
from collector.notify.alerts import Watchman
from collector.notify.events import EventExporter
from collector.notify.webhooks import Courier
from collector.pipeline.janitor import Janitor
from collector.pipeline.supervisor import SILENT_SECONDS, Supervisor
from collector.settings import Settings
from collector.store import Store
from collector.workers import Crew, Order, Worker


class Lead:
    """Opened by the first worker; `close` ends all of it."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Clock,
        crew: Crew,
        tally: Callable[[], Mapping[str, int]],
    ) -> None:
        self._settings, self._clock, self._crew = settings, clock, crew
        count = settings.checkers * settings.workers
        self.supervisors = [Supervisor(store, settings, clock, crew.room) for _ in range(count)]
        self.courier = Courier(store, settings, clock=clock)
        self.watchman = Watchman(store, settings, clock=clock)
        endpoint = settings.events_endpoint
        self.events = EventExporter(store, endpoint) if endpoint else None
        self.janitor = Janitor(store, clock, tally, pause=settings.janitor_seconds)
        self.workers: list[Worker] = []

    def start_workers(self, listening: int, grpc_port: int | None, started: float) -> None:
        """Have the others take connections of a listening socket, too."""
        crew = self._crew
        order = Order(
            replace(self._settings, grpc_port=grpc_port), 0, crew.descriptors, listening,
            tuple(one.bell for one in self.supervisors), self._clock.offset, started,
        )  # fmt: skip
        self.workers = [Worker(crew, replace(order, number=number)) for number in range(1, crew.size)]

    def stop_workers(self) -> None:
        """Ask them to end; `close` waits for that."""
        for worker in self.workers:
            worker.stop()

    def wake(self) -> None:
        """Tell the checkers that something changed."""
        for supervisor in self.supervisors:
            supervisor.wake()

    @property
    def problems(self) -> list[str]:
        """Of the checkers."""
        found = []
        if any(not supervisor.healthy for supervisor in self.supervisors):
            found.append("a checker process is not running; it is being restarted")
        if (silence := max((one.silence for one in self.supervisors), default=0.0)) > SILENT_SECONDS / 2:
            found.append(f"a checker has given no sign of life for {silence:.0f} s")
        return found

    @property
    def sums(self) -> Mapping[str, int]:
        return {
            "runs_judged_total": sum(one.judged for one in self.supervisors),
            "checker_restarts_total": sum(one.restarts for one in self.supervisors),
            "worker_restarts_total": sum(one.restarts for one in self.workers),
        }

    @property
    def checkers(self) -> tuple[float, ...]:
        """Seconds since the last sign of life of each."""
        return tuple(one.still_for for one in self.supervisors)

    def close(self) -> None:
        """End the workers, then what they have used."""
        self.stop_workers()
        for worker in self.workers:
            worker.close()
        self.courier.close()
        self.watchman.close()
        if self.events is not None:
            self.events.close()
        self.janitor.close()

    def close_checkers(self) -> None:
        for supervisor in self.supervisors:
            supervisor.close()
