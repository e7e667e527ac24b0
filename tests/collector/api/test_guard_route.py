"""`POST /api/v1/guard`: what is said of a call before it begins."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector import guarded
from collector.server import running
from tests.support.traces import Client, settings

HEAD = "actions: {verify: verify, refund: refund}\npolicies:\n"
FIRST = HEAD + "  - {id: FIRST, rule: Verify must happen before refund.}\n"
ONCE = HEAD + "  - {id: ONCE, rule: Refund must happen at most 1 time., on_break: block}\n"
HOUR = HEAD + "  - {id: HOUR, rule: Refund must happen at most 1 time within 1 hour.}\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(settings(tmp_path_factory.mktemp("guard"))) as url, Client(url) as made:
        made.http.put("/api/v1/policies/shop", content=FIRST)
        yield made


def asked(client: Client, **said: Any) -> Any:
    answer = client.post("/guard", said)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_calls_that_are_sent_along_decide(client: Client) -> None:
    before: dict[str, Any] = {"tools": ["verify", "refund"], "calls": []}
    refused = asked(client, run=before, call={"name": "refund"})
    assert (refused["allowed"], refused["decision"], refused["call"]) == (False, "refused", None)
    (rule,) = refused["rules"]
    assert (rule["policy"], rule["calls"], rule["on_break"]) == ("FIRST", [], None)
    assert refused["allowed_tools"] == ["verify"]
    assert refused["feedback"].startswith("Not run: Verify must happen before refund.")
    assert refused["feedback"].endswith("Allowed now: verify.")
    before["calls"].append({"name": "verify"})
    assert asked(client, run=before, call={"name": "refund"})["decision"] == "allowed"


def test_the_calls_in_the_way_are_told(client: Client) -> None:
    run = {"calls": [{"name": "verify"}, {"name": "refund"}]}
    (rule,) = asked(client, run=run, call={"name": "refund"}, policies=ONCE)["rules"]
    assert (rule["policy"], rule["on_break"], rule["calls"]) == ("ONCE", "block", [1])


def test_where_times_decide_and_there_are_none_it_is_in_doubt(client: Client) -> None:
    call = {"name": "refund"}
    untimed = asked(client, run={"calls": [{"name": "refund"}]}, call=call, policies=HOUR)
    assert (untimed["decision"], untimed["allowed"]) == ("doubt", True)
    assert "have no times" in untimed["doubts"][0]["why"]
    old = {"calls": [{"name": "refund", "start": 1_700_000_000, "end": 1_700_000_001}]}
    assert asked(client, run=old, call=call, policies=HOUR)["decision"] == "allowed"


def test_a_run_that_the_collector_keeps(client: Client) -> None:
    run = {"run_id": "kept", "tools": ["verify", "refund"]}
    assert asked(client, **run, call={"name": "refund"})["allowed"] is False
    begun = asked(client, **run, call={"name": "verify"})
    assert begun["call"] == 0
    running = asked(client, **run, call={"name": "refund"})
    assert running["rules"][0]["waits"] == ["verify"]
    failed = asked(
        client, run_id="kept", ended=[{"call": 0, "error": "no such order"}], call={"name": "verify"}
    )
    assert failed["call"] == 1
    done = asked(client, run_id="kept", ended=[{"call": 1, "result": "ok"}], call={"name": "refund"})
    assert (done["allowed"], done["call"]) == (True, 2)
    assert asked(client, run_id="kept", ended=[{"call": 2}])["call"] is None
    assert asked(client, run_id="another", call={"name": "refund"})["allowed"] is False


READS = (
    HEAD
    + "  - {id: ARGUMENTS, guard: {calls: refund, check: \"earlier('verify').all(c, c.args != null)\"}}\n"
    + "  - {id: RESULT, guard: {calls: refund, check: \"last('verify') != null\"}}\n"
)


@pytest.mark.parametrize(
    "long",
    [{}, {"arguments": "ARGUMENTS"}, {"result": "RESULT"}, {"arguments": "ARGUMENTS", "result": "RESULT"}],
)
def test_values_that_are_too_long_to_be_kept_are_not_known(client: Client, long: dict[str, str]) -> None:
    arguments, result = (
        {"text": "x" * (guarded.MAX_VALUE if name in long else 1)} for name in ("arguments", "result")
    )
    about = {"run_id": "long " + " ".join(long), "policies": READS}
    begun = asked(client, **about, call={"name": "verify", "arguments": arguments})
    told = [{"call": begun["call"], "result": result}]
    found = asked(client, **about, ended=told, call={"name": "refund", "arguments": {}})
    assert [doubt["policy"] for doubt in found["doubts"]] == list(long.values())


def test_of_two_calls_at_once_that_are_allowed_once_one_is(client: Client) -> None:
    answers: list[bool] = []

    def ask() -> None:
        said = {"run_id": "race", "call": {"name": "refund"}, "policies": ONCE}
        answers.append(client.post("/guard", said).json()["allowed"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(answers) == [False] * 7 + [True]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"run": {"calls": []}},
        {"run": {"calls": []}, "run_id": "both", "call": {"name": "a"}},
        {"run": {"calls": 3}, "call": {"name": "a"}},
        {"run": {"calls": []}, "call": {"name": 3}},
        {"run": {"calls": []}, "call": {"name": ""}},
        {"run_id": "", "call": {"name": "a"}},
        {"run_id": "x" * 201, "call": {"name": "a"}},
        {"run_id": "x", "ended": [{"call": 7}]},
        {"run_id": "x", "ended": [{"call": -1}]},
        {"run_id": "x", "call": {"name": "a"}, "tools": 3},
        {"run_id": "x", "call": {"name": "a"}, "policies": "no rules"},
        {"run_id": "x", "call": {"name": "a"}, "no such field": 1},
    ],
)
def test_what_cannot_be_asked_says_why(client: Client, said: dict[str, Any]) -> None:
    answer = client.post("/guard", said)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]


def test_what_is_kept_has_an_end(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "MAX_RUNS", 2)
    monkeypatch.setattr(guarded, "MAX_CALLS", 2)
    for run in ("a", "b", "c"):
        assert asked(client, run_id=run, call={"name": "verify"})["call"] == 0
    assert asked(client, run_id="a", call={"name": "verify"})["call"] == 0  # forgotten
    assert asked(client, run_id="a", call={"name": "verify"})["call"] == 1
    assert client.post("/guard", {"run_id": "a", "call": {"name": "verify"}}).status_code == 413


def test_the_oldest_runs_go_where_there_is_no_room_and_only_those(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def called(run: str) -> Any:
        return asked(
            client, run_id=f"room {run}", call={"name": "verify", "arguments": {"order": "7" * 1000}}
        )

    called("before")
    monkeypatch.setattr(guarded, "MAX_BYTES", 4000)
    assert [called(str(number))["call"] for number in range(9)] == [0] * 9
    assert [called(str(number))["call"] for number in (7, 8)] == [1, 1]
    assert called("0")["call"] == 0


def test_what_a_call_came_to_is_said_once(client: Client) -> None:
    assert asked(client, run_id="twice", call={"name": "verify"})["call"] == 0
    asked(client, run_id="twice", ended=[{"call": 0, "result": "ok"}])
    late = [{"call": 0, "error": "no such order"}]
    assert asked(client, run_id="twice", ended=late, call={"name": "refund"})["allowed"] is True


def test_of_several_files_a_tool_is_allowed_where_all_allow_it() -> None:
    rule = {"policy": "A", "text": "a", "on_break": None, "explanation": "", "calls": [], "waits": []}
    refused = {"rules": [rule], "doubts": [], "feedback": "Not run: a.", "allowed_tools": ["x", "y"]}
    other = {**refused, "feedback": "Not run: b.", "allowed_tools": ["y", "z"]}
    unknown = {"rules": [], "doubts": [], "feedback": None, "allowed_tools": None}
    said = guarded.together([unknown, refused, other])
    assert (said["allowed_tools"], said["feedback"], len(said["rules"])) == (["y"], "Not run: a.", 2)


def test_values_that_are_too_long_are_not_kept_and_not_guessed(client: Client) -> None:
    same = HEAD + "  - {id: SAME, rule: Refund must happen at most 1 time with the same order.}\n"
    call = {"name": "refund", "arguments": {"order": "7" * 100_000}}
    assert asked(client, run_id="long", call=call, policies=same)["call"] == 0
    assert asked(client, run_id="long", call=call, policies=same)["decision"] == "doubt"
    ended = [{"call": 0, "result": "8" * 100_000}]
    assert asked(client, run_id="long", ended=ended, call=call, policies=same)["decision"] == "doubt"


def test_a_collector_of_several_workers_keeps_no_runs(tmp_path: Path) -> None:
    import asyncio

    from collector.errors import Conflict
    from collector.guarded import Asking, Guarded

    alone = Guarded(settings(tmp_path), None, alone=False)  # type: ignore[arg-type]

    async def gone() -> bool:
        return False

    asking = Asking.read({"run_id": "x", "call": {"name": "a"}})
    with pytest.raises(Conflict):
        asyncio.run(alone.answer(1, asking, 0.0, gone))
