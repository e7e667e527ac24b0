"""Verdicts as a stream: what was concluded since a remembered point.

On PostgreSQL an earlier number may become visible after a later one. So whoever concludes holds a shared
lock until the commit, and whoever reads the stream waits a moment for all of them: what it then sees up
to the newest number is complete. Another lock lets one collector export at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.engine import Store

POINT = "events.last_verdict"
CONCLUDING, EXPORTING = 7400772, 7400773
"""Advisory locks."""


def announce(store: Store, connection: Connection) -> None:
    """To be called in a transaction before it numbers verdicts."""
    if not store.sqlite:
        connection.execute(select(func.pg_advisory_xact_lock_shared(CONCLUDING)))


@contextmanager
def turn(store: Store) -> Iterator[bool]:
    """Whether it is this collector's turn to export; no other one has it meanwhile."""
    if store.sqlite:
        yield True
        return
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        mine = bool(connection.scalar(select(func.pg_try_advisory_lock(EXPORTING))))
        try:
            yield mine
        finally:
            if mine:
                connection.execute(select(func.pg_advisory_unlock(EXPORTING)))


def verdicts_since(store: Store, *, limit: int) -> list[Mapping[str, Any]]:
    """Conclusions that were not exported yet, oldest first."""
    verdicts, runs, meta = schema.verdicts, schema.runs, schema.meta
    with store.read() as connection:
        point = int(connection.scalar(select(meta.c.value).where(meta.c.key == POINT)) or 0)
        if connection.scalar(select(verdicts.c.id).where(verdicts.c.id > point).limit(1)) is None:
            return []
    newest = _newest(store)
    with store.read() as connection:
        query = (
            select(verdicts, runs.c.key, runs.c.agent, runs.c.service, runs.c.project)
            .join(runs, runs.c.id == verdicts.c.run)
            .where(verdicts.c.id > point, verdicts.c.id <= newest)
            .order_by(verdicts.c.id)
            .limit(limit)
        )
        return [dict(row) for row in connection.execute(query).mappings()]


def _newest(store: Store) -> int:
    """The highest number below which none is missing."""
    number = select(func.coalesce(func.max(schema.verdicts.c.id), 0))
    if store.sqlite:
        with store.read() as connection:
            return int(connection.scalar(number) or 0)
    with store.write() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(CONCLUDING)))
        return int(connection.scalar(number) or 0)


def remember(store: Store, verdict: int) -> None:
    """Everything up to this verdict has been exported."""
    with store.write() as connection:
        statement = store.upsert(schema.meta)
        statement = statement.on_conflict_do_update(
            index_elements=["key"], set_={"value": statement.excluded.value}
        )
        connection.execute(statement, {"key": POINT, "value": str(verdict)})
