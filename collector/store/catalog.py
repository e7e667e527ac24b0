"""What runs are judged by: cases, bindings and policies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import case, delete, func, insert, select, update
from sqlalchemy.engine import Connection

from collector.errors import NotFound
from collector.model import Binding
from collector.store import closings, counts, schema
from collector.store.engine import Store
from collector.store.prepared import Prepared


def put_cases(
    store: Store,
    project: int,
    bodies: Mapping[str, str],
    *,
    now: float,
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Insert or replace cases (id -> JSON) and look again at the runs that wait for them.

    `texts` are the digests by which a run's query is recognised: case id -> {part of the case: digest}.
    """
    cases, runs = schema.cases, schema.runs
    with store.write() as connection:
        statement = store.upsert(cases)
        statement = statement.on_conflict_do_update(
            index_elements=["project", "id"],
            set_={"body": statement.excluded.body, "at": statement.excluded.at},
        )
        connection.execute(
            statement, [{"project": project, "id": i, "at": now, "body": body} for i, body in bodies.items()]
        )
        ids = list(bodies)
        _put_texts(connection, project, texts or {})
        for at in range(0, len(ids), 500):
            connection.execute(
                update(runs)
                .where(runs.c.project == project, runs.c.case_id.in_(ids[at : at + 500]))
                .values(due=now, version=runs.c.version + 1)
            )
        closings.forget_project(connection, project)


def _put_texts(connection: Connection, project: int, texts: Mapping[str, Mapping[str, str]]) -> None:
    table = schema.case_texts
    ids = sorted(texts)
    for at in range(0, len(ids), 500):
        some = ids[at : at + 500]
        connection.execute(delete(table).where(table.c.project == project, table.c.case_id.in_(some)))
        connection.execute(
            insert(table),
            [
                {"project": project, "digest": digest, "case_id": case_id, "part": part}
                for case_id in some
                for part, digest in texts[case_id].items()
            ],
        )


def cases_by_text(
    connection: Connection, project: int, digests: Collection[str]
) -> dict[str, dict[str, tuple[int, str, str]]]:
    """digest -> part of a case -> (how many cases have this text there, the first id, the last)."""
    table = schema.case_texts
    query = (
        select(
            table.c.digest,
            table.c.part,
            func.count(),
            func.min(table.c.case_id),
            func.max(table.c.case_id),
        )
        .where(table.c.project == project, table.c.digest.in_(sorted(digests)))
        .group_by(table.c.digest, table.c.part)
    )
    found: dict[str, dict[str, tuple[int, str, str]]] = {}
    for digest, part, count, first, last in connection.execute(query):
        found.setdefault(digest, {})[part] = (int(count), first, last)
    return found


def cases(connection: Connection, project: int, ids: Collection[str]) -> dict[str, str]:
    """JSON of the cases that exist among `ids`."""
    table = schema.cases
    query = select(table.c.id, table.c.body).where(table.c.project == project, table.c.id.in_(sorted(ids)))
    return {row.id: row.body for row in connection.execute(query)}


def list_cases(
    connection: Connection, project: int, *, limit: int, after: str | None
) -> list[tuple[str, str]]:
    """(id, JSON) in order of id."""
    table = schema.cases
    query = (
        select(table.c.id, table.c.body).where(table.c.project == project).order_by(table.c.id).limit(limit)
    )
    if after is not None:
        query = query.where(table.c.id > after)
    return [(row.id, row.body) for row in connection.execute(query)]


def bind(store: Store, project: int, bindings: Sequence[Binding], *, now: float, grace: float) -> None:
    """Register traces with cases; a status ends the run, also one that never sent a span."""
    table = schema.bindings
    with store.write() as connection:
        statement = store.upsert(table)
        said = statement.excluded
        statement = statement.on_conflict_do_update(
            index_elements=["project", "trace_id"],
            set_={
                "case_id": said.case_id,
                "at": said.at,
                **{
                    name: func.coalesce(said[name], table.c[name])
                    for name in ("status", "wall_seconds", "iterations", "trouble")
                },
            },
        )
        connection.execute(
            statement,
            [
                {
                    "project": project, "trace_id": b.trace_id, "case_id": b.case_id, "status": b.status,
                    "wall_seconds": b.wall_seconds, "iterations": b.iterations, "at": now,
                    "trouble": orjson.dumps(b.trouble.to_json()).decode() if b.trouble else None,
                }
                for b in bindings
            ],
        )  # fmt: skip
        new = _end(store, connection, project, sorted({b.trace_id for b in bindings if b.status}), now, grace)
        closings.forget_traces(connection, project, sorted({b.trace_id for b in bindings}))
        counts.arrived(connection, (project for _ in new))


