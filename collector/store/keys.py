"""API keys: only their digests are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, insert, or_, select, update
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.engine import Store


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What is known about an active key."""

    id: str
    project: int
    project_name: str
    scopes: frozenset[str]
    digest: bytes
    expires: float | None = None
    """Unix seconds; None = never."""


def add_key(
    store: Store, project: int, *, key_id: str, name: str, scopes: Sequence[str], digest: bytes, now: float,
    expires: float | None = None,
) -> None:  # fmt: skip
    with store.write() as connection:
        connection.execute(
            insert(schema.api_keys).values(
                id=key_id, project=project, name=name, scopes=",".join(sorted(scopes)), digest=digest, at=now,
                expires=expires,
            )
        )  # fmt: skip


def find_key(connection: Connection, key_id: str) -> StoredKey | None:
    """A key by its public part, unless it was revoked; it may have expired."""
    keys, projects = schema.api_keys, schema.projects
    row = connection.execute(
        select(keys.c.id, keys.c.project, projects.c.name, keys.c.scopes, keys.c.digest, keys.c.expires)
        .join(projects, projects.c.id == keys.c.project)
        .where(keys.c.id == key_id, keys.c.revoked.is_(None))
    ).first()
    if row is None:
        return None
    return StoredKey(row[0], row[1], row[2], frozenset(row[3].split(",")), bytes(row[4]), row[5])


def any_key(connection: Connection) -> bool:
    """Whether a key was ever made: from then on everything needs one (revoking the last opens nothing)."""
    return bool(connection.scalar(select(func.count()).select_from(schema.api_keys)))


def list_keys(connection: Connection, only: int | None) -> list[dict[str, Any]]:
    """Those of one project, or of all; oldest first."""
    keys, projects = schema.api_keys, schema.projects
    query = select(
        keys.c.id, keys.c.name, keys.c.scopes, projects.c.name.label("project"), keys.c.at, keys.c.revoked,
        keys.c.expires,
    ).join(projects, projects.c.id == keys.c.project)  # fmt: skip
    if only is not None:
        query = query.where(keys.c.project == only)
    return [dict(row) for row in connection.execute(query.order_by(keys.c.at)).mappings()]


def revoke_key(store: Store, only: int | None, key_id: str, *, now: float) -> bool:
    """Whether there was such a key, in one project or in any."""
    keys = schema.api_keys
    statement = update(keys).where(keys.c.id == key_id, keys.c.revoked.is_(None)).values(revoked=now)
    if only is not None:
        statement = statement.where(keys.c.project == only)
    with store.write() as connection:
        return bool(connection.execute(statement).rowcount)


def record(
    connection: Connection, project: int, actor: str, action: str, subject: str, *, now: float
) -> None:
    """One line of the audit trail."""
    connection.execute(
        insert(schema.audit).values(project=project, at=now, actor=actor, action=action, subject=subject)
    )


def audit_trail(connection: Connection, project: int, *, limit: int, before: int | None) -> list[Any]:
    """Newest first."""
    audit = schema.audit
    query = select(audit).where(audit.c.project == project).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    return list(connection.execute(query).mappings())


def list_projects(connection: Connection, only: int | None, *, now: float) -> list[dict[str, Any]]:
    """Name, retention, and how many runs and active keys each has, in order of name."""
    projects, runs, keys = schema.projects, schema.run_counts, schema.api_keys
    counted = (
        select(func.coalesce(func.sum(runs.c.runs), 0))
        .where(runs.c.project == projects.c.id)
        .scalar_subquery()
    )
    held = (
        select(func.count())
        .select_from(keys)
        .where(keys.c.project == projects.c.id, keys.c.revoked.is_(None))
        .where(or_(keys.c.expires.is_(None), keys.c.expires > now))
        .scalar_subquery()
    )
    query = select(
        projects.c.name, projects.c.retention_days, counted.label("runs"), held.label("keys")
    ).order_by(projects.c.name)
    if only is not None:
        query = query.where(projects.c.id == only)
    return [{**row, "runs": int(row["runs"])} for row in connection.execute(query).mappings()]


def project_ids(connection: Connection) -> list[dict[str, Any]]:
    """Row id and name of every project."""
    query = select(schema.projects.c.id, schema.projects.c.name)
    return [dict(row) for row in connection.execute(query).mappings()]


def add_project(store: Store, name: str, retention_days: float | None) -> bool:
    """Whether it was new."""
    with store.write() as connection:
        statement = store.upsert(schema.projects).values(name=name, retention_days=retention_days)
        return bool(connection.execute(statement.on_conflict_do_nothing()).rowcount)
