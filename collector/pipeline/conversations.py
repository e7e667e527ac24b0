"""The conversations that a checker judges: their runs from the store, and what is missing there made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from collector.judging.bind import heard
from collector.judging.conclude import Known, turn_of
from collector.judging.policies import Policies
from collector.judging.turns import Conversation, KeptRuns, Wanted, around, as_turn, left_out, packed
from collector.model import Rebuilt, Run
from collector.pipeline.reading import KEPT_SECONDS, Reading, rebuilt_run
from collector.settings import Settings
from collector.store import Store, reads, turns
from collector.store.turns import MOST_TURNS, Member, Turn
from collector.store.work import Claim

AT_ONCE = 100
"""Runs that are rebuilt between two signs of life."""


class Conversations:
    """What one checker process knows of them."""

    def __init__(self, store: Store, settings: Settings, beat: Callable[[Claim], None]) -> None:
        self._store, self._settings, self._beat = store, settings, beat
        self._kept = KeptRuns()
        self._part: frozenset[int] = frozenset()
        """Runs of the batch in hand that are part of a conversation."""
        self._members: dict[tuple[int, str], list[Member]] = {}
        self._since = 0.0
        """When all that is kept was made at the earliest."""

    def forget(self, now: float) -> None:
        """What has been kept for long."""
        if not 0 <= now - self._since < KEPT_SECONDS:
            self._kept, self._members, self._since = KeptRuns(), {}, now

    def enter(self, reading: Reading, facts: Known, policies: Mapping[int, Policies], *, now: float) -> None:
        """Keep what the runs of a batch tell others, before any of them is judged."""
        found: list[Turn] = []
        for claim in reading.claims:
            files = policies[claim.project]
            if not files.session_files:
                continue
            rebuilt, traces = reading.rebuilt[claim.run]
            run = turn_of(claim, rebuilt, traces, facts)
            if run is not None:
                seen = heard(rebuilt, facts.last_seen(claim), self._settings)
                turn = packed(claim.run, claim.project, rebuilt, run, files.needs)
                found.append(replace(turn, heard=seen))
        self._part = frozenset(turn.run for turn in found)
        self._members = {}
        if found:
            turns.put(self._store, found, now=now)

    def of(self, claim: Claim, rebuilt: Rebuilt, policies: Policies, seen: float) -> Conversation | None:
        """The conversation of a claimed run, if it is part of one that policies speak of.

        `seen`: arrival of the newest span of the run.
        """
        if claim.run not in self._part or rebuilt.session is None:
            return None
        members = self._all(claim, rebuilt.session, policies)
        place = (rebuilt.started_ns or 0, claim.run)
        before, after, cut = around(
            [one for one in members if one.place < place],
            [one for one in members if one.place > place],
            cut=len(members) > MOST_TURNS or any(one.cut for one in members),
        )
        runs = self._read([*before, *after])
        earlier, later = runs[: len(before)], runs[len(before) :]
        return Conversation(
            [left_out(earlier), *earlier] if cut else earlier,
            later,
            max([heard(rebuilt, seen, self._settings), *(one.last_seen for one in members)]),
            seen,
            rebuilt.ended_ns,
            self._settings,
        )

    def _all(self, claim: Claim, session: str, policies: Policies) -> list[Member]:
        """The runs of a conversation, each with what the store keeps of it for these policies."""
        if (claim.project, session) not in self._members:
            members = self._members_of(claim, session)
            missing = [one for one in members if one.needs != policies.needs.digest and one.run != claim.run]
            for at in range(0, len(missing), AT_ONCE):
                self._beat(claim)
                self._make(claim.project, missing[at : at + AT_ONCE], policies)
            self._members[claim.project, session] = self._members_of(claim, session) if missing else members
        return self._members[claim.project, session]

    def _members_of(self, claim: Claim, session: str) -> list[Member]:
        with self._store.read() as connection:
            return turns.members(connection, claim.project, session)

    def _make(self, project: int, members: Sequence[Member], policies: Policies) -> None:
        """What the store does not keep of some runs, from their spans."""
        found: list[Turn] = []
        with self._store.read() as connection:
            for one in members:
                stored = reads.stored_spans(connection, one.run)
                rebuilt, _ = rebuilt_run(one.key, stored, details=policies.need_models)
                found.append(packed(one.run, project, rebuilt, as_turn(rebuilt), policies.needs))
        turns.add(self._store, found)

    def _read(self, wanted: Sequence[Wanted]) -> list[Run]:
        found = {one.member.run: self._kept.get(one) for one in wanted}
        for whole in (False, True):
            lacking = {o.member.run: o for o in wanted if o.whole is whole and found[o.member.run] is None}
            with self._store.read() as connection:
                stored = turns.bodies(connection, lacking, whole=whole) if lacking else {}
            for run, (stamp, body) in stored.items():
                fresh = replace(lacking[run], member=replace(lacking[run].member, stamp=stamp))
                found[run] = self._kept.put(fresh, body)
        return [found[one.member.run] or left_out(()) for one in wanted]
