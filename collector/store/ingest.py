"""Spans into the store, each once, and their runs into the work queue; one transaction per group."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sqlalchemy import bindparam, case, func, null, select
from sqlalchemy.engine import Connection

from collector.model import Segment
from collector.store import counts, schema, shared
from collector.store.packing import pack, pack_keys, unpack_keys
from collector.store.prepared import Prepared, among, insertion, several

LATE_SECONDS = 0.05
"""Spans that follow their root are collected this long before the run is looked at again."""
RUN_KEYS = 8
"""Keys that take as much memory as what is kept of a run without any."""

NOTHING: Mapping[bytes, bytes] = MappingProxyType({})

Without = Callable[[Segment, Collection[bytes]], Segment]


@dataclass(slots=True)
class KnownKeys:
    """Span keys of recently touched runs, so that a long run is not read again for each arrival.

    An entry is valid only for the version it was made at: with several writers another one may have
    been there in between.
    """

    limit: int = 50_000
    """Keys, over all runs, of which each counts as many as it takes in memory by itself."""
    total: int = 0
    entries: OrderedDict[int, tuple[int, set[bytes], int]] = field(default_factory=OrderedDict)
    """Row id -> (version, keys, what they counted as when they were put here)."""

    def get(self, run: int, version: int) -> set[bytes] | None:
        found = self.entries.get(run)
        return found[1] if found and found[0] == version else None

    def put(self, run: int, version: int, keys: set[bytes]) -> None:
        known = self.entries.pop(run, None)
        size = RUN_KEYS + len(keys)
        self.total += size - (known[2] if known else 0)
        self.entries[run] = (version, keys, size)
        while self.total > self.limit and len(self.entries) > 1:
            self.total -= self.entries.popitem(last=False)[1][2]


def put(
    connection: Connection,
    arrivals: Sequence[tuple[int, Segment]],
    known: KnownKeys,
    without: Without,
    *,
    now: float,
    open_check: float,
    bodies: Mapping[bytes, bytes] = NOTHING,
) -> int:
    """Store (project, segment) pairs and make their runs due; returns how many spans were new.

    `bodies` has the resources and scopes that segments only name.
    """
    by_run: dict[tuple[int, str], list[Segment]] = {}
    for project, segment in arrivals:
        by_run.setdefault((project, segment.run_id), []).append(segment)
    _touch(connection, by_run, now, open_check)
    rows = _rows(connection, by_run)
    stored = _stored_keys(connection, rows, known)
    fresh: list[dict[str, object]] = []
    links: list[dict[str, object]] = []
    named: dict[shared.Name, set[int]] = {}
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
                        "span_keys": pack_keys(rest.keys),
                        "payload": pack(rest.payload),
                    }
                )
                for digest in rest.shared:
                    named.setdefault((run_key[0], digest.hex()), set()).add(run)
            links += ({"project": run_key[0], "trace_id": t, "run": run} for t in segment.trace_ids)
        known.put(run, version, keys)
    ADD_SEGMENTS.run(connection, fresh)
    ADD_TRACES.run(connection, links)
    if named:
        shared.put(connection, named, bodies)
    counts.arrived(connection, (project for (project, _), (_, version) in rows.items() if version == 1))
    return spans


def _touch(
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
    TOUCH.run(connection, values)


def _touch_statement(on_sqlite: bool) -> Any:
    runs = schema.runs
    statement = insertion(
        on_sqlite, runs, "project", "key", "first_seen", "last_seen", "root_seen", "version", "due"
    )
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


TOUCH = Prepared(_touch_statement)
ADD_SEGMENTS = Prepared(
    lambda on_sqlite: insertion(on_sqlite, schema.segments, "run", "spans", "span_keys", "payload")
)
ADD_TRACES = Prepared(
    lambda on_sqlite: insertion(
        on_sqlite, schema.run_traces, "project", "trace_id", "run"
    ).on_conflict_do_nothing()
)
RUN_ROWS = Prepared(
    lambda on_sqlite: select(schema.runs.c.key, schema.runs.c.id, schema.runs.c.version).where(
        schema.runs.c.project == bindparam("project"), among(on_sqlite, schema.runs.c.key, "keys")
    )
)
SPAN_KEYS = Prepared(
    lambda on_sqlite: select(
        schema.segments.c.run, schema.segments.c.span_keys, schema.segments.c.spans
    ).where(among(on_sqlite, schema.segments.c.run, "runs"))
)


def _rows(
    connection: Connection, by_run: Iterable[tuple[int, str]]
) -> dict[tuple[int, str], tuple[int, int]]:
    """(project, key) -> (row id, version)."""
    keys: dict[int, list[str]] = {}
    for project, key in by_run:
        keys.setdefault(project, []).append(key)
    return {
        (project, key): (run, version)
        for project, own in keys.items()
        for key, run, version in RUN_ROWS.ask(connection, project=project, keys=several(connection, own))
    }


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
    if unknown:
        for run, packed, spans in SPAN_KEYS.ask(connection, runs=several(connection, unknown)):
            result[run].update(unpack_keys(packed, spans))
    return result
