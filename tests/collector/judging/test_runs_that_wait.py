"""Runs that wait for somebody and go on in another process, through a collector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from collector.cli.runs import run_text
from collector.dialects import names
from collector.server import running
from tests.support.traces import MS, PATIENCE, Client, agent_spans, new_id, request, settings, until

pytestmark = pytest.mark.both_engines(heavy="postgresql")

ACTIONS = "actions: {verify: verify, pay: pay, receipt: receipt}\npolicies:\n"
RUN = "  - {id: first, rule: Verify must happen before pay.}\n"
FOLLOWED = "  - {id: followed, rule: Verify must be followed by pay.}\n"
TALK = "  - {id: answered, rule: Pay must be followed by receipt.}\n"
UNKNOWN = {names.EXECUTED: False, names.EXECUTION: "unknown", names.TIMING: "inferred"}
HISTORY = {names.RESULT_SOURCE: "history", names.TIMING: "inferred"}


@contextmanager
def policed(folder: Path, store_url: str, text: str, **options: Any) -> Iterator[Client]:
    options = {"idle_seconds": 0.2, "grace_seconds": 0.1, "store_url": store_url, **options}
    with running(settings(folder, **options)) as url, Client(url) as client:
        assert client.post("/policies", {"name": "shop", "text": text}).status_code == 201
        yield client


def send(client: Client, run: str, *calls: Any, hours: int = 0, **root: Any) -> str:
    """One part of a run, so long after the first; attributes of its root by their last word."""
    spans = agent_spans(run, calls)
    for span in spans:
        span["start"] += hours * 3_600_000 * MS
        span["end"] += hours * 3_600_000 * MS
    own = {"session": names.CONVERSATION_ID, "reason": names.RUN_PAUSE_REASON}
    spans[-1]["at"] |= {own.get(name, f"pdoctor.run.{name}"): value for name, value in root.items()}
    assert client.send(request(*spans).SerializeToString()).status_code == 200
    return run


def paused(client: Client, *calls: Any, token: str, **root: Any) -> str:
    return send(client, new_id(), *calls, state="paused", token=token, reason="approval", **root)


def found(client: Client, run: str) -> tuple[str | None, list[str]]:
    said = client.run(run)
    return said["outcome"], [call["name"] for call in said["calls"]]


def becomes(client: Client, run: str, outcome: str, *calls: str, seconds: float = PATIENCE) -> dict[str, Any]:
    said: Any = None
    for _ in until(seconds):
        if client.http.get(f"/api/v1/runs/{run}").status_code == 200:
            said = found(client, run)
            if said == (outcome, list(calls)) and client.run(run)["judged"]:
                return client.run(run)
    raise AssertionError(f"{run} is {said}: {client.run(run)}")


def test_a_run_that_waits_goes_on_in_another_process_as_one_run(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, ACTIONS + RUN) as client:
        asked = paused(client, "verify", token="thread")
        waiting = becomes(client, asked, "open", "verify")
        for _ in until(0.7):  # longer than a run without an end is waited for
            assert client.run(asked)["outcome"] == "open"
        assert (waiting["complete"], waiting["status"]) == (False, "running")
        assert (waiting["waits"]["state"], waiting["waits"]["reason"]) == ("paused", "approval")
        assert "it waits for an approval since 2026-" in run_text(waiting)
        assert "it waits for an approval since" in client.http.get(f"/runs/{asked}").text
        late = send(client, new_id(), "pay", hours=24, resumed="late")  # its first part comes after it
        becomes(client, late, "undecided", "pay")
    with policed(tmp_path, store_url, ACTIONS + RUN) as client:  # a day later, in another collector
        other = send(client, new_id(), "pay", hours=24, resumed="thread")
        whole = becomes(client, asked, "pass", "verify", "pay")
        assert (whole["complete"], whole["problems"], whole["waits"]) == (True, [], None)
        assert [part["run_id"] for part in whole["parts"]] == [asked, other]
        assert f"<code>{other}</code>" in client.http.get(f"/runs/{asked}").text
        early = paused(client, "verify", token="late")
        becomes(client, early, "pass", "verify", "pay")
        for _ in until():
            rows = {item["id"] for item in client.get("/runs")["items"]}
            if rows == {asked, early}:
                break
        assert rows == {asked, early}
        assert client.run(late)["joined_into"] == early
        assert client.get("/stats")["runs"] == 2


def test_an_abandoned_run_convicts_nobody_until_somebody_goes_on(store_url: str, tmp_path: Path) -> None:
    with policed(tmp_path, store_url, ACTIONS + FOLLOWED, paused_idle_seconds=0.5) as client:
        asked = paused(client, "verify", token="thread")
        gone = becomes(client, asked, "undecided", "verify")
        assert (gone["status"], gone["complete"]) == ("abandoned", True)
        assert "abandoned: it waited for an approval since" in run_text(gone)
        assert "Still open when the run was abandoned" in gone["policies"][0]["explanation"]
        send(client, new_id(), "pay", hours=24, resumed="thread")
        assert becomes(client, asked, "pass", "verify", "pay")["status"] == "ok"


def test_loops_whose_steps_run_in_different_processes_are_one_run(store_url: str, tmp_path: Path) -> None:
    asked_for = {"name": "verify", "id": "call_1", "at": UNKNOWN}
    answered = {"name": "verify", "id": "call_1", "result": "yes", "at": HISTORY}
    pay = {"name": "pay", "id": "call_2", "at": UNKNOWN}
    paid = {"name": "pay", "id": "call_2", "at": HISTORY}
    with policed(tmp_path, store_url, ACTIONS + RUN + FOLLOWED) as client:
        one = send(client, new_id(), asked_for, state="unanswered", token="a")
        becomes(client, one, "undecided", "verify")
        send(client, new_id(), answered, pay, hours=1, state="unanswered", token="b", resumed="a")
        becomes(client, one, "undecided", "verify", "pay")
        send(client, new_id(), answered, paid, hours=2, resumed="b")
        whole = becomes(client, one, "pass", "verify", "pay")
        assert [call["result"] for call in whole["calls"]] == ["yes", "done"]
        assert whole["problems"] == []


def test_a_conversation_in_which_a_run_waits_goes_on(store_url: str, tmp_path: Path) -> None:
    with policed(
        tmp_path, store_url, "scope: session\n" + ACTIONS + TALK, session_idle_seconds=0.5
    ) as client:
        talk = new_id()
        paid = send(client, new_id(), "pay", session=talk)
        asked = paused(client, "verify", token="thread", session=talk, hours=1)
        becomes(client, asked, "open", "verify")
        for _ in until(1.0):  # longer than the silence that ends a conversation
            assert client.run(paid)["policies"][0].get("pending") is True
        send(client, new_id(), "receipt", hours=24, resumed="thread", session=talk)
        becomes(client, asked, "pass", "verify", "receipt")
        becomes(client, paid, "pass", "pay")
