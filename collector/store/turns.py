"""Runs of conversations as the other runs of them are judged by them, and which of them wait for others.

A row is a cache of what the spans of a run tell: it is made again when they tell something else, or when
the policies of the project need something else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Boolean, Float, Integer, and_, bindparam, exists, false, func, or_, select, update
from sqlalchemy.engine import Connection

from collector.store import counts, schema
from collector.store.engine import Store
from collector.store.packing import pack, unpack
from collector.store.prepared import Prepared, among, insertion, several

COLUMNS = ("run", "needs", "stamp", "tells", "calls", "body", "whole", "size")
MOST_TURNS = 10_000
"""Runs of one conversation, the newest, that are judged together."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What other runs of a conversation are told of one."""

    run: int
    project: int
    session: str
    started_ns: int | None
    needs: str
    """Digest of what the policies need; a row for other needs is of no use."""
    stamp: str
    """Digest of what follows."""
    tells: str
    """Digest of what matters to other runs."""
    calls: int
    body: bytes
    """Without arguments and results."""
    whole: bytes | None
    """With them; None where there are none, or too many."""
    size: int
    """Bytes of them."""
    heard: float | None = None
    """When the run counts as heard of last."""

    @property
    def row(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in COLUMNS}
        whole = None if self.whole is None else pack(self.whole)
        return {**said, "body": pack(self.body), "whole": whole, "awaits": True}


