"""Trouble that is not the agent's, from span or harness to the verdict and everything that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.cli.recheck import command as recheck_verb
from collector.cli.runs import command as runs_verb
from collector.judging.conclude import given_up
from collector.judging.words import Words
from collector.notify.events import log_record
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.server import running
from collector.settings import Limits
from collector.store.work import Claim
from tests.support.hooks import receiver
from tests.support.traces import (
    MS,
    T0,
    Client,
    agent_request,
    agent_spans,
    case_json,
    new_id,
    request,
    settings,
    until,
)

pytestmark = pytest.mark.both_engines(heavy="postgresql")

LIMIT = {"kind": "endpoint", "status": 429, "message": "Rate limit reached for gpt-4o"}
NEVER = """
applies: {{agent: {agent}}}
actions: {{delete: delete, tell: tell, look: look}}
policies:
  - {{id: never, rule: Delete must never happen.}}
  - {{id: duty, rule: Look must be followed by tell.}}
"""


def on_the_wire(trouble: dict[str, Any]) -> dict[str, Any]:
    return {f"pdoctor.run.trouble.{name}": value for name, value in trouble.items() if value is not None}


def send(client: Client, calls: list[str], trouble: dict[str, Any], **more: Any) -> str:
    """Send a run whose own span tells of the trouble."""
    run = new_id()
    *made, root = agent_spans(run, calls, **more)
    root["at"].update(on_the_wire(trouble))
    client.send(request(*made, root).SerializeToString())
    return run


def stored_case(client: Client, *orders: str) -> str:
    case = new_id()
    client.post("/cases", case_json(case, *orders))
    return case


def test_a_run_that_the_tracer_saw_in_trouble_is_an_error_everywhere(shared: Client) -> None:
    case = stored_case(shared, "a < b")
    run = send(shared, ["do_a"], LIMIT, case=case)
    found = shared.judged(run)
    assert (found["outcome"], found["error_type"], found["trouble"]) == ("error", None, LIMIT)
    assert (found["verdict"]["outcome"], found["verdict"]["trouble"]) == ("error", LIMIT)
    assert (found["verdict"]["findings"], found["record"]["trouble"]) == ([], LIMIT)
    (item,) = shared.get("/runs", case=case, outcome="error")["items"]
    assert item["id"] == run
    assert shared.get("/stats")["outcomes"]["error"] >= 1
    assert shared.post("/check", found["record"]).json()["outcome"] == "error"


def test_what_was_wrong_before_the_trouble_is_listed(shared: Client) -> None:
    case = stored_case(shared, "a < b")
    run = send(shared, ["do_b", "do_a"], LIMIT, case=case)
    found = shared.judged(run)
    assert (found["outcome"], [f["code"] for f in found["verdict"]["findings"]]) == ("error", ["order"])
    assert [f["rule"] for f in shared.get("/findings", run=run)["items"]] == [f"case:{case}"]


def test_a_violated_policy_fails_the_run_and_an_open_duty_is_part_of_the_error(fresh: Client) -> None:
    fresh.http.put("/api/v1/policies/rules", content=NEVER.format(agent="planner"))
    case = stored_case(fresh, "a < b")
    deleted = fresh.judged(send(fresh, ["delete"], LIMIT, case=case))
    assert {p["policy"]: p["verdict"] for p in deleted["policies"]} == {
        "never": "violated",
        "duty": "not_applicable",
    }
    assert (deleted["outcome"], deleted["verdict"]["outcome"]) == ("fail", "error")
    owed = fresh.judged(send(fresh, ["look"], LIMIT, case=case))
    assert {p["policy"]: p["verdict"] for p in owed["policies"]} == {
        "never": "not_applicable",
        "duty": "undecided",
    }
    assert owed["outcome"] == "error"
    alone = fresh.judged(send(fresh, ["look"], LIMIT))
    assert (alone["outcome"], alone["verdict"], alone["trouble"]) == ("undecided", None, LIMIT)


@pytest.mark.parametrize(("start", "end"), [(-20, -10), (1, 2)])
def test_the_root_that_ended_last_decides(shared: Client, start: int, end: int) -> None:
    """A host that tries again after trouble, under the same case, has tested its agent."""
    case, run = stored_case(shared, "a < b"), new_id()
    *calls, root = agent_spans(run, ["do_a", "do_b"], case=case)
    broken = {**root, "id": 90, "at": {**root["at"], "pdoctor.run.calls": 0, **on_the_wire(LIMIT)}}
    broken |= {"start": T0 + start * MS, "end": T0 + end * MS}
    shared.send(request(broken, *calls, root).SerializeToString())
    found = shared.judged(run)
    assert (found["outcome"], found["trouble"]) == ("pass", None)


def test_what_a_nested_agent_or_a_foreign_span_says_of_trouble_is_not_the_runs(shared: Client) -> None:
    case, run = stored_case(shared, "a < b"), new_id()
    *calls, root = agent_spans(run, ["do_a", "do_b"], case=case)
    inner = {**root, "id": 91, "parent": 1, "at": {**root["at"], **on_the_wire(LIMIT)}}
    del inner["at"]["pdoctor.run.calls"]
    strange = {**inner, "id": 92, "at": {**inner["at"], "pdoctor.run.trouble.kind": "weather"}}
    shared.send(request(inner, strange, *calls, root).SerializeToString())
    assert shared.judged(run)["outcome"] == "pass"


@pytest.mark.parametrize("status", ["ok", "timeout", "crash"])
def test_a_harness_may_say_what_kept_the_agent_from_being_tested(shared: Client, status: str) -> None:
    case, run = stored_case(shared, "a < b"), new_id()
    gone = {"kind": "unreachable", "status": None, "message": "connection refused"}
    shared.post("/bindings", {"trace_id": run, "case_id": case})
    told = {"trace_id": run, "case_id": case, "status": status, "trouble": gone}
    assert shared.post("/bindings", told).status_code == 201
    found = shared.judged(run)
    assert (found["outcome"], found["trouble"], found["status"]) == ("error", gone, status)


def test_the_harness_knows_better_than_the_span(shared: Client) -> None:
    case = stored_case(shared, "a < b")
    run = send(shared, ["do_a"], LIMIT, case=case)
    mine = {"kind": "worker", "status": None, "message": "killed by the machine"}
    shared.post("/bindings", {"trace_id": run, "case_id": case, "status": "crash", "trouble": mine})
    for _ in until():
        if shared.judged(run)["status"] == "crash":
            break
    assert shared.judged(run)["trouble"] == mine


def test_a_later_word_of_the_harness_keeps_the_trouble(shared: Client) -> None:
    case, run = stored_case(shared, "a < b"), new_id()
    shared.post("/bindings", {"trace_id": run, "case_id": case, "trouble": LIMIT})
    shared.post("/bindings", {"trace_id": run, "case_id": case, "status": "crash"})
    assert shared.judged(run)["trouble"] == LIMIT


@pytest.mark.parametrize(
    ("waited", "status", "seconds", "outcome"),
    [
        (90_000, "timeout", 180.0, "error"),
        (89_999, "timeout", 180.0, "fail"),
        (90_000, "crash", 180.0, "fail"),
        (90_000, "timeout", None, "fail"),
        (None, "timeout", 180.0, "fail"),
    ],
)
def test_at_the_time_limit_it_is_the_endpoint_where_a_request_waited_for_half_of_it(
    shared: Client, waited: int | None, status: str, seconds: float | None, outcome: str
) -> None:
    case, run = stored_case(shared, "a < b"), new_id()
    told = {"trace_id": run, "case_id": case, "status": status, "wall_seconds": seconds}
    shared.post("/bindings", told)
    *calls, root = agent_spans(run, ["do_a"], case=case, announce=False)
    going_on = {"pdoctor.run.going_on": True, "pdoctor.run.model_wait_ms": waited}
    root["at"].update({name: value for name, value in going_on.items() if value is not None})
    shared.send(request(*calls, {**root, "parent": 77}).SerializeToString())
    found = shared.judged(run)
    assert found["outcome"] == outcome
    if outcome == "error":
        assert found["trouble"]["message"] == "no answer from the model for 90 s of 180 s"


@pytest.mark.parametrize(
    ("trouble", "named"),
    [
        ("late", "trouble"),
        ({"kind": "weather"}, "trouble.kind"),
        ({**LIMIT, "status": "x"}, "trouble.status"),
    ],
)
def test_bad_trouble_of_a_binding_is_named(shared: Client, trouble: object, named: str) -> None:
    answer = shared.post("/bindings", {"trace_id": new_id(), "case_id": "c", "trouble": trouble})
    assert (answer.status_code, named in answer.json()["error"]["message"]) == (400, True)


def test_pages_show_what_happened(shared: Client) -> None:
    case = stored_case(shared, "a < b")
    message = "<b>Rate limit</b>"
    run = send(shared, ["do_a"], {**LIMIT, "message": message}, case=case)
    shared.judged(run)
    page = shared.http.get(f"/runs/{run}").text
    assert "&lt;b&gt;Rate limit&lt;/b&gt; (the model&#39;s endpoint failed, status 429)" in page
    assert '<span class="badge big error">error</span>' in page
    listed = shared.http.get("/runs", params={"outcome": "error", "case": case}).text
    assert f'href="/runs/{run}"' in listed
    assert "outcome:error" in listed


def test_a_webhook_that_asks_for_errors_is_told_of_the_trouble(tmp_path: Path) -> None:
    hooks = {"webhook_hosts": ("127.0.0.1",), "webhook_private": True}
    with (
        receiver() as failures,
        receiver() as errors,
        running(settings(tmp_path, **hooks)) as url,
        Client(url) as client,
    ):
        client.post("/webhooks", {"url": failures.url})
        client.post("/webhooks", {"url": errors.url, "outcomes": ["error"]})
        run = send(client, ["do_a"], LIMIT, case=stored_case(client, "a < b"))
        client.judged(run)
        for _ in until():
            if errors.got:
                break
        ((_, body),) = errors.got
        said = json.loads(body)
        assert (said["run_id"], said["outcome"], said["trouble"]) == (run, "error", LIMIT)
        assert failures.got == []


def test_an_event_of_an_error_says_why_and_has_no_score() -> None:
    body = (
        b'{"verdict": {"outcome": "error", "findings": []}, "policies": [], "trouble": '
        b'{"kind": "endpoint", "status": 429, "message": "Rate limit reached"}}'
    )
    row = {"body": body, "outcome": "error", "agent": None, "error_type": None, "key": new_id(), "at": 1.0}
    record = log_record(row, Words(None, 1))
    assert record is not None
    said = {pair["key"]: pair["value"] for pair in record["attributes"]}
    assert said["gen_ai.evaluation.explanation"] == {"stringValue": "endpoint 429: Rate limit reached"}
    assert said["gen_ai.evaluation.score.label"] == {"stringValue": "error"}
    assert "gen_ai.evaluation.score.value" not in said


@pytest.mark.parametrize(
    ("case", "our_fault", "outcome"),
    [("case-1", True, "error"), ("case-1", False, "undecided"), (None, True, "undecided")],
)
def test_a_run_of_a_case_that_the_collector_fails_to_judge_is_an_error(
    case: str | None, our_fault: bool, outcome: str
) -> None:
    run = new_id()
    claim = Claim(1, 1, run, 1, 0.0, 0.0, None, 0, None, None)
    batch = from_protobuf(agent_request(run, ["do_a"], case=case), Limits())
    rebuilt = rebuild(run, list(spans_of([segment.payload for segment in batch.segments])))
    found = given_up(claim, rebuilt, "failed: KeyError: 'x'", our_fault=our_fault)
    assert found.summary["outcome"] == outcome
    told = "judging this run failed: KeyError: 'x'"
    trouble = {"kind": "collector", "status": None, "message": told}
    assert json.loads(found.body).get("trouble") == (trouble if outcome == "error" else None)
    assert json.loads(found.body)["problems"] == [told]


def test_the_verbs_show_an_error_and_end_with_three(shared: Client) -> None:
    case = stored_case(shared, "a < b")
    run = send(shared, ["do_a"], LIMIT, case=case)
    shared.judged(run)
    at = ["--collector", shared.url]
    shown = CliRunner().invoke(runs_verb, ["show", run, *at])
    assert shown.exit_code == 3, shown.output
    assert f"run {run}: error" in shown.output
    assert "not tested to the end: endpoint 429: Rate limit reached for gpt-4o" in shown.output
    listed = CliRunner().invoke(runs_verb, ["list", "--outcome", "error", "--case", case, *at])
    assert (listed.exit_code, run in listed.output) == (3, True)
    again = CliRunner().invoke(recheck_verb, ["--case", case, "--json", "--wait", "30", *at])
    assert (again.exit_code, json.loads(again.stdout)["outcomes"]) == (3, {"error": 1})
    exported = CliRunner().invoke(runs_verb, ["export", "--case", case, *at])
    assert json.loads(exported.stdout)["trouble"] == LIMIT
