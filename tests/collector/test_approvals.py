"""Calls that wait for a person: over the API, on the page, and in a host whose guard asks."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import pdoctor_trace
from collector import approvals
from collector.errors import Overloaded
from tests.collector.approving import ask, decide, deciding, host_of
from tests.support.traces import Client

RULE = """
actions: {verify: verify, refund: refund}
policies: [{id: ASK, rule: Verify must happen before refund., on_break: ask}]
"""
QUESTION = {"tool": "refund", "text": "Not run: <b>no</b>.", "rules": ["ASK"], "arguments": {"order": "A-17"}}


@pytest.mark.parametrize(("decision", "state"), [("approve", "approved"), ("refuse", "refused")])
def test_who_waits_is_told_at_once(fresh: Client, decision: str, state: str) -> None:
    asked = ask(fresh, **QUESTION)
    assert (asked["state"], asked["arguments"]) == ("open", {"order": "A-17"})
    began = time.monotonic()
    later = threading.Timer(0.3, decide, (fresh, asked["id"], decision))
    later.start()
    told = ask(fresh, id=asked["id"], wait=20)
    assert (told["state"], told["decided_by"]) == (state, "anonymous")
    assert time.monotonic() - began < 10
    later.join()
    assert decide(fresh, asked["id"], "approve").status_code == 409
    assert any(one["action"] == "approval.decide" for one in fresh.get("/audit")["items"])


def test_after_its_time_nobody_decides(fresh: Client) -> None:
    asked = ask(fresh, **QUESTION, seconds=0.2)
    assert ask(fresh, id=asked["id"], wait=5)["state"] == "expired"
    assert decide(fresh, asked["id"], "approve").status_code == 409


def test_what_is_open_has_an_end(fresh: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "MAX_OPEN", 4)
    monkeypatch.setattr(approvals, "MAX_KEPT", 3)
    first = ask(fresh, **QUESTION)
    ask(fresh, **QUESTION)
    assert fresh.post("/approvals", QUESTION).status_code == 503
    decide(fresh, first["id"], "refuse")
    for _ in range(3):
        decide(fresh, ask(fresh, **QUESTION)["id"], "refuse")
    assert len(fresh.get("/approvals")["items"]) == 3
    assert fresh.post("/approvals", {"id": first["id"]}).status_code == 404


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"tool": "a"},
        {"tool": "", "text": "t"},
        {"tool": "a", "text": "t", "rules": [1]},
        {"tool": "a", "text": "t", "seconds": 1e9},
        {"tool": "a", "text": "t", "wait": 26},
        {"tool": "a", "text": "t", "wait": "x"},
        {"id": 3},
        {"tool": "a", "text": "t", "other": 1},
    ],
)
def test_what_cannot_be_asked_says_why(fresh: Client, said: dict[str, Any]) -> None:
    assert fresh.post("/approvals", said).status_code == 400


def test_a_decision_that_is_none_says_why(fresh: Client) -> None:
    asked = ask(fresh, **QUESTION)
    for said in ({}, [], 3, None, "yes"):
        answer = fresh.http.put(f"/api/v1/approvals/{asked['id']}", json={"decision": said})
        assert answer.status_code == 400
    assert ask(fresh, id=asked["id"])["state"] == "open"


def test_the_page_shows_open_calls_and_decides(fresh: Client) -> None:
    asked = ask(fresh, **QUESTION)
    page = fresh.http.get("/approvals").text
    assert "&lt;b&gt;no&lt;/b&gt;" in page
    assert "A-17" in page
    place, form = f"/approvals/{asked['id']}", {"decision": "approve"}
    elsewhere = fresh.http.post(place, data=form, headers={"origin": "https://evil.example"})
    assert elsewhere.status_code == 403
    assert ask(fresh, id=asked["id"])["state"] == "open"
    assert fresh.http.post(place, data=form).status_code == 303
    assert ask(fresh, id=asked["id"])["state"] == "approved"
    assert "Too late" in fresh.http.post(place, data=form, follow_redirects=True).text


@pytest.fixture
def host(fresh: Client) -> Iterator[Client]:
    with host_of(fresh):
        yield fresh


@pytest.mark.parametrize("decision", ["approve", "refuse"])
def test_a_host_waits_for_the_decision(host: Client, decision: str) -> None:
    ran: list[str] = []

    @pdoctor_trace.tool
    def refund(order: str) -> str:
        ran.append(order)
        return "done"

    with pdoctor_trace.guard(RULE, mode="ask"), pdoctor_trace.run():
        person = deciding(host, decision)
        said = refund("A-17")
        person.join()
    assert (ran, said == "done") == ((["A-17"], True) if decision == "approve" else ([], False))
    (asked,) = host.get("/approvals")["items"]
    assert (asked["tool"], asked["rules"], asked["arguments"]) == ("refund", ["ASK"], {"order": "A-17"})


def test_other_tasks_of_a_host_go_on_meanwhile(host: Client) -> None:
    ticks = 0

    @pdoctor_trace.tool
    async def refund() -> str:
        return "done"

    async def main() -> str:
        nonlocal ticks
        waiting = asyncio.ensure_future(refund())
        while not waiting.done():
            ticks += 1
            await asyncio.sleep(0.01)
        return await waiting

    with pdoctor_trace.guard(RULE, mode="ask"), pdoctor_trace.run():
        person = deciding(host, "approve")
        assert asyncio.run(main()) == "done"
        person.join()
    assert ticks > 3


def test_where_nobody_can_be_asked_the_call_is_refused(host: Client) -> None:
    pdoctor_trace.install(endpoint="http://127.0.0.1:9", approval_timeout=5.0, records=False)

    @pdoctor_trace.tool
    def refund() -> str:
        return "done"

    with pdoctor_trace.guard(RULE, mode="ask"), pdoctor_trace.run():
        assert refund().startswith("Not run: Verify must happen before refund.")
    pdoctor_trace.install(endpoint=str(host.http.base_url), records=True)


class Dying(BaseHTTPRequestHandler):
    """Takes a question, and breaks off when its answer is waited for."""

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" in said:
            self.close_connection = True
            return
        body = b'{"id": "q1", "state": "open"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: Any) -> None:
        """Say nothing."""


def test_where_the_collector_dies_while_a_call_waits_the_call_is_refused_at_once(host: Client) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Dying) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        dying = f"http://127.0.0.1:{server.server_address[1]}"
        pdoctor_trace.install(endpoint=dying, approval_timeout=60.0, records=False)

        @pdoctor_trace.tool
        def refund() -> str:
            return "done"

        began = time.monotonic()
        with pdoctor_trace.guard(RULE, mode="ask"), pdoctor_trace.run():
            assert refund().startswith("Not run: Verify must happen before refund.")
        assert time.monotonic() - began < 20
        server.shutdown()
    pdoctor_trace.install(endpoint=str(host.http.base_url), records=True)


def test_a_question_whose_time_is_over_by_the_timer_is_over() -> None:
    """The clock that is looked at next may be a moment behind the timer."""
    kept = approvals.Approvals(alone=True)
    asked = kept.ask(0, QUESTION | {"seconds": 0.02}, now=1_000.0)
    asyncio.run(kept.wait(asked, 5.0, now=1_000.0))
    assert (asked.state, asked.decided_at) == ("expired", 1_000.02)
    with pytest.raises(approvals.Conflict):
        kept.decide(0, asked.id, "approve", "somebody", now=1_000.0)


def test_a_wait_that_ends_before_the_time_does_leaves_the_question_open() -> None:
    kept = approvals.Approvals(alone=True)
    asked = kept.ask(0, QUESTION | {"seconds": 60}, now=1_000.0)
    asyncio.run(kept.wait(asked, 0.01, now=1_000.0))
    assert kept.decide(0, asked.id, "approve", "somebody", now=1_000.0).state == "approved"


def test_one_project_leaves_room_for_the_questions_and_the_answers_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(approvals, "MAX_OPEN", 6)
    monkeypatch.setattr(approvals, "MAX_KEPT", 10)
    kept = approvals.Approvals(alone=True)
    theirs = kept.ask(2, QUESTION, now=0.0)
    kept.decide(2, theirs.id, "approve", "somebody", now=0.0)
    for _ in range(40):  # each is over at once
        kept.ask(1, QUESTION | {"seconds": 0}, now=1.0)
    for _ in range(3):
        kept.ask(1, QUESTION, now=2.0)
    with pytest.raises(Overloaded):
        kept.ask(1, QUESTION, now=2.0)
    kept.ask(2, QUESTION, now=2.0)
    assert kept.of(2, theirs.id, now=2.0).state == "approved"
    assert len(kept.all(1, now=2.0)) + len(kept.all(2, now=2.0)) == 10
