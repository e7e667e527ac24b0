"""Run records that are handed in are the runs that `pdoctor check` reads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from collector.otlp.records import run_key
from synth.observed.run import Run, run_from_json
from synth.policies import Rules, judge_policies, load_policies
from tests.support.gapped_runs import RULES, complete_run, policy_file, without
from tests.support.traces import JSON, Client, agent_request, eventually, new_id, request

POLICIES = """\
actions: {pay: pay, verify: verify_identity}
policies:
  - {id: verified, rule: Verify must happen before pay.}
  - {id: of_bank, guard: {calls: pay, check: run.bank == 'north'}}
"""
CALLS: list[dict[str, Any]] = [
    {
        "id": "c1", "name": "pay", "arguments": {"amount": 3}, "result": "paid",
        "start": [1.0, 1.5], "end": 2.0, "step": 0,
    },
    {
        "id": "c2", "name": "verify_identity", "arguments": {}, "error": "no such person",
        "start": 3.0, "end": [4.0, 4.5], "step": 1,
    },
]  # fmt: skip


def record(run_id: str = "refund-17", **more: Any) -> dict[str, Any]:
    return {
        "run_id": run_id, "query": "Pay.", "agent": "teller", "tools": ["pay", "verify_identity"],
        "calls": CALLS, "bank": "north", "messages": [{"role": "user", "content": "Pay.", "before_call": 0}],
        **more,
    }  # fmt: skip


def hand_in(client: Client, *records: Any) -> dict[str, Any]:
    answer = client.post("/runs", [*records])
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def put_policies(client: Client, text: str) -> None:
    assert client.http.put("/api/v1/policies/bank", content=text).status_code == 200


def test_a_record_is_judged_as_it_stands(fresh: Client) -> None:
    put_policies(fresh, POLICIES)
    [run_id] = hand_in(fresh, record(status="timeout", wall_seconds=60.0, problems=["spans were lost"]))[
        "ids"
    ]
    assert run_id == run_key("refund-17")
    shown = fresh.judged(run_id)
    assert (shown["status"], shown["agent"], shown["problems"]) == ("timeout", "teller", ["spans were lost"])
    assert fresh.get("/runs")["items"][0]["duration_ms"] == 3500.0
    said = fresh.get(f"/runs/{run_id}/record")
    assert [call["start"] for call in said["calls"]] == [[1.0, 1.5], 3.0]
    assert (said["bank"], said["recorded_as"], said["wall_seconds"]) == ("north", "refund-17", 60.0)
    assert [p["verdict"] for p in shown["policies"]] == ["undecided", "undecided"]


def test_one_that_comes_again_is_one_run_and_a_newer_one_takes_its_place(fresh: Client) -> None:
    put_policies(fresh, POLICIES)
    ids = {hand_in(fresh, record())["ids"][0] for _ in range(2)}
    [run_id] = ids
    assert [p["verdict"] for p in fresh.judged(run_id)["policies"]] == ["violated", "ok"]
    hand_in(fresh, record(calls=CALLS[1:]))
    eventually(lambda: [p["verdict"] for p in fresh.judged(run_id)["policies"]] == ["not_applicable"] * 2)
    assert [call["name"] for call in fresh.run(run_id)["calls"]] == ["verify_identity"]
    assert len(fresh.get("/runs")["items"]) == 1


def test_what_was_exported_is_the_same_run_when_it_is_handed_in(fresh: Client) -> None:
    [run_id] = hand_in(fresh, record())["ids"]
    fresh.judged(run_id)
    exported = fresh.get(f"/runs/{run_id}/record")
    assert hand_in(fresh, exported)["ids"] == [run_id]
    fresh.judged(run_id)
    again = fresh.get(f"/runs/{run_id}/record")
    assert again == exported
    assert len(fresh.get("/runs")["items"]) == 1


def test_runs_of_a_conversation_without_times_keep_their_order(fresh: Client) -> None:
    put_policies(fresh, f"scope: session\n{POLICIES}")
    names = ("verify_identity", "pay")

    def conversation(session: str, order: Sequence[str]) -> list[str]:
        turns = [record(f"{session} {name}", session=session, calls=[{"name": name}]) for name in order]
        ids = hand_in(fresh, *turns)["ids"]
        return [fresh.judged(run_id)["policies"][0]["verdict"] for run_id in ids]

    assert conversation("one", names) == ["not_applicable", "ok"]
    assert conversation("other", names[::-1])[0] == "violated"
    assert {item["duration_ms"] for item in fresh.get("/runs")["items"]} == {None}


@pytest.mark.parametrize("kind", RULES)
def test_random_records_are_judged_as_by_check(shared: Client, kind: str) -> None:
    r = random.Random(f"records {kind}")
    text = policy_file(kind)
    policies = load_policies(text)
    runs: list[Run] = []
    for number in range(5):
        whole = complete_run(r)
        gone = r.sample(range(len(whole.calls)), min(len(whole.calls), r.randint(0, 2)))
        run = without(whole, gone) if gone else whole
        runs.append(replace(run, id=f"{kind} {number} {r.random()}"))
    for run in runs:
        asked = shared.post("/check", {"run": run.to_json(), "policies": text}).json()
        known = judge_policies(policies, run_from_json(run.to_json()), rules=Rules(z3="off", repair=False))
        assert [p["verdict"] for p in asked["policies"]] == [p.verdict for p in known]
    ids = hand_in(shared, *[run.to_json() for run in runs])["ids"]
    for run, run_id in zip(runs, ids, strict=True):
        shared.judged(run_id)
        said = shared.get(f"/runs/{run_id}/record")
        kept = replace(run_from_json(said), id=run.id, case_id=run.case_id)
        lost = {name: value for name, value in kept.extra.items() if name not in run.extra}
        assert lost == {"recorded_as": run.id}
        assert replace(kept, extra=run.extra) == run


def test_records_that_are_none_are_told_and_cost_no_other(shared: Client) -> None:
    body = b'{"run_id": "good", "calls": []}\n{"run_id": 3, "calls": []}\n{"run_id": "x"}\n'
    answer = shared.http.post("/api/v1/runs", content=body, headers=JSON)
    said = answer.json()
    assert (len(said["ids"]), said["rejected_count"]) == (1, 2)
    assert [one["place"] for one in said["rejected"]] == ["line 2", "line 3"]
    assert "run_id" in said["rejected"][0]["reason"]


def test_what_is_no_json_is_refused_with_the_line(shared: Client) -> None:
    body = b'{"run_id": "a", "calls": []}\n{nonsense\n'
    answer = shared.http.post("/api/v1/runs", content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("line 2 is not JSON")


def test_traced_spans_of_the_same_run_are_better_evidence(fresh: Client) -> None:
    run_id = new_id()
    fresh.send(agent_request(run_id, ["search"]))
    fresh.judged(run_id)
    hand_in(fresh, record(run_id))
    assert [call["name"] for call in fresh.judged(run_id)["calls"]] == ["search"]


def test_a_record_from_a_span_that_was_cut_says_so(fresh: Client) -> None:
    run_id = new_id()
    cut = orjson.dumps(record()).decode()[:100]
    at = {"pdoctor.run.id": run_id, "pdoctor.run.record": cut}
    fresh.send(
        request(
            {"trace": run_id, "id": 1, "name": "run record", "at": at}, scope="pdoctor.records"
        ).SerializeToString()
    )
    assert "cannot be read" in fresh.judged(run_id)["problems"][0]


def test_runs_are_found_by_version_prompt_and_environment(shared: Client) -> None:
    mark = new_id()
    made = {"versions": {"service": f"1.4-{mark}", "prompt": mark}, "environment": f"staging-{mark}"}
    calls = [{**CALLS[0], "agent": "booker"}, CALLS[1]]
    [told, other] = hand_in(shared, record(new_id(), **made, calls=calls), record(new_id()))["ids"]
    shared.judged(told), shared.judged(other)
    for name, value in (
        ("version", f"1.4-{mark}"),
        ("prompt", mark),
        ("environment", f"staging-{mark}"),
    ):
        [item] = shared.get("/runs", **{name: value})["items"]
        assert (item["id"], item[name]) == (told, value)
        assert shared.get("/runs", **{name: f"{value}x"})["items"] == []
    found = shared.get(f"/runs/{told}")
    assert (found["versions"], [call.get("agent") for call in found["calls"]]) == (
        made["versions"],
        ["booker", None],
    )
    page = shared.http.get("/runs", params={"version": f"1.4-{mark}"}).text
    assert (f"1.4-{mark}" in page, told in page, other in page) == (True, True, False)
    shown = shared.http.get(f"/runs/{told}").text
    assert ("by booker" in shown, f"staging-{mark}" in shown) == (True, True)
    assert shared.get("/runs", version="")["items"]  # no version asked for


@pytest.mark.parametrize(
    "said",
    [
        {"versions": ["1"]},
        {"versions": {"service": 1}},
        {"environment": 1},
        {"calls": [{"name": "x", "agent": 1}]},
    ],
)
def test_versions_that_are_none_are_refused_by_name(shared: Client, said: dict[str, Any]) -> None:
    answer = hand_in(shared, record(**said))
    assert answer["rejected_count"] == 1
    assert next(iter(said)) in answer["rejected"][0]["reason"]
