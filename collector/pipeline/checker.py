"""The checker process: claims due runs, judges them, records what it found.

It is started by `supervisor` as `python -P -m collector.pipeline.checker`, inherits no socket, and
ends when the pipe of its parent closes. A shared page tells the parent what it is at, so that a solver
that overruns can be killed; a killed checker's runs are taken again by the next one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from collector import logs, memory
from collector.clock import Clock
from collector.dialects.deferred import LOOKED
from collector.errors import CollectorError, Overloaded
from collector.judging.conclude import Known, conclude, given_up
from collector.judging.joining import Read
from collector.judging.names import NamesOfProjects
from collector.judging.policies import Policies
from collector.model import Rebuilt
from collector.pipeline.alike import Alike
from collector.pipeline.board import Board
from collector.pipeline.conversations import Conversations
from collector.pipeline.garbage import calm_garbage_collection
from collector.pipeline.protocol import Stopped, from_json
from collector.pipeline.reading import OWN_MIB, TIMES, ActivePolicies, Reading, known, parts_of
from collector.priority import give_way
from collector.rebuild import rebuild
from collector.room import Room
from collector.settings import MIB, Settings
from collector.store import Store, open_store, retention, seen, work
from collector.store.stored import Sizes
from collector.store.work import Claim, Conclusion
from synth.errors import BadInput
from synth.formal import solver
from synth.judge import Rules
from synth.policies import RunBudget

log = logging.getLogger("collector.checker")

BATCH = 256
CONFIRMED = 512
"""Runs to which nothing came, recorded as ended in one transaction."""
WORN_MIB, WORN_SECONDS = 24, 60.0
"""A checker that keeps so much more than when it was new, and is so old, ends when it has nothing to do."""
POLL_SECONDS = 1.0
"""Another collector on the same database may have made work."""
HOLD_SECONDS = 0.05
"""Conclusions of fast runs are recorded together, but never held longer than this."""
ATTEMPTS = 3
"""A run whose judging killed so many checkers is given up as undecided.

