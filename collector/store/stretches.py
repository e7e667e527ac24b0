"""What runs came to and what they broke, counted over stretches of six hours with every commit.

Figures over days read the stretches that lie in them whole, and of the two that are cut the runs themselves.
When the first and the last run of a count came is known until a run leaves it; `refresh` looks again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Integer, Select, and_, case, cast, delete, func, or_, select, tuple_, update
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.engine import Store
from collector.store.prepared import Prepared, among, insertion, several

STRETCH = 21_600.0
"""Seconds."""
MOST_REFRESHED = 100_000
"""Findings of a stretch that are looked at again while arrivals wait."""


class Came(NamedTuple):
    """Listed runs of a stretch that came to the same outcome; empty text = not known."""

    project: int
    stretch: int
    """Since 1970; the one in which the first span of a run came."""
    agent: str
    release: str
    outcome: str


class Broke(NamedTuple):
    """Listed runs of a stretch that broke the same; empty text = not known."""

    project: int
    stretch: int
    rule: str
    agent: str
    tool: str
    release: str


class Found(NamedTuple):
    """What is counted of `Broke`."""

    runs: int
    leads: int
    """Runs whose first finding of the rule it is: over all tools, each run that broke the rule once."""
    first: float | None
    """Arrival of its first run; None = not known, as the two below."""
    last: float | None
    newest: int | None
    """Row of its newest finding."""

    @property
    def bounds(self) -> tuple[float, float, int]:
        """The three, where they are known."""
        assert self.first is not None
        assert self.last is not None
        assert self.newest is not None
        return self.first, self.last, self.newest


class Seen(NamedTuple):
    """What one run has of `Broke`."""

    leads: int
    at: float
    newest: int


Findings = Mapping[tuple[Broke, int], Seen]
"""(what, run) -> what was found."""


def number(on_sqlite: bool, seconds: Any) -> Any:
    """The stretch of an instant."""
    whole = seconds / STRETCH
    return cast(whole if on_sqlite else func.floor(whole), Integer)


def findings_of(connection: Connection, runs: Collection[int]) -> Findings:
    """Of these runs, as far as they are listed."""
    rows = FINDINGS.ask(connection, runs=several(connection, [*runs])) if runs else ()
    return {(Broke(*row[:6]), row[6]): Seen(int(row[7]), *row[8:]) for row in rows}


def add_findings(connection: Connection, before: Findings, after: Findings) -> None:
    """Count what changed of some runs."""
    changes: dict[Broke, Found] = {}
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old != new:
            known = changes.get(key[0], Found(0, 0, float("inf"), 0.0, 0))
            changes[key[0]] = _changed(known, old, new)
    ADD_FOUND.run(
        connection, [{**key._asdict(), **found._asdict()} for key, found in sorted(changes.items())]
    )


def _changed(known: Found, old: Seen | None, new: Seen | None) -> Found:
    runs = known.runs + (new is not None) - (old is not None)
    leads = known.leads + (new.leads if new else 0) - (old.leads if old else 0)
    if new is None or (old is not None and new.newest < old.newest) or known.first is None:
        return Found(runs, leads, None, None, None)
    first, last, newest = known.bounds
    return Found(runs, leads, min(first, new.at), max(last, new.at), max(newest, new.newest))


def add_came(connection: Connection, changes: Mapping[Came, int]) -> None:
    rows = [{**key._asdict(), "runs": runs} for key, runs in sorted(changes.items()) if runs]
    ADD_CAME.run(connection, rows)


# ---------------------------------------------------------------- what is asked


def came(
    connection: Connection, project: int, since: float, until: float | None = None
) -> Mapping[tuple[str, str, str], int]:
    """(agent, version, outcome) -> listed runs that came from an instant on, until before another."""
    table, runs = schema.run_stretches, schema.runs.c
    within, cut = _parts(since, until)
    of = (table.c.agent, table.c.release, table.c.outcome)
    queries = [
        select(*of, func.sum(table.c.runs))
        .where(table.c.project == project, *_among(table.c.stretch, within))
        .group_by(*of)
    ]
    own = (func.coalesce(runs.agent, ""), func.coalesce(runs.release, ""), runs.outcome)
    judged = (runs.project == project, runs.listed.is_not(False), runs.outcome.is_not(None))
    queries += [select(*own, func.count()).where(*judged, *_between(part)).group_by(*own) for part in cut]
    found: dict[tuple[str, str, str], int] = {}
    for query in queries:
        for agent, release, outcome, count in connection.execute(query):
            key = agent, release, outcome
            found[key] = found.get(key, 0) + int(count)
    return found


def broke(
    connection: Connection, project: int, since: float, until: float | None = None, *, by: Sequence[str],
    agent: str | None = None, release: str | None = None,
) -> Iterator[tuple[Any, Found]]:  # fmt: skip
    """What was broken by the listed runs that came from an instant on: (values, what is counted of them).

    `by` names fields of `Broke`, the values of which may come several times. Runs are those of each tool.
    """
    table, within, cut = schema.finding_stretches, *_parts(since, until)
    kept = table.c
    said = [(kept.agent, schema.runs.c.agent, agent), (kept.release, schema.runs.c.release, release)]
    named = [(counted, own, value) for counted, own, value in said if value is not None]
    here = (kept.project == project, kept.runs != 0, *_among(kept.stretch, within))
    again = connection.scalars(select(kept.stretch).where(*here, kept.first.is_(None)).distinct()).all()
    columns = [kept[name] for name in by]
    whole = (
        select(
            *columns, func.sum(kept.runs), func.sum(kept.leads), func.min(kept.first), func.max(kept.last),
            func.max(kept.newest),
        )
        .where(*here, kept.stretch.not_in(again), *(counted == value for counted, _, value in named))
        .group_by(*columns)
    )  # fmt: skip
    looks = [
        _grouped(connection.dialect.name == "sqlite", by).where(
            schema.runs.c.project == project, *_between(part), *(own == value for _, own, value in named)
        )
        for part in (*cut, *_joined(sorted(again)))
    ]
    for query in (whole, *looks):
        yield from _counted(connection, query, len(by))


Part = tuple[float, float | None]
"""From when on, and before when (Unix seconds)."""


def _parts(since: float, until: float | None) -> tuple[tuple[int, int | None], list[Part]]:
    """(first whole stretch, the one after the last), and what is left at both ends."""
    first, end = int(-(-since // STRETCH)), None if until is None else int(until // STRETCH)
    if end is not None and end <= first:
        return (first, first), [(since, until)]
    cut: list[Part] = [(since, first * STRETCH)] if since < first * STRETCH else []
    if until is not None and end is not None and end * STRETCH < until:
        cut.append((end * STRETCH, until))
    return (first, end), cut


def _among(column: Any, within: tuple[int, int | None]) -> list[Any]:
    first, end = within
    return [column >= first] if end is None else [column >= first, column < end]


def _between(part: Part) -> list[Any]:
    seen, (since, until) = schema.runs.c.first_seen, part
    return [seen >= since] if until is None else [seen >= since, seen < until]


def _joined(stretches: Iterable[int]) -> Iterator[Part]:
    """Stretches that follow each other as one part."""
    for _, some in groupby(enumerate(stretches), key=lambda one: one[1] - one[0]):
        numbers = [stretch for _, stretch in some]
        yield numbers[0] * STRETCH, (numbers[-1] + 1) * STRETCH


# ---------------------------------------------------------------- holding counts against what is there


def kept(connection: Connection) -> tuple[dict[Came, int], dict[Broke, Found]]:
    """What is counted, of all projects."""
    runs, findings = schema.run_stretches, schema.finding_stretches
    rows = connection.execute(select(runs).where(runs.c.runs != 0))
    found = connection.execute(select(findings).where(findings.c.runs != 0))
    return (
        {Came(*row[:-1]): row[-1] for row in rows},
        {Broke(*row[:6]): Found(*row[6:]) for row in found},
    )


def _there(connection: Connection) -> tuple[dict[Came, int], dict[Broke, Found]]:
    """The same by a look at everything."""
    on_sqlite, runs = connection.dialect.name == "sqlite", schema.runs.c
    of = (runs.project, *came_in(on_sqlite), runs.outcome)
    judged = (runs.listed.is_not(False), runs.outcome.is_not(None))
    rows = connection.execute(select(*of, func.count()).where(*judged).group_by(*of))
    return {Came(*row[:-1]): row[-1] for row in rows}, _everything(connection)


def are_right(connection: Connection) -> bool:
    """Is what is counted what is there, as far as it is known?"""
    (runs, findings), (own_runs, own) = kept(connection), _there(connection)
    told = {
        key: found if found.first is not None else own[key]._replace(runs=found.runs, leads=found.leads)
        for key, found in findings.items()
        if key in own
    }
    return (runs, findings.keys(), told) == (own_runs, own.keys(), own)


def count_all(connection: Connection) -> None:
    """Count everything again."""
    runs, findings = _there(connection)
    connection.execute(delete(schema.run_stretches))
    connection.execute(delete(schema.finding_stretches))
    add_came(connection, runs)
    ADD_FOUND.run(
        connection, [{**key._asdict(), **found._asdict()} for key, found in sorted(findings.items())]
    )


def refresh(store: Store) -> bool:
    """Look again when the runs of one stretch came, where that is not known; False where there is none."""
    table = schema.finding_stretches
    unknown = and_(table.c.first.is_(None), table.c.runs != 0)
    of = (table.c.project, table.c.stretch)
    small = select(*of).where(unknown).group_by(*of).having(func.sum(table.c.runs) <= MOST_REFRESHED).limit(1)
    with store.read() as connection:  # looking costs nothing, a write transaction would hold up arrivals
        one = connection.execute(small).first()
    if one is None:
        return False
    with store.write() as connection:
        here = (table.c.project == one.project, table.c.stretch == one.stretch)
        key = tuple(table.c[name] for name in Broke._fields)
        held = select(table).where(*here, unknown).order_by(*key).with_for_update()
        wanted = {Broke(*row[:6]) for row in connection.execute(held)}
        part = (one.stretch * STRETCH, (one.stretch + 1) * STRETCH)
        query = _grouped(store.sqlite).where(schema.runs.c.project == one.project, *_between(part))
        for values, found in _counted(connection, query):
            if Broke(*values) in wanted:
                bounds = {"first": found.first, "last": found.last, "newest": found.newest}
                own = (column == value for column, value in zip(key, values, strict=True))
                connection.execute(update(table).where(*own).values(bounds))
    return True


def forget_nothing(store: Store) -> None:
    """Drop the counts of what is gone, but for those that somebody is changing."""
    for table in (schema.policy_days, schema.run_stretches, schema.finding_stretches):
        key = list(table.primary_key)
        empty = select(*key).where(table.c.runs == 0).with_for_update(skip_locked=True)
        with store.write() as connection:
            connection.execute(delete(table).where(tuple_(*key).in_(empty), table.c.runs == 0))


# ---------------------------------------------------------------- statements


def came_in(on_sqlite: bool) -> tuple[Any, ...]:
    """Of a query over `runs`: stretch, agent and version of `Came`."""
    runs = schema.runs.c
    return (
        number(on_sqlite, runs.first_seen).label("stretch"), func.coalesce(runs.agent, ""),
        func.coalesce(runs.release, ""),
    )  # fmt: skip


def _key(on_sqlite: bool, by: Sequence[str] = Broke._fields) -> list[Any]:
    """Fields of `Broke` in a query over `findings` and `runs`."""
    runs, findings = schema.runs.c, schema.findings.c
    fields = {
        "project": runs.project, "stretch": number(on_sqlite, runs.first_seen), "rule": findings.rule,
        "agent": func.coalesce(runs.agent, ""), "tool": func.coalesce(findings.tool, ""),
        "release": func.coalesce(runs.release, ""),
    }  # fmt: skip
    return [fields[name] for name in by]


def _leads() -> Any:
    """1 for the first finding of a rule in its run."""
    findings, other = schema.findings.c, schema.findings.alias()
    before = select(other.c.id).where(
        other.c.run == findings.run, other.c.rule == findings.rule, other.c.id < findings.id
    )
    return case((before.exists(), 0), else_=1)


def _over(*columns: Any) -> Select[Any]:
    runs, findings = schema.runs, schema.findings
    query = select(*columns).select_from(runs).join(findings, findings.c.run == runs.c.id)
    return query.where(runs.c.listed.is_not(False), runs.c.findings > 0)


def _grouped(on_sqlite: bool, by: Sequence[str] = Broke._fields) -> Select[Any]:
    """Rows of fields of `Broke`, and `Found`, from the findings themselves."""
    runs, findings, key = schema.runs.c, schema.findings.c, _key(on_sqlite, by)
    counted = (
        func.count(func.distinct(findings.run)), func.sum(_leads()), func.min(runs.first_seen),
        func.max(runs.first_seen), func.max(findings.id),
    )  # fmt: skip
    return _over(*key, *counted).group_by(*key)


def _counted(
    connection: Connection, query: Select[Any], fields: int = len(Broke._fields)
) -> Iterator[tuple[Any, Found]]:
    for row in connection.execute(query):
        runs, leads, *bounds = row[fields:]
        yield row[:fields], Found(int(runs), int(leads), *bounds)


def _everything(connection: Connection) -> dict[Broke, Found]:
    found = _counted(connection, _grouped(connection.dialect.name == "sqlite"))
    return {Broke(*key): count for key, count in found}


def _findings(on_sqlite: bool) -> Any:
    runs, findings, key = schema.runs.c, schema.findings.c, _key(on_sqlite)
    columns = (*key, findings.run, func.sum(_leads()), func.min(runs.first_seen), func.max(findings.id))
    return _over(*columns).where(among(on_sqlite, findings.run, "runs")).group_by(*key, findings.run)


FINDINGS = Prepared(_findings)


def _add_came(on_sqlite: bool) -> Any:
    table = schema.run_stretches
    statement = insertion(on_sqlite, table, *(column.name for column in table.c))
    return statement.on_conflict_do_update(
        index_elements=[*Came._fields], set_={"runs": table.c.runs + statement.excluded.runs}
    )


def _add_found(on_sqlite: bool) -> Any:
    """Where a bound is not known on either side, it is not known of both; a count of none knows none."""
    table = schema.finding_stretches
    statement = insertion(on_sqlite, table, *(column.name for column in table.c))
    new, old = statement.excluded, table.c
    unknown = or_(old.first.is_(None), new.first.is_(None))

    def of_both(name: str, takes_new: Any) -> Any:
        return case(
            (old.runs == 0, new[name]), (unknown, None), (takes_new, new[name]), else_=old[name]
        )  # fmt: skip

    return statement.on_conflict_do_update(
        index_elements=[*Broke._fields],
        set_={
            "runs": old.runs + new.runs,
            "leads": old.leads + new.leads,
            "first": of_both("first", new.first < old.first),
            "last": of_both("last", new.last > old.last),
            "newest": of_both("newest", new.newest > old.newest),
        },
    )


ADD_CAME = Prepared(_add_came)
ADD_FOUND = Prepared(_add_found)
