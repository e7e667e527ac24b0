"""Big resources and scopes, kept once for all runs of a project whose segments name them.

The copies of one that a request may ask for, a run each, would be a thousand times the request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import LargeBinary, bindparam, delete, exists, func, select
from sqlalchemy.engine import Connection

from collector.store import schema
from collector.store.engine import Store
from collector.store.packing import HEADER_BYTES, pack, size_of, unpack
from collector.store.prepared import Prepared, among, insertion, several

BATCH = 500
"""Rows that one transaction deletes, so that arrivals never wait long."""

Name = tuple[int, str]
"""(project, digest in hex)."""


def put(connection: Connection, named: Mapping[Name, Collection[int]], bodies: Mapping[bytes, bytes]) -> None:
    """Keep what runs name: `named` has the rows of these runs, `bodies` the content by digest.

    What is there already is locked until the end of the transaction: `forget` cannot take it away.
    """
    projects: dict[int, list[str]] = {}
    for project, digest in sorted(named):
        projects.setdefault(project, []).append(digest)
    for project, digests in projects.items():
        known = {
            row[0] for row in KNOWN.ask(connection, project=project, digests=several(connection, digests))
        }
        ADD.run(
            connection,
            [
                {"project": project, "digest": digest, "body": pack(bodies[bytes.fromhex(digest)])}
                for digest in digests
                if digest not in known
            ],
        )
    NAME.run(
        connection,
        [
            {"project": project, "digest": digest, "run": run}
            for (project, digest), runs in sorted(named.items())
            for run in sorted(runs)
        ],
    )


KNOWN = Prepared(
    lambda on_sqlite: (
        select(schema.shared.c.digest)
        .where(schema.shared.c.project == bindparam("project"))
        .where(among(on_sqlite, schema.shared.c.digest, "digests"))
        .order_by(schema.shared.c.digest)
        .with_for_update(read=True, key_share=True)
    )
)
ADD = Prepared(
    lambda on_sqlite: insertion(
        on_sqlite, schema.shared, "project", "digest", "body"
    ).on_conflict_do_nothing()
)
NAME = Prepared(
    lambda on_sqlite: insertion(
        on_sqlite, schema.run_shared, "project", "digest", "run"
    ).on_conflict_do_nothing()
)


def sizes(connection: Connection, runs: Sequence[int]) -> list[tuple[int, bytes, int]]:
    """(run, digest of what its segments name, bytes of that)."""
    return [
        (run, bytes.fromhex(digest), size_of(start))
        for run, digest, start in SIZES.ask(connection, runs=several(connection, runs))
    ]


def _sizes(on_sqlite: bool) -> Any:
    names, shared = schema.run_shared, schema.shared
    start = func.substr(shared.c.body, 1, HEADER_BYTES, type_=LargeBinary)
    return (
        select(names.c.run, names.c.digest, start)
        .join(shared, (shared.c.project == names.c.project) & (shared.c.digest == names.c.digest))
        .where(among(on_sqlite, names.c.run, "runs"))
    )


SIZES = Prepared(_sizes)


def contents(connection: Connection, runs: Sequence[int], wanted: Iterable[bytes]) -> dict[bytes, bytes]:
    """Digest -> content, of those wanted that some of the runs name; without what is damaged."""
    found: dict[bytes, bytes] = {}
    digests = several(connection, [digest.hex() for digest in wanted])
    for digest, body in BODIES.ask(connection, runs=several(connection, runs), digests=digests):
        with contextlib.suppress(ValueError):
            found[bytes.fromhex(digest)] = unpack(body)
    return found


def _bodies(on_sqlite: bool) -> Any:
    names, shared = schema.run_shared, schema.shared
    projects = select(names.c.project).where(among(on_sqlite, names.c.run, "runs"))
    return (
        select(shared.c.digest, shared.c.body)
        .where(shared.c.project.in_(projects))
        .where(among(on_sqlite, shared.c.digest, "digests"))
    )


BODIES = Prepared(_bodies)


def forget(store: Store) -> int:
    """Delete one batch of what no run names any more; returns how many."""
    shared, names = schema.shared, schema.run_shared
    is_named = exists().where(names.c.project == shared.c.project, names.c.digest == shared.c.digest)
    unnamed = select(shared.c.project, shared.c.digest).where(~is_named).limit(BATCH)
    with store.read() as connection:
        if connection.execute(unnamed.limit(1)).first() is None:
            return 0
    gone = 0
    with store.write() as connection:  # held first, then looked at again: a run may just have named one
        for row in connection.execute(unnamed.with_for_update(skip_locked=True)).all():
            mine = (shared.c.project == row.project) & (shared.c.digest == row.digest)
            gone += connection.execute(delete(shared).where(mine, ~is_named)).rowcount
    return gone
