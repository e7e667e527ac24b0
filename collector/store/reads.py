"""Lists and look-ups for the API and the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, bindparam, func, or_, select, tuple_
from sqlalchemy.engine import Connection
from sqlalchemy.engine import RowMapping as Row

from collector.store import counts, schema
from collector.store.joins import members_of
from collector.store.neighbours import guests
from collector.store.stored import RUN_BYTES, Sizes, Stored, payloads, together
from collector.store.words import has, pattern


@dataclass(frozen=True, slots=True)
class Filter:
    """Which runs; None = any."""

    case: str | None = None
    policy: str | None = None
    outcome: str | None = None
    """`unbound` = no case and no policy applies."""
    error_type: str | None = None
    agent: str | None = None
    service: str | None = None
    version: str | None = None
    """See `Run.version`."""
    prompt: str | None = None
    environment: str | None = None
    tool: str | None = None
    since: float | None = None
    """Arrival of the first span, Unix seconds, inclusive."""
    until: float | None = None
    """Exclusive."""
    model: str | None = None
    session: str | None = None
    user: str | None = None
    rule: str | None = None
    """Of a policy or a case that the run broke."""
    guard: str | None = None
    """A rule by which a guard decided something about a call of the run."""
    decided: str | None = None
    """What a guard decided about a call of the run, by the rule that is asked for, if one is."""
    words: tuple[str, ...] = ()
    """Each stands in what was asked or in what was found, in letters of whatever size."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a list a page ended."""

    first_seen: float
    id: int
    by_number: bool
    """The list is in order of row ids, not of arrival: nearly the same. It stays so to its last page."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list of runs."""

    rows: list[Row]
    end: Place | None
    """None without any row."""


FEW = 100
"""A filter that so few runs pass is asked first, and the others of these runs alone."""


SORTS = ("duration", "calls", "tokens", "findings")
"""By what a list may be ordered instead of by arrival; the greatest first."""


def list_runs(
    connection: Connection, project: int, wanted: Filter, *, limit: int, before: Place | None = None,
    after: Place | None = None,
) -> Page:  # fmt: skip
    """Newest first; `before` is where the previous page ended, `after` where the next one begins."""
    if after is not None:
        return _page_before(connection, project, wanted, limit, after)
    runs, times = schema.runs, _times(wanted)
    rare = _rarest(connection, project, wanted, times)
    if rare.ids == []:
        return Page([], None)
    query, number = _using(wanted, rare)
    query = query.where(runs.c.project == project, runs.c.listed.is_not(False), *rare.conditions, *times)
    query = query.where(*_searched(wanted))
    by_number = number is not runs.c.id if before is None else before.by_number
    if by_number:
        query = query.order_by(number.desc())
        query = query if before is None else query.where(number < before.id)
    else:
        query = query.order_by(runs.c.first_seen.desc(), runs.c.id.desc())
        place = tuple_(runs.c.first_seen, runs.c.id)
        query = query if before is None else query.where(place < (before.first_seen, before.id))
    rows = list(connection.execute(query.limit(limit)).mappings())
    end = Place(rows[-1]["first_seen"], rows[-1]["id"], by_number) if rows else None
    return Page(rows, end)


def _page_before(connection: Connection, project: int, wanted: Filter, limit: int, after: Place) -> Page:
    """The page that ends where another begins."""
    runs = schema.runs
    query = matching(project, wanted)
    if after.by_number:
        query = query.where(runs.c.id > after.id).order_by(runs.c.id)
    else:
        place = tuple_(runs.c.first_seen, runs.c.id)
        query = query.where(place > (after.first_seen, after.id)).order_by(runs.c.first_seen, runs.c.id)
    rows = list(connection.execute(query.limit(limit)).mappings())[::-1]
    end = Place(rows[-1]["first_seen"], rows[-1]["id"], after.by_number) if rows else None
    return Page(rows, end)


