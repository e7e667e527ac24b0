"""The checker process and the page that it shares with its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from collector.errors import Overloaded, Unstorable
from collector.fair import Flow
from collector.memory import resident
from collector.model import Batch, Segment
from collector.otlp.errors import refused
from collector.otlp.segments import from_protobuf, without
from collector.pipeline import checker as checker_module
from collector.pipeline import supervisor as supervisor_module
from collector.pipeline import writer as writer_module
from collector.pipeline.board import Board
from collector.pipeline.checker import Checker, Rounds
from collector.pipeline.supervisor import Stillness, Supervisor
from collector.pipeline.writer import Writer
from collector.room import UNIT_MIB, UNITS, Room, soon
from collector.settings import MIB, Limits, Settings
from collector.store import Store, open_store, schema, work
from collector.store.catalog import put_policy
from collector.store.ingest import KnownKeys, put
from tests.support.outside_policies import HANGING, MODULE, for_children, installed
from tests.support.traces import agent_request, eventually, new_id

Start = Callable[..., Supervisor]
PATIENT = 30.0
"""As often its limit as no load keeps a checker waiting."""


def without_z3(folder: Path, **others: Any) -> Settings:
    return Settings(
        store_url=f"sqlite:///{folder / 'store.db'}", z3_check="off", z3_check_policies="off", **others
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    made = open_store(without_z3(tmp_path).store_url)
    yield made
    made.close()


@pytest.fixture
def start(store: Store, tmp_path: Path) -> Iterator[Start]:
    """Starts a checker of the store with these settings; it is ended after the test."""
    started: list[Supervisor] = []

    def make(**others: Any) -> Supervisor:
        started.append(Supervisor(store, without_z3(tmp_path, **others)))
        return started[-1]

    yield make
    for supervisor in started:
        supervisor.close()


def test_the_board_tells_what_is_judged_and_since_when() -> None:
    parent = Board()
    checker = Board(os.dup(parent.descriptor))
    assert parent.read() == (0, None, "away", 0.0)
    before = time.monotonic()
    checker.begin("run-1")
    checker.begin("run-2")
    begun, busy, state, beat = parent.read()
    assert begun == 2
    assert busy is not None
    assert busy[0] == "run-2"
    assert before <= busy[1] == beat <= time.monotonic()
    assert state == "busy"
    checker.away(True)
    assert parent.read()[:3] == (2, None, "away")
    checker.away(False)
    assert parent.read().busy is not None
    checker.idle()
    assert parent.read()[:3] == (2, None, "idle")
    assert parent.read().beat >= beat
    parent.clear()
    assert parent.read() == (0, None, "away", 0.0)
    checker.close()
    parent.close()


@pytest.mark.parametrize(("stall", "restarts"), [(PATIENT, 0), (1.0, 1)])
def test_a_checker_that_stands_still_has_so_many_times_as_long_and_then_the_next_one_judges_the_rest(
    store: Store, start: Start, monkeypatch: pytest.MonkeyPatch, stall: float, restarts: int
) -> None:
    """On a machine that has much else to do a run needs no more CPU time, only longer."""
    monkeypatch.setattr(supervisor_module, "STALL", PATIENT)
    runs = fill(store, 600)
    supervisor = start(check_seconds=2.0)
    hung = until(lambda: supervisor._board.read()[1], pause=0.0)
    assert supervisor._process is not None
    os.kill(supervisor._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(supervisor_module, "STALL", stall)
    assert hung
    if restarts:
        until(lambda: supervisor.restarts == 1)
        monkeypatch.setattr(supervisor_module, "STALL", PATIENT)
    else:
        time.sleep(3.5)
        os.kill(supervisor._process.pid, signal.SIGCONT)
    until(lambda: unjudged(store) == 0)
    assert supervisor.alive
    assert supervisor.restarts == restarts
    assert supervisor.judged >= runs


@pytest.mark.slow
def test_a_checker_that_hangs_while_it_has_nothing_to_do_is_noticed(
    store: Store, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "SILENT_SECONDS", 2.0)
    supervisor = start()
    until(lambda: supervisor._board.read().state == "idle", pause=0.01)
    assert supervisor._process is not None
    os.kill(supervisor._process.pid, signal.SIGSTOP)
    until(lambda: supervisor.silence > 0.5)
    until(lambda: supervisor.restarts == 1)
    fill(store, 3)
    until(lambda: unjudged(store) == 0)


def test_only_time_that_was_seen_to_pass_counts() -> None:
    """A machine that slept for an hour has not waited for its checker for an hour."""
    still = Stillness(100.0)
    assert still.look(1.0, 100.5) == 0.0
    assert still.look(1.0, 101.0) == 0.5
    assert still.look(1.0, 4000.0) == 1.5
    assert still.look(2.0, 4000.5) == 0.0


def test_what_a_checker_worked_counts_from_its_last_sign_of_life() -> None:
    still = Stillness(100.0)
    for now, beat, spent, worked in (
        (100.5, 1.0, 7.0, 0.0),
        (101.0, 1.0, 7.1, 0.1),
        (101.5, 2.0, 7.5, 0.0),
        (102.0, 2.0, 8.0, 0.5),
    ):
        still.look(beat, now, spent)
        assert still.worked == pytest.approx(worked)
    still.look(2.0, 102.5)  # a system that does not tell
    assert still.worked == still.seconds == 1.0


def test_what_a_checker_holds_is_its_own_while_it_judges(
    store: Store, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the machine lets it wait: nobody else judges the run meanwhile."""
    monkeypatch.setattr(supervisor_module, "STALL", 30.0)
    fill(store, 600)
    supervisor = start(check_seconds=1.0)
    until(lambda: supervisor._board.read().busy, pause=0.0)
    assert supervisor._process is not None
    os.kill(supervisor._process.pid, signal.SIGSTOP)
    mine = work.held(store, supervisor.worker)
    time.sleep(2.6)
    others = {one.run for one in work.claim(store, "w", now=supervisor._clock(), lease=30, limit=600)}
    assert (bool(mine), mine & others) == (True, set())


