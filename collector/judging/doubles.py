"""Conversations that tell of the same calls as a run of our own tracer: that run is shown, and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from collector.model import Rebuilt
from collector.store import Store, doubles, reads
from collector.store.joins import Thread
from collector.store.stored import Stored
from collector.store.work import Claim

Read = Callable[[int], tuple[str, Rebuilt]]
"""Row of a run -> its key, and what its spans tell."""


def told_by(
    store: Store, claims: Sequence[Claim], rebuilt: Mapping[int, Rebuilt]
) -> dict[int, tuple[int, ...]]:
    """Claimed run of ours -> traces that may tell of its calls only, and must look for it."""
    ours = [claim for claim in claims if rebuilt[claim.run].is_ours]
    if not ours:
        return {}
    found: dict[int, tuple[int, ...]] = {}
    with store.read() as connection:
        there = doubles.are_there(connection, {claim.project for claim in ours})
        for claim in ours if there else ():
            run = rebuilt[claim.run]
            ids = [call.id for call in run.run.calls if call.id]
            if claim.project in there and ids and run.started_ns is not None:
                between = (run.started_ns, max(run.started_ns, run.ended_ns or 0))
                found[claim.run] = tuple(doubles.naming(connection, claim, ids, between))
    for claim in ours:
        if found.get(claim.run):
            doubles.link(store, claim, found[claim.run])
    return {run: traces for run, traces in found.items() if traces}


def shown_by(store: Store, claim: Claim, rebuilt: Rebuilt, thread: Thread, read: Read) -> str | None:
    """Key of the run of ours that tells of every call of a conversation."""
    if thread.head.piece.is_part or rebuilt.started_ns is None:
        return None
    with store.read() as connection:
        rows = doubles.candidates(connection, claim, rebuilt.service, rebuilt.started_ns)
    for row in rows:
        key, run = read(row)
        if tells_all(run, rebuilt, thread):
            return key
    return None


def tells_all(ours: Rebuilt, theirs: Rebuilt, thread: Thread) -> bool:
    """Does a run of ours tell of every call of a conversation that began while it went on?"""
    known = {(call.id, call.tool) for call in ours.run.calls if call.id}
    if not ours.is_ours or not known or ours.started_ns is None or theirs.started_ns is None:
        return False
    last = max(ours.started_ns, ours.ended_ns or 0)
    if not ours.started_ns - doubles.SLACK <= theirs.started_ns <= last + doubles.SLACK:
        return False
    if theirs.run.calls:
        return all((call.id, call.tool) in known for call in theirs.run.calls)
    answered = {one for member in thread.members for one in member.piece.answered}
    return bool(answered & {call_id for call_id, _ in known})


def row_reader(
    store: Store, rebuild: Callable[[str, Stored, Sequence[Stored]], tuple[Rebuilt, object]]
) -> Read:
    """What is stored of a row, as a run."""

    def read(row: int) -> tuple[str, Rebuilt]:
        with store.read() as connection:
            key, stored = reads.key_of(connection, row), reads.of_several(connection, [row])
        return key, rebuild(key, stored, ())[0]

    return read
