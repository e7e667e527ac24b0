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
from functools import lru_cache
from typing import Any

import orjson

from collector import logs
from collector.bind import Matches, text_key
from collector.errors import CollectorError
from collector.model import Assessment, Rebuilt, Run, Span
from collector.otlp.spans import spans_of
from collector.pipeline.board import Board
from collector.pipeline.conclude import Known, conclude, conclusion
from collector.pipeline.garbage import calm_garbage_collection
from collector.pipeline.joining import join
from collector.pipeline.protocol import settings_from_json
from collector.policies import Policies, load_all, readable
from collector.rebuild import inside, rebuild
from collector.settings import Settings
from collector.store import Store, catalog, open_store, reads, work
from collector.store.work import Claim, Conclusion, Stored
from synth import solver
from synth.case import Case, case_from_json
from synth.model import Verdict
from synth.rules import Rules

log = logging.getLogger("collector.checker")

BATCH = 64
SPANS_AT_ONCE = 10_000
"""Spans of a batch that are in memory together."""
POLL_SECONDS = 1.0
"""Another collector on the same database may have made work."""
HOLD_SECONDS = 0.05
"""Conclusions of fast runs are recorded together, but never held longer than this."""
SESSION_RUNS = 50
"""So many earlier runs of a conversation are judged together with the newest."""
ATTEMPTS = 3
"""A run whose judging killed so many checkers is given up as undecided."""


