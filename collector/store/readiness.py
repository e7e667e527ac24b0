"""Whether the store takes writes: the only way to know is to write."""

from __future__ import annotations

from sqlalchemy import select, text

from collector.store import schema
from collector.store.engine import Store

SEEN, OPEN = "ready.at", "open.at"


def touch(store: Store, *, now: float) -> None:
    """Commit one small row; raises Overloaded where the database refuses."""
    _note(store, SEEN, now)


def seen_open(store: Store, *, now: float) -> None:
    """Some collector had the store open at this instant."""
    _note(store, OPEN, now)


def last_open(store: Store) -> float | None:
    """When some collector had the store open before now; None = nobody knows."""
    with store.read() as connection:
        said = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == OPEN))
    return None if said is None else float(said)


def clock_of(store: Store) -> float | None:
    """Unix seconds by the database's own clock, which all its collectors share; None = it has none."""
    if store.sqlite:
        return None
    with store.read() as connection:
        return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")) or 0)


def _note(store: Store, key: str, now: float) -> None:
    with store.write() as connection:
        statement = store.upsert(schema.meta)
        statement = statement.on_conflict_do_update(
            index_elements=["key"], set_={"value": statement.excluded.value}
        )
        connection.execute(statement, {"key": key, "value": f"{now:.3f}"})