def matching(project: int, wanted: Filter) -> Select[Any]:
    """The listed runs that pass a filter, in no order."""
    runs, tools, results = schema.runs, schema.run_tools, schema.policy_results
    query = select(runs).where(
        runs.c.project == project, runs.c.listed.is_not(False), *conditions(wanted), *_searched(wanted)
    )
    if wanted.tool is not None and "*" not in wanted.tool:
        query = query.where(runs.c.id.in_(select(tools.c.run).where(tools.c.tool == wanted.tool)))
    if wanted.policy is not None:
        query = query.where(runs.c.id.in_(select(results.c.run).where(results.c.policy == wanted.policy)))
    return query


def sorted_runs(
    connection: Connection, project: int, wanted: Filter, *, by: str, limit: int, skip: int = 0
) -> list[Row]:
    """The runs that have most of one of `SORTS`."""
    runs = schema.runs
    column = {
        "duration": runs.c.ended_ns - runs.c.started_ns, "calls": runs.c.calls, "tokens": runs.c.tokens,
        "findings": runs.c.findings,
    }[by]  # fmt: skip
    order = func.coalesce(column, -1).desc(), runs.c.id.desc()
    query = matching(project, wanted).order_by(*order).limit(limit).offset(skip)
    return list(connection.execute(query).mappings())


def first_findings(connection: Connection, runs: Sequence[int]) -> dict[int, Row]:
    """Run -> the first of its findings, for those that have any."""
    findings = schema.findings
    first = select(func.min(findings.c.id)).where(findings.c.run.in_(runs)).group_by(findings.c.run)
    query = select(findings).where(findings.c.id.in_(first))
    return {row["run"]: row for row in connection.execute(query).mappings()}


def _searched(wanted: Filter) -> list[Any]:
    """What a search line asks beyond the columns that have an index."""
    runs, findings, tools = schema.runs, schema.findings, schema.run_tools
    found: list[Any] = []
    if wanted.rule is not None:
        names = (wanted.rule, f"policy:{wanted.rule}", f"case:{wanted.rule}")
        found.append(runs.c.id.in_(select(findings.c.run).where(findings.c.rule.in_(names))))
    decisions = schema.guard_results.c
    told = [
        column == value
        for column, value in ((decisions.policy, wanted.guard), (decisions.decision, wanted.decided))
        if value is not None
    ]
    if told:
        found.append(runs.c.id.in_(select(decisions.run).where(*told)))
    if wanted.tool is not None and "*" in wanted.tool:
        like = tools.c.tool.like(pattern(wanted.tool), escape="\\")
        found.append(runs.c.id.in_(select(tools.c.run).where(like)))
    for word in wanted.words:
        broken = select(findings.c.run).where(has(findings.c.explanation, word))
        found.append(or_(has(runs.c.title, word), runs.c.id.in_(broken)))
    return found


def _using(wanted: Filter, rare: Rarest) -> tuple[Select[Any], Any]:
    """Runs that used a tool and were judged by a policy, where these are asked for.

    With the column of the run's number in the table whose index comes first.
    """
    runs, tools, results = schema.runs, schema.run_tools, schema.policy_results
    query, number = select(runs), runs.c.id
    if wanted.policy is not None:
        query = query.join(results, results.c.run == number).where(results.c.policy == wanted.policy)
        number = results.c.run
    if wanted.tool is not None and "*" not in wanted.tool:
        query = query.join(tools, tools.c.run == number).where(tools.c.tool == wanted.tool)
        number = tools.c.run if rare.by != "policy" else number
    if rare.ids is not None:
        query = query.where(runs.c.id.in_(rare.ids))
    return query, runs.c.id if rare.by == "run" else number


@dataclass(frozen=True, slots=True)
class Rarest:
    """The filter that passes the fewest runs, which is asked first."""

    by: str | None
    """`run`, `tool` or `policy`; None where there is no choice."""
    conditions: Sequence[Any]
    """Those on rows of `runs` but for times, written so that only the index of the rarest serves them."""
    ids: list[int] | None = None
    """All that pass it, if they are few."""