class Checker:
    """Everything one checker process keeps between runs."""

    def __init__(self, store: Store, settings: Settings, worker: str, board: Board) -> None:
        self.store, self.settings, self.worker, self.board = store, settings, worker, board
        self.rules = Rules(z3=settings.z3_check)
        self.policy_rules = Rules(z3=settings.z3_check_policies)
        self._policy_state: object = None
        self._policies: dict[int, Policies] = {}

    def round(self, now: float) -> int:
        """Claim and judge one batch; returns how many runs it held."""
        claims = work.claim(self.store, self.worker, now=now, lease=self._lease, limit=BATCH)
        if claims:
            with self.store.read() as connection:
                counts = work.span_counts(connection, [claim.run for claim in claims])
            for part in parts_of(claims, counts):
                self._judge_apart(part)
        return len(claims)

    def _judge_apart(self, claims: Sequence[Claim]) -> None:
        """Judge a batch; where that fails, each run alone, so that one cannot stop the others for ever."""
        try:
            self._judge(claims)
        except CollectorError:  # the store is away: nobody's fault
            raise
        except Exception as failure:
            log.exception("a batch of %d runs could not be judged", len(claims))
            if len(claims) > 1:
                held = work.held(self.store, self.worker)
                for claim in claims:
                    if claim.run in held:  # those before the failure are recorded
                        self._judge_apart([claim])
            else:
                self._set_aside(claims[0], failure)

    def _set_aside(self, claim: Claim, failure: Exception) -> None:
        """Record that a run cannot be judged; not even that can be recorded: leave it until it grows."""
        why = f"failed: {type(failure).__name__}: {failure}"
        try:
            work.finish(self.store, [given_up(claim, rebuild(claim.key, []), why)], now=time.time())
        except CollectorError:
            raise
        except Exception:
            log.exception("nothing can be recorded about run %s", claim.key)
            work.shelve(self.store, claim)

    @property
    def _lease(self) -> float:
        """Long enough for the slowest run that the supervisor allows; renewed while a batch goes on."""
        return 2 * self.settings.check_seconds

    def _judge(self, claims: Sequence[Claim]) -> None:
        self.board.reading(claims[0].key)
        with self.store.read() as connection:
            self._refresh_policies(connection, {claim.project for claim in claims})
            ids = [claim.run for claim in claims]
            guests, hosts = work.guests(connection, ids), work.hosts(connection, ids)
            payloads = work.payloads(connection, [*ids, *(g for some in guests.values() for g in some)])
            details = {project: found.need_turns for project, found in self._policies.items()}
            rebuilt = {
                claim.run: rebuilt_run(
                    claim.key,
                    payloads[claim.run],
                    [payloads[g] for g in guests.get(claim.run, ())],
                    details=details[claim.project],
                )
                for claim in claims
            }
        joined = join(self.store, claims, rebuilt, hosts, rebuilt_run)
        with self.store.read() as connection:
            traces = [claim.key for claim in claims] + [t for _, ids in rebuilt.values() for t in ids]
            bindings = work.bindings(connection, traces)
            texts = matches_of(connection, claims, rebuilt)
            cases = self._cases(connection, claims, rebuilt, bindings, texts)
        known = Known(
            bindings, cases, hosts, guests, self.rules, self.policy_rules, self.settings, joined, texts
        )
        done: list[Conclusion] = []
        began = renewed = time.monotonic()
        for claim in claims:
            self.board.begin(claim.key)
            if time.monotonic() - renewed > self.settings.check_seconds / 2:
                work.renew(self.store, self.worker, until=time.time() + self._lease)
                renewed = time.monotonic()
            done.append(self._conclude(claim, *rebuilt[claim.run], known))
            if time.monotonic() - began > HOLD_SECONDS:
                work.finish(self.store, done, now=time.time())
                done, began = [], time.monotonic()
        if done:
            work.finish(self.store, done, now=time.time())
        self.board.idle()

    def _cases(
        self,
        connection: Any,
        claims: Sequence[Claim],
        rebuilt: Mapping[int, tuple[Rebuilt, tuple[str, ...]]],
        bindings: Mapping[tuple[int, str], Any],
        texts: Mapping[tuple[int, str], Matches],
    ) -> dict[tuple[int, str], Case]:
        wanted: dict[int, set[str]] = {}
        for claim in claims:
            if case_id := rebuilt[claim.run][0].run.case_id:
                wanted.setdefault(claim.project, set()).add(case_id)
        for (project, _), binding in bindings.items():
            wanted.setdefault(project, set()).add(binding.case_id)
        for (project, _), matches in texts.items():
            wanted.setdefault(project, set()).update(first for _, first, _ in matches.values())
        return {
            (project, case_id): parsed_case(body)
            for project, ids in wanted.items()
            for case_id, body in catalog.cases(connection, project, ids).items()
        }

    def _conclude(self, claim: Claim, rebuilt: Rebuilt, traces: tuple[str, ...], known: Known) -> Conclusion:
        """One run that breaks a rule, or the checker, must not stop the others."""
        if claim.attempts > ATTEMPTS:
            return given_up(claim, rebuilt, f"was stopped {ATTEMPTS} times for taking too long")
        policies = self._policies[claim.project]
        try:
            earlier = self._earlier(claim, rebuilt) if policies.session_files else []
            return conclude(claim, rebuilt, traces, known, policies, earlier, now=time.time())
        except Exception as failure:
            log.exception("run %s could not be judged", claim.key)
            return given_up(claim, rebuilt, f"failed: {type(failure).__name__}: {failure}")

    def _earlier(self, claim: Claim, rebuilt: Rebuilt) -> list[Run]:
        """The runs of the same conversation before this one, oldest first."""
        if rebuilt.session is None:
            return []
        with self.store.read() as connection:
            before = work.session_runs(connection, claim, rebuilt.session, limit=SESSION_RUNS)
            stored = [reads.whole_payloads(connection, run) for run, _ in before]
        return [
            replace(rebuilt_run(key, parts)[0].run, status="ok")
            for (_, key), parts in zip(before, stored, strict=True)
        ]

    def _refresh_policies(self, connection: Any, projects: set[int]) -> None:
        state = catalog.policy_state(connection)
        if state != self._policy_state:
            self._policy_state, self._policies = state, {}
        for project in projects - self._policies.keys():
            files = catalog.active_policies(connection, project)
            self._policies[project] = load_all(readable([(row["name"], row["text"]) for row in files]))


def matches_of(
    connection: Any, claims: Sequence[Claim], rebuilt: Mapping[int, tuple[Rebuilt, tuple[str, ...]]]
) -> dict[tuple[int, str], Matches]:
    """Cases with the text of a run's query, for the runs that do not name their case."""
    keys: dict[int, set[str]] = {}
    for claim in claims:
        run = rebuilt[claim.run][0].run
        if run.case_id is None and (key := text_key(run.query)):
            keys.setdefault(claim.project, set()).add(key)
    return {
        (project, key): matches
        for project, some in keys.items()
        for key, matches in catalog.cases_by_text(connection, project, some).items()
    }


