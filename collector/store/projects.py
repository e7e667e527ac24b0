"""What each project has set for itself; null where the collector's own value counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, select, update

from collector.store import closings, schema
from collector.store.engine import Store
from collector.store.prepared import Prepared, among, several

SETTINGS = ("retention_days", "failed_retention_days", "clock_skew_ms")
"""Columns of `projects`: numbers above 0, or null."""


def settings_of(connection: Connection, project: int) -> dict[str, float | None]:
    """Every setting of a project."""
    columns = [schema.projects.c[name] for name in SETTINGS]
    row = connection.execute(select(*columns).where(schema.projects.c.id == project)).mappings().first()
    return {name: None if row is None or row[name] is None else float(row[name]) for name in SETTINGS}


def change(store: Store, project: int, values: Mapping[str, float | None]) -> None:
    with store.write() as connection:
        connection.execute(update(schema.projects).where(schema.projects.c.id == project).values(**values))
        closings.forget_project(connection, project)


def clock_skews(connection: Connection, projects: Iterable[int]) -> dict[int, float]:
    """Project -> how many ms two clocks may differ by, for those that say so."""
    found = SKEWS.ask(connection, projects=several(connection, sorted(set(projects))))
    return {project: float(skew) for project, skew in found}


SKEWS = Prepared(
    lambda on_sqlite: (
        select(schema.projects.c.id, schema.projects.c.clock_skew_ms)
        .where(among(on_sqlite, schema.projects.c.id, "projects"))
        .where(schema.projects.c.clock_skew_ms.is_not(None))
    )
)