def _end(
    store: Store, connection: Connection, project: int, ended: Sequence[str], now: float, grace: float
) -> list[int]:
    """Have runs looked at again that have ended; returns those that nothing was known of."""
    if not ended:
        return []
    runs = schema.runs
    touch = store.upsert(runs)
    due = case((runs.c.root_seen.is_not(None), now), else_=touch.excluded.due)
    touch = touch.on_conflict_do_update(
        index_elements=["project", "key"], set_={"due": due, "version": runs.c.version + 1}
    )
    fresh = {"project": project, "first_seen": now, "last_seen": now, "version": 1, "due": now + grace}
    connection.execute(touch, [{**fresh, "key": trace} for trace in ended])
    new: list[int] = []
    for at in range(0, len(ended), 500):
        some = runs.c.key.in_(ended[at : at + 500])
        query = select(runs.c.id).where(runs.c.project == project, runs.c.version == 1, some)
        new += connection.scalars(query)
    return new


def put_policy(store: Store, project: int, name: str, text: str, *, now: float) -> int:
    """A new version of the policy file `name`; returns its number. The same text again changes nothing."""
    table = schema.policies
    with store.write() as connection:
        last = connection.execute(
            select(table.c.version, table.c.text, table.c.active)
            .where(table.c.project == project, table.c.name == name)
            .order_by(table.c.version.desc())
            .limit(1)
        ).first()
        if last is not None and last.text == text and last.active:
            return int(last.version)
        version = 1 if last is None else last.version + 1
        connection.execute(
            update(table).where(table.c.project == project, table.c.name == name).values(active=False)
        )
        connection.execute(
            insert(table).values(project=project, name=name, version=version, text=text, active=True, at=now)
        )
        closings.forget_project(connection, project)
        return int(version)


def drop_policy(store: Store, project: int, name: str) -> None:
    """Switch a policy file off; its versions stay readable. Raises NotFound."""
    table = schema.policies
    with store.write() as connection:
        changed = connection.execute(
            update(table)
            .where(table.c.project == project, table.c.name == name, table.c.active)
            .values(active=False)
        )
        if not changed.rowcount:
            raise NotFound(f"there is no active policy file {name!r}", "GET /api/v1/policies lists them")
        closings.forget_project(connection, project)


def active_policies(connection: Connection, project: int) -> list[dict[str, Any]]:
    """Name, version, text and time of every active policy file."""
    table = schema.policies
    query = select(table).where(table.c.project == project, table.c.active).order_by(table.c.name)
    return [dict(row) for row in connection.execute(query).mappings()]


def policy_versions(connection: Connection, project: int, name: str) -> list[dict[str, Any]]:
    """Every version of one policy file, newest first."""
    table = schema.policies
    query = (
        select(table).where(table.c.project == project, table.c.name == name).order_by(table.c.version.desc())
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def policy_text(connection: Connection, project: int, name: str, version: int) -> str | None:
    """The text of one version of a policy file."""
    table = schema.policies
    query = select(table.c.text).where(
        table.c.project == project, table.c.name == name, table.c.version == version
    )
    found: str | None = connection.execute(query).scalar_one_or_none()
    return found


def policy_state(connection: Connection) -> tuple[int, int]:
    """Changes whenever any policy does; cheap to compare."""
    ((count, active),) = POLICY_STATE.ask(connection)
    return int(count), int(active)


def _policy_state(_on_sqlite: bool) -> Any:
    table = schema.policies
    active = case((table.c.active, table.c.version), else_=0)
    return select(func.count(), func.coalesce(func.sum(active), 0)).select_from(table)


POLICY_STATE = Prepared(_policy_state)
