"""How often each policy was kept and broken lately, and what guards decided by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import bindparam, func, literal_column, select
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.counts import DAY, SAID

Results = Mapping[tuple[str, str, str], int]
"""(policy, agent, verdict or decision of a guard) -> runs; the agent is empty where it is not known."""


@dataclass(slots=True)
class Tally:
    """Of one policy: verdict, or decision of a guard, -> runs."""

    day: Counter[str] = field(default_factory=Counter)
    week: Counter[str] = field(default_factory=Counter)
    broken: float | None = None
    """When the newest run came that breaks it."""


def lately(connection: Connection, project: int, now: float) -> Mapping[str, Tally]:
    """Policy -> what it came to in the runs of 24 hours and of 7 days."""
    found: dict[str, Tally] = {}
    for (policy, _, verdict), runs in results(connection, project, now - 7 * DAY).items():
        found.setdefault(policy, Tally()).week[verdict] += runs
    for (policy, _, verdict), runs in results(connection, project, now - DAY).items():
        found.setdefault(policy, Tally()).day[verdict] += runs
    for policy, tally in found.items():
        if tally.week["violated"]:
            tally.broken = _broken(connection, project, policy)
    return found


def results(connection: Connection, project: int, since: float) -> Results:
    """What policies came to in the listed runs that came since an instant: whole days are counted already."""
    days, first = schema.policy_days, int(since // DAY) + 1
    whole = (
        select(days.c.policy, days.c.agent, days.c.verdict, func.sum(days.c.runs))
        .where(days.c.project == project, days.c.day >= first)
        .group_by(days.c.policy, days.c.agent, days.c.verdict)
    )
    runs = schema.runs
    agent = func.coalesce(runs.c.agent, "")
    begun = [
        select(policy, agent, said, func.count())
        .join(runs, runs.c.id == run)
        .where(
            runs.c.project == project, runs.c.listed.is_not(False),
            runs.c.first_seen >= since, runs.c.first_seen < first * DAY,
        )
        .group_by(policy, agent, said)
        for run, policy, said in SAID
    ]  # fmt: skip
    found = Counter[tuple[str, str, str]]()
    for query in (whole, *begun):
        for policy, of, verdict, count in connection.execute(query):
            found[policy, of, verdict] += int(count)
    return found


def _broken(connection: Connection, project: int, policy: str) -> float | None:
    """When the newest run came that breaks a policy."""
    table, runs = schema.policy_results, schema.runs
    violated = table.c.verdict == literal_column("'violated'")  # as the index says it
    newest = (
        select(runs.c.first_seen)
        .join(table, table.c.run == runs.c.id)
        .where(table.c.policy == bindparam("policy"), violated)
        .where(runs.c.project == project, runs.c.listed.is_not(False))
        .order_by(table.c.run.desc())
        .limit(1)
    )
    return connection.scalar(newest, {"policy": policy})
