"""How often each policy was kept and broken lately, and what guards decided by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Select, bindparam, func, literal_column, select
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
    for (policy, verdict), runs in _counted(connection, project, now - 7 * DAY).items():
        found.setdefault(policy, Tally()).week[verdict] += runs
    for (policy, verdict), runs in _counted(connection, project, now - DAY).items():
        found.setdefault(policy, Tally()).day[verdict] += runs
    for policy, tally in found.items():
        if tally.week["violated"]:
            tally.broken = _broken(connection, project, policy)
    return found


def results(
    connection: Connection, project: int, since: float, about: Collection[str], verdicts: Sequence[str]
) -> Results:
    """In how many listed runs that came since an instant these policies came to one of these verdicts.

    Others are not read: there are as many rows as agents have names, times policies.
    """
    found = _counted(connection, project, since, agents=True, about=about, verdicts=verdicts)
    return {(policy, agent, verdict): runs for (policy, verdict, agent), runs in found.items()}


def _counted(
    connection: Connection,
    project: int,
    since: float,
    *,
    agents: bool = False,
    about: Collection[str] | None = None,
    verdicts: Sequence[str] | None = None,
) -> Counter[tuple[str, ...]]:
    """(policy, verdict) or (policy, verdict, agent) -> runs: whole days are counted already."""
    days, runs, first = schema.policy_days, schema.runs, int(since // DAY) + 1

    def of(policy: Any, said: Any, agent: Any, count: Any) -> Select[Any]:
        which = (policy, said, agent) if agents else (policy, said)
        query = select(*which, count).group_by(*which)
        query = query if about is None else query.where(policy.in_(sorted(about)))
        return query if verdicts is None else query.where(said.in_(verdicts))

    whole = of(days.c.policy, days.c.verdict, days.c.agent, func.sum(days.c.runs)).where(
        days.c.project == project, days.c.day >= first
    )
    begun = [
        of(policy, said, func.coalesce(runs.c.agent, ""), func.count())
        .join(runs, runs.c.id == run)
        .where(
            runs.c.project == project, runs.c.listed.is_not(False),
            runs.c.first_seen >= since, runs.c.first_seen < first * DAY,
        )
        for run, policy, said in SAID
    ]  # fmt: skip
    found = Counter[tuple[str, ...]]()
    for query in (whole, *begun):
        for *which, count in connection.execute(query):
            found[tuple(which)] += int(count)
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
