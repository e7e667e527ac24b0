"""Runs counted over stretches of time, by what they came to and what made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Integer, cast, func, select
from sqlalchemy.engine import Connection

from collector.store import reads, schema, stretches
from collector.store.reads import Filter


def over_time(
    connection: Connection, project: int, wanted: Filter, *, since: float, width: float
) -> dict[tuple[int, str], int]:
    """(stretch, outcome) -> listed runs that pass a filter; stretches are `width` seconds from `since` on."""
    runs = schema.runs
    place = _number((runs.c.first_seen - since) / width, connection)
    query = reads.matching(project, wanted).where(runs.c.first_seen >= since)
    return _counted(connection, query, place, func.coalesce(runs.c.outcome, "unbound"))


def decided(
    connection: Connection, project: int, since: float, until: float
) -> Mapping[str, Mapping[tuple[str, str], int]]:
    """`agent` and `version` -> (its value, `pass` or `fail`) -> listed runs of a stretch of time."""
    found: dict[str, dict[tuple[str, str], int]] = {"agent": {}, "version": {}}
    for (agent, version, outcome), runs in stretches.came(connection, project, since, until).items():
        for field, value in (("agent", agent), ("version", version)):
            if value and outcome in ("pass", "fail"):
                found[field][value, outcome] = found[field].get((value, outcome), 0) + runs
    return found


def _counted(connection: Connection, query: Any, *of: Any) -> dict[Any, int]:
    rows = connection.execute(query.with_only_columns(*of, func.count()).group_by(*of))
    return {tuple(row[:-1]): int(row[-1]) for row in rows}


def _number(place: Any, connection: Connection) -> Any:
    """The whole number below; SQLite cuts off, which is the same for what is not negative."""
    whole = place if connection.dialect.name == "sqlite" else func.floor(place)
    return cast(whole, Integer)


class Broken(NamedTuple):
    """A rule that runs broke."""

    rule: str
    runs: int
    said: str
    """Of the newest of them."""
    newest: str | None
    """Its id; None where it is gone."""


def broken_rules(
    connection: Connection, project: int, since: float, until: float, *, limit: int = 10
) -> list[Broken]:
    """The rules that are broken, the most frequent first."""
    runs, newest = Counter[str](), dict[str, int]()
    for (rule,), found in stretches.broke(connection, project, since, until, by=["rule"]):
        runs[rule] += found.leads
        newest[rule] = max(newest.get(rule, 0), found.newest or 0)
    most = sorted(runs, key=lambda rule: (-runs[rule], rule))[:limit]
    findings, key = schema.findings.c, schema.runs.c.key
    told = select(findings.id, findings.explanation, key).join(schema.runs, schema.runs.c.id == findings.run)
    rows = connection.execute(told.where(findings.id.in_([newest[rule] for rule in most])))
    said = {row.id: (row.explanation, row.key) for row in rows}
    return [Broken(rule, runs[rule], *said.get(newest[rule], ("", None))) for rule in most]


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
