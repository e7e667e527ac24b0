"""How SQLite answers queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection

from collector.store import Store


def plans_of(store: Store, ask: Callable[[Connection], object]) -> list[list[str]]:
    """The steps that SQLite takes for each of the queries that `ask` makes."""
    asked: list[tuple[str, Any]] = []

    def note(_c: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    event.listen(store.engine, "before_cursor_execute", note)
    with store.read() as connection:
        ask(connection)
    event.remove(store.engine, "before_cursor_execute", note)
    with store.read() as connection:
        return [
            [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in asked
        ]
