"""The names of tools that the runs of a project show, and the runs that are owed a look because of one.

Names outlive the runs that showed them. Of one project `MOST_NAMES` are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import func, literal_column, select, update
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.engine import Store
from collector.store.prepared import Prepared, among, insertion, several

MOST_NAMES = 5_000
"""A project that has so many makes them up as it goes: nothing follows from a name that is not among them."""
LONGEST_NAME = 500
"""Code points of a name that is kept."""
BATCH = 1000
"""Runs that one transaction makes due, so that arrivals never wait long."""

Name = tuple[str, str]
"""A tool, and how it was seen: `called` or `offered`."""


def counts(connection: Connection, projects: Collection[int]) -> dict[int, int]:
    """How many names each project has; those without any are left out."""
    return {
        project: int(count)
        for project, count in COUNTS.ask(connection, projects=several(connection, [*projects]))
    }


def _counts(on_sqlite: bool) -> Any:
    table = schema.seen_tools
    return (
        select(table.c.project, func.count())
        .where(among(on_sqlite, table.c.project, "projects"))
        .group_by(table.c.project)
    )


COUNTS = Prepared(_counts)


def names(connection: Connection, project: int) -> frozenset[Name]:
    """Every name that the runs of a project have shown."""
    table = schema.seen_tools
    found = connection.execute(select(table.c.tool, table.c.how).where(table.c.project == project))
    return frozenset((tool, how) for tool, how in found)


def add(store: Store, project: int, found: Iterable[Name], owing: Collection[str]) -> None:
    """Keep names; because of the tools that are `owing`, the runs so far have to be looked at again."""
    newest = select(func.max(schema.runs.c.id)).scalar_subquery()
    with store.write() as connection:
        last = connection.scalar(select(newest))
        ADD.run(
            connection,
            [
                {"project": project, "tool": tool, "how": how, "owed": last if tool in owing else None}
                for tool, how in sorted(found)
            ],
        )


ADD = Prepared(
    lambda on_sqlite: insertion(
        on_sqlite, schema.seen_tools, "project", "tool", "how", "owed"
    ).on_conflict_do_nothing()
)


def owed(connection: Connection) -> tuple[int, str] | None:
    """(project, tool) of a name because of which runs have to be looked at again."""
    table = schema.seen_tools
    row = connection.execute(
        select(table.c.project, table.c.tool).where(table.c.owed.is_not(None)).limit(1)
    ).first()
    return None if row is None else (row.project, row.tool)


def look_again(store: Store, project: int, tool: str, policies: Sequence[str], *, now: float) -> None:
    """Make one batch of the runs due that these policies could not judge for want of the tool.

    So are those that a checker holds just now: it may have begun before the name was known.
    """
    table, runs = schema.seen_tools, schema.runs
    with store.write() as connection:
        mine = (table.c.project == project) & (table.c.tool == tool) & table.c.owed.is_not(None)
        newest = connection.scalar(select(table.c.owed).where(mine).limit(1).with_for_update())
        ids = waiting(connection, project, policies, newest or 0)
        again = {*ids, *held(connection, project)}
        connection.execute(
            update(runs).where(runs.c.id.in_(again)).values(due=now, version=runs.c.version + 1)
        )
        rest = ids[-1] - 1 if len(ids) == BATCH else None
        connection.execute(update(table).where(mine).values(owed=rest))


def waiting(connection: Connection, project: int, policies: Sequence[str], newest: int) -> list[int]:
    """One batch of the runs up to `newest` for which one of the policies is unsupported, the newest first."""
    runs, results = schema.runs, schema.policy_results
    query = (
        select(results.c.run)
        .distinct()
        .join(runs, runs.c.id == results.c.run)
        .where(results.c.policy.in_(policies), results.c.verdict == literal_column("'unsupported'"))
        .where(runs.c.project == project, results.c.run <= newest)
        .order_by(results.c.run.desc())
        .limit(BATCH)
    )
    return list(connection.scalars(query))


def held(connection: Connection, project: int) -> list[int]:
    """The runs that checkers hold."""
    runs = schema.runs
    query = select(runs.c.id, runs.c.project).where(runs.c.due.is_not(None), runs.c.lease.is_not(None))
    return [run for run, of in connection.execute(query) if of == project]
