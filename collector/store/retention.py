"""Forgetting: runs that were last heard of too long ago, counted from arrival; failed ones maybe later."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, delete, exists, or_, select

from collector.store import counts, schema, turns
from collector.store.engine import Store
from collector.store.turn import at_once

BATCH = 500
"""Runs in one transaction, so that arrivals never wait long."""


def expired(table: Table, now: float, most: int) -> Select[int]:
    """At most so many rows of which nothing was heard for as long as their project keeps what it has."""
    projects = schema.projects
    return (
        select(table.c.id)
        .join(projects, projects.c.id == table.c.project)
        .where(projects.c.retention_days.is_not(None))
        .where(table.c.last_seen < now - projects.c.retention_days * 86_400)
        .limit(most)
    )


def _not_kept_longer(now: float) -> ColumnElement[bool]:
    """Does a run that is old enough to go not stay because it failed, or is a part of one that did?"""
    runs, projects, whole = schema.runs, schema.projects, schema.runs.alias()
    days = projects.c.failed_retention_days
    failed = exists().where(
        whole.c.project == runs.c.project, whole.c.key == runs.c.joined, whole.c.outcome == "fail"
    )
    passed = and_(runs.c.outcome.is_distinct_from("fail"), or_(runs.c.joined.is_(None), ~failed))
    return or_(days.is_(None), runs.c.last_seen < now - days * 86_400, passed)


def prune(store: Store, *, now: float) -> int:
    """Delete one batch of expired runs with everything that belongs to them; returns how many."""
    runs = schema.runs
    old = expired(runs, now, BATCH).where(_not_kept_longer(now))
    with store.read() as connection:  # looking costs nothing, a write transaction would hold up arrivals
        if connection.execute(old.limit(1)).first() is None:
            return 0
    with store.write() as connection:
        held = old.with_for_update(of=runs, skip_locked=True)  # spans may arrive for a run meanwhile
        ids = [row[0] for row in connection.execute(held)]
        _forget(connection, ids)
    return len(ids)


def _forget(connection: Connection, ids: Sequence[int]) -> None:
    """Delete rows of runs with everything that belongs to them."""
    runs = schema.runs
    turns.mark_cut(connection, ids)
    with counts.kept(connection, ids):
        for table in (
            schema.segments, schema.verdicts, schema.findings, schema.run_tools, schema.policy_results,
            schema.guard_results, schema.run_traces, schema.run_shared, schema.deliveries, schema.pieces,
            schema.piece_links, schema.turns, schema.closings,
        ):  # fmt: skip
            connection.execute(delete(table).where(table.c.run.in_(ids)))
        connection.execute(delete(runs).where(runs.c.id.in_(ids)))


def delete_runs(
    store: Store, project: int, *, key: str | None = None, session: str | None = None, user: str | None = None
) -> int:
    """Delete the runs that are named, in small transactions, with the traces that they show; how many.

    What says of them that they were there goes, too: what a person said about their verdicts.
    """
    runs, total = schema.runs, 0
    wanted = [
        column == value
        for column, value in ((runs.c.session, session), (runs.c.person, user))
        if value is not None
    ]
    if key is not None:
        wanted.append(or_(runs.c.key == key, runs.c.joined == key))
    some = select(runs.c.id, runs.c.key).where(runs.c.project == project, *wanted).limit(BATCH)
    while wanted:
        with store.write() as connection:
            found = connection.execute(some.with_for_update(of=runs)).all()
            if not found:
                break
            _forget(connection, [row.id for row in found])
            labels = schema.labels
            named = labels.c.run.in_([row.key for row in found])
            connection.execute(delete(labels).where(labels.c.project == project, named))
            total += len(found)
    return total


FREE_PAGES = 8_000
"""Free pages (1 KiB each) that an SQLite file keeps for what comes next, at most."""
FREE_SHARE = 400
"""It keeps one page of so many."""
VACUUM_PAGES = 2_000
"""Given back in one step, a few milliseconds each: arrivals never wait long."""
VACUUM_STEPS = 200


def shrink(store: Store) -> int:
    """Give the file system back what nothing uses; returns the pages. PostgreSQL does so by itself."""
    if not store.sqlite:
        return 0
    given = 0
    for _ in range(VACUUM_STEPS):
        with store.read() as connection:
            free, pages = (
                int(connection.exec_driver_sql(f"PRAGMA {name}_count").scalar_one())
                for name in ("freelist", "page")
            )
            step = min(VACUUM_PAGES, free - min(FREE_PAGES, pages // FREE_SHARE))
            if step <= 0:
                break
            if not _vacuum(connection, step):
                break
            given += step
    return given


def _vacuum(connection: Connection, pages: int) -> bool:
    """Give back free pages; False where somebody else writes: it can wait, and others shall not."""
    with at_once(connection) as driver:
        try:
            driver.executescript(f"PRAGMA incremental_vacuum({pages})")  # `execute` would stop after one page
        except sqlite3.OperationalError:  # or the disk is full, which the next commit tells
            return False
    return True


def tidy(store: Store) -> None:
    """After a busy moment, of which a long log tells: give back the space that only it needed."""
    if store.has_long_log:
        shrink(store)
        store.shorten_log()