@dataclass(frozen=True, slots=True)
class Member:
    """A run of a conversation, as the store knows it."""

    run: int
    key: str
    started_ns: int | None
    last_seen: float
    """Unix seconds; in the future while the run waits for somebody."""
    needs: str | None
    """None = it has no row."""
    stamp: str | None = None
    calls: int = 0
    size: int = 0
    cut: bool = False
    """Were other runs of the conversation deleted?"""

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the conversation."""
        return self.started_ns or 0, self.run


def put(store: Store, turns: Sequence[Turn], *, now: float) -> None:
    """Keep what the runs of a batch tell, and have the runs looked at again that it may matter to.

    Those are the later ones of its conversation, and earlier ones that went on beside it or wait for what
    comes later; where a run turns out to be of another conversation, those of both. The runs of the batch are
    not: they are judged after this.
    """
    with store.read() as connection:
        rows = KNOWN.ask(connection, runs=several(connection, [turn.run for turn in turns]))
    known = {run: tuple(said) for run, *said in rows}
    changed = [t for t in turns if known.get(t.run, ())[:3] != (t.session, t.needs, t.stamp)]
    if not changed:
        return
    batch = [turn.run for turn in turns]
    with store.write() as connection:
        ADD.run(connection, [turn.row for turn in changed])
        with counts.kept(connection, [turn.run for turn in changed]):
            ENTER.run(
                connection,
                [
                    {"run_": t.run, "session_": t.session, "at_": t.started_ns, "heard_": t.heard}
                    for t in changed
                ],
            )
        for turn in changed:
            session, needs, _, tells = known.get(turn.run, (None, None, None, None))
            if (session, needs, tells) != (turn.session, turn.needs, turn.tells):
                _wake_others(connection, turn, batch, now)
            if session not in (None, turn.session):
                _wake_others(connection, replace(turn, session=session), batch, now)


def add(store: Store, turns: Sequence[Turn]) -> None:
    """Make rows that are missing, or that were made for other needs; nobody is told anything new by it."""
    with store.write() as connection:
        REPLACE.run(connection, [turn.row for turn in turns])


def members(connection: Connection, project: int, session: str) -> list[Member]:
    """The newest runs of a conversation, one more than `MOST_TURNS`, in the order of their starts."""
    found = [Member(*row) for row in MEMBERS.ask(connection, project_=project, session_=session)]
    return sorted(found, key=lambda member: member.place)


def bodies(connection: Connection, runs: Collection[int], *, whole: bool) -> dict[int, tuple[str, bytes]]:
    """Run -> stamp and body, with values if asked for and kept; what is damaged is missing."""
    found: dict[int, tuple[str, bytes]] = {}
    query = WHOLE_BODIES if whole else BODIES
    for run, stamp, body in query.ask(connection, runs=several(connection, [*runs])):
        try:
            found[run] = stamp, unpack(body)
        except ValueError:
            continue
    return found


def settle(connection: Connection, found: Iterable[tuple[int, bool]]) -> None:
    """Say of runs whether they wait for what comes later in their conversations."""
    SETTLE.run(connection, [{"run_": run, "awaits_": awaits} for run, awaits in found])


def mark_cut(connection: Connection, gone: Sequence[int]) -> None:
    """Say of the other runs of some conversations that these runs of them are deleted."""
    runs, deleted = schema.runs, schema.runs.alias()
    others = (
        select(runs.c.id)
        .join(deleted, and_(deleted.c.project == runs.c.project, deleted.c.session == runs.c.session))
        .where(deleted.c.id.in_(gone), runs.c.id.not_in(gone))
    )
    connection.execute(update(schema.turns).where(schema.turns.c.run.in_(others)).values(cut=True))


def _wake_others(connection: Connection, turn: Turn, batch: Sequence[int], now: float) -> None:
    runs, own = schema.runs, schema.turns
    at = turn.started_ns or 0
    later = or_(runs.c.started_ns >= at, runs.c.ended_ns >= at)
    waits = exists().where(own.c.run == runs.c.id, own.c.awaits)
    connection.execute(
        update(runs)
        .where(runs.c.project == turn.project, runs.c.session == turn.session, runs.c.listed.is_not(False))
        .where(runs.c.id.not_in(batch), or_(later, waits))
        .values(due=now, version=runs.c.version + 1)
    )


def _known(on_sqlite: bool) -> Any:
    runs, table = schema.runs, schema.turns
    return (
        select(runs.c.id, runs.c.session, table.c.needs, table.c.stamp, table.c.tells)
        .outerjoin(table, table.c.run == runs.c.id)
        .where(among(on_sqlite, runs.c.id, "runs"))
    )


def _add(on_sqlite: bool) -> Any:
    table = schema.turns
    statement = insertion(on_sqlite, table, "awaits", *COLUMNS)
    new = statement.excluded
    kept = {name: new[name] for name in COLUMNS if name != "run"}
    awaits = or_(table.c.awaits, table.c.tells != new.tells)
    return statement.on_conflict_do_update(index_elements=["run"], set_={**kept, "awaits": awaits})


def _replace(on_sqlite: bool) -> Any:
    table = schema.turns
    statement = insertion(on_sqlite, table, "awaits", *COLUMNS)
    new = statement.excluded
    kept = {name: new[name] for name in COLUMNS if name != "run"}
    return statement.on_conflict_do_update(
        index_elements=["run"], set_=kept, where=table.c.needs != new.needs
    )


def _members(_on_sqlite: bool) -> Any:
    runs, own = schema.runs, schema.turns
    return (
        select(
            runs.c.id, runs.c.key, runs.c.started_ns, func.coalesce(runs.c.heard, runs.c.last_seen),
            own.c.needs, own.c.stamp, func.coalesce(own.c.calls, 0), func.coalesce(own.c.size, 0),
            func.coalesce(own.c.cut, false()),
        )
        .outerjoin(own, own.c.run == runs.c.id)
        .where(runs.c.project == bindparam("project_"), runs.c.session == bindparam("session_"))
        .where(runs.c.listed.is_not(False))
        .order_by(runs.c.id.desc())
        .limit(MOST_TURNS + 1)
    )  # fmt: skip


KNOWN = Prepared(_known)
ADD = Prepared(_add)
REPLACE = Prepared(_replace)
MEMBERS = Prepared(_members)
BODIES, WHOLE_BODIES = (
    Prepared(
        lambda on_sqlite, body=body: select(schema.turns.c.run, schema.turns.c.stamp, body).where(  # type: ignore[misc]
            among(on_sqlite, schema.turns.c.run, "runs")
        )
    )
    for body in (schema.turns.c.body, func.coalesce(schema.turns.c.whole, schema.turns.c.body))
)
ENTER = Prepared(
    lambda _: (
        update(schema.runs)
        .where(schema.runs.c.id == bindparam("run_", type_=Integer))
        .values(
            session=bindparam("session_"),
            started_ns=bindparam("at_"),
            listed=True,
            heard=bindparam("heard_", type_=Float),
        )
    )
)
SETTLE = Prepared(
    lambda _: (
        update(schema.turns)
        .where(schema.turns.c.run == bindparam("run_", type_=Integer))
        .values(awaits=bindparam("awaits_", type_=Boolean))
    )
)
