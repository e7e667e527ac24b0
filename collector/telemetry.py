"""What a collector counts of itself while it works, and how Prometheus reads it."""

from __future__ import annotations

import asyncio
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of a histogram's buckets, in seconds."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE"})
FEEL_SECONDS = 0.25
"""Between two looks at how late the event loop is."""

Kind = Literal["counter", "gauge", "histogram"]
Labels = Mapping[str, str]


class Histogram:
    """Counts of how long something took; may be told from any thread."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def took(self, seconds: float) -> None:
        with self._lock:
            self._counts[bisect_left(BOUNDS, seconds)] += 1
            self._sum += seconds

    def add(self, other: Histogram) -> None:
        counts, total = other.__getstate__()
        with self._lock:
            self._counts = [own + more for own, more in zip(self._counts, counts, strict=True)]
            self._sum += total

    def __getstate__(self) -> tuple[list[int], float]:
        with self._lock:
            return list(self._counts), self._sum

    def __setstate__(self, state: tuple[list[int], float]) -> None:
        self._counts, self._sum = state
        self._lock = threading.Lock()

    def samples(self, name: str, labels: Labels) -> Iterator[str]:
        """Lines of the text format: buckets that hold all below their bound, sum and count."""
        counts, total = self.__getstate__()
        below = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
            below += count
            yield sample(f"{name}_bucket", {**labels, "le": bound}, below)
        yield sample(f"{name}_sum", labels, total)
        yield sample(f"{name}_count", labels, below)


@dataclass(slots=True)
class Telemetry:
    """Of one collector since its start."""

    requests: dict[tuple[str, str], Histogram] = field(default_factory=dict)
    """(route, method) -> how long answers took, over HTTP."""
    calls: dict[str, Histogram] = field(default_factory=dict)
    """Service -> how long calls over gRPC took."""
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(service, code of gRPC)."""
    answers: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """(route, method, status)."""
    loop: Histogram = field(default_factory=Histogram)
    """How late the event loop was."""
    commits: Histogram = field(default_factory=Histogram)
    """Transactions that store spans."""
    database: Histogram = field(default_factory=Histogram)
    """One small query, every second."""
    spans: Counter[str] = field(default_factory=Counter)
    """Project -> spans that were stored or were there already."""
    refused: Counter[str] = field(default_factory=Counter)
    """Project -> requests that were refused because of what waits."""
    over_quota: Counter[str] = field(default_factory=Counter)
    """Project -> requests that were refused because it has sent too much."""

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """On the event loop only."""
        known = method if method in METHODS else "other"
        if (route, known) not in self.requests:
            self.requests[route, known] = Histogram()
        self.requests[route, known].took(seconds)
        self.answers[route, known, status] += 1

    def called(self, service: str, code: str, seconds: float) -> None:
        """Over gRPC; on the event loop only."""
        if service not in self.calls:
            self.calls[service] = Histogram()
        self.calls[service].took(seconds)
        self.codes[service, code] += 1

    def add(self, other: Telemetry) -> None:
        """Count what another one has counted as well."""
        for key, took in other.requests.items():
            self.requests.setdefault(key, Histogram()).add(took)
        for service, took in other.calls.items():
            self.calls.setdefault(service, Histogram()).add(took)
        self.codes.update(other.codes)
        self.answers.update(other.answers)
        self.spans.update(other.spans)
        self.refused.update(other.refused)
        self.over_quota.update(other.over_quota)
        for mine, theirs in (
            (self.loop, other.loop), (self.commits, other.commits), (self.database, other.database)
        ):  # fmt: skip
            mine.add(theirs)

    async def feel_loop(self) -> None:
        """Measure for ever how late the event loop is."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(FEEL_SECONDS)
            self.loop.took(max(0.0, loop.time() - before - FEEL_SECONDS))


PASSING = ("queue_bytes", "in_flight_bytes", "connections")
"""Of `Figures.sums`, what ends with its worker; the others only grow."""


@dataclass(slots=True)
class Figures:
    """What one worker of a collector counts, or several together."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    sums: Counter[str] = field(default_factory=Counter)
    """Metric -> value, of those that add up over workers."""
    problems: tuple[str, ...] = ()
    """Why its processes are not ready."""
    checkers: tuple[float, ...] = ()
    """Seconds since the last sign of life of each."""

    def add(self, other: Figures) -> None:
        """Count what another worker counts as well."""
        self.telemetry.add(other.telemetry)
        self.sums.update(other.sums)
        self.problems += other.problems
        self.checkers += other.checkers

    def lasting(self) -> Figures:
        """What still counts once the worker has ended."""
        sums = Counter({name: value for name, value in self.sums.items() if name not in PASSING})
        return Figures(self.telemetry, sums)

    def without_projects(self) -> Figures:
        """Less to tell, where there are very many projects."""
        told = replace(self.telemetry, spans=Counter(), refused=Counter(), over_quota=Counter())
        return replace(self, telemetry=told)


class Exposition:
    """The text format of Prometheus, written metric by metric."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: Kind, what: str, values: float | Iterable[tuple[Labels, float]]) -> None:
        """One value, or one for each set of labels; without any the metric is left out."""
        rows = [({}, values)] if isinstance(values, int | float) else list(values)
        self._put(name, kind, what, [sample(f"pdoctor_{name}", labels, value) for labels, value in rows])

    def histogram(self, name: str, what: str, rows: Iterable[tuple[Labels, Histogram]]) -> None:
        lines = [line for labels, one in rows for line in one.samples(f"pdoctor_{name}", labels)]
        self._put(name, "histogram", what, lines)

    def _put(self, name: str, kind: Kind, what: str, lines: list[str]) -> None:
        if lines:
            self._lines += [f"# HELP pdoctor_{name} {what}", f"# TYPE pdoctor_{name} {kind}", *lines]

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"


def sample(name: str, labels: Labels, value: float) -> str:
    said = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{said}}} {value!r}" if said else f"{name} {value!r}"


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
