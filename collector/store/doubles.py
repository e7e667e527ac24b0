"""Conversations of another instrumentation that tell of the calls of a run of ours: which they may be.

An instrumentation of the SDK below a loop of ours sees its model calls alone, each in a trace of its own. A
run of ours is linked to the traces that name ids of its calls; a conversation finds it by that, or among
those that came at the same time from the same service.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import and_, or_, select
from sqlalchemy.engine import Connection

from collector.rebuild.conversations import link_of
from collector.store import schema
from collector.store.engine import Store
from collector.store.prepared import Prepared, insertion
from collector.store.work import Claim

MOST = 10
"""Runs of ours that a conversation is compared with, the nearest by arrival on either side."""
APART = 60.0
"""Seconds between the first arrivals of a conversation and of the run that tells of it, if not linked."""
SLACK = 10**9
"""Nanoseconds by which the instants of the two may differ."""
MOST_IDS = 200


def are_there(connection: Connection, projects: Collection[int]) -> set[int]:
    """The projects of these with traces that name calls."""
    links = schema.piece_links.c
    query = select(links.run).where(links.link >= "call:", links.link < "call;").limit(1)
    return {one for one in projects if connection.execute(query.where(links.project == one)).first()}


def naming(connection: Connection, claim: Claim, ids: Sequence[str], between: tuple[int, int]) -> list[int]:
    """The traces that began in this time (ns), as far as that is known, and name one of these calls."""
    links, runs = schema.piece_links.c, schema.runs.c
    began = and_(runs.started_ns >= between[0] - SLACK, runs.started_ns <= between[1] + SLACK)
    named = sorted({link_of("call", one) for one in ids[:MOST_IDS]})
    query = (
        select(links.run)
        .join(schema.runs, runs.id == links.run)
        .where(links.project == claim.project, links.link.in_(named), runs.id != claim.run)
        .where(or_(runs.started_ns.is_(None), began))
        .limit(MOST_IDS)
    )
    return sorted(set(connection.scalars(query)))


def link(store: Store, claim: Claim, traces: Sequence[int]) -> None:
    """Let the traces find the run that tells of their calls."""
    rows = [{"project": claim.project, "link": f"told:{one}", "run": claim.run} for one in traces]
    with store.write() as connection:
        LINK.run(connection, rows)


LINK = Prepared(
    lambda on_sqlite: insertion(
        on_sqlite, schema.piece_links, "project", "link", "run"
    ).on_conflict_do_nothing()
)


def candidates(connection: Connection, claim: Claim, service: str | None, started_ns: int) -> list[int]:
    """Runs that may tell of the calls of a conversation, which has this service and start."""
    links, runs = schema.piece_links.c, schema.runs.c
    linked = select(links.run).where(links.project == claim.project, links.link == f"told:{claim.run}")
    near = (
        select(runs.id)
        .where(runs.project == claim.project, runs.service == service, runs.joined.is_(None))
        .where(runs.started_ns <= started_ns + SLACK, runs.ended_ns >= started_ns - SLACK)
        .limit(MOST)
    )
    at = claim.first_seen
    before = near.where(runs.first_seen <= at, runs.first_seen > at - APART).order_by(runs.first_seen.desc())
    after = near.where(runs.first_seen > at, runs.first_seen < at + APART).order_by(runs.first_seen)
    found = [*connection.scalars(linked.limit(MOST)), *connection.scalars(before), *connection.scalars(after)]
    return list(dict.fromkeys(found))
