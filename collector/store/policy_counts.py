"""How often each policy was kept and broken lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import case, func, select
from sqlalchemy.engine import Connection

from collector.store import schema

DAY = 86_400.0


@dataclass(slots=True)
class Tally:
    """Of one policy: verdict -> runs."""

    day: Counter[str] = field(default_factory=Counter)
    week: Counter[str] = field(default_factory=Counter)
    broken: float | None = None
    """When the newest run came that breaks it."""


def lately(connection: Connection, project: int, now: float) -> Mapping[str, Tally]:
    """Policy -> what it came to in the runs of 24 hours and of 7 days."""
    results, runs = schema.policy_results, schema.runs
    recent = case((runs.c.first_seen >= now - DAY, 1), else_=0)
    query = (
        select(results.c.policy, results.c.verdict, recent, func.count(), func.max(runs.c.first_seen))
        .join(runs, runs.c.id == results.c.run)
        .where(runs.c.project == project, runs.c.listed.is_not(False), runs.c.first_seen >= now - 7 * DAY)
        .group_by(results.c.policy, results.c.verdict, recent)
    )
    found: dict[str, Tally] = {}
    for policy, verdict, is_recent, count, last in connection.execute(query):
        tally = found.setdefault(policy, Tally())
        tally.week[verdict] += count
        if is_recent:
            tally.day[verdict] += count
        if verdict == "violated":
            tally.broken = max(tally.broken or 0.0, last)
    return found
