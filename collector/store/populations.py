"""The runs of a population with what is recorded about each, and rules over weeks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Subquery, select
from sqlalchemy.engine import Connection, RowMapping

from collector.store import reads, schema
from collector.store.reads import Filter

MOST = 10_000
"""Runs of one population, the newest."""


def complete_runs(
    connection: Connection, project: int, wanted: Filter, *, limit: int = MOST
) -> list[RowMapping]:
    """Those that are complete, newest first."""
    chosen = _chosen(project, wanted, limit)
    return list(connection.execute(select(chosen).order_by(chosen.c.first_seen.desc())).mappings())


MEASURED = (
    "id", "key", "first_seen", "spans", "calls", "started_ns", "ended_ns", "outcome", "agent", "release",
    "model", "prompt", "environment", "service",
)  # fmt: skip


def to_measure(
    connection: Connection, project: int, wanted: Filter, *, limit: int = MOST
) -> list[RowMapping]:
    """Complete runs that pass a filter, newest first, with what metrics need of their rows."""
    runs = schema.runs
    query = reads.matching(project, wanted).with_only_columns(*(runs.c[name] for name in MEASURED))
    query = query.where(runs.c.complete.is_(True)).order_by(runs.c.first_seen.desc()).limit(limit)
    return list(connection.execute(query).mappings())


def rules_of(
    connection: Connection, project: int, wanted: Filter, *, limit: int = MOST
) -> dict[int, dict[str, bool]]:
    """Run -> rule that applied -> was it kept?"""
    chosen, results = _chosen(project, wanted, limit), schema.policy_results
    query = (
        select(results.c.run, results.c.policy, results.c.verdict)
        .join(chosen, chosen.c.id == results.c.run)
        .where(results.c.verdict.in_(("ok", "violated")))
    )
    found: dict[int, dict[str, bool]] = {}
    for run, policy, verdict in connection.execute(query):
        found.setdefault(run, {})[policy] = verdict == "ok"
    return found


def tools_of(
    connection: Connection, project: int, wanted: Filter, *, limit: int = MOST
) -> dict[int, set[str]]:
    """Run -> the tools that it called."""
    chosen, tools = _chosen(project, wanted, limit), schema.run_tools
    query = select(tools.c.run, tools.c.tool).join(chosen, chosen.c.id == tools.c.run)
    found: dict[int, set[str]] = {}
    for run, tool in connection.execute(query):
        found.setdefault(run, set()).add(tool)
    return found


def _chosen(project: int, wanted: Filter, limit: int) -> Subquery:
    runs = schema.runs
    query = select(runs).where(
        runs.c.project == project,
        runs.c.listed.is_not(False),
        runs.c.complete.is_(True),
        *reads.conditions(wanted),
    )
    if wanted.tool is not None:
        tools = schema.run_tools
        query = query.where(runs.c.id.in_(select(tools.c.run).where(tools.c.tool == wanted.tool)))
    if wanted.policy is not None:
        results = schema.policy_results
        query = query.where(runs.c.id.in_(select(results.c.run).where(results.c.policy == wanted.policy)))
    return query.order_by(runs.c.first_seen.desc(), runs.c.id.desc()).limit(limit).subquery()


def by_week(
    connection: Connection, project: int, wanted: Filter
) -> dict[tuple[str, str | None, str], tuple[int, int]]:
    """(rule, version, Monday of the week in which the run came) -> (violations, runs that it applied to)."""
    chosen, results = _chosen(project, wanted, MOST), schema.policy_results
    query = select(results.c.policy, results.c.verdict, chosen.c.release, chosen.c.first_seen).join(
        chosen, chosen.c.id == results.c.run
    )
    if wanted.policy is not None:
        query = query.where(results.c.policy == wanted.policy)
    found: dict[tuple[str, str | None, str], tuple[int, int]] = {}
    for policy, verdict, release, seen in connection.execute(
        query.where(results.c.verdict.in_(("ok", "violated")))
    ):
        key = policy, release, monday(seen)
        hits, trials = found.get(key, (0, 0))
        found[key] = hits + (verdict == "violated"), trials + 1
    return found


def monday(seconds: float) -> str:
    """The date of the Monday before an instant (UTC)."""
    day = datetime.fromtimestamp(seconds, UTC).date()
    return (day - timedelta(days=day.weekday())).isoformat()


def counts_of(rows: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers that the row of a run has."""
    if rows["calls"] is not None:
        yield "calls", float(rows["calls"])
    if rows["started_ns"] is not None and rows["ended_ns"] is not None:
        yield "duration_ms", (rows["ended_ns"] - rows["started_ns"]) / 1e6
