"""Whether the store takes writes: the only way to know is to write."""

from __future__ import annotations

from collector.store import schema
from collector.store.engine import Store

SEEN = "ready.at"


def touch(store: Store, *, now: float) -> None:
    """Commit one small row; raises Overloaded where the database refuses."""
    with store.write() as connection:
        statement = store.upsert(schema.meta)
        statement = statement.on_conflict_do_update(
            index_elements=["key"], set_={"value": statement.excluded.value}
        )
        connection.execute(statement, {"key": SEEN, "value": f"{now:.3f}"})
