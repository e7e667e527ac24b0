"""Alert rules, what they count, and what is to be told because of them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import and_, delete, func, insert, or_, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.engine import RowMapping as Row

from collector.errors import BadRequest
from collector.store import groups, schema
from collector.store.engine import Store
from collector.store.groups import Key

MOST = 100
"""Rules of a project."""
KEPT = 500
"""Deliveries of a project, the newest."""
HIDDEN = ("waived", "wrong", "fixed")
"""States of findings that alert nobody."""


@dataclass(frozen=True, slots=True)
class Due:
    """One message on its way."""

    id: int
    attempts: int
    body: str
    rule: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a rule counts in its window."""

    broken: int
    of: int
    groups: tuple[tuple[Key, int, str, str], ...]
    """(which, runs, a sentence, the newest run), the most frequent first."""

    @property
    def rate(self) -> float:
        return self.broken / self.of if self.of else 0.0


def add(store: Store, project: int, name: str, body: Mapping[str, Any], *, now: float) -> int:
    """A new rule; returns its number. Raises BadRequest beyond `MOST`."""
    table = schema.alert_rules
    with store.write() as connection:
        count = select(func.count()).where(table.c.project == project, table.c.active)
        if int(connection.scalar(count) or 0) >= MOST:
            raise BadRequest(f"there are {MOST} alerts already", "remove one that is not needed")
        text = orjson.dumps(body).decode()
        made = insert(table).values(project=project, name=name, body=text, active=True, at=now)
        return int(connection.execute(made.returning(table.c.id)).scalar_one())


def listed(connection: Connection, project: int) -> list[Row]:
    """The rules in use, the oldest first."""
    table = schema.alert_rules
    query = select(table).where(table.c.project == project, table.c.active).order_by(table.c.id)
    return list(connection.execute(query).mappings())


def one(connection: Connection, project: int, alert: int) -> Row | None:
    table = schema.alert_rules
    here = (table.c.project == project, table.c.id == alert, table.c.active)
    return connection.execute(select(table).where(*here)).mappings().first()


def drop(store: Store, project: int, alert: int) -> bool:
    """Whether there was one; nothing that waits is told any more."""
    table, sent = schema.alert_rules, schema.alert_deliveries
    with store.write() as connection:
        here = (table.c.project == project, table.c.id == alert, table.c.active)
        gone = connection.execute(update(table).where(*here).values(active=False))
        waits = update(sent).where(sent.c.alert == alert, sent.c.project == project, sent.c.due.is_not(None))
        connection.execute(waits.values(due=None, status="cancelled"))
        return bool(gone.rowcount)


def silence(store: Store, project: int, alert: int, until: float | None) -> bool:
    table = schema.alert_rules
    with store.write() as connection:
        here = (table.c.project == project, table.c.id == alert, table.c.active)
        return bool(connection.execute(update(table).where(*here).values(silenced=until)).rowcount)


# ---------------------------------------------------------------- looking


def to_look_at(connection: Connection) -> list[Row]:
    """Every rule in use, of all projects."""
    table = schema.alert_rules
    return list(connection.execute(select(table).where(table.c.active)).mappings())


def take(store: Store, alert: int, *, now: float, every: float) -> bool:
    """Whether it is this collector's turn to look at a rule."""
    table = schema.alert_rules
    early = or_(table.c.looked.is_(None), table.c.looked <= now - every, table.c.looked > now + every)
    with store.write() as connection:
        mine = update(table).where(table.c.id == alert, table.c.active, early).values(looked=now)
        return bool(connection.execute(mine).rowcount)


def say(
    store: Store, rule: Mapping[str, Any], *, firing: float | None, said: Mapping[str, Any] | None,
    body: str | None, kind: str, now: float,
) -> None:  # fmt: skip
    """Record what a look at a rule came to, and a message if there is one."""
    table, sent = schema.alert_rules, schema.alert_deliveries
    with store.write() as connection:
        text = None if said is None else orjson.dumps(said).decode()
        changed = update(table).where(table.c.id == rule["id"], table.c.active)
        if not connection.execute(changed.values(firing=firing, said=text)).rowcount or body is None:
            return
        connection.execute(
            insert(sent).values(
                project=rule["project"], alert=rule["id"], at=now, kind=kind, body=body, due=now
            )
        )
        newest = select(sent.c.id).where(sent.c.project == rule["project"]).order_by(sent.c.id.desc())
        last = newest.limit(1).offset(KEPT).scalar_subquery()
        connection.execute(delete(sent).where(sent.c.project == rule["project"], sent.c.id <= last))


