"""The runs of a population with what is recorded about each, and rules over weeks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, func, or_, select
from sqlalchemy.engine import Connection, Row

from collector.store import reads, schema
from collector.store.prepared import Prepared, among, several
from collector.store.reads import Filter

MOST = 10_000
"""Runs of one population, the newest."""


MEASURED = (
    "id", "key", "first_seen", "spans", "calls", "started_ns", "ended_ns", "outcome", "agent", "release",
    "model", "prompt", "environment", "service", "case_id", "version", "checked", "digest", "joined",
)  # fmt: skip


COMPARED = ("id", "outcome", "case_id", "calls", "started_ns", "ended_ns")


def complete_runs(
    connection: Connection, project: int, wanted: Filter, *, limit: int = MOST
) -> Sequence[Any]:
    """Those that are complete, newest first, with what is compared of their rows (`COMPARED`)."""
    return connection.execute(_chosen(project, wanted, limit, COMPARED)).all()


def to_measure(
    connection: Connection, project: int, wanted: Filter, *, limit: int = MOST
) -> Sequence[Row[Any]]:
    """Complete runs that pass a filter, newest first, with what metrics need of their rows."""
    runs = schema.runs
    query = reads.matching(project, wanted).with_only_columns(*(runs.c[name] for name in MEASURED))
    query = query.where(runs.c.complete.is_(True)).order_by(runs.c.first_seen.desc()).limit(limit)
    return connection.execute(query).all()


def rules_of(connection: Connection, runs: Sequence[int]) -> dict[int, dict[str, bool]]:
    """Run -> rule that applied -> was it kept?"""
    found: dict[int, dict[str, bool]] = {}
    for run, policy, verdict in RULES.ask(connection, runs=several(connection, runs)):
        found.setdefault(run, {})[policy] = verdict == "ok"
    return found


def tools_of(connection: Connection, runs: Sequence[int]) -> dict[int, set[str]]:
    """Run -> the tools that it called."""
    found: dict[int, set[str]] = {}
    for run, tool in TOOLS.ask(connection, runs=several(connection, runs)):
        found.setdefault(run, set()).add(tool)
    return found


def rules_counted(connection: Connection, runs: Sequence[int]) -> dict[str, tuple[int, int]]:
    """Rule -> (runs that broke it, runs that it applied to)."""
    found: dict[str, tuple[int, int]] = {}
    for policy, verdict, count in RULES_COUNTED.ask(connection, runs=several(connection, runs)):
        hits, trials = found.get(policy, (0, 0))
        found[policy] = hits + count * (verdict == "violated"), trials + count
    return found


def tools_counted(connection: Connection, runs: Sequence[int]) -> dict[str, int]:
    """Tool -> runs that called it."""
    return dict(TOOLS_COUNTED.ask(connection, runs=several(connection, runs)))


def _of_results(on_sqlite: bool, *columns: str) -> Any:
    table = schema.policy_results
    query = select(*(table.c[name] for name in columns))
    return query.where(
        among(on_sqlite, table.c.run, "runs"), or_(table.c.verdict == "ok", table.c.verdict == "violated")
    )


def _of_tools(on_sqlite: bool, *columns: str) -> Any:
    table = schema.run_tools
    return select(*(table.c[name] for name in columns)).where(among(on_sqlite, table.c.run, "runs"))


def _each(query: Any, *columns: str) -> Any:
    """How many rows a query has of each value."""
    named = [query.selected_columns[name] for name in columns]
    return query.add_columns(func.count()).group_by(*named)


RULES = Prepared(lambda on_sqlite: _of_results(on_sqlite, "run", "policy", "verdict"))
TOOLS = Prepared(lambda on_sqlite: _of_tools(on_sqlite, "run", "tool"))
RULES_COUNTED = Prepared(
    lambda on_sqlite: _each(_of_results(on_sqlite, "policy", "verdict"), "policy", "verdict")
)
TOOLS_COUNTED = Prepared(lambda on_sqlite: _each(_of_tools(on_sqlite, "tool"), "tool"))


def _chosen(project: int, wanted: Filter, limit: int, columns: Sequence[str]) -> Select[Any]:
    runs = schema.runs
    query = select(*(runs.c[name] for name in columns)).where(
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
    return query.order_by(runs.c.first_seen.desc(), runs.c.id.desc()).limit(limit)


def by_week(
    connection: Connection, project: int, wanted: Filter
) -> dict[tuple[str, str | None, str], tuple[int, int]]:
    """(rule, version, Monday of the week in which the run came) -> (violations, runs that it applied to)."""
    chosen = _chosen(project, wanted, MOST, ("id", "release", "first_seen")).subquery()
    results = schema.policy_results
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


def counts_of(calls: int | None, started_ns: int | None, ended_ns: int | None) -> dict[str, float]:
    """The numbers that the row of a run has."""
    found = {} if calls is None else {"calls": float(calls)}
    if started_ns is not None and ended_ns is not None:
        found["duration_ms"] = (ended_ns - started_ns) / 1e6
    return found