def _rarest(connection: Connection, project: int, wanted: Filter, times: Sequence[Any]) -> Rarest:
    """Of several filters the one whose newest `FEW` runs reach back farthest.

    SQLite cannot tell by itself: it keeps no statistics that a store growing from nothing could trust.
    """
    runs, tools, results = schema.runs, schema.run_tools, schema.policy_results
    conditions = _conditions(wanted)
    found = select(runs.c.id, runs.c.first_seen)
    newest = found.where(runs.c.project == project, *times).order_by(runs.c.first_seen.desc())
    asked = [("run", newest.where(condition)) for condition in conditions]
    if times and not asked:
        asked.append(("run", newest))
    for name, table, column, value in (
        ("policy", results, results.c.policy, wanted.policy),
        ("tool", tools, tools.c.tool, None if "*" in (wanted.tool or "") else wanted.tool),
    ):
        if value is not None:
            joined = found.join(table, table.c.run == runs.c.id).where(column == value)
            asked.append((name, joined.order_by(table.c.run.desc())))
    if len(asked) < 2:
        return Rarest(None, conditions)
    far = [query.with_only_columns(runs.c.first_seen).limit(1).offset(FEW) for _, query in asked]
    reach = list(connection.execute(select(*(one.scalar_subquery() for one in far))).one())
    if None in reach:
        few = asked[reach.index(None)][1]
        return Rarest("run", conditions, [row.id for row in connection.execute(few)])
    at = reach.index(min(reach))
    if connection.dialect.name == "sqlite":
        conditions = [c if k == at else func.ifnull(c, 0) for k, c in enumerate(conditions)]
    return Rarest(asked[at][0], conditions)


def _conditions(wanted: Filter) -> list[Any]:
    """One condition on a row of `runs` for each filter but times; an index serves each."""
    runs = schema.runs
    found: list[Any] = [
        column == value
        for column, value in (
            (runs.c.case_id, wanted.case),
            (runs.c.error_type, wanted.error_type),
            (runs.c.agent, wanted.agent),
            (runs.c.service, wanted.service),
            (runs.c.release, wanted.version),
            (runs.c.prompt, wanted.prompt),
            (runs.c.environment, wanted.environment),
            (runs.c.model, wanted.model),
            (runs.c.session, wanted.session),
            (runs.c.person, wanted.user),
        )
        if value is not None
    ]
    if wanted.outcome == "unbound":
        found.append(and_(runs.c.outcome.is_(None), runs.c.listed.is_not(False)))
    elif wanted.outcome is not None:
        found.append(runs.c.outcome == wanted.outcome)
    return found


def conditions(wanted: Filter) -> list[Any]:
    """All that a filter asks of a row of `runs` itself."""
    return [*_conditions(wanted), *_times(wanted)]


def _times(wanted: Filter) -> list[Any]:
    """Conditions that the index of every other one on `runs` serves too."""
    seen = schema.runs.c.first_seen
    found = [seen >= wanted.since] if wanted.since is not None else []
    return found + ([seen < wanted.until] if wanted.until is not None else [])


def one_run(connection: Connection, project: int, key: str) -> Row | None:
    runs = schema.runs
    return (
        connection.execute(select(runs).where(runs.c.project == project, runs.c.key == key))
        .mappings()
        .first()
    )


def runs_beginning(connection: Connection, project: int, prefix: str, limit: int) -> list[str]:
    """Ids of runs that begin with some text, in order."""
    key = schema.runs.c.key
    here = (schema.runs.c.project == project, key >= prefix, key < f"{prefix}~")  # ids are hex digits
    return list(connection.scalars(select(key).where(*here).order_by(key).limit(limit)))


def stored_spans(connection: Connection, run: int) -> Stored:
    """What is stored of a run, with the traces that it shows."""
    return of_several(connection, own_runs(connection, run))


def of_several(connection: Connection, runs: Sequence[int], sizes: Sizes | None = None) -> Stored:
    """What is stored of several rows as if it were one's; `sizes` where they are known."""
    return together(payloads(connection, runs, in_all=RUN_BYTES, sizes=sizes), runs)


def rows_with_guests(connection: Connection, run: int) -> tuple[list[int], list[int]]:
    """The rows of a run, and those of the spans without a run id in its traces."""
    own = own_runs(connection, run)
    return own, sorted({guest for some in guests(connection, own).values() for guest in some} - {*own})


def spans_with_guests(connection: Connection, run: int) -> tuple[Stored, Stored]:
    """What is stored of them."""
    own, others = rows_with_guests(connection, run)
    return of_several(connection, own), of_several(connection, others)


