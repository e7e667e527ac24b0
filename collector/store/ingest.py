"""Spans into the store, each once, and their runs into the work queue; one transaction per group."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import case, func, insert, null, select
from sqlalchemy.engine import Connection

from collector.model import SPAN_KEY_BYTES, Segment
from collector.store import schema
from collector.store.engine import Store
from collector.store.packing import pack

LATE_SECONDS = 0.05
"""Spans that follow their root are collected this long before the run is looked at again."""
PARAMETERS = 500
"""Values in one IN list."""

Without = Callable[[Segment, Collection[bytes]], Segment]


@dataclass(slots=True)
class KnownKeys:
    """Span keys of recently touched runs, so that a long run is not read again for each arrival.

    An entry is valid only for the version it was made at: with several writers another one may have
    been there in between.
    """

    limit: int = 200_000
    """Keys, over all runs."""
    total: int = 0
    entries: OrderedDict[int, tuple[int, set[bytes], int]] = field(default_factory=OrderedDict)
    """Row id -> (version, keys, their number when they were put here)."""

    def get(self, run: int, version: int) -> set[bytes] | None:
        found = self.entries.get(run)
        return found[1] if found and found[0] == version else None

    def put(self, run: int, version: int, keys: set[bytes]) -> None:
        known = self.entries.pop(run, None)
        self.total += len(keys) - (known[2] if known else 0)
        self.entries[run] = (version, keys, len(keys))
        while self.total > self.limit and len(self.entries) > 1:
            self.total -= self.entries.popitem(last=False)[1][2]


def put(
    store: Store,
    connection: Connection,
    arrivals: Sequence[tuple[int, Segment]],
    known: KnownKeys,
    without: Without,
    *,
    now: float,
    open_check: float,
) -> int:
    """Store (project, segment) pairs and make their runs due; returns how many spans were new."""
    by_run: dict[tuple[int, str], list[Segment]] = {}
    for project, segment in arrivals:
        by_run.setdefault((project, segment.run_id), []).append(segment)
    _touch(store, connection, by_run, now, open_check)
    rows = _rows(connection, by_run)
    stored = _stored_keys(connection, rows, known)
    fresh: list[dict[str, object]] = []
    links: list[dict[str, object]] = []
    spans = 0
    for run_key, segments in by_run.items():
        run, version = rows[run_key]
        keys = stored[run]
        for segment in segments:
            rest = without(segment, keys) if keys else segment
            keys.update(rest.keys)
            spans += len(rest.keys)
            if rest.keys:
                fresh.append(
                    {
                        "run": run,
                        "spans": len(rest.keys),
                        "span_keys": b"".join(rest.keys),
                        "payload": pack(rest.payload),
                    }
                )
            links += ({"project": run_key[0], "trace_id": t, "run": run} for t in segment.trace_ids)
        known.put(run, version, keys)
    if fresh:
        connection.execute(insert(schema.segments), fresh)
    if links:
        connection.execute(store.upsert(schema.run_traces).on_conflict_do_nothing(), links)
    return spans


def _touch(
    store: Store,
    connection: Connection,
    by_run: dict[tuple[int, str], list[Segment]],
    now: float,
    open_check: float,
) -> None:
    """Create or re-open the runs. Sorted, so that two writers lock rows in the same order."""
    values = []
    for (project, key), segments in sorted(by_run.items(), key=lambda item: item[0]):
        rooted_now = any(segment.has_root for segment in segments)
        values.append(
            {
                "project": project,
                "key": key,
                "first_seen": now,
                "last_seen": now,
                "root_seen": now if rooted_now else None,
                "version": 1,
                "due": now if rooted_now else now + open_check,
            }
        )
    connection.execute(_touch_statement(store), values)


@lru_cache(maxsize=8)
def _touch_statement(store: Store) -> Any:
    """Built once: building costs more than running it for a small group."""
    runs = schema.runs
    statement = store.upsert(runs)
    new = statement.excluded
    rooted = runs.c.root_seen.is_not(null())
    late = new.last_seen + LATE_SECONDS
    return statement.on_conflict_do_update(
        index_elements=["project", "key"],
        set_={
            "last_seen": new.last_seen,
            "version": runs.c.version + 1,
            "root_seen": func.coalesce(runs.c.root_seen, new.root_seen),
            "due": case((new.root_seen.is_not(null()), new.due), (rooted, late), else_=new.due),
        },
    )


def _rows(
    connection: Connection, by_run: Iterable[tuple[int, str]]
) -> dict[tuple[int, str], tuple[int, int]]:
    """(project, key) -> (row id, version)."""
    runs = schema.runs
    keys = sorted({key for _, key in by_run})
    found: dict[tuple[int, str], tuple[int, int]] = {}
    for at in range(0, len(keys), PARAMETERS):
        query = select(runs.c.project, runs.c.key, runs.c.id, runs.c.version).where(
            runs.c.key.in_(keys[at : at + PARAMETERS])
        )
        found.update(
            {(project, key): (run, version) for project, key, run, version in connection.execute(query)}
        )
    return found


def _stored_keys(
    connection: Connection, rows: dict[tuple[int, str], tuple[int, int]], known: KnownKeys
) -> dict[int, set[bytes]]:
    """Keys of the spans that each run has already."""
    result: dict[int, set[bytes]] = {}
    unknown: list[int] = []
    for run, version in rows.values():
        cached = known.get(run, version - 1)
        result[run] = cached if cached is not None else set()
        if cached is None and version > 1:
            unknown.append(run)
    segments = schema.segments
    for at in range(0, len(unknown), PARAMETERS):
        query = select(segments.c.run, segments.c.span_keys).where(
            segments.c.run.in_(unknown[at : at + PARAMETERS])
        )
        for run, joined in connection.execute(query):
            result[run].update(joined[i : i + SPAN_KEY_BYTES] for i in range(0, len(joined), SPAN_KEY_BYTES))
    return result
