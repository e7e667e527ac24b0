"""Runs that are judged on demand: in a process of its own, bounded, and only while somebody waits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from collector import room
from collector.api import bodies
from collector.api.bodies import TooLarge
from collector.errors import Left, Overloaded
from collector.pipeline import asked
from collector.pipeline.asked import Asked, RunToJudge, answered
from collector.room import Room
from collector.server import running
from collector.settings import Settings
from collector.store import open_store
from synth.judge_process import JudgeFailed
from tests.support.outside_policies import HANGING, MODULE, for_children, installed
from tests.support.traces import Client, agent_request, case_json, new_id, settings, until

RULES = "actions: {A: a, B: b}\npolicies:\n  - {id: never, rule: B must never happen.}\n"
HANGS = RULES + "  - {id: hangs, hangs: a}\n"
RUN = {"run_id": "r", "calls": [{"name": "a"}, {"name": "b"}], "status": "ok"}


@pytest.fixture
def hanging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Client]:
    """A collector whose processes know a policy that never comes to an end, and stop at it after a time."""
    monkeypatch.setenv("PYTHONPATH", for_children(tmp_path))
    with (
        installed(tmp_path, HANGING) as put,
        running(settings(tmp_path, check_seconds=request.param, checkers=0)) as url,
        Client(url) as client,
    ):
        put(f"pairs = {MODULE}:Pairs", f"hangs = {MODULE}:Hangs")
        yield client


@contextmanager
def waiting(client: Client, body: Any) -> Iterator[list[httpx.Response]]:
    """The request is on its way; its answer is there at the end."""
    answers: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: answers.append(client.post("/check", body)))
    thread.start()
    try:
        yield answers
    finally:
        thread.join(60)


@pytest.mark.heavy
@pytest.mark.parametrize("hanging", [1.0], indirect=True)
def test_a_policy_that_hangs_is_undecided_and_ingest_goes_on(hanging: Client) -> None:
    with waiting(hanging, {"run": RUN, "policies": HANGS}) as answers:
        assert hanging.send(agent_request(new_id(), ["a"])).status_code == 200
        assert hanging.http.get("/healthz").status_code == 200
        assert answers == []
    said = answers[0].json()
    assert [one["verdict"] for one in said["policies"]] == ["violated", "undecided"]
    assert said["outcome"] == "fail"


@pytest.mark.heavy
@pytest.mark.parametrize("hanging", [900.0], indirect=True)
def test_who_leaves_is_not_judged_for_and_the_next_one_is(hanging: Client) -> None:
    """Nothing but leaving ends it in time."""
    with pytest.raises(httpx.ReadTimeout):
        hanging.http.post("/api/v1/check", json={"run": RUN, "policies": HANGS}, timeout=0.3)
    for _ in until():
        said = hanging.post("/check", {"run": RUN, "policies": RULES}).json()
        if "policies" in said:
            break
    assert [one["verdict"] for one in said["policies"]] == ["violated"]


@pytest.mark.heavy
def test_a_run_that_takes_too_much_memory_is_refused_and_the_next_one_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked, "MEMORY_MIB", 100)
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        big = {**RUN, "calls": [{"name": "a", "arguments": {"x": k}} for k in range(100_000)]}
        refused = client.post("/check", {"run": big, "policies": RULES})
        assert refused.status_code == 413, refused.text
        assert client.post("/check", {"run": RUN, "policies": RULES}).json()["outcome"] == "fail"


@pytest.mark.heavy
def test_a_question_for_which_little_memory_does_not_do_has_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked, "LITTLE_MIB", 50)  # less than the process has at rest
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        for _ in range(2):
            assert client.post("/check", {"run": RUN, "policies": RULES}).json()["outcome"] == "fail"


def test_a_question_waits_for_memory_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "PATIENCE", 0.05)
    shared = Room()
    slow = Slow(tmp_path, shared)
    slow.let.set()
    with shared.taken(room.UNIT_MIB * room.UNITS, room.soon()):
        refused = asyncio.run(outcome(slow.judged(b"1", "", 1, here)))
    assert isinstance(refused, Overloaded)
    assert (refused.retry_after, slow.asked) == (room.AGAIN_SECONDS, [])
    assert asyncio.run(outcome(slow.judged(b"2", "", 1, here))) == b"2"


def test_a_question_does_not_wait_for_its_turn_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told in time, while another one is still judged."""
    monkeypatch.setattr(asked, "LOOK_SECONDS", 0.01)
    slow = Slow(tmp_path)

    async def main() -> list[object]:
        first = asyncio.create_task(slow.judged(b"1", "", 1, here))
        while not slow.asked:
            await asyncio.sleep(0.001)
        monkeypatch.setattr(room, "PATIENCE", 0.05)
        refused = await outcome(asyncio.wait_for(slow.judged(b"2", "", 1, here), 30))
        slow.let.set()
        return [refused, await first]

    refused, kept = asyncio.run(main())
    assert isinstance(refused, Overloaded)
    assert (refused.retry_after, kept, slow.asked, slow.stops) == (room.AGAIN_SECONDS, b"1", [b"1"], 0)


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_no_memory_to_read_a_run_is_no_broken_body(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def full(_body: bytes) -> Any:
        raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)

    monkeypatch.setattr(bodies.orjson, "loads", full)
    with pytest.raises(TooLarge, match="too much memory"):
        answered(RunToJudge(b"{}", kind, 1, Settings()))