def spans_of_several(
    connection: Connection, project: int, rows: Sequence[Any]
) -> dict[int, tuple[Stored, Stored]]:
    """Row id -> what `spans_with_guests` says of it; `rows` have `id`, `key` and `joined`."""
    own = {
        row.id: members_of(connection, project, row.key) if row.joined == row.key else [row.id]
        for row in rows
    }
    several = sorted({run for runs in own.values() for run in runs})
    beside = guests(connection, several)
    others = {
        run: sorted({guest for one in runs for guest in beside.get(one, ())} - {*runs})
        for run, runs in own.items()
    }
    found = payloads(connection, sorted({*several, *(run for runs in others.values() for run in runs)}))
    return {run: (together(found, own[run]), together(found, others[run])) for run in own}


def key_of(connection: Connection, run: int) -> str:
    """Of the run of a row."""
    return str(connection.scalar(select(schema.runs.c.key).where(schema.runs.c.id == run)))


def own_runs(connection: Connection, run: int) -> list[int]:
    """The row of a run, and of the traces that it shows because they are one conversation."""
    runs = schema.runs
    row = connection.execute(select(runs.c.project, runs.c.key, runs.c.joined).where(runs.c.id == run)).one()
    return members_of(connection, row.project, row.key) if row.joined == row.key else [run]


def history(connection: Connection, run: int) -> list[Row]:
    """The conclusions about a run, oldest first; the newest `work.HISTORY` are kept."""
    verdicts = schema.verdicts
    query = select(verdicts).where(verdicts.c.run == run).order_by(verdicts.c.id)
    return list(connection.execute(query).mappings())


def newest_bodies(connection: Connection, runs: Sequence[int]) -> dict[int, str]:
    """Run -> its newest conclusion, as JSON."""
    verdicts = schema.verdicts
    newest = select(func.max(verdicts.c.id)).where(verdicts.c.run.in_(runs)).group_by(verdicts.c.run)
    query = select(verdicts.c.run, verdicts.c.body).where(verdicts.c.id.in_(newest))
    return {row.run: row.body for row in connection.execute(query)}


def list_findings(
    connection: Connection,
    project: int,
    *,
    rule: str | None = None,
    type: str | None = None,
    tool: str | None = None,
    run: str | None = None,
    limit: int,
    before: int | None = None,
) -> list[Row]:
    """Newest first, each with the key of its run."""
    findings, runs = schema.findings, schema.runs
    query = select(findings, runs.c.key, runs.c.agent, runs.c.case_id).join(runs, runs.c.id == findings.c.run)
    for column, value in (
        (findings.c.rule, rule),
        (findings.c.type, type),
        (findings.c.tool, tool),
        (runs.c.key, run),
    ):
        if value is not None:
            query = query.where(column == value)
    if before is not None:
        query = query.where(findings.c.id < before)
    query = query.order_by(findings.c.id.desc()).limit(limit)
    if rule is None and run is None:  # the index of a project has its findings in order of their rules
        last = before or int(connection.scalar(select(func.max(findings.c.id))) or 0)
        near = query.where(findings.c.project + 0 == project, findings.c.id >= last - NEAR)
        rows = list(connection.execute(near).mappings())
        if len(rows) == limit:
            return rows
    return list(connection.execute(query.where(findings.c.project == project)).mappings())


NEAR = 5_000
"""Among so many of the newest findings of all projects those of one are looked for first."""


def stats(connection: Connection, project: int) -> dict[str, Any]:
    """Counts of what is stored, which are kept, and of what waits.

    What waits is read first: where that is nothing, the counts have all that had come.
    """
    unchecked = waiting(connection, project).get(project, 0)
    by_outcome: dict[str, int] = {}
    by_error: dict[str, int] = {}
    kept = counts.kept_of(connection, project)
    for group, (count, _) in kept.items():
        if group.listed and count:
            outcome = group.outcome or "unbound"
            by_outcome[outcome] = by_outcome.get(outcome, 0) + count
            if group.error_type:
                by_error[group.error_type] = by_error.get(group.error_type, 0) + count
    return {
        "runs": sum(by_outcome.values()),
        "spans": sum(spans for _, spans in kept.values()),
        "outcomes": by_outcome,
        "error_types": by_error,
        "unchecked": unchecked,
    }


