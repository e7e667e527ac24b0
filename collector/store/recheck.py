"""Judging again what is stored: runs become due; their verdicts so far stay in the history."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import update

from collector.store import reads, schema
from collector.store.engine import Store
from collector.store.reads import Filter, Place

BATCH = 1000
"""Runs in one transaction, so that arrivals never wait long."""


def make_due_of(store: Store, project: int, keys: Sequence[str], *, now: float) -> int:
    """The same for runs that are named; returns how many there are."""
    runs = schema.runs
    total = 0
    for at in range(0, len(keys), 500):
        some = runs.c.key.in_(keys[at : at + 500])
        with store.write() as connection:
            changed = connection.execute(
                update(runs)
                .where(runs.c.project == project, some)
                .values(due=now, version=runs.c.version + 1)
            )
            total += changed.rowcount
    return total


def make_due(store: Store, project: int, wanted: Filter, *, now: float) -> int:
    """Have the runs that match looked at again as soon as possible; returns how many."""
    runs = schema.runs
    total = 0
    before: Place | None = None
    while True:
        with store.read() as connection:
            page = reads.list_runs(connection, project, wanted, limit=BATCH, before=before)
            ids = [row["id"] for row in page.rows]
        if not ids:
            return total
        with store.write() as connection:
            connection.execute(
                update(runs).where(runs.c.id.in_(ids)).values(due=now, version=runs.c.version + 1)
            )
        total, before = total + len(ids), page.end