def parts_of(claims: Sequence[Claim], counts: Mapping[int, int]) -> Iterator[list[Claim]]:
    """The claims in parts that fit into memory together; a run alone may be bigger."""
    part: list[Claim] = []
    size = 0
    for claim in claims:
        count = counts.get(claim.run, 0)
        if part and size + count > SPANS_AT_ONCE:
            yield part
            part, size = [], 0
        part.append(claim)
        size += count
    yield part


def rebuilt_run(
    key: str, stored: Stored, guests: Sequence[Stored] = (), *, details: bool = True
) -> tuple[Rebuilt, tuple[str, ...]]:
    """The run of a claim, and the traces its spans belong to; what cannot be read becomes a problem of it.

    `guests` are spans of the same trace that carry no run id: another library's view of the same calls.
    `details` as for `rebuild`.
    """
    problems = [f"{stored.damaged} stored segments are damaged and were left out"] if stored.damaged else []
    spans: list[Span] = []
    try:
        spans = list(spans_of(stored.payloads))
        spans += inside(spans, [span for guest in guests for span in spans_of(guest.payloads)])
        rebuilt = rebuild(key, spans, details=details)
    except Exception as failure:
        log.exception("run %s could not be rebuilt", key)
        problems.append(f"the spans could not be read: {type(failure).__name__}: {failure}")
        rebuilt = rebuild(key, [])
    if problems:
        run = replace(rebuilt.run, problems=(*rebuilt.run.problems, *problems))
        rebuilt = replace(rebuilt, run=run, is_agent=True)
    return rebuilt, tuple(dict.fromkeys(span.trace_id for span in spans))


@lru_cache(maxsize=4096)
def parsed_case(body: str) -> Case:
    return case_from_json(orjson.loads(body))


def given_up(claim: Claim, rebuilt: Rebuilt, why: str) -> Conclusion:
    """What is recorded about a run that cannot be judged; `why` completes "judging this run ..."."""
    verdict = Verdict(claim.key, rebuilt.run.case_id, "undecided", None, ())
    problems = [f"judging this run {why}"]
    return conclusion(
        claim, rebuilt, rebuilt.run, Assessment(claim.key, verdict), problems, True, None, True,
        joined=claim.joined,
    )  # fmt: skip


def say(message: Mapping[str, Any]) -> None:
    """One line to the parent; without a parent there is nobody to tell and nothing to do."""
    try:
        os.write(1, orjson.dumps(message) + b"\n")
    except BrokenPipeError:
        os._exit(0)


def listen(wake: threading.Event) -> None:
    """Wait for lines of the parent; its end is ours."""
    while os.read(0, 65536):
        wake.set()
    os._exit(0)


def main() -> None:
    """Run until the parent's pipe closes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the parent, which then closes the pipe
        signal.signal(number, signal.SIG_IGN)
    settings, worker, board = settings_from_json(read_line())
    logs.configure(settings.log_format, settings.log_level)
    store = open_store(settings.store_url, durable=False)
    wake = threading.Event()
    threading.Thread(target=listen, args=(wake,), daemon=True).start()
    checker = Checker(store, settings, worker, Board(board))
    say({"ready": os.getpid()})
    warmed, owed = False, True  # a predecessor may have died while the database was away
    while True:
        wake.clear()
        try:
            if owed:
                work.release(store, worker)
                owed = False
            held = checker.round(time.time())
            due = None if held else work.next_due(store)
        except CollectorError as failure:  # the store, not a run: what is held is given back when it is there
            log.warning("a round of checks failed: %s", failure.message)
            checker.board.idle()
            owed = True
            time.sleep(0.5)
            continue
        except Exception:
            log.exception("a round of checks failed")
            checker.board.idle()
            with contextlib.suppress(Exception):
                work.release(store, worker, forgive=False)
            time.sleep(0.2)
            continue
        if not held and not warmed:
            warmed = True
            warm_up(settings)
            calm_garbage_collection()
        elif not held:
            wake.wait(POLL_SECONDS if due is None else min(POLL_SECONDS, max(0.0, due - time.time())))


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