@pytest.mark.heavy
def test_waiting_for_the_database_is_no_fault_of_a_run(store: Store, start: Start) -> None:
    """Another program holds the lock of the file for longer than judging may take."""
    fill(store, 3)
    with store.write():
        supervisor = start(check_seconds=1.0)
        until(lambda: supervisor._ready.is_set())
        time.sleep(2.5)
        assert supervisor.restarts == 0
    until(lambda: unjudged(store) == 0)
    assert supervisor.restarts == 0


def test_a_checker_that_has_time_is_left_alone(store: Store, start: Start) -> None:
    fill(store, 40)
    supervisor = start()
    until(lambda: unjudged(store) == 0)
    assert supervisor.restarts == 0


WORN_AT_ONCE = """
from collector.pipeline import checker
checker.WORN_MIB, checker.WORN_SECONDS = -10_000, 0.0
checker.main()
"""


def worn_at_once(descriptors: Collection[int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WORN_AT_ONCE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=descriptors,
    )


def test_a_checker_that_keeps_much_memory_is_followed_by_a_new_one_and_nobody_is_alarmed(
    store: Store, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "start_checker", worn_at_once)
    supervisor = start()
    first = until(lambda: supervisor._process and supervisor._process.pid)
    seen = []
    until(lambda: seen.append(supervisor.healthy) or supervisor._process.pid != first, pause=0.01)
    fill(store, 3)
    until(lambda: seen.append(supervisor.healthy) or unjudged(store) == 0, pause=0.01)
    assert (all(seen), supervisor.restarts) == (True, 0)


@pytest.mark.parametrize(
    ("grown", "seconds", "worn"), [(64, 0.0, True), (64, 3600.0, False), (8, 0.0, False)]
)
def test_a_checker_is_worn_once_it_keeps_much_for_long_and_has_nothing_to_do(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    grown: int,
    seconds: float,
    worn: bool,
) -> None:
    monkeypatch.setattr(checker_module, "WORN_SECONDS", seconds)
    monkeypatch.setattr(checker_module, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(checker_module, "calm_garbage_collection", lambda: None)
    rounds = Rounds(Checker(store, without_z3(tmp_path), "w", Board()), threading.Event())
    rounds.go_on()
    kept = b"x" * (grown * MIB)
    rounds.go_on()
    assert (rounds.is_worn, len(kept)) == (worn, grown * MIB)
    del kept
    rounds.go_on()
    assert not rounds.is_worn


def fill(store: Store, runs: int) -> int:
    """So many runs of two calls, due now."""
    arrivals: list[tuple[int, Segment]] = []
    for _ in range(runs):
        batch = from_protobuf(agent_request(new_id(), ["a", "b"]), Limits())
        arrivals += [(1, segment) for segment in batch.segments]
    with store.write() as connection:
        put(connection, arrivals, KnownKeys(), without, now=time.time(), open_check=0)
    return runs


def unjudged(store: Store) -> int:
    with store.read() as connection:
        runs = schema.runs
        return int(connection.scalar(select(func.count()).where(runs.c.checked < runs.c.version)) or 0)


def until(ask: Callable[[], object], *, pause: float = 0.05, seconds: float = 180.0) -> object:
    """The first true answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(pause)
    pytest.fail("waited in vain")


def test_a_big_run_waits_for_memory_and_stays_claimed_meanwhile(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small ones do not; nobody takes it for a checker that hangs, and no other one takes the run."""
    monkeypatch.setattr(checker_module, "TIMES", 1_000_000)
    room, board, settings = Room(), Board(), without_z3(tmp_path, check_seconds=0.2)
    checker = Checker(store, settings, "w", board, room=room)
    fill(store, 1)
    judging = threading.Thread(target=lambda: checker.round(time.time()))
    with room.taken(UNIT_MIB, soon()):
        judging.start()
        eventually(lambda: board.read().state == "away")
        beat = board.read().beat
        eventually(lambda: board.read().beat > beat + 3 * settings.check_seconds)
        assert work.claim(store, "other", now=time.time(), lease=0.2, limit=9) == []
        assert unjudged(store) == 1
    judging.join(60)
    assert unjudged(store) == 0
    monkeypatch.setattr(checker_module, "TIMES", 1)
    fill(store, 1)
    with room.taken(UNIT_MIB * UNITS, soon()):
        checker.round(time.time())
    assert unjudged(store) == 0


def test_what_a_big_run_took_goes_back_also_where_the_database_fails(store: Store, tmp_path: Path) -> None:
    checker, after = Checker(store, without_z3(tmp_path), "w", Board()), []

    def judge() -> None:
        held = [bytes(600 + number % 2) for number in range(150_000)]
        after.append(bytes(600))  # the C library would keep what stands before it
        raise Overloaded(f"the database went away while {len(held)} values were read", "wait")

    before = resident()
    with pytest.raises(Overloaded) as told, checker._taken(UNIT_MIB):
        judge()
    assert resident() - before < 20 * MIB, told.value


@pytest.mark.parametrize("condition", ["NEW.outcome IS NOT 'undecided'", "true"])
def test_a_run_that_cannot_be_recorded_does_not_stop_the_others(
    store: Store, tmp_path: Path, condition: str
) -> None:
    """The planted fault: a database that refuses the verdict of one run, or whatever is said of it."""
    fill(store, 5)
    with store.write() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER fault BEFORE INSERT ON verdicts WHEN NEW.run = 3 AND {condition} "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )
    board = Board()
    checker = Checker(store, without_z3(tmp_path), "w", board)
    checker.round(time.time())
    with store.read() as connection:
        runs, verdicts = schema.runs, schema.verdicts
        recorded = sorted(connection.scalars(select(verdicts.c.run)))
        queue = list(connection.scalars(select(runs.c.id).where(runs.c.due <= time.time())))
    expected = [1, 2, 4, 5] if condition == "true" else [1, 2, 3, 4, 5]
    assert recorded == expected  # each once
    assert queue == []
    board.close()


def test_a_batch_that_cannot_be_stored_is_refused_alone_and_for_good(store: Store) -> None:
    good, bad = new_id(), new_id()
    with store.write() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER fault BEFORE INSERT ON runs WHEN NEW.key = '{bad}' "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )
    writer = Writer(store, queue_bytes=1_000_000, open_check=0)
    ends: dict[str, BaseException | None] = {}
    hold = threading.Lock()
    with hold:  # the first batch waits in its callback, so that the others are one group
        first = threading.Event()
        writer.submit(1, batch(new_id()), lambda _: (first.set(), hold.acquire(), hold.release()))
        assert first.wait(60)
        for key in (bad, good):
            writer.submit(1, batch(key), lambda failure, key=key: ends.__setitem__(key, failure))
    writer.close()
    assert ends[good] is None
    assert isinstance(ends[bad], Unstorable)
    refusal = refused(ends[bad])
    assert (refusal.http, refusal.retry_after) == (400, None)


def test_a_sender_does_not_wait_longer_than_said_and_what_it_gave_up_is_not_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch is being stored when the database hangs, the second waits behind it."""
    monkeypatch.setattr(writer_module, "ANSWER_SECONDS", 0.05)
    writer = Writer(store, queue_bytes=1_000_000, open_check=0)
    ends: list[Overloaded] = []

    async def send(key: str) -> None:
        try:
            await writer.store(1, batch(key))
        except Overloaded as failure:
            ends.append(failure)

    async def both() -> None:
        first = asyncio.create_task(send(keys[0]))
        while not writer.queued_bytes or writer._queue:
            await asyncio.sleep(0.001)
        await asyncio.gather(first, send(keys[1]))

    keys = [new_id(), new_id()]
    with store.write():
        asyncio.run(both())
    writer.close()
    assert [(end.status, end.retry_after) for end in ends] == [(503, 5), (503, 5)]
    with store.read() as connection:
        assert list(connection.scalars(select(schema.runs.c.key))) == keys[:1]


@pytest.fixture
def held_writer(store: Store) -> Iterator[tuple[Writer, threading.Event, list[list[str]]]]:
    """A writer that waits in the callback of a first batch; which runs each later transaction wrote."""
    written: list[list[str]] = []
    go_on, first = threading.Event(), threading.Event()
    writer = Writer(store, queue_bytes=1_000_000, open_check=0)
    writer.submit(1, batch(new_id()), lambda _: (first.set(), go_on.wait(30)))
    assert first.wait(10)
    commit = writer._commit
    writer._commit = lambda group: (  # type: ignore[method-assign]
        written.append([segment.run_id for part in group for segment in part.segments]),
        commit(group),
    )[1]
    yield writer, go_on, written
    go_on.set()
    writer.close()


def of_runs(*keys: str) -> Batch:
    return Batch(tuple(segment for key in keys for segment in batch(key).segments))


def test_senders_are_written_in_turn_and_big_requests_in_parts(
    held_writer: tuple[Writer, threading.Event, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "GROUP_SEGMENTS", 4)
    monkeypatch.setattr(writer_module, "TURN_SEGMENTS", 2)
    writer, go_on, written = held_writer
    ends: list[str] = []
    keys = {name: new_id() for name in ("a1", "a2", "a3", "a4", "a5", "b1", "c1", "c2")}
    for who, names in (("a", "a1 a2 a3 a4 a5"), ("b", "b1"), ("c", "c1"), ("c", "c2")):
        sent = of_runs(*(keys[name] for name in names.split()))
        writer.submit(
            1, sent, lambda failure, names=names: ends.append(f"{names}: {failure}"), flow=Flow(who)
        )
    go_on.set()
    writer.close()
    names = {key: name for name, key in keys.items()}
    assert [[names[key] for key in group] for group in written] == [
        ["a1", "a2", "b1", "c1"],
        ["a3", "a4", "c2", "a5"],
    ]
    assert ends == ["b1: None", "c1: None", "a1 a2 a3 a4 a5: None", "c2: None"]
    assert (writer.queued_bytes, writer.counters.batches) == (0, 5)


def test_a_small_request_is_written_before_the_rest_of_big_ones_of_its_sender(
    held_writer: tuple[Writer, threading.Event, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "GROUP_SEGMENTS", 2)
    monkeypatch.setattr(writer_module, "TURN_SEGMENTS", 2)
    writer, go_on, written = held_writer
    keys = {f"{name}{number}": new_id() for name in "abs" for number in range(4)}
    for name in "ab":
        sent = of_runs(*(keys[f"{name}{number}"] for number in range(4)))
        writer.submit(1, sent, lambda _: None, flow=Flow("one", name))
    writer.submit(1, of_runs(keys["s0"]), lambda _: None, flow=Flow("one", "small"))
    go_on.set()
    writer.close()
    names = {key: name for name, key in keys.items()}
    assert [[names[key] for key in group] for group in written] == [
        ["s0", "a0"], ["b0", "b1"], ["a1", "a2"], ["b2", "b3"], ["a3"],
    ]  # fmt: skip


def test_small_requests_are_written_without_big_ones_beside_them(
    held_writer: tuple[Writer, threading.Event, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "FEWEST_SEGMENTS", 1)
    writer, go_on, written = held_writer
    big, small = [new_id() for _ in range(3)], [new_id() for _ in range(2)]
    writer.submit(1, of_runs(*big), lambda _: None, flow=Flow("one", "big"))
    for number, key in enumerate(small):
        writer.submit(1, of_runs(key), lambda _: None, flow=Flow("one", f"small {number}"))
    go_on.set()
    writer.close()
    assert written == [small, big]


def test_where_several_send_a_transaction_is_short(
    held_writer: tuple[Writer, threading.Event, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "FEWEST_SEGMENTS", 1)
    monkeypatch.setattr(writer_module, "GROUP_SECONDS", 0.0)
    writer, go_on, written = held_writer
    a, b = [new_id() for _ in range(3)], [new_id()]
    writer._pace.took(1, 0.1)
    writer.submit(1, of_runs(*a), lambda _: None, flow=Flow("a"))
    writer.submit(1, of_runs(*b), lambda _: None, flow=Flow("b"))
    go_on.set()
    writer.close()
    assert written == [[a[0]], b, [a[1]], [a[2]]]


def test_a_request_is_answered_once_where_a_part_of_it_cannot_be_stored(
    held_writer: tuple[Writer, threading.Event, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "GROUP_SEGMENTS", 2)
    monkeypatch.setattr(writer_module, "TURN_SEGMENTS", 1)
    writer, go_on, written = held_writer
    good, bad, *rest = (new_id() for _ in range(5))
    with writer._store.write() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER fault BEFORE INSERT ON runs WHEN NEW.key = '{bad}' "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )
    ends: list[tuple[str, BaseException | None]] = []
    writer.submit(
        1, of_runs(rest[0], bad, *rest[1:]), lambda failure: ends.append(("a", failure)), flow=Flow("a")
    )
    writer.submit(1, of_runs(good, new_id()), lambda failure: ends.append(("b", failure)), flow=Flow("b"))
    go_on.set()
    writer.close()
    assert sorted((who, type(failure)) for who, failure in ends) == [("a", Unstorable), ("b", type(None))]
    assert writer.queued_bytes == 0
    assert not {*rest[1:]} & {key for group in written for key in group}, "it goes on with what has failed"


def test_a_part_has_so_many_bytes(
    held_writer: tuple[Writer, threading.Event, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "GROUP_BYTES", 1)
    writer, go_on, written = held_writer
    keys = [new_id() for _ in range(3)]
    writer.submit(1, of_runs(*keys), lambda _: None)
    go_on.set()
    writer.close()
    assert written == [[key] for key in keys]


def batch(key: str) -> Batch:
    return from_protobuf(agent_request(key, ["a"]), Limits())


@pytest.mark.heavy
@pytest.mark.slow
def test_a_policy_that_stops_the_checker_is_undecided_and_the_others_keep_their_answers(
    store: Store, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", for_children(tmp_path))
    text = "actions: {B: b}\npolicies:\n  - {id: hangs, hangs: a}\n  - {id: after, pairs: a}\n"
    text += "  - {id: never, rule: B must never happen.}\n"
    with installed(tmp_path, HANGING) as add:
        add(f"pairs = {MODULE}:Pairs", f"hangs = {MODULE}:Hangs")
        put_policy(store, 1, "file.yaml", text, now=time.time())
        fill(store, 1)
        supervisor = start(check_seconds=4.0)
        until(lambda: unjudged(store) == 0)
    assert supervisor.restarts == 1
    assert answers(store) == {"hangs": "undecided", "never": "violated", "after": "violated"}


def answers(store: Store) -> dict[str, str]:
    """Policy -> verdict."""
    with store.read() as connection:
        rows = connection.execute(select(schema.policy_results.c.policy, schema.policy_results.c.verdict))
        return {row.policy: row.verdict for row in rows}


def test_the_board_tells_the_policy_until_the_next_run_begins() -> None:
    board = Board()
    board.begin("run-1")
    board.at("a policy")
    assert board.read()[1] is not None
    assert board.read()[1][2] == "a policy"  # type: ignore[index]
    board.begin("run-2")
    assert board.read()[1][::2] == ("run-2", "")  # type: ignore[index]
    board.close()


def test_a_run_whose_policies_stopped_three_checkers_keeps_what_was_judged_before_them(
    store: Store, tmp_path: Path
) -> None:
    rules = ("B must never happen.", "A must happen before B.", "A must be followed by B.")
    lines = "".join(f"  - {{id: P{k}, rule: {said!r}}}\n" for k, said in enumerate(rules))
    put_policy(store, 1, "file.yaml", f"actions: {{A: a, B: b}}\npolicies:\n{lines}", now=time.time())
    fill(store, 1)
    with store.read() as connection:
        key = connection.scalar(select(schema.runs.c.key))
    board = Board()
    checker = Checker(store, without_z3(tmp_path), "w", board, {key: ["P1", "gone", "P1"]})
    checker.round(time.time())
    assert answers(store) == {"P0": "violated", "P1": "undecided", "P2": "undecided"}
    board.close()


def test_a_checker_has_the_memory_that_its_setting_says(start: Start) -> None:
    supervisor = start(checker_mib=321)
    eventually(lambda: supervisor.healthy and data_limit(supervisor) == 321 * 2**20)


def data_limit(supervisor: Supervisor) -> int:
    """Bytes of memory that the checker may have."""
    assert supervisor._process is not None
    limits = Path(f"/proc/{supervisor._process.pid}/limits").read_text().splitlines()
    (row,) = (line for line in limits if line.startswith("Max data size"))
    said = row.split()[3]
    return 0 if said == "unlimited" else int(said)
