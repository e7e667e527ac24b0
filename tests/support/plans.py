"""How SQLite answers queries."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import Connection

from collector.store import Store
from collector.store.prepared import driver_of


def plans_of(store: Store, ask: Callable[[Connection], object]) -> list[list[str]]:
    """The steps that SQLite takes for each of the queries that `ask` makes."""
    asked: list[str] = []
    with store.read() as connection:
        driver = driver_of(connection)
        driver.set_trace_callback(asked.append)
        ask(connection)
        driver.set_trace_callback(None)
        return [[row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}")] for statement in asked]
