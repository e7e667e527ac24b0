"""A metric of runs over time: all together, or by what made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from collector.api import views
from collector.api.access import Access, reader
from collector.api.answers import JsonRoute
from collector.api.numbers import MOST_SPANS, numbers_of
from collector.api.runs import run_filter
from collector.api.search import lasting, searched
from collector.errors import BadRequest
from collector.metrics import METRICS, Metric, outside_metrics
from collector.store import populations
from collector.store.reads import Filter
from synth.experiments import Rate, mean_json

router = APIRouter(prefix="/api/v1", tags=["runs"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]

GROUPED_BY = {
    "agent": "agent", "version": "release", "model": "model", "prompt": "prompt",
    "environment": "environment", "service": "service",
}  # fmt: skip
"""What runs are told apart by -> its column."""
FAILED = "failed"
OF_ROWS = (FAILED, "calls", "duration_ms")
"""Known of every run without its spans."""
STRETCHES = 24
READ = 8
"""Runs of one stretch, the newest, whose spans are read for the other metrics."""
SERIES = 6
"""Values, those with most runs, that get a curve each."""
USUAL = "24h"


def offered() -> dict[str, Metric]:
    """Every metric that can be a number, by name."""
    about = "runs that failed / runs that passed or failed"
    failed = Metric(FAILED, about, lambda _: None, highest=1, better="low")  # a run's outcome says it
    return {one.name: one for one in (failed, *METRICS, *outside_metrics()) if one.name != "errors"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is measured, of which runs, and how they are told apart."""

    metric: str
    by: str | None
    since: float
    until: float
    wanted: Filter

    @property
    def width(self) -> float:
        """Seconds of one stretch."""
        return (self.until - self.since) / STRETCHES

    def stretch(self, at: float) -> int:
        return min(max(int((at - self.since) / self.width), 0), STRETCHES - 1)


def asked(metric: str, by: str | None, since: float, until: float, wanted: Filter) -> Asked:
    """Raises BadRequest for what cannot be measured, or told apart."""
    if metric not in offered():
        raise BadRequest(f"metric is {metric[:40]!r}", f"expected one of {', '.join(offered())}")
    if by and by not in GROUPED_BY:
        raise BadRequest(f"by is {by[:40]!r}", f"expected one of {', '.join(GROUPED_BY)}")
    return Asked(metric, by or None, since, until, replace(wanted, since=since, until=until))


@router.get("/metrics")
def measure(
    access: Reader,
    metric: Annotated[str, Query(description="`failed`, or a metric as `GET /api/v1/runs/ID` has.")] = FAILED,
    by: Annotated[str | None, Query(description=f"One of {', '.join(GROUPED_BY)}.")] = None,
    last: Annotated[str, Query(description="How far back: `15m`, `24h`, `7d`.")] = USUAL,
    q: Annotated[str | None, Query(description="A search as in `GET /api/v1/runs`, without a time.")] = None,
) -> dict[str, Any]:
    """A metric of complete runs over a stretch of time, in 24 parts, with 95 % intervals.

    `failed`, `calls` and `duration_ms` are of all runs (the newest 10,000); for the others the spans of the
    newest 8 runs of each part are read, and `measured` says how many had a value.
    """
    wanted = searched(q or "", access.now, run_filter)
    return measured_over(access, asked(metric, by, access.now - lasting(last), access.now, wanted))


def measured_over(access: Access, question: Asked) -> dict[str, Any]:
    """The answer of the API."""
    with access.service.store.read() as connection:
        rows = populations.to_measure(connection, access.project, question.wanted)
    values = list(values_of(access, question, rows))
    groups: dict[str | None, list[tuple[int, float]]] = {}
    for group, stretch, value in values:
        groups.setdefault(group, []).append((stretch, value))
    kept = Counter({group: len(found) for group, found in groups.items()}).most_common(SERIES)
    metric = offered()[question.metric]
    return {
        "metric": {name: getattr(metric, name) for name in ("name", "about", "unit", "better")},
        "by": question.by,
        "since": views.iso(question.since),
        "until": views.iso(question.until),
        "runs": len(rows),
        "measured": len(values),
        "series": [series(question, group, groups[group]) for group, _ in kept],
        "more": len(groups) - len(kept),
    }


def values_of(
    access: Access, question: Asked, rows: Sequence[Any]
) -> Iterator[tuple[str | None, int, float]]:
    """(what it is told apart by, stretch, value) of each run that has one."""
    if question.metric in OF_ROWS:
        values = [(row, of_row(row).get(question.metric)) for row in rows]
    else:
        chosen = list(to_read(question, rows))
        numbers = numbers_of(access, chosen)
        values = [(row, numbers[row.id].get(question.metric)) for row in chosen]
    for row, value in values:
        if value is not None:
            by = getattr(row, GROUPED_BY[question.by]) if question.by else None
            yield by, question.stretch(row.first_seen), value


def to_read(question: Asked, rows: Sequence[Any]) -> Iterator[Any]:
    """The newest `READ` runs of each stretch that are not too big."""
    read: Counter[int] = Counter()
    for row in rows:
        stretch = question.stretch(row.first_seen)
        if read[stretch] < READ and (row.spans or 0) <= MOST_SPANS:
            read[stretch] += 1
            yield row


def of_row(row: Any) -> dict[str, float]:
    found = populations.counts_of(row.calls, row.started_ns, row.ended_ns)
    if row.outcome in ("pass", "fail"):
        found[FAILED] = float(row.outcome == "fail")
    return found


def series(question: Asked, value: str | None, found: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """One line: all of it, then stretch by stretch."""
    parts: dict[int, list[float]] = {}
    for stretch, measured in found:
        parts.setdefault(stretch, []).append(measured)
    points = [
        {"at": views.iso(question.since + at * question.width), "part": at, **summed(question, parts[at])}
        for at in sorted(parts)
    ]
    return {"value": value, **summed(question, [one for _, one in found]), "points": points}


def summed(question: Asked, values: Sequence[float]) -> dict[str, Any]:
    """Runs, mean and interval; a rate of yes and no has that of a rate."""
    if question.metric != FAILED:
        said = mean_json(values)
        if said["interval"] is not None:  # a metric is never below nothing, a share never above one
            low, high = said["interval"]
            highest = offered()[question.metric].highest
            said["interval"] = [max(0.0, low), high if highest is None else min(float(highest), high)]
        return said
    rate = Rate(int(sum(values)), len(values))
    return {"runs": rate.trials, "mean": rate.value, "interval": list(rate.interval)}
