"""Conversations that come as many traces, and runs that come in parts: one run is judged from all of them,
the others only lead there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from collector.judging.doubles import row_reader, shown_by, told_by
from collector.model import Piece, Rebuilt
from collector.store import Store, joins, neighbours, reads
from collector.store.joins import Thread
from collector.store.neighbours import Host
from collector.store.stored import Stored
from collector.store.work import Claim

Read = tuple[Rebuilt, tuple[str, ...]]
"""A rebuilt run and the traces it has spans in."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What is known about the conversations of a batch of claims; empty for all ordinary runs."""

    threads: Mapping[int, Thread] = field(default_factory=dict)
    """Claimed run -> the conversation that it is part of."""
    left: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Claimed run that takes no part any more -> those it was together with."""
    shown: Mapping[int, str] = field(default_factory=dict)
    """First trace of a conversation -> key of the run of ours that tells of all its calls."""
    doubles: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Claimed run of ours -> traces that may tell of nothing else."""


def join(
    store: Store,
    claims: Sequence[Claim],
    rebuilt: dict[int, Read],
    hosts: Mapping[int, Sequence[Host]],
    read: Callable[[str, Stored, Sequence[Stored]], Read],
) -> Joined:
    """Find the conversations of the claimed traces; the heads among them are rebuilt from all members.

    Nothing is asked of the store where no claim is, or was, a trace without a run span or a part of a run.
    """
    pieces = [
        (claim, _piece(rebuilt[claim.run][0], is_guest=bool(hosts.get(claim.run))))
        for claim in claims
        if rebuilt[claim.run][0].piece is not None or claim.joined is not None
    ]
    told = {claim.run: rebuilt[claim.run][0] for claim in claims}
    if not pieces:
        return Joined(doubles=told_by(store, claims, told))
    threads, left = joins.threads(store, pieces)
    shown: dict[int, str] = {}
    for claim, _ in pieces:
        thread = threads.get(claim.run)
        if thread is not None and thread.head.run == claim.run and len(thread.members) > 1:
            rebuilt[claim.run] = read(claim.key, *members_payloads(store, thread))
        if thread is not None and thread.head.run == claim.run:
            key = shown_by(store, claim, rebuilt[claim.run][0], thread, row_reader(store, read))
            shown |= {} if key is None else {claim.run: key}
    return Joined(threads, left, shown, told_by(store, claims, told))


def _piece(rebuilt: Rebuilt, *, is_guest: bool) -> Piece | None:
    """Spans that are shown by the run in whose trace they are do not make one of their own."""
    piece = rebuilt.piece
    return None if piece is None or (is_guest and not piece.is_part) else piece


def members_payloads(store: Store, thread: Thread) -> tuple[Stored, list[Stored]]:
    """What is stored of every trace of a conversation, and of what else is in the traces of a run's parts."""
    runs = [member.run for member in thread.members]
    with store.read() as connection:
        if not thread.head.piece.is_part:
            return reads.of_several(connection, runs), []
        found = neighbours.guests(connection, runs)
        guests = {guest for several in found.values() for guest in several} - {*runs}
        return reads.of_several(connection, runs), [reads.of_several(connection, sorted(guests))]