Where each was stopped at a policy, only what comes after the last of these policies is given up.
"""
KILL_AFTER = 5.0
"""Seconds beyond what judging by all policies of a run may take, until the checker is killed."""


class Checker:
    """Everything one checker process keeps between runs."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        worker: str,
        board: Board,
        stopped: Stopped | None = None,
        clock: Clock | None = None,
        room: Room | None = None,
    ) -> None:
        self._room = room or Room()
        self.store, self.settings, self.worker, self.board = store, settings, worker, board
        self.stopped, self.clock = stopped or {}, clock or Clock()
        limit = settings.check_seconds
        self.rules = Rules(z3=settings.z3_check)
        self.policy_rules = Rules(
            z3=settings.z3_check_policies, run_seconds=max(limit - KILL_AFTER, limit / 2)
        )
        self._active = ActivePolicies()
        self._names = NamesOfProjects()
        self._conversations = Conversations(store, settings, self._alive)
        self._alike = Alike(settings)

    def round(self, now: float) -> int:
        """Confirm what was judged before, then claim and judge one batch; returns how many runs that were."""
        self._alike.begin(now)
        self._conversations.forget(now)
        confirmed = work.confirm(self.store, now=now, limit=CONFIRMED)
        claims = work.claim(self.store, self.worker, now=now, lease=self._lease, limit=BATCH)
        if claims:
            ids = [claim.run for claim in claims]
            with self.store.read() as connection:
                sizes = Sizes.of(connection, ids)
            heavy = sizes.weights(ids)
            for part in parts_of(claims, heavy):
                size = sum(heavy[claim.run][1] for claim in part)
                with self._taken(size * TIMES // MIB - OWN_MIB):
                    self._judge_apart(part, sizes)
        if self._names.owing:
            self._look_again(now)
        return confirmed + len(claims)

    @contextlib.contextmanager
    def _taken(self, mib: int) -> Iterator[None]:
        """The block may take so much more; what is claimed stays so while it waits for that."""
        if mib <= 0:
            yield
            return
        with contextlib.ExitStack() as held:
            self.board.away(True)
            while True:
                try:
                    held.enter_context(self._room.taken(mib, time.monotonic() + self._lease / 4))
                    break
                except Overloaded:
                    self.board.away(True)
                    work.renew(self.store, self.worker, until=self.clock() + self._lease)
            self.board.away(False)
            with memory.given_back():
                yield

    def _look_again(self, now: float) -> None:
        """Have runs judged again that waited for the name of a tool which has been seen since."""
        with self.store.read() as connection:
            owed = seen.owed(connection)
            policies = self._active.of(connection, {owed[0]}) if owed else {}
        self._names.owing = owed is not None
        if owed is not None:
            project, tool = owed
            seen.look_again(self.store, project, tool, policies[project].about(tool), now=now)

    def _judge_apart(self, claims: Sequence[Claim], sizes: Sizes) -> None:
        """Judge a batch; where that fails, each run alone, so that one cannot stop the others for ever."""
        try:
            self._judge(claims, sizes)
        except CollectorError:  # the store is away: nobody's fault
            raise
        except Exception as failure:
            log.exception("a batch of %d runs could not be judged", len(claims))
            if len(claims) > 1:
                held = work.held(self.store, self.worker)
                for claim in claims:
                    if claim.run in held:  # those before the failure are recorded
                        self._judge_apart([claim], sizes)
            else:
                self._set_aside(claims[0], failure)

    def _set_aside(self, claim: Claim, failure: Exception) -> None:
        """Record that a run cannot be judged; not even that can be recorded: leave it until it grows."""
        why = f"failed: {type(failure).__name__}: {failure}"
        try:
            work.finish(self.store, [given_up(claim, rebuild(claim.key, []), why)], now=self.clock())
        except CollectorError:
            raise
        except Exception:
            log.exception("nothing can be recorded about run %s", claim.key)
            work.shelve(self.store, claim)

    @property
    def _lease(self) -> float:
        """Long enough for the slowest run that the supervisor allows; renewed while a batch goes on."""
        return 2 * self.settings.check_seconds

    def _alive(self, claim: Claim) -> None:
        """Long work for a run goes on: it stays claimed, and the supervisor counts from here."""
        self.board.reading(claim.key)
        work.renew(self.store, self.worker, until=self.clock() + self._lease)

    def _judge(self, claims: Sequence[Claim], sizes: Sizes) -> None:
        """Read a batch, judge each of its runs and record what was found."""
        self.board.reading(claims[0].key)
        projects = {claim.project for claim in claims}
        with self.store.read() as connection:
            policies = self._active.of(connection, projects)
            self._names.refresh(connection, projects)
            self._alike.begin(self.clock())
            reading = Reading.of(connection, claims, policies, sizes, self._alike.read)
        facts = known(self.store, reading, self.settings, self.rules, self.policy_rules)
        facts = replace(facts, names=self._names.learn(self.store, reading.runs, policies))
        self._conversations.enter(reading, facts, policies, now=self.clock())
        self._record(self._conclusions(reading, facts, policies))
        self.board.idle()

    def _conclusions(
        self, reading: Reading, facts: Known, policies: Mapping[int, Policies]
    ) -> Iterator[Conclusion]:
        """Of each run of the batch, which stays claimed however long that takes."""
        renewed = time.monotonic()
        for claim in reading.claims:
            self.board.begin(claim.key)
            if time.monotonic() - renewed > self.settings.check_seconds / 2:
                work.renew(self.store, self.worker, until=self.clock() + self._lease)
                renewed = time.monotonic()
            yield self._conclude(claim, reading.rebuilt[claim.run], facts, policies[claim.project])

    def _record(self, conclusions: Iterator[Conclusion]) -> None:
        """Store conclusions, those of fast runs together."""
        done: list[Conclusion] = []
        began = time.monotonic()
        for conclusion in conclusions:
            done.append(conclusion)
            if time.monotonic() - began > HOLD_SECONDS:
                work.finish(self.store, done, now=self.clock())
                done, began = [], time.monotonic()
        if done:
            work.finish(self.store, done, now=self.clock())

    def _conclude(self, claim: Claim, read: Read, facts: Known, policies: Policies) -> Conclusion:
        """One run that breaks a rule, or the checker, must not stop the others."""
        found = self._alike.concluded(claim, facts, policies, self.clock())
        return found or self._judged(claim, *self._alike.whole(claim, read), facts, policies)

    def _judged(
        self, claim: Claim, rebuilt: Rebuilt, traces: tuple[str, ...], facts: Known, policies: Policies
    ) -> Conclusion:
        stopped = self.stopped.get(claim.key, ())
        if claim.attempts > ATTEMPTS + len(stopped):
            return given_up(claim, rebuilt, f"was stopped {ATTEMPTS} times for taking too long")
        until = stopped[-1] if len(stopped) >= ATTEMPTS else None
        budget = RunBudget(self.policy_rules, skip=stopped, until=until, at=self.board.at)
        try:
            conversation = self._conversations.of(claim, rebuilt, policies, facts.last_seen(claim))
            looked, now = LOOKED.times, self.clock()
            found = conclude(claim, rebuilt, traces, facts, policies, conversation, now=now, budget=budget)
            if not stopped:
                self._alike.keep(claim, facts, policies, now, looked, found)
            return found
        except Exception as failure:
            log.exception("run %s could not be judged", claim.key)
            why = f"failed: {type(failure).__name__}: {failure}"
            return given_up(claim, rebuilt, why, our_fault=not isinstance(failure, BadInput))
        finally:
            self.board.at("")


def say(message: Mapping[str, Any]) -> None:
    """One line to the parent; without a parent there is nobody to tell and nothing to do."""
    try:
        os.write(1, orjson.dumps(message) + b"\n")
    except BrokenPipeError:
        os._exit(0)


def listen(ears: int, wake: threading.Event) -> None:
    """Wait for word of work."""
    while os.read(ears, 65536):
        wake.set()


def end_with_parent() -> None:
    """The end of the parent is ours."""
    while os.read(0, 65536):
        pass
    os._exit(0)


class Rounds:
    """A checker at work: one round after the other, and what it owes the store after a failure."""

    def __init__(self, checker: Checker, wake: threading.Event) -> None:
        self._checker, self._wake = checker, wake
        self._owed = True
        """Runs may be held that nobody judges: a predecessor may have died while the database was away."""
        self._cold = True
        self._began, self._new = time.monotonic(), 0
        self.is_worn = False
        """What this process keeps would go back with its end; it has nothing to do."""

    def go_on(self) -> None:
        """One round, and the pause after it."""
        self._wake.clear()
        self._checker.board.idle()
        try:
            pause = self._round()
        except CollectorError as failure:  # the store, not a run: what is held is given back when it is there
            log.warning("a round of checks failed: %s", failure.message)
            self._checker.board.idle()
            self._owed = True
            time.sleep(0.5)
        except Exception:
            log.exception("a round of checks failed")
            self._checker.board.idle()
            with contextlib.suppress(Exception):
                work.release(self._checker.store, self._checker.worker, forgive=False)
            time.sleep(0.2)
        else:
            if pause is not None:
                self._rest(pause)

    def _round(self) -> float | None:
        """Judge a batch; returns in how many seconds to look again where there was none."""
        store = self._checker.store
        if self._owed:
            work.release(store, self._checker.worker)
            self._owed = False
        now = self._checker.clock
        if self._checker.round(now()):
            return None
        due = work.next_due(store)
        return POLL_SECONDS if due is None else min(POLL_SECONDS, max(0.0, due - now()))

    def _rest(self, pause: float) -> None:
        """Until a run is due or the parent has news; the first time there is something else to do."""
        if self._cold:
            self._cold = False
            self._checker.board.away(True)
            warm_up(self._checker.settings)
            calm_garbage_collection()
            self._new = memory.resident()
        elif not self._wake.wait(pause) and pause >= POLL_SECONDS:
            retention.tidy(self._checker.store)
            self.is_worn = self._keeps_much()

    def _keeps_much(self) -> bool:
        """Even after all that can go back did: Python keeps an arena for the little that is left in it."""
        most = self._new + WORN_MIB * MIB
        if time.monotonic() - self._began < WORN_SECONDS or memory.resident() <= most:
            return False
        memory.give_back()
        return memory.resident() > most


def main() -> None:
    """Run until the parent's pipe closes, or until another checker had better go on."""
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the parent, which then closes the pipe
        signal.signal(number, signal.SIG_IGN)
    order = from_json(read_line())
    settings = order.settings
    logs.configure(settings.log_format, settings.log_level)
    memory.limit(settings.checker_mib)
    give_way()
    board = Board(order.board)
    store = open_store(settings.store_url, durable=False)
    store.watched.told = board.away
    wake = threading.Event()
    threading.Thread(target=listen, args=(order.ears, wake), daemon=True).start()
    threading.Thread(target=end_with_parent, daemon=True).start()
    clock, room = Clock(order.clock), Room(order.room)
    checker = Checker(store, settings, order.worker, board, order.stopped, clock, room)
    rounds = Rounds(checker, wake)
    say({"ready": os.getpid()})
    while not rounds.is_worn:
        rounds.go_on()
    store.close()


def warm_up(settings: Settings) -> None:
    """Load what the first verdict would have to wait for: Z3 takes most of a second."""
    if (settings.z3_check, settings.z3_check_policies) != ("off", "off"):
        solver.z3()


def read_line() -> bytes:
    """The first line of standard input, byte by byte: what follows belongs to `listen`."""
    line = bytearray()
    while (byte := os.read(0, 1)) and byte != b"\n":
        line += byte
    return bytes(line)


if __name__ == "__main__":
    main()