def distinct(connection: Connection, project: int, column: str) -> list[str]:
    """Values that a filter offers, in alphabetical order."""
    field = schema.runs.c[column]
    here = (schema.runs.c.project == project, field.is_not(None))
    return _different(connection, field, *here, limit=200)


def _different(connection: Connection, field: Any, *conditions: Any, limit: int) -> list[str]:
    """Different values of an indexed column, in order: one step in the index for each, however many rows."""
    first = select(field.label("value")).where(*conditions).order_by(field).limit(1)
    known = select(first.subquery().c.value).cte("known", recursive=True)
    behind = first.where(field > known.c.value).scalar_subquery()
    known = known.union_all(select(behind).where(known.c.value.is_not(None)))
    query = select(known.c.value).where(known.c.value.is_not(None)).limit(limit)
    return [str(value) for value in connection.scalars(query)]


def backlog(connection: Connection, now: float, only: int | None) -> tuple[int, float]:
    """(runs that are due, seconds since the first of them became due), over all projects or of one."""
    runs = schema.runs
    query = select(func.count(), func.min(runs.c.due)).where(runs.c.due.is_not(None), runs.c.due <= now)
    if only is not None:
        query = query.where(runs.c.project + 0 == only)  # not its index, which has all runs
    count, first = connection.execute(query).one()
    return int(count), 0.0 if first is None else now - first


def waiting(connection: Connection, only: int | None) -> dict[int, int]:
    """Project -> runs that changed since they were judged, where there are any."""
    runs = schema.runs
    place = runs.c.project + 0  # not its index, which has all runs
    query = select(place, func.count()).where(runs.c.due.is_not(None), runs.c.checked < runs.c.version)
    if only is not None:
        query = query.where(place == only)
    return {row[0]: int(row[1]) for row in connection.execute(query.group_by(place))}


def lag(connection: Connection, now: float) -> float:
    """Seconds since the first run that no checker holds became due, over all projects."""
    runs = schema.runs
    free = or_(runs.c.lease.is_(None), runs.c.lease < now)
    query = select(runs.c.due).where(runs.c.due.is_not(None), runs.c.due <= now, free)
    first = connection.scalar(query.order_by(runs.c.due).limit(1))
    return 0.0 if first is None else now - float(first)


def policy_names(connection: Connection, project: int) -> list[str]:
    """Rules that were ever judged in a project."""
    results, runs = schema.policy_results, schema.runs
    names = _different(connection, results.c.policy, limit=1000)
    used = (
        select(results.c.run)
        .join(runs, runs.c.id == results.c.run)
        .where(results.c.policy == bindparam("name"), runs.c.project == project)
        .limit(1)
    )
    return [name for name in names if connection.execute(used, {"name": name}).first()][:200]


NEWEST_RESULTS = 1_000


def idle_rules(connection: Connection, project: int) -> list[str]:
    """Rules that applied to none of the newest `NEWEST_RESULTS` runs that they judged."""
    results, runs = schema.policy_results, schema.runs
    idle = []
    for name in policy_names(connection, project):
        newest = (
            select(results.c.verdict)
            .join(runs, runs.c.id == results.c.run)
            .where(results.c.policy == name, runs.c.project == project)
            .order_by(results.c.run.desc())
            .limit(NEWEST_RESULTS)
        )
        if set(connection.scalars(newest)) == {"not_applicable"}:
            idle.append(name)
    return idle


def outcomes_of_cases(connection: Connection, project: int, ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Case -> outcome -> how many of its runs came to it."""
    runs = schema.runs
    query = (
        select(runs.c.case_id, runs.c.outcome, func.count())
        .where(runs.c.project == project, runs.c.case_id.in_(ids), runs.c.listed.is_not(False))
        .where(runs.c.outcome.is_not(None))
        .group_by(runs.c.case_id, runs.c.outcome)
    )
    found: dict[str, dict[str, int]] = {}
    for case_id, outcome, count in connection.execute(query):
        found.setdefault(case_id, {})[outcome] = int(count)
    return found
