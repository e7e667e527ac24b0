"""Runs counted over stretches of time, by what they came to and what made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Integer, cast, func, select
from sqlalchemy.engine import Connection

from collector.store import reads, schema
from collector.store.reads import Filter


class Group(NamedTuple):
    """Runs that are counted together."""

    bucket: int
    outcome: str
    agent: str | None
    version: str | None
    model: str | None


class Count(NamedTuple):
    """Of one group."""

    runs: int
    calls: int
    counted: int
    """Runs whose calls are known."""
    nanoseconds: int
    timed: int
    """Runs of which it is known how long they took."""


def counted(
    connection: Connection, project: int, wanted: Filter, *, since: float, width: float
) -> dict[Group, Count]:
    """Listed runs that pass a filter, in stretches of `width` seconds from `since` on."""
    runs = schema.runs
    at = _number((runs.c.first_seen - since) / width, connection)
    took = runs.c.ended_ns - runs.c.started_ns
    of = (at, func.coalesce(runs.c.outcome, "unbound"), runs.c.agent, runs.c.release, runs.c.model)
    query = reads.matching(project, wanted).with_only_columns(
        *of, func.count(), func.sum(runs.c.calls), func.count(runs.c.calls), func.sum(took), func.count(took)
    )
    found = {}
    for row in connection.execute(query.where(runs.c.first_seen >= since).group_by(*of)):
        found[Group(*row[:5])] = Count(*(int(value or 0) for value in row[5:]))
    return found


def _number(place: Any, connection: Connection) -> Any:
    """The whole number below; SQLite cuts off, which is the same for what is not negative."""
    whole = place if connection.dialect.name == "sqlite" else func.floor(place)
    return cast(whole, Integer)


def broken_rules(
    connection: Connection, project: int, wanted: Filter, *, limit: int = 10
) -> list[tuple[str, int, str]]:
    """(rule, runs that break it, what was said of one of them), the most frequent first."""
    findings, runs = schema.findings, schema.runs
    chosen = reads.matching(project, wanted).with_only_columns(runs.c.id).where(runs.c.findings > 0)
    count = func.count(func.distinct(findings.c.run))
    here = findings.c.project + 0 == project  # not its index, which has those of all times
    query = (
        select(findings.c.rule, count, func.max(findings.c.explanation))
        .where(here, findings.c.run.in_(chosen))
        .group_by(findings.c.rule)
        .order_by(count.desc(), findings.c.rule)
        .limit(limit)
    )
    return [(row[0], int(row[1]), row[2]) for row in connection.execute(query)]


LOOKED_AT = 500


def lost_at(connection: Connection, project: int, wanted: Filter) -> Mapping[int, int]:
    """Position of a call -> failed runs, of the newest `LOOKED_AT`, whose plan was lost with it.

    That is where no continuation keeps the case any more; of runs that broke policies alone, the first call
    that a finding names.
    """
    runs, verdicts = schema.runs, schema.verdicts
    newest = reads.matching(project, wanted).with_only_columns(runs.c.id).where(runs.c.outcome == "fail")
    ids = list(connection.scalars(newest.order_by(runs.c.first_seen.desc()).limit(LOOKED_AT)))
    found: dict[int, int] = {}
    last = select(func.max(verdicts.c.id)).where(verdicts.c.run.in_(ids)).group_by(verdicts.c.run)
    for body in connection.scalars(select(verdicts.c.body).where(verdicts.c.id.in_(last))):
        if (call := first_lost(orjson.loads(body))) is not None:
            found[call] = found.get(call, 0) + 1
    return found


def first_lost(body: Mapping[str, Any]) -> int | None:
    verdict = body.get("verdict") or {}
    if verdict.get("dead_at") is not None:
        return int(verdict["dead_at"])
    results: Sequence[Mapping[str, Any]] = body.get("policies") or ()
    named = [
        calls[0] for one in results if one.get("verdict") == "violated" and (calls := one.get("violations"))
    ]
    return min(named, default=None)
