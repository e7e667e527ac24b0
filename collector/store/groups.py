"""Findings that are alike: of one rule, one agent and one tool; and what people say of them.

What is said changes no verdict. A waiver ends when its date has passed or another version breaks the rule;
what was fixed comes back when a version breaks it that had not done so before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Integer, cast, delete, func, select
from sqlalchemy.engine import Connection
from sqlalchemy.engine import RowMapping as Row

from collector.store import policy_counts, reads, schema, stretches
from collector.store.engine import Store
from collector.store.reads import Filter
from collector.store.stretches import STRETCH

STATES = ("new", "known", "waived", "fixed", "wrong")
SEVERITIES = ("critical", "high", "medium", "low")


class Key(NamedTuple):
    """Which findings; empty text where there is no agent, or no tool."""

    rule: str
    agent: str
    tool: str


@dataclass(slots=True)
class Group:
    """What was found of one key in a stretch of time."""

    key: Key
    runs: int = 0
    first_seen: float = 0.0
    last_seen: float = 0.0
    newest: int = 0
    """Row of the newest finding."""
    counts: Counter[int] = field(default_factory=Counter)
    """Bucket -> runs."""
    versions: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Version -> when it broke the rule first and last."""

    def add(self, version: str, runs: int, first: float, last: float, newest: int) -> None:
        """Some runs of a version, when the first and the last of them came, and the newest finding."""
        self.first_seen = min(self.first_seen, first) if self.runs else first
        self.runs += runs
        self.last_seen, self.newest = max(self.last_seen, last), max(self.newest, newest)
        began, ended = self.versions.get(version, (first, last))
        self.versions[version] = min(began, first), max(ended, last)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a person says of a group."""

    state: str
    owner: str | None = None
    severity: str | None = None
    reason: str | None = None
    until: float | None = None
    """Unix seconds; of a waiver."""
    version: str | None = None
    """That a waiver is for, or in which it is fixed."""
    actor: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """In what state a group is now, and why it is not in the one that it was put in."""

    state: str
    why: str | None = None


def standing(mark: Mark | None, group: Group, now: float) -> Standing:
    """The state that a mark leaves a group in."""
    if mark is None:
        return Standing("new")
    if mark.state == "waived":
        if mark.until is not None and now >= mark.until:
            return Standing("new", "the waiver has ended")
        others = [
            name for name, (_, last) in group.versions.items() if last > mark.at and name != mark.version
        ]
        if mark.version is not None and others:
            return Standing("new", f"it was waived for version {mark.version}, and {others[0]} breaks it")
    if mark.state == "fixed":
        back = [name for name, (first, _) in group.versions.items() if first > mark.at]
        known = [
            name for name, (_, last) in group.versions.items() if name == mark.version and last > mark.at
        ]
        if back or known:
            return Standing("new", f"it was fixed in {mark.version}, and {(known or back)[0]} breaks it")
    return Standing(mark.state)


def found(
    connection: Connection, project: int, wanted: Filter, *, since: float, width: float
) -> dict[Key, Group]:
    """The groups of the runs since an instant that pass a filter of agent, version and end.

    Counted in buckets of `width` seconds from `since` on; in whole `stretches` (`width` is some of them) from
    the beginning of one on.
    """
    groups: dict[Key, Group] = {}
    if width % STRETCH == 0:
        _add_stretches(groups, connection, project, wanted, since, width)
        return groups
    for key, at, counted in _of_runs(connection, project, wanted, since, width):
        group = groups.setdefault(key, Group(key))
        group.counts[at] += counted[1]
        group.add(*counted)
    return groups


def _add_stretches(
    groups: dict[Key, Group], connection: Connection, project: int, wanted: Filter, since: float, width: float
) -> None:
    """By what is counted already."""
    agent, release = wanted.agent, wanted.version
    look = partial(stretches.broke, connection, project, since, wanted.until, agent=agent, release=release)
    key, start = ("rule", "agent", "tool"), begins(since, width)
    for (*of, version), count in look(by=(*key, "release")):
        groups.setdefault(Key(*of), Group(Key(*of))).add(version, count.runs, *count.bounds)
    for (*of, stretch), count in look(by=(*key, "stretch")):
        if (group := groups.get(Key(*of))) is not None:  # it may have come in between
            group.counts[int((stretch * STRETCH - start) // width)] += count.runs


def begins(since: float, width: float) -> float:
    """Where the first bucket does that has an instant."""
    return since // width * width if width % STRETCH == 0 else since


def _of_runs(
    connection: Connection, project: int, wanted: Filter, since: float, width: float
) -> Iterator[tuple[Key, int, tuple[str, int, float, float, int]]]:
    """(group, bucket, what `Group.add` takes)."""
    findings, runs = schema.findings, schema.runs
    place = (runs.c.first_seen - since) / width
    bucket = cast(place if connection.dialect.name == "sqlite" else func.floor(place), Integer)
    of = (findings.c.rule, func.coalesce(runs.c.agent, ""), func.coalesce(findings.c.tool, ""))
    also = (func.coalesce(runs.c.release, ""), bucket)
    query = (
        select(
            *of, *also, func.count(func.distinct(findings.c.run)), func.min(runs.c.first_seen),
            func.max(runs.c.first_seen), func.max(findings.c.id),
        )
        .join(runs, runs.c.id == findings.c.run)
        .where(
            runs.c.project == project, runs.c.listed.is_not(False), runs.c.first_seen >= since,
            runs.c.findings > 0, *reads.conditions(wanted),
        )
        .group_by(*of, *also)
    )  # fmt: skip
    for rule, agent, tool, version, at, *counted in connection.execute(query):
        yield Key(rule, agent, tool), at, (version, *counted)


def applied(
    connection: Connection, project: int, rules: Sequence[str], wanted: Filter
) -> Mapping[tuple[str, str], int]:
    """(rule, agent) -> runs that it applied to."""
    counted: dict[tuple[str, str], int] = {}
    policies = {rule.removeprefix("policy:") for rule in rules if rule.startswith("policy:")}
    for (policy, agent, _), count in _results(connection, project, wanted, policies).items():
        if not wanted.agent or agent == wanted.agent:
            key = f"policy:{policy}", agent
            counted[key] = counted.get(key, 0) + count
    runs = schema.runs
    of = (runs.c.case_id, func.coalesce(runs.c.agent, ""))
    cases = [rule.removeprefix("case:") for rule in rules if rule.startswith("case:")]
    bound = reads.matching(project, wanted).where(
        runs.c.case_id.in_(cases), runs.c.outcome.in_(("pass", "fail"))
    )
    if cases:
        for name, agent, count in connection.execute(
            bound.with_only_columns(*of, func.count()).group_by(*of)
        ):
            counted[f"case:{name}", agent] = int(count)
    return counted


APPLIED = ("ok", "violated")
"""Verdicts of a policy about a run that it applies to."""


def _results(
    connection: Connection, project: int, wanted: Filter, policies: Collection[str]
) -> policy_counts.Results:
    """How often policies were kept and broken in runs that a filter of time, agent and version passes."""
    if not policies:
        return {}
    if wanted.version is None and wanted.since is not None:
        found = policy_counts.results(connection, project, wanted.since, policies, APPLIED)
        if wanted.until is None:
            return found
        later = policy_counts.results(connection, project, wanted.until, policies, APPLIED)
        return {of: max(count - later.get(of, 0), 0) for of, count in found.items()}
    results, runs = schema.policy_results, schema.runs
    of = (results.c.policy, func.coalesce(runs.c.agent, ""), results.c.verdict)
    query = reads.matching(project, wanted).join(results, results.c.run == runs.c.id)
    query = query.where(results.c.policy.in_(sorted(policies)), results.c.verdict.in_(APPLIED))
    rows = connection.execute(query.with_only_columns(*of, func.count()).group_by(*of))
    return {(policy, agent, verdict): int(count) for policy, agent, verdict, count in rows}


def examples(connection: Connection, findings: Sequence[int]) -> dict[int, Row]:
    """Row of a finding -> it, with key, what was asked and version of its run."""
    table, runs = schema.findings, schema.runs
    told: dict[int, Row] = {}
    for at in range(0, len(findings), 500):
        query = (
            select(table, runs.c.key, runs.c.title, runs.c.release)
            .join(runs, runs.c.id == table.c.run)
            .where(table.c.id.in_(findings[at : at + 500]))
        )
        told.update((row["id"], row) for row in connection.execute(query).mappings())
    return told


def marks(connection: Connection, project: int) -> dict[Key, Mark]:
    """What is said of each group."""
    table = schema.finding_groups
    rows = connection.execute(select(table).where(table.c.project == project)).mappings()
    names = ("state", "owner", "severity", "reason", "until", "version", "actor", "at")
    return {Key(row["rule"], row["agent"], row["tool"]): Mark(*(row[name] for name in names)) for row in rows}


def versions_before(connection: Connection, project: int, key: Key, at: float) -> set[str]:
    """The versions whose runs broke a rule before an instant."""
    findings, runs = schema.findings, schema.runs
    query = (
        select(func.coalesce(runs.c.release, ""))
        .join(findings, findings.c.run == runs.c.id)
        .where(
            findings.c.project == project, findings.c.rule == key.rule, runs.c.first_seen <= at,
            func.coalesce(runs.c.agent, "") == key.agent, func.coalesce(findings.c.tool, "") == key.tool,
        )
    )  # fmt: skip
    return set(connection.scalars(query.distinct()))


def put(store: Store, project: int, key: Key, mark: Mark) -> None:
    """Keep what is said of a group, instead of what was said before."""
    table = schema.finding_groups
    said = {
        name: getattr(mark, name)
        for name in ("state", "owner", "severity", "reason", "until", "version", "actor", "at")
    }
    with store.write() as connection:
        statement = store.upsert(table).on_conflict_do_update(
            index_elements=["project", "rule", "agent", "tool"], set_=said
        )
        connection.execute(statement, {"project": project, **key._asdict(), **said})


# ---------------------------------------------------------------- labels of single verdicts


def put_label(store: Store, project: int, row: Mapping[str, Any]) -> None:
    """Keep what a person says of one verdict: `run`, `rule`, `label`, `note`, `actor`, `at`."""
    table = schema.labels
    said = {name: row[name] for name in ("label", "note", "actor", "at")}
    with store.write() as connection:
        statement = store.upsert(table).on_conflict_do_update(
            index_elements=["project", "run", "rule"], set_=said
        )
        connection.execute(statement, {"project": project, **row})


def drop_label(store: Store, project: int, run: str, rule: str) -> bool:
    table = schema.labels
    with store.write() as connection:
        gone = delete(table).where(table.c.project == project, table.c.run == run, table.c.rule == rule)
        return bool(connection.execute(gone).rowcount)


def labels(connection: Connection, project: int, *, run: str | None = None, limit: int = 1000) -> list[Row]:
    """Newest first."""
    table = schema.labels
    query = select(table).where(table.c.project == project)
    if run is not None:
        query = query.where(table.c.run == run)
    return list(connection.execute(query.order_by(table.c.at.desc(), table.c.run).limit(limit)).mappings())
