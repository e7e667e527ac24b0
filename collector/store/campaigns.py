"""Campaigns as the programs that run them tell of them: what was asked, each result, the report at the end.

What is told may arrive twice and in parts: a campaign is known by its key, a result by what was tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.engine import RowMapping as Row

from collector.errors import BadRequest
from collector.store import schema
from collector.store.engine import Store
from collector.store.retention import expired

MOST_CAMPAIGNS = 500
"""Of a project; one more takes the oldest away."""
MOST_BYTES = 256 * 1024 * 1024
"""Of all campaigns of a project; then the oldest go, too."""
MOST_RESULTS = 10_000
"""Of one campaign."""


class CampaignFull(BadRequest):
    code = "too_large"
    status = 413


class Told(NamedTuple):
    """One result of a campaign."""

    key: str
    outcome: str
    body: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class Post:
    """What a program says of its campaign at one time."""

    key: str
    verb: str
    name: str
    head: str
    """JSON of all that was asked."""
    state: str = "running"
    report: str | None = None
    """JSON; None = nothing new."""
    results: Sequence[Told] = field(default=())


def put(store: Store, project: int, post: Post, *, now: float) -> None:
    """Keep what was told, all or nothing. Raises CampaignFull."""
    table = schema.campaigns
    with store.write() as connection:
        known = table.c.project == project, table.c.key == post.key
        row = connection.scalar(select(table.c.id).where(*known).with_for_update())
        if row is None:
            row = _begin(store, connection, project, post, now)
        _add(store, connection, row, post.results)
        said = {
            "last_seen": now,
            "verb": post.verb,
            "name": post.name,
            "state": post.state,
            "head": post.head,
        }
        said |= {} if post.report is None else {"report": post.report}
        connection.execute(update(table).where(table.c.id == row).values(**said))
        _count(connection, row, post)
        _make_room(connection, project, row)


def _begin(store: Store, connection: Connection, project: int, post: Post, now: float) -> int:
    """The row of a campaign that is new; two programs may begin it at once."""
    table = schema.campaigns
    values = {"project": project, "key": post.key, "at": now, "last_seen": now, "verb": post.verb}
    values |= {"name": post.name, "state": post.state, "head": post.head}
    new = store.upsert(table).values(**values)
    connection.execute(new.on_conflict_do_nothing(index_elements=["project", "key"]))
    mine = table.c.project == project, table.c.key == post.key
    return int(connection.execute(select(table.c.id).where(*mine).with_for_update()).scalar_one())


def _add(store: Store, connection: Connection, campaign: int, results: Sequence[Told]) -> None:
    if not results:
        return
    table = schema.campaign_results
    new = store.upsert(table)
    replaced = {name: new.excluded[name] for name in ("outcome", "size", "body")}
    connection.execute(
        new.on_conflict_do_update(index_elements=["campaign", "key"], set_=replaced),
        [
            {
                "campaign": campaign, "key": one.key, "outcome": one.outcome,
                "size": len(one.body.encode()), "body": one.body,
            }
            for one in results
        ],
    )  # fmt: skip


def _count(connection: Connection, campaign: int, post: Post) -> None:
    """Hold the numbers of a campaign against its results."""
    table, results = schema.campaigns, schema.campaign_results
    query = (
        select(results.c.outcome, func.count(), func.sum(results.c.size))
        .where(results.c.campaign == campaign)
        .group_by(results.c.outcome)
    )
    found = {outcome: (int(runs), int(size)) for outcome, runs, size in connection.execute(query)}
    runs = sum(count for count, _ in found.values())
    if runs > MOST_RESULTS:
        raise CampaignFull(
            f"the campaign would have {runs} results, {MOST_RESULTS} at most", "begin another campaign"
        )
    length = func.coalesce(func.length(table.c.report), 0)
    counted = {column: found.get(outcome, (0, 0))[0] for column, outcome in COUNTED.items()}
    size = sum(size for _, size in found.values()) + len(post.head.encode())
    connection.execute(
        update(table).where(table.c.id == campaign).values(runs=runs, size=length + size, **counted)
    )


COUNTED = {"passed": "pass", "failed": "fail", "errors": "error"}


def _make_room(connection: Connection, project: int, campaign: int) -> None:
    """Let the oldest go where there are too many; never the one that is being told of."""
    table = schema.campaigns
    query = select(table.c.id, table.c.size).where(table.c.project == project).order_by(table.c.id.desc())
    kept, size, gone = 0, 0, []
    for row, bytes_ in connection.execute(query):
        kept, size = kept + 1, size + bytes_
        if (kept > MOST_CAMPAIGNS or size > MOST_BYTES) and row != campaign:
            gone.append(row)
    _forget(connection, gone)


def _forget(connection: Connection, campaigns: Sequence[int]) -> None:
    if campaigns:
        results = schema.campaign_results
        connection.execute(delete(results).where(results.c.campaign.in_(campaigns)))
        connection.execute(delete(schema.campaigns).where(schema.campaigns.c.id.in_(campaigns)))


EXPIRED = 20
"""Campaigns that are forgotten in one transaction."""


def prune(store: Store, *, now: float) -> int:
    """Forget some campaigns that nothing was told of for as long as runs are kept; returns how many."""
    old = expired(schema.campaigns, now, EXPIRED)
    with store.read() as connection:
        if connection.execute(old.limit(1)).first() is None:
            return 0
    with store.write() as connection:
        gone = [row[0] for row in connection.execute(old)]
        _forget(connection, gone)
    return len(gone)


# ---------------------------------------------------------------- looking


def listed(connection: Connection, project: int, *, limit: int, before: int | None = None) -> list[Row]:
    """The campaigns, the one that began last first."""
    table = schema.campaigns
    query = select(table).where(table.c.project == project).order_by(table.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(table.c.id < before)
    return list(connection.execute(query).mappings())


def found(connection: Connection, project: int, key: str) -> Row | None:
    table = schema.campaigns
    query = select(table).where(table.c.project == project, table.c.key == key)
    return connection.execute(query).mappings().first()


def results(
    connection: Connection, campaign: int, *, limit: int = MOST_RESULTS, after: int = 0
) -> list[tuple[int, str]]:
    """(row, JSON), in the order in which they came first."""
    table = schema.campaign_results
    query = (
        select(table.c.id, table.c.body)
        .where(table.c.campaign == campaign, table.c.id > after)
        .order_by(table.c.id)
        .limit(limit)
    )
    return [(row.id, row.body) for row in connection.execute(query)]


def shown_runs(connection: Connection, project: int, keys: Sequence[str]) -> set[str]:
    """Which of these runs are in the store."""
    runs = schema.runs
    there: set[str] = set()
    for at in range(0, len(keys), 500):
        some = runs.c.key.in_(keys[at : at + 500])
        there.update(connection.scalars(select(runs.c.key).where(runs.c.project == project, some)))
    return there
