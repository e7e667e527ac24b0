"""Small questions of guards: answered whatever takes all memory and all other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import orjson
import pytest

from collector import room
from collector.errors import Overloaded
from collector.guarded import CallToJudge
from collector.pipeline import quick
from collector.pipeline.asked import Asked, Question
from collector.pipeline.quick import Quick
from collector.room import UNIT_MIB, UNITS, Room
from collector.server import running
from collector.store import open_store
from synth.errors import BadInput
from tests.support.traces import JSON, PATIENCE, Client, settings

RULES = "actions: {A: a, B: b}\npolicies:\n  - {id: never, rule: B must never happen.}\n"


class Others(Asked):
    """Answers at once, and keeps whose questions it was asked."""

    def __init__(self, folder: Path, shared: Room) -> None:
        super().__init__(settings(folder), shared)
        self.projects: list[int] = []

    async def answer(self, question: Question, gone: object) -> bytes:
        self.projects.append(question.project)
        return b"other"


@pytest.fixture
def shared() -> Iterator[Room]:
    made = Room()
    yield made
    made.close()


@pytest.fixture
def others(tmp_path: Path, shared: Room) -> Others:
    open_store(settings(tmp_path).store_url).close()
    return Others(tmp_path, shared)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes long to start the process."""
    monkeypatch.setattr(quick, "PATIENCE", PATIENCE)


@pytest.fixture
def line(tmp_path: Path, shared: Room, others: Others) -> Iterator[Quick]:
    made = Quick(settings(tmp_path), shared, others)
    yield made
    made.close()


def question(folder: Path, project: int = 1, *, name: str = "a", calls: int = 0) -> CallToJudge:
    record = orjson.dumps({"calls": [{"name": "a", "arguments": "x" * 90}] * calls})
    call = orjson.dumps({"id": None, "name": name, "arguments": None})
    return CallToJudge(project, settings(folder), record, call, RULES, 1)


async def here() -> bool:
    return False


def ask(line: Quick, *asked: CallToJudge) -> list[bytes | Exception]:
    """The answers to questions that come at once."""

    async def one(question: CallToJudge) -> bytes | Exception:
        try:
            return await line.ask(question, here)
        except Exception as refused:
            return refused

    async def all_of_them() -> list[bytes | Exception]:
        return await asyncio.gather(*map(one, asked))

    return asyncio.run(all_of_them())


def decision(said: object) -> str:
    assert isinstance(said, bytes)
    return str(orjson.loads(said)["decision"])


def test_a_question_needs_nothing_of_the_memory_that_all_share(
    tmp_path: Path, line: Quick, shared: Room, others: Others
) -> None:
    with shared.taken(UNITS * UNIT_MIB, room.soon()):
        found = ask(line, question(tmp_path), question(tmp_path, name="b"))
    assert [decision(said) for said in found] == ["allowed", "refused"]
    assert others.projects == []


def test_a_big_question_is_asked_where_all_others_are(tmp_path: Path, line: Quick, others: Others) -> None:
    assert ask(line, question(tmp_path, calls=6_000)) == [b"other"]
    (said,) = ask(line, question(tmp_path))
    assert (decision(said), others.projects) == ("allowed", [1])


@pytest.mark.parametrize("bound", ["SECONDS", "MIB"])
def test_what_is_too_much_for_the_process_keeps_only_its_own_project_out(
    tmp_path: Path, line: Quick, others: Others, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    assert decision(*ask(line, question(tmp_path))) == "allowed"
    with monkeypatch.context() as patched:
        if bound == "MIB":
            patched.setattr(quick, "MIB", 1)
        else:
            patched.setattr(line._process, "limit_seconds", 0.0)
        assert ask(line, question(tmp_path, calls=4_000)) == [b"other"]
    assert ask(line, question(tmp_path)) == [b"other"]
    (said,) = ask(line, question(tmp_path, 2))
    assert (decision(said), others.projects) == ("allowed", [1, 1])
    monkeypatch.setattr(line, "_heavy", {1: 0.0})  # its time is over
    assert decision(*ask(line, question(tmp_path))) == "allowed"


def test_a_project_has_half_of_the_line(
    tmp_path: Path, shared: Room, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "WAITING", 4)
    line = Quick(settings(tmp_path), shared, others)
    try:
        found = ask(line, *(question(tmp_path, project) for project in (1, 1, 1, 2)))
    finally:
        line.close()
    assert [isinstance(one, Overloaded) for one in found] == [False, False, True, False]
    assert decision(found[3]) == "allowed"


def test_what_is_wrong_with_a_question_is_said_and_nothing_else_is_asked(
    tmp_path: Path, line: Quick, others: Others
) -> None:
    wrong = CallToJudge(1, settings(tmp_path), b"{}", b'{"name": ""}', RULES, 1)
    (said,) = ask(line, wrong)
    assert isinstance(said, BadInput)
    assert others.projects == []


@pytest.mark.heavy
def test_guards_are_answered_while_all_memory_is_taken_by_bodies_and_checks(tmp_path: Path) -> None:
    names = b'{"resourceSpans":[{' + b",".join(b'"%d":0' % number for number in range(500_000)) + b"}]}"
    call = {"name": "a", "arguments": {"x": [{}] * 9_000}}
    run = orjson.dumps({"run": {"run_id": "r", "calls": [call] * 100}, "policies": RULES})
    over = False

    def again(client: Client, path: str, body: bytes) -> int:
        sent = 0
        while not over:
            answer = client.http.post(path, content=body, headers=JSON, timeout=120)
            assert answer.status_code in (200, 400, 413, 503)
            sent += 1
        return sent

    with running(settings(tmp_path)) as url, Client(url) as client, ThreadPoolExecutor(4) as pool:
        started: list[Callable[[], int]] = [
            partial(again, client, path, body)
            for path, body in (("/v1/traces", names), ("/api/v1/check", run))
            for _ in range(2)
        ]
        attacks = [pool.submit(one) for one in started]
        try:
            codes = [
                client.post("/guard", {"run_id": f"{number}", "call": {"name": "b"}, "policies": RULES})
                for number in range(20)
            ]
        finally:
            over = True
        assert [one.status_code for one in codes] == [200] * 20
        assert {one.json()["decision"] for one in codes} == {"refused"}
        assert all(one.result() for one in attacks)
