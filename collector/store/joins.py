"""Traces of conversations: what each says, and which others it may belong with (`rebuild.conversations`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, insert, select
from sqlalchemy.engine import Connection

from collector.model import Piece
from collector.rebuild.conversations import links, piece_from_json, piece_to_json
from collector.rebuild.parts import groups
from collector.store import schema
from collector.store.engine import Store
from collector.store.work import Claim

MEMBERS = 500
"""Traces in one conversation at most, the first that came: one that never ends must not be read without
end, and an id that a whole fleet shares (`session.id=default`) must not cost more with every trace."""
PARTS = 100
"""Parts of runs that are looked at on either side of one, in order of arrival."""
PARAMETERS = 500


@dataclass(frozen=True, slots=True)
class Member:
    """A trace of a conversation, as the store knows it."""

    run: int
    key: str
    last_seen: float
    root_seen: float | None
    joined: str | None
    listed: bool | None
    piece: Piece


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation, or a run of several parts; its run has the key of the first member."""

    members: tuple[Member, ...]
    """The one that the run has its key of, then the others in order of time."""

    @property
    def head(self) -> Member:
        return self.members[0]

    @property
    def is_full(self) -> bool:
        """There may be more traces than the run shows."""
        return len(self.members) >= MEMBERS

    def shows(self, run: int) -> bool:
        """Is this trace one of those that the run shows?"""
        return any(member.run == run for member in self.members)

    @property
    def unsettled(self) -> tuple[int, ...]:
        """Members other than the head that do not know yet that the head shows them."""
        return tuple(
            member.run
            for member in self.members[1:]
            if member.joined != self.head.key or member.listed is not False
        )


def threads(
    store: Store, pieces: Sequence[tuple[Claim, Piece | None]]
) -> tuple[dict[int, Thread], dict[int, tuple[int, ...]]]:
    """(run -> its conversation; run that takes no part any more -> the others, who must look again).

    The pieces are stored before anything is read: of two that are judged at once, one sees the other.
    """
    left = {claim.run: _others(store, claim) for claim, piece in pieces if piece is None}
    _put(store, pieces)
    found: dict[int, Thread] = {}
    full: dict[tuple[int, str], Thread] = {}
    with store.read() as connection:
        for claim, piece in pieces:
            if piece is None or claim.run in found:
                continue
            names = () if piece.is_part else ((claim.project, link) for link in links(piece))
            thread = next((full[name] for name in names if name in full), None)
            if thread is not None:  # all of it would be read again to find that it is full
                found[claim.run] = thread
                continue
            around = _threads_around(connection, claim.project, claim.run, piece)
            found.update((member.run, thread) for thread in around for member in thread.members)
            if around:  # one too many belongs to the run that is full
                found.setdefault(claim.run, max(around, key=lambda thread: len(thread.members)))
            full |= {(claim.project, link): thread for thread in around for link in _shared(thread)}
    return found, left


def _shared(thread: Thread) -> list[str]:
    """What most traces of a full conversation have in common: an id that says no more than that."""
    if not thread.is_full:
        return []
    counts = Counter(link for member in thread.members for link in links(member.piece))
    return [link for link, count in counts.items() if 2 * count > MEMBERS]


def _put(store: Store, pieces: Sequence[tuple[Claim, Piece | None]]) -> None:
    bodies = {claim.run: piece_to_json(piece) for claim, piece in pieces if piece is not None}
    table = schema.pieces
    with store.read() as connection:
        query = select(table.c.run, table.c.body).where(table.c.run.in_([claim.run for claim, _ in pieces]))
        known: dict[int, str] = {row.run: row.body for row in connection.execute(query)}
    changed = [(claim, piece) for claim, piece in pieces if known.get(claim.run) != bodies.get(claim.run)]
    if not changed:
        return
    ids = [claim.run for claim, _ in changed]
    rows = [
        {"project": claim.project, "link": link, "run": claim.run}
        for claim, piece in changed
        if piece is not None
        for link in sorted(links(piece))
    ]
    with store.write() as connection:
        connection.execute(delete(schema.piece_links).where(schema.piece_links.c.run.in_(ids)))
        connection.execute(delete(table).where(table.c.run.in_(ids)))
        new = [{"run": run, "body": bodies[run]} for run in ids if run in bodies]
        if new:
            connection.execute(insert(table), new)
            connection.execute(insert(schema.piece_links), rows)


