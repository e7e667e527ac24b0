"""What is read beside a run: the other runs in its traces, and what a harness registered for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.engine import Connection

from collector.model import Binding
from collector.store import schema
from collector.store.prepared import Prepared, among, several
from synth.formal import Trouble, trouble_from_json


@dataclass(frozen=True, slots=True)
class Host:
    """A run with an id of its own that has spans in a trace."""

    run: int
    started_ns: int | None
    ended_ns: int | None
    """None = not judged yet."""


def guests(connection: Connection, runs_: Sequence[int]) -> dict[int, list[int]]:
    """run -> the groups of spans without a run id that share a trace with it."""
    found: dict[int, list[int]] = {}
    for run, guest in GUESTS.ask(connection, runs=several(connection, runs_)):
        found.setdefault(run, []).append(guest)
    return found


def _guests(on_sqlite: bool) -> Any:
    traces, other = schema.run_traces, schema.runs.alias()
    return (
        select(traces.c.run, other.c.id)
        .join(other, (other.c.project == traces.c.project) & (other.c.key == traces.c.trace_id))
        .where(among(on_sqlite, traces.c.run, "runs"), other.c.id != traces.c.run)
    )


GUESTS = Prepared(_guests)


def hosts(connection: Connection, runs_: Sequence[int]) -> dict[int, list[Host]]:
    """The reverse: group of spans without a run id -> the runs in its trace."""
    found: dict[int, list[Host]] = {}
    for run, *rest in HOSTS.ask(connection, runs=several(connection, runs_)):
        found.setdefault(run, []).append(Host(*rest))
    return found


def _hosts(on_sqlite: bool) -> Any:
    traces, own, host = schema.run_traces, schema.runs.alias(), schema.runs.alias()
    return (
        select(own.c.id, host.c.id, host.c.started_ns, host.c.ended_ns)
        .join(traces, (own.c.project == traces.c.project) & (own.c.key == traces.c.trace_id))
        .join(host, host.c.id == traces.c.run)
        .where(among(on_sqlite, own.c.id, "runs"), host.c.id != own.c.id)
    )


HOSTS = Prepared(_hosts)


def bindings(connection: Connection, traces: Iterable[str]) -> dict[tuple[int, str], Binding]:
    """(project, trace id) -> what a harness registered."""
    wanted = several(connection, sorted(set(traces)))
    return {
        (project, trace): Binding(trace, case_id, status, seconds, iterations, at, trouble_of(trouble))
        for project, trace, case_id, status, seconds, iterations, at, trouble in BINDINGS.ask(
            connection, traces=wanted
        )
    }


def trouble_of(text: str | None) -> Trouble | None:
    return None if text is None else trouble_from_json(orjson.loads(text))


def _bindings(on_sqlite: bool) -> Any:
    table, projects = schema.bindings, schema.projects
    return select(
        table.c.project, table.c.trace_id, table.c.case_id, table.c.status, table.c.wall_seconds,
        table.c.iterations, table.c.at, table.c.trouble,
    ).where(
        table.c.project.in_(select(projects.c.id)),  # the key begins with the project
        among(on_sqlite, table.c.trace_id, "traces"),
    )  # fmt: skip


BINDINGS = Prepared(_bindings)
