"""Webhooks, and the deliveries that conclusions cause; one delivery per webhook, run and conclusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.engine import Store
from collector.store.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Delivery:
    """One body on its way to one webhook."""

    id: int
    attempts: int
    body: str
    url: str
    secret: str


def add_webhook(
    store: Store, project: int, *, url: str, secret: str, outcomes: Sequence[str], now: float
) -> int:
    with store.write() as connection:
        made = connection.execute(
            insert(schema.webhooks)
            .values(project=project, url=url, secret=secret, outcomes=",".join(outcomes), active=True, at=now)
            .returning(schema.webhooks.c.id)
        )
        return int(made.scalar_one())


def list_webhooks(connection: Connection, project: int) -> list[dict[str, Any]]:
    """Active ones, without their secrets."""
    hooks = schema.webhooks
    query = select(hooks.c.id, hooks.c.url, hooks.c.outcomes, hooks.c.at).where(
        hooks.c.project == project, hooks.c.active
    )
    return [dict(row) for row in connection.execute(query.order_by(hooks.c.id)).mappings()]


def drop_webhook(store: Store, project: int, webhook: int) -> bool:
    hooks, deliveries = schema.webhooks, schema.deliveries
    with store.write() as connection:
        changed = connection.execute(
            update(hooks)
            .where(hooks.c.project == project, hooks.c.id == webhook, hooks.c.active)
            .values(active=False)
        )
        if changed.rowcount:
            connection.execute(
                update(deliveries)
                .where(deliveries.c.webhook == webhook, deliveries.c.due.is_not(None))
                .values(due=None, status="cancelled")
            )
        return bool(changed.rowcount)


def enqueue(
    store: Store, connection: Connection, news: Iterable[tuple[int, int, str, str, str]], *, now: float
) -> None:
    """Queue (project, run, outcome, digest, body) for every webhook that wants the outcome."""
    hooks = HOOKS.ask(connection)
    rows = [
        {"webhook": webhook, "run": run, "digest": digest, "body": body, "due": now}
        for project, run, outcome, digest, body in (news if hooks else ())
        for webhook, of, outcomes in hooks
        if of == project and outcome in outcomes.split(",")
    ]
    if rows:
        connection.execute(store.upsert(schema.deliveries).on_conflict_do_nothing(), rows)


HOOKS = Prepared(
    lambda _: select(schema.webhooks.c.id, schema.webhooks.c.project, schema.webhooks.c.outcomes).where(
        schema.webhooks.c.active
    )
)


def take(store: Store, *, now: float, lease: float, limit: int = 20) -> list[Delivery]:
    """Due deliveries, held until `now + lease`."""
    deliveries, hooks = schema.deliveries, schema.webhooks
    due = select(deliveries.c.id).where(deliveries.c.due <= now).order_by(deliveries.c.due)
    with store.read() as connection:  # looking costs nothing, a write transaction would wake the disk
        if connection.execute(due.limit(1)).first() is None:
            return []
    mine = due.limit(limit).with_for_update(skip_locked=True).cte("mine")  # as a subquery it may run twice
    with store.write() as connection:
        held = connection.execute(
            update(deliveries)
            .where(deliveries.c.id.in_(select(mine.c.id)))
            .values(due=now + lease, attempts=deliveries.c.attempts + 1)
            .returning(deliveries.c.id)
        )
        ids = [row[0] for row in held]
        query = (
            select(deliveries.c.id, deliveries.c.attempts, deliveries.c.body, hooks.c.url, hooks.c.secret)
            .join(hooks, hooks.c.id == deliveries.c.webhook)
            .where(deliveries.c.id.in_(ids), hooks.c.active)
        )
        return [Delivery(*row) for row in connection.execute(query)]


def settle(store: Store, delivery: int, *, status: str, due: float | None) -> None:
    """Record an attempt; `due` is when to try again, None = never."""
    table = schema.deliveries
    with store.write() as connection:
        connection.execute(update(table).where(table.c.id == delivery).values(status=status[:200], due=due))


def deliveries_of(connection: Connection, project: int, limit: int) -> list[Mapping[str, Any]]:
    """Newest first."""
    table, hooks = schema.deliveries, schema.webhooks
    query = (
        select(table.c.id, table.c.webhook, table.c.attempts, table.c.status, table.c.due, schema.runs.c.key)
        .join(hooks, hooks.c.id == table.c.webhook)
        .join(schema.runs, schema.runs.c.id == table.c.run)
        .where(hooks.c.project == project)
        .order_by(table.c.id.desc())
        .limit(limit)
    )
    return [dict(row) for row in connection.execute(query).mappings()]
