"""What a guard said before a call stands beside the call."""

from __future__ import annotations

from tests.support.traces import Client, agent_request, agent_spans, new_id, request

DECIDED = {
    "pdoctor.guard.decision": "refused",
    "pdoctor.guard.rules": "FIRST,ONCE",
    "pdoctor.guard.reason": "Not run: <b>verify</b> first.",
}
RULES = ", ".join(f'<a href="/runs?q=policy%3A{rule}">{rule}</a>' for rule in ("FIRST", "ONCE"))


def test_a_decision_is_on_the_page_and_in_the_record(fresh: Client) -> None:
    run = new_id()
    allowed = {"name": "verify", "at": {"pdoctor.guard.decision": "allowed"}}
    fresh.send(agent_request(run, [{"name": "refund", "at": DECIDED}, allowed, "look"]))
    fresh.judged(run)
    page = fresh.http.get(f"/runs/{run}").text
    assert page.count('<span class="tag">guard: refused</span>') == 1
    assert f"<dd>{RULES}: Not run: &lt;b&gt;verify&lt;/b&gt; first.</dd>" in page
    refused, *others = fresh.http.get(f"/api/v1/runs/{run}/record").json()["calls"]
    assert refused["guard"] == {
        "decision": "refused",
        "rules": ["FIRST", "ONCE"],
        "reason": "Not run: <b>verify</b> first.",
    }
    assert not any("guard" in call for call in others)


def test_where_the_attributes_were_left_out_the_event_tells(fresh: Client) -> None:
    run = new_id()
    spans = agent_spans(run, ["refund"])
    spans[0]["events"] = [
        ("other", {}),
        ("pdoctor.guard.decision", {**DECIDED, "pdoctor.guard.mode": "feedback"}),
    ]
    fresh.send(request(*spans).SerializeToString())
    fresh.judged(run)
    (call,) = fresh.http.get(f"/api/v1/runs/{run}/record").json()["calls"]
    assert (call["guard"]["decision"], call["guard"]["mode"]) == ("refused", "feedback")
    assert f"<dd>{RULES} (feedback): Not run:" in fresh.http.get(f"/runs/{run}").text


def test_a_decision_stands_beside_the_state_that_a_call_acts_on(fresh: Client) -> None:
    run = new_id()
    said = {**DECIDED, "pdoctor.tool.state": '{"state": {"oven": 200}}'}
    fresh.send(agent_request(run, [{"name": "bake", "at": said}]))
    fresh.judged(run)
    (call,) = fresh.http.get(f"/api/v1/runs/{run}/record").json()["calls"]
    assert (call["state"], call["guard"]["decision"]) == ({"oven": 200}, "refused")
