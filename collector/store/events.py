"""Verdicts as a stream: what was concluded since a remembered point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from collector.store import schema
from collector.store.engine import Store

POINT = "events.last_verdict"


def verdicts_since(store: Store, *, limit: int) -> list[Mapping[str, Any]]:
    """Conclusions that were not exported yet, oldest first."""
    verdicts, runs, meta = schema.verdicts, schema.runs, schema.meta
    with store.read() as connection:
        point = connection.scalar(select(meta.c.value).where(meta.c.key == POINT))
        query = (
            select(verdicts, runs.c.key, runs.c.agent, runs.c.service)
            .join(runs, runs.c.id == verdicts.c.run)
            .where(verdicts.c.id > int(point or 0))
            .order_by(verdicts.c.id)
            .limit(limit)
        )
        return [dict(row) for row in connection.execute(query).mappings()]


def remember(store: Store, verdict: int) -> None:
    """Everything up to this verdict has been exported."""
    with store.write() as connection:
        statement = store.upsert(schema.meta)
        statement = statement.on_conflict_do_update(
            index_elements=["key"], set_={"value": statement.excluded.value}
        )
        connection.execute(statement, {"key": POINT, "value": str(verdict)})