class Slow(Asked):
    """Answers when it is let."""

    def __init__(self, folder: Path, room: Room | None = None) -> None:
        super().__init__(settings(folder), room)
        self.let, self.stops = threading.Event(), 0
        self.asked: list[bytes] = []
        self._process.ask = self._wait  # type: ignore[assignment, method-assign]
        self._process.stop = self._stopped  # type: ignore[method-assign]

    def _wait(self, _work: object, _mib: int, question: RunToJudge) -> bytes:
        self.asked.append(question.body)
        assert self.let.wait(60)
        if self.stops:
            raise JudgeFailed("stopped")
        return question.body

    def _stopped(self) -> None:
        self.stops += 1
        self.let.set()


async def here() -> bool:
    return False


def test_too_many_questions_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "WAITING", 3)
    monkeypatch.setattr(asked, "WAITING_BYTES", 10)
    slow = Slow(tmp_path)

    async def main() -> list[object]:
        first = [asyncio.create_task(slow.judged(body, "", 1, here)) for body in (b"1", b"2222")]
        await asyncio.sleep(0)
        refused = [await outcome(slow.judged(b"x" * 6, "", 1, here))]  # of bytes
        first.append(asyncio.create_task(slow.judged(b"3", "", 1, here)))
        await asyncio.sleep(0)
        refused.append(await outcome(slow.judged(b"4", "", 1, here)))  # of questions
        slow.let.set()
        return [*refused, *[await one for one in first], await outcome(slow.judged(b"x" * 20, "", 1, here))]

    found = asyncio.run(main())
    assert [type(one) for one in found[:2]] == [Overloaded, Overloaded]
    assert found[2:] == [b"1", b"2222", b"3", b"x" * 20]


async def outcome(answer: Any) -> object:
    try:
        return await answer
    except Exception as failure:
        return failure


def test_only_the_question_of_who_left_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "LOOK_SECONDS", 0.001)
    slow = Slow(tmp_path)

    async def away() -> bool:
        return True

    async def away_at_work() -> bool:
        return b"3" in slow.asked

    async def main() -> list[object]:
        first = asyncio.create_task(slow.judged(b"1", "", 1, here))
        await asyncio.sleep(0.01)
        left = await outcome(slow.judged(b"2", "", 1, away))  # while it waits in the line
        stops = slow.stops
        slow.let.set()
        kept = await first
        slow.let.clear()
        return [
            left,
            stops,
            kept,
            await outcome(slow.judged(b"3", "", 1, away_at_work)),
            slow.stops,
        ]

    found = asyncio.run(main())
    assert [type(found[0]), found[1], found[2]] == [Left, 0, b"1"]
    assert [type(found[3]), found[4]] == [Left, 1]


def test_a_run_of_too_many_calls_for_so_many_policies_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = settings(tmp_path)
    open_store(known.store_url).close()
    monkeypatch.setattr(asked, "PAIRS", 2)
    question = RunToJudge(orjson.dumps({"run": RUN, "policies": RULES}), "application/json", 1, known)
    try:
        assert orjson.loads(answered(question))["outcome"] == "fail"
        monkeypatch.setattr(asked, "PAIRS", 1)
        with pytest.raises(TooLarge, match="2 calls by 1 policies"):
            answered(question)
    finally:
        asked.opened(known.store_url).close()
        asked.opened.cache_clear()


def test_what_stopped_a_process_is_left_out_until_nothing_is_left(tmp_path: Path) -> None:
    question = RunToJudge(b"", "", 1, settings(tmp_path))
    at = JudgeFailed("took longer")
    at.at = "P"
    assert question.without(at).stopped == ("P",)
    elsewhere = JudgeFailed("took longer")
    second = question.without(elsewhere)
    assert (second.z3, second.case_failed) == (False, None)
    third = second.without(elsewhere)
    assert third == replace(second, case_failed="took longer")
    with pytest.raises(TooLarge):
        third.without(elsewhere)
    assert replace(question, stopped=("A", "B", "C")).without(at).z3 is False


def test_a_case_that_could_not_be_judged_is_undecided_and_the_policies_are(tmp_path: Path) -> None:
    known = settings(tmp_path)
    open_store(known.store_url).close()
    body = {"run": RUN, "case": case_json("c", "a < b"), "policies": RULES}
    question = RunToJudge(orjson.dumps(body), "", 1, known, case_failed="it took too long")
    try:
        said = orjson.loads(answered(question))
    finally:
        asked.opened(known.store_url).close()
        asked.opened.cache_clear()
    assert said["verdict"]["outcome"] == "undecided"
    assert "it took too long" in said["verdict"]["findings"][0]["explanation"]
    assert [one["verdict"] for one in said["policies"]] == ["violated"]


def test_an_idle_process_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "IDLE_SECONDS", 0.0)
    slow, closed = Slow(tmp_path), threading.Event()
    slow._process.close = closed.set  # type: ignore[method-assign]
    slow.let.set()

    async def main() -> None:
        assert await slow.judged(b"1", "", 1, here) == b"1"
        end = time.monotonic() + 60
        while not closed.is_set() and time.monotonic() < end:
            await asyncio.sleep(0.001)

    asyncio.run(main())
    assert closed.is_set()
