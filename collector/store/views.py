"""Searches that a project has given a name."""

from __future__ import annotations

from sqlalchemy import delete, func, select
from sqlalchemy.engine import Connection
from sqlalchemy.engine import RowMapping as Row

from collector.errors import BadRequest
from collector.store import schema
from collector.store.engine import Store

MOST = 100
"""Of a project."""


def put(store: Store, project: int, name: str, query: str, *, now: float) -> None:
    """Keep a search under a name, instead of the one that had it. Raises BadRequest beyond `MOST`."""
    table = schema.views
    with store.write() as connection:
        others = select(func.count()).where(table.c.project == project, table.c.name != name)
        if int(connection.scalar(others) or 0) >= MOST:
            raise BadRequest(f"there are {MOST} views already", "remove one that is not needed")
        statement = store.upsert(table)
        statement = statement.on_conflict_do_update(
            index_elements=["project", "name"],
            set_={"query": statement.excluded.query, "at": statement.excluded.at},
        )
        connection.execute(statement, {"project": project, "name": name, "query": query, "at": now})


def listed(connection: Connection, project: int) -> list[Row]:
    """In order of name."""
    table = schema.views
    query = select(table).where(table.c.project == project).order_by(table.c.name)
    return list(connection.execute(query).mappings())


def drop(store: Store, project: int, name: str) -> bool:
    """Whether there was one."""
    table = schema.views
    with store.write() as connection:
        found = connection.execute(delete(table).where(table.c.project == project, table.c.name == name))
        return bool(found.rowcount)
