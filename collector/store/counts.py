"""How many runs and spans each project has, by outcome, how rules were kept on each day and what guards
decided by them, and what `stretches` count: counted with every commit that changes it.

Whoever asks reads a few rows, however many runs there are. What a transaction changes is written at its end
and in one order, so that two of them never wait for each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Integer, case, cast, delete, func, select, text, union_all
from sqlalchemy.engine import Connection

from collector.store import schema, stretches
from collector.store.engine import Store
from collector.store.prepared import Prepared, among, insertion, several


class Group(NamedTuple):
    """Runs that are counted together."""

    project: int
    listed: bool
    """Not known to be part of another run."""
    outcome: str
    """Empty = none yet, or nothing applies."""
    error_type: str


Tally = Mapping[Group, tuple[int, int]]
"""Group -> (runs, spans)."""
DAY = 86_400.0


class Judged(NamedTuple):
    """Listed runs of a day of which a policy said the same, or in which a guard did so by it."""

    project: int
    day: int
    """Since 1970, UTC, on which the first span of a run came."""
    policy: str
    agent: str
    """Empty = not known."""
    verdict: str
    """Or what a guard decided."""


def kept_of(connection: Connection, project: int | None = None) -> dict[Group, tuple[int, int]]:
    """What is counted, of one project or of all."""
    table = schema.run_counts
    query = select(table)
    if project is not None:
        query = query.where(table.c.project == project)
    return {
        Group(row.project, bool(row.listed), row.outcome, row.error_type): (row.runs, row.spans)
        for row in connection.execute(query)
        if row.runs or row.spans
    }


def arrived(connection: Connection, projects: Iterable[int]) -> None:
    """One new run for each of these, which may repeat."""
    counted: dict[Group, tuple[int, int]] = {}
    for project in projects:
        group = Group(project, True, "", "")
        counted[group] = (counted.get(group, (0, 0))[0] + 1, 0)
    _add(connection, counted)


@contextmanager
def kept(
    connection: Connection,
    runs: Collection[int],
    changed: Collection[int] | None = None,
) -> Iterator[None]:
    """Count what the block changes of these runs and their results, or that it deletes them.

    Where not all results may change, `changed` are the runs whose do.
    """
    changed = runs if changed is None else changed
    before, came, judged = _of_runs(connection, runs)
    known = [run for run in changed if run in judged]
    results_before, broken = _judged(connection, known), stretches.findings_of(connection, known)
    yield
    after, comes, _ = _of_runs(connection, runs)
    changes = {
        group: (
            after.get(group, (0, 0))[0] - before.get(group, (0, 0))[0],
            after.get(group, (0, 0))[1] - before.get(group, (0, 0))[1],
        )
        for group in before.keys() | after.keys()
    }
    _add(connection, {group: change for group, change in changes.items() if change != (0, 0)})
    results = _judged(connection, changed)
    results.subtract(results_before)
    _add_judged(connection, results)
    comes.subtract(came)
    stretches.add_came(connection, comes)
    stretches.add_findings(connection, broken, stretches.findings_of(connection, changed))


def set_right(store: Store) -> bool:
    """Count all again where what is kept is not what is there; whether that was so."""
    with store.read() as connection:
        right = kept_of(connection) == _of_all(connection)
        right = right and judged_of(connection) == _all_judged(connection)
        if right and stretches.are_right(connection):
            return False
    with store.write() as connection:
        if not store.sqlite:
            tables = "run_counts, policy_days, run_stretches, finding_stretches"
            connection.execute(text(f"LOCK TABLE {tables} IN EXCLUSIVE MODE"))
        connection.execute(delete(schema.run_counts))
        connection.execute(delete(schema.policy_days))
        _add(connection, _of_all(connection))
        _add_judged(connection, _all_judged(connection))
        stretches.count_all(connection)
    return True


def judged_of(connection: Connection) -> dict[Judged, int]:
    """What is counted of the results of policies, of all projects."""
    rows = connection.execute(select(schema.policy_days).where(schema.policy_days.c.runs != 0))
    return {Judged(*row[:-1]): row[-1] for row in rows}


def columns() -> list[Any]:
    """Of a query over `runs`: the fields of its group."""
    runs = schema.runs.c
    return [
        runs.project,
        case((runs.listed.is_(False), 0), else_=1).label("listed"),
        func.coalesce(runs.outcome, "").label("outcome"),
        func.coalesce(runs.error_type, "").label("error_type"),
    ]


def _of_all(connection: Connection) -> dict[Group, tuple[int, int]]:
    fields = columns()
    counted = select(*fields, func.count(), func.coalesce(func.sum(schema.runs.c.spans), 0))
    rows = connection.execute(counted.group_by(*fields)).all()
    return {Group(row[0], bool(row[1]), row[2], row[3]): (int(row[4]), int(row[5])) for row in rows}


def _of_runs(
    connection: Connection, runs: Collection[int]
) -> tuple[dict[Group, tuple[int, int]], Counter[stretches.Came], set[int]]:
    """Locks the rows, in order, until the transaction ends; the third are those that were judged before."""
    found: dict[Group, tuple[int, int]] = {}
    judged: set[int] = set()
    came = Counter[stretches.Came]()
    rows = OF_RUNS.ask(connection, runs=several(connection, [*runs]))
    for project, listed, outcome, error_type, spans, run, digest, stretch, agent, release in rows:
        if digest is not None:
            judged.add(run)
        group = Group(project, bool(listed), outcome, error_type)
        count, total = found.get(group, (0, 0))
        found[group] = (count + 1, total + spans)
        if listed and outcome:
            came[stretches.Came(project, stretch, agent, release, outcome)] += 1
    return found, came, judged


def _judged(connection: Connection, runs: Collection[int]) -> Counter[Judged]:
    rows = JUDGED.ask(connection, runs=several(connection, [*runs])) if runs else ()
    return Counter({Judged(*row[:-1]): row[-1] for row in rows})


def _all_judged(connection: Connection) -> dict[Judged, int]:
    rows = connection.execute(_results(on_sqlite=connection.dialect.name == "sqlite"))
    return {Judged(*row[:-1]): row[-1] for row in rows}


def _results(*, on_sqlite: bool, of_some: bool = False) -> Any:
    """Of all runs, or `of_some`: those of the parameter `runs`."""
    runs = schema.runs.c
    day = runs.first_seen / DAY
    parts = []
    for run, policy, said in SAID:
        of = (
            runs.project, cast(day if on_sqlite else func.floor(day), Integer), policy,
            func.coalesce(runs.agent, ""), said,
        )  # fmt: skip
        query = select(*of, func.count()).join(schema.runs, runs.id == run)
        query = query.where(runs.listed.is_not(False)).group_by(*of)
        parts.append(query.where(among(on_sqlite, run, "runs")) if of_some else query)
    return union_all(*parts)


SAID = tuple(
    (table.c.run, table.c.policy, said)
    for table, said in (
        (schema.policy_results, schema.policy_results.c.verdict),
        (schema.guard_results, schema.guard_results.c.decision),
    )
)
"""(run, policy, what is said of both) of what is counted by days."""
JUDGED = Prepared(lambda on_sqlite: _results(on_sqlite=on_sqlite, of_some=True))


def _add_judged(connection: Connection, changes: Mapping[Judged, int]) -> None:
    rows = [{**judged._asdict(), "runs": runs} for judged, runs in sorted(changes.items()) if runs]
    ADD_JUDGED.run(connection, rows)


def _add(connection: Connection, changes: Tally) -> None:
    rows = [
        {
            "project": group.project, "listed": int(group.listed), "outcome": group.outcome,
            "error_type": group.error_type, "runs": runs, "spans": spans,
        }
        for group, (runs, spans) in sorted(changes.items())
    ]  # fmt: skip
    ADD.run(connection, rows)


OF_RUNS = Prepared(
    lambda on_sqlite: (
        select(
            *columns(),
            func.coalesce(schema.runs.c.spans, 0),
            schema.runs.c.id,
            schema.runs.c.digest,
            *stretches.came_in(on_sqlite),
        )
        .where(among(on_sqlite, schema.runs.c.id, "runs"))
        .order_by(schema.runs.c.id)
        .with_for_update(key_share=True)
    )
)


def _upsert(on_sqlite: bool) -> Any:
    table = schema.run_counts
    statement = insertion(on_sqlite, table, *(column.name for column in table.c))
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["project", "listed", "outcome", "error_type"],
        set_={"runs": table.c.runs + new.runs, "spans": table.c.spans + new.spans},
    )


ADD = Prepared(_upsert)


def _upsert_judged(on_sqlite: bool) -> Any:
    table = schema.policy_days
    statement = insertion(on_sqlite, table, *(column.name for column in table.c))
    return statement.on_conflict_do_update(
        index_elements=[*Judged._fields], set_={"runs": table.c.runs + statement.excluded.runs}
    )


ADD_JUDGED = Prepared(_upsert_judged)