def _others(store: Store, claim: Claim) -> tuple[int, ...]:
    """Who shared a conversation with a trace, as far as that was recorded."""
    runs = schema.runs
    query = select(runs.c.id).where(runs.c.project == claim.project, runs.c.id != claim.run)
    with store.read() as connection:
        near = (runs.c.joined == claim.joined) | (runs.c.key == claim.joined)
        return tuple(run for (run,) in connection.execute(query.where(near).limit(MEMBERS)))


def _threads_around(connection: Connection, project: int, run: int, piece: Piece) -> list[Thread]:
    """The conversations among all traces that can be reached from one over their links.

    Of a run in parts, those that came next to it: a thread of a graph may pause for ever.
    """
    if piece.is_part:
        return _threads(connection, _parts_around(connection, project, run, piece))
    known: dict[int, Piece] = {}
    seen: set[str] = set()
    wanted = links(piece)
    while wanted and len(known) < MEMBERS:
        seen |= wanted
        fresh = _linked(connection, project, wanted) - known.keys()
        known.update(_pieces(connection, sorted(fresh)[: MEMBERS - len(known)]))
        wanted = {link for run in fresh & known.keys() for link in links(known[run])} - seen
    return _threads(connection, known)


def _threads(connection: Connection, known: Mapping[int, Piece]) -> list[Thread]:
    members = {member.key: member for member in _members(connection, known)}
    found = groups(piece for piece in known.values() if piece.trace_id in members)
    return [Thread(tuple(members[piece.trace_id] for piece in group)) for group in found]


def _parts_around(connection: Connection, project: int, run: int, piece: Piece) -> dict[int, Piece]:
    known = {run: piece}
    looked: set[str] = set()
    fresh = known
    while fresh and len(known) < MEMBERS:
        near: set[int] = set()
        for at, one in fresh.items():
            for link in links(one) - looked:
                looked.add(link)
                near |= _next_to(connection, project, at, link)
        fresh = _pieces(connection, sorted(near - known.keys())[: MEMBERS - len(known)])
        known |= fresh
    return known


def _next_to(connection: Connection, project: int, run: int, link: str) -> set[int]:
    """The runs with a link that came just before or after one."""
    own = schema.piece_links
    query = select(own.c.run).where(own.c.project == project, own.c.link == link)
    before = query.where(own.c.run <= run).order_by(own.c.run.desc()).limit(PARTS)
    after = query.where(own.c.run > run).order_by(own.c.run).limit(PARTS)
    return {found for side in (before, after) for (found,) in connection.execute(side)}


def _linked(connection: Connection, project: int, wanted: Iterable[str]) -> set[int]:
    table = schema.piece_links
    listed = sorted(wanted)
    found: set[int] = set()
    for at in range(0, len(listed), PARAMETERS):
        query = (
            select(table.c.run)
            .where(table.c.project == project, table.c.link.in_(listed[at : at + PARAMETERS]))
            .order_by(table.c.run)
            .limit(MEMBERS)
        )
        found.update(run for (run,) in connection.execute(query))
    return found


def _pieces(connection: Connection, ids: Sequence[int]) -> dict[int, Piece]:
    table = schema.pieces
    query = select(table.c.run, table.c.body).where(table.c.run.in_(ids))
    return {run: piece_from_json(body) for run, body in connection.execute(query)}


def _members(connection: Connection, pieces: Mapping[int, Piece]) -> list[Member]:
    runs = schema.runs
    query = select(
        runs.c.id, runs.c.key, runs.c.last_seen, runs.c.root_seen, runs.c.joined, runs.c.listed
    ).where(runs.c.id.in_(sorted(pieces)))
    return [Member(*row, pieces[row.id]) for row in connection.execute(query)]


def members_of(connection: Connection, project: int, key: str) -> list[int]:
    """Row ids of the traces that the run `key` shows, as last judged."""
    runs = schema.runs
    query = select(runs.c.id).where(runs.c.project == project, runs.c.joined == key).order_by(runs.c.id)
    return [run for (run,) in connection.execute(query.limit(MEMBERS))]