def seen(
    connection: Connection, project: int, body: Mapping[str, Any], *, since: float,
    severities: Mapping[str, str | None],
) -> Seen:  # fmt: skip
    """What a rule counts: runs that came since, and those that broke what it is about.

    Findings that were waived, fixed or called wrong do not count. `severities`: policy -> what its file says,
    for groups of which nobody said another.
    """
    findings, runs = schema.findings, schema.runs
    here = [runs.c.project == project, runs.c.listed.is_not(False), runs.c.first_seen >= since]
    here += [runs.c.agent == body["agent"]] if body.get("agent") else []
    here += [runs.c.release == body["version"]] if body.get("version") else []
    policy = body.get("policy")
    query = (
        select(
            findings.c.rule, func.coalesce(runs.c.agent, ""), func.coalesce(findings.c.tool, ""),
            findings.c.run, func.max(findings.c.explanation), func.max(runs.c.key),
            func.max(runs.c.release), func.max(runs.c.first_seen),
        )
        .join(runs, runs.c.id == findings.c.run)
        .where(*here)
        .group_by(findings.c.rule, runs.c.agent, findings.c.tool, findings.c.run)
        .order_by(findings.c.run)
    )  # fmt: skip
    if policy:
        query = query.where(findings.c.rule.in_((f"policy:{policy}", f"case:{policy}")))
    marks, severity = groups.marks(connection, project), body.get("severity")
    by_file = {f"policy:{name}": said for name, said in severities.items()}
    broken: set[int] = set()
    counted: dict[Key, tuple[int, str, str]] = {}
    earlier: dict[Key, set[str]] = {}
    for rule, agent, tool, run, sentence, key, version, seen_at in connection.execute(query).all():
        of = Key(rule, agent, tool)
        mark = marks.get(of)
        if mark is not None and mark.state == "fixed" and of not in earlier:
            earlier[of] = groups.versions_before(connection, project, of, mark.at)
        if (mark is not None and is_hidden(mark, since, version, seen_at, earlier.get(of, ()))) or (
            severity and severity != ((mark and mark.severity) or by_file.get(rule))
        ):
            continue
        broken.add(run)
        counted[of] = counted.get(of, (0, "", ""))[0] + 1, sentence, key
    told = sorted(((of, *found) for of, found in counted.items()), key=lambda found: -found[1])
    return Seen(len(broken), _applied(connection, here, policy), tuple(told))


def is_hidden(
    mark: groups.Mark, since: float, version: str | None, seen_at: float, earlier: Container[str]
) -> bool:  # fmt: skip
    """Whether a finding alerts nobody: it comes back as in the inbox, see `groups.standing`.

    `earlier`: the versions that broke the rule before it was said to be fixed.
    """
    if mark.state not in HIDDEN or (mark.until is not None and mark.until <= since):
        return False
    if seen_at <= mark.at:
        return True
    if mark.state == "waived":
        return mark.version is None or version == mark.version
    return mark.state == "wrong" or (version != mark.version and (version or "") in earlier)


def _applied(connection: Connection, here: Sequence[Any], policy: str | None) -> int:
    """Runs that could have broken it."""
    runs, results = schema.runs, schema.policy_results
    judged: Any = runs.c.outcome.in_(("pass", "fail"))
    if policy:
        kept = and_(results.c.policy == policy, results.c.verdict.in_(("ok", "violated")))
        judged = or_(runs.c.id.in_(select(results.c.run).where(kept)), and_(runs.c.case_id == policy, judged))
    return int(connection.scalar(select(func.count()).select_from(runs).where(*here, judged)) or 0)


# ---------------------------------------------------------------- telling


def due(store: Store, *, now: float, lease: float, limit: int) -> list[Due]:
    """Messages that are due, held until `now + lease`."""
    sent, rules = schema.alert_deliveries, schema.alert_rules
    waits = select(sent.c.id).where(sent.c.due <= now).order_by(sent.c.due)
    with store.read() as connection:
        if connection.execute(waits.limit(1)).first() is None:
            return []
    mine = waits.limit(limit).with_for_update(skip_locked=True).cte("mine")
    with store.write() as connection:
        held = update(sent).where(sent.c.id.in_(select(mine.c.id)))
        held = held.values(due=now + lease, attempts=sent.c.attempts + 1).returning(sent.c.id)
        ids = [row[0] for row in connection.execute(held)]
        query = (
            select(sent.c.id, sent.c.attempts, sent.c.body, rules.c.body.label("rule"))
            .join(rules, rules.c.id == sent.c.alert)
            .where(sent.c.id.in_(ids))
        )
        return [Due(row[0], row[1], row[2], orjson.loads(row[3])) for row in connection.execute(query)]


def settle(store: Store, delivery: int, *, status: str, due: float | None) -> None:
    """Record an attempt; `due` is when to try again, None = never."""
    table = schema.alert_deliveries
    with store.write() as connection:
        connection.execute(update(table).where(table.c.id == delivery).values(status=status[:200], due=due))


def deliveries(connection: Connection, project: int, limit: int = 50) -> list[Row]:
    """Newest first, with the name of the rule."""
    sent, rules = schema.alert_deliveries, schema.alert_rules
    query = (
        select(sent.c.id, sent.c.alert, sent.c.at, sent.c.kind, sent.c.attempts, sent.c.status, sent.c.due,
               rules.c.name)
        .join(rules, rules.c.id == sent.c.alert)
        .where(sent.c.project == project)
        .order_by(sent.c.id.desc())
        .limit(limit)
    )  # fmt: skip
    return list(connection.execute(query).mappings())
