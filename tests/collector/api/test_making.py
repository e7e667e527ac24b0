"""A stored run as a test case."""

from __future__ import annotations

from synth.cases.recorded import recorded_case_from_json
from tests.support.traces import Client, agent_request, case_json, new_id

RULES = "actions: {pay: pay, verify: verify}\npolicies: [{id: first, rule: Verify must happen before pay.}]\n"


def test_a_case_has_the_request_the_answers_and_the_rules_in_the_version_that_judged(fresh: Client) -> None:
    run = new_id()
    fresh.http.put("/api/v1/policies/shop", content=RULES)
    calls = [{"name": "pay", "arguments": {"sum": 3}, "result": "paid"}, "verify"]
    fresh.send(agent_request(run, calls, query="Pay 3.", tools=["pay", "verify", "look"]))
    fresh.judged(run)
    fresh.http.put("/api/v1/policies/shop", content=RULES.replace("before pay", "before look"))
    said = fresh.get(f"/runs/{run}/case")
    case = recorded_case_from_json(said["case"])
    assert (case.query, [tool.name for tool in case.tools], said["left_out"]) == (
        "Pay 3.", ["pay", "verify", "look"], {},
    )  # fmt: skip
    assert (case.found.outcome, dict(case.found.policies)) == ("fail", {"shop/first": "violated"})
    assert [(rules.version, rules.text) for rules in case.rules] == [(1, RULES)]
    assert case.run.calls[0].result == "paid"
    page = fresh.http.get(f"/runs/{run}/case")
    assert "pdoctor replay case-" in page.text
    file = fresh.http.get(f"/runs/{run}/case?file=1")
    assert file.json() == said["case"]
    assert file.headers["content-disposition"] == f'attachment; filename="case-{run[:12]}.jsonl"'


def test_the_synthesized_case_of_a_run_is_in_it(fresh: Client) -> None:
    run, case = new_id(), new_id()
    fresh.post("/cases", case_json(case, "a < b"))
    fresh.send(agent_request(run, ["do_b", "do_a"], case=case, query="Do a, then b."))
    fresh.judged(run)
    said = fresh.get(f"/runs/{run}/case")["case"]
    assert (said["case"]["id"], said["found"]["outcome"]) == (case, "fail")


def test_what_makes_no_case_is_told(fresh: Client) -> None:
    run = new_id()
    fresh.send(agent_request(run, ["pay"]))
    fresh.judged(run)
    answer = fresh.http.get(f"/api/v1/runs/{run}/case")
    assert answer.status_code == 400
    assert "its request is not known" in answer.json()["error"]["message"]
    page = fresh.http.get(f"/runs/{run}/case")
    assert (page.status_code, "its request is not known" in page.text) == (400, True)
    assert fresh.http.get(f"/runs/{new_id()}/case").status_code == 404
