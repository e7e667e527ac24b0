"""What runs will be once their grace has passed and nothing came: judged beforehand, kept until then.

A row counts for the version of the run that it was made from, and while nothing that runs are judged by has
changed. Otherwise the run is judged again when its time has come.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Float, and_, bindparam, delete, exists, or_, select
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.prepared import Prepared, Row, among, insertion, several

COLUMNS = ("run", "version", "at", "last_seen", "body")


def put(connection: Connection, runs: Sequence[int], rows: Sequence[Row]) -> None:
    """Keep these, and of the other `runs` none."""
    forget(connection, runs)
    ADD.run(connection, rows)


def forget(connection: Connection, runs: Collection[int]) -> None:
    FORGET.ask(connection, runs=several(connection, [*runs]))


def forget_project(connection: Connection, project: int) -> None:
    """The runs of a project are judged by something else from now on."""
    table, runs = schema.closings, schema.runs
    connection.execute(
        delete(table).where(exists().where(runs.c.id == table.c.run, runs.c.project == project))
    )


def forget_traces(connection: Connection, project: int, traces: Sequence[str]) -> None:
    """The same of the runs in some traces."""
    if traces:
        FORGET_TRACES.ask(connection, project_=project, traces=several(connection, traces))


def are_due(connection: Connection, now: float) -> bool:
    return bool(ARE_DUE.ask(connection, now=now))


def due(connection: Connection, now: float, limit: int) -> Sequence[Any]:
    """(whether it counts, body, columns of `runs`) of those whose time has come; nobody else has them."""
    return DUE.ask(connection, now_=now, limit=limit)


def is_held(now: Any) -> Any:
    """Condition on a row of `runs`: what it will be is known, and that time has come."""
    table, runs = schema.closings, schema.runs
    return exists().where(table.c.run == runs.c.id, table.c.version == runs.c.version, table.c.at <= now)


TOLD = ("case_id", "agent", "service", "listed")
"""Columns of `runs` that are told of a run and are what they were."""


def _due(_on_sqlite: bool) -> Any:
    table, runs, other = schema.closings, schema.runs, schema.runs.alias()
    now: Any = bindparam("now_", type_=Float)
    heard_since = exists().where(
        other.c.project == runs.c.project,
        other.c.joined == runs.c.joined,
        other.c.last_seen > table.c.last_seen,
    )
    counts = and_(runs.c.version == table.c.version, runs.c.due <= now, ~heard_since)
    return (
        select(
            counts.label("counts"), table.c.body,
            runs.c.id, runs.c.project, runs.c.key, runs.c.version, runs.c.first_seen, runs.c.last_seen,
            runs.c.root_seen, runs.c.attempts, runs.c.case_id, runs.c.digest, runs.c.joined,
            *(runs.c[name] for name in TOLD),
        )
        .join(runs, runs.c.id == table.c.run)
        .where(table.c.at <= now)
        .order_by(table.c.at)
        .limit(bindparam("limit"))
        .with_for_update(of=runs, skip_locked=True)
    )  # fmt: skip


def _forget_traces(on_sqlite: bool) -> Any:
    table, runs, traces = schema.closings, schema.runs, schema.run_traces
    project: Any = bindparam("project_")
    own = select(runs.c.id).where(runs.c.project == project, among(on_sqlite, runs.c.key, "traces"))
    shown = select(traces.c.run).where(
        traces.c.project == project, among(on_sqlite, traces.c.trace_id, "traces")
    )
    return delete(table).where(or_(table.c.run.in_(own), table.c.run.in_(shown))).returning(table.c.run)


ARE_DUE = Prepared(
    lambda _: (
        select(schema.closings.c.run).where(schema.closings.c.at <= bindparam("now", type_=Float)).limit(1)
    )
)
DUE = Prepared(_due)
ADD = Prepared(lambda on_sqlite: insertion(on_sqlite, schema.closings, *COLUMNS).on_conflict_do_nothing())
FORGET = Prepared(
    lambda on_sqlite: (
        delete(schema.closings)
        .where(among(on_sqlite, schema.closings.c.run, "runs"))
        .returning(schema.closings.c.run)
    )
)
FORGET_TRACES = Prepared(_forget_traces)
