"""Conversations that come as many traces: one run is judged from all of them, the others only lead there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from collector.model import Rebuilt
from collector.store import Store, joins, reads
from collector.store.joins import Thread
from collector.store.work import Claim, Host, Stored

Read = tuple[Rebuilt, tuple[str, ...]]
"""A rebuilt run and the traces it has spans in."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What is known about the conversations of a batch of claims; empty for all ordinary runs."""

    threads: Mapping[int, Thread] = field(default_factory=dict)
    """Claimed run -> the conversation that it is part of."""
    left: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Claimed run that takes no part any more -> those it was together with."""


def join(
    store: Store,
    claims: Sequence[Claim],
    rebuilt: dict[int, Read],
    hosts: Mapping[int, Sequence[Host]],
    read: Callable[[str, Stored], Read],
) -> Joined:
    """Find the conversations of the claimed traces; the heads among them are rebuilt from all members.

    Nothing is asked of the store where no claim is, or was, a trace without a run span.
    """
    pieces = [
        (claim, None if hosts.get(claim.run) else rebuilt[claim.run][0].piece)
        for claim in claims
        if rebuilt[claim.run][0].piece is not None or claim.joined is not None
    ]
    if not pieces:
        return Joined()
    threads, left = joins.threads(store, pieces)
    for claim, _ in pieces:
        thread = threads.get(claim.run)
        if thread is not None and thread.head.run == claim.run and len(thread.members) > 1:
            rebuilt[claim.run] = read(claim.key, members_payloads(store, thread))
    return Joined(threads, left)


def members_payloads(store: Store, thread: Thread) -> Stored:
    """What is stored of every trace of a conversation."""
    with store.read() as connection:
        return reads.together(connection, [member.run for member in thread.members])
