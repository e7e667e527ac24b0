"""What guards decided in the stored runs stands beside the rule, with the runs."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from collector.judging.decisions import LISTED, LONGEST, decisions_of
from synth.observed.run import Run, ToolCall
from tests.support.traces import Client, agent_request, eventually, new_id

RULES = """
actions: {verify: verify, refund: refund}
policies:
  - {id: FIRST, rule: Verify must happen before refund.}
  - {id: <i>ONCE</i>, rule: Refund must happen at most 1 time.}
"""
ODD = "<i>ONCE</i>"


def guarded(client: Client, decision: str, rules: str, mode: str = "block") -> str:
    """A judged run with a call about which a guard decided."""
    told = {"decision": decision, "rules": rules, "mode": mode, "reason": "Not run."}
    at = {f"pdoctor.guard.{name}": value for name, value in told.items()}
    run = new_id()
    client.send(agent_request(run, ["verify", {"name": "refund", "at": at}]))
    client.judged(run)
    return run


def counts(client: Client) -> dict[str, Any]:
    return {one["policy"]: one for one in client.get("/policies/shop/counts")["items"]}


def found(client: Client, line: str) -> set[str]:
    return {one["id"] for one in client.get("/runs", q=line)["items"]}


def test_the_page_and_the_api_tell_how_often_a_guard_decided_what_and_lead_to_the_runs(fresh: Client) -> None:
    fresh.http.put("/api/v1/policies/shop", content=RULES)
    refused = {guarded(fresh, "refused", "FIRST"), guarded(fresh, "refused", f"FIRST,{ODD}")}
    asked = {guarded(fresh, "approved", "FIRST", "ask"), guarded(fresh, "refused", "FIRST", "ask")}
    for decision, mode in (("warn", "warn"), ("observe", "observe"), ("doubt", "block")):
        guarded(fresh, decision, ODD, mode)
    guarded(fresh, "allowed", "")
    first, odd = counts(fresh)["FIRST"], counts(fresh)[ODD]
    assert first["guard"]["day"] == first["guard"]["week"] == {"refused": 3, "asked": 2}
    assert odd["guard"]["week"] == {"refused": 1, "warned": 1, "observed": 1, "doubt": 1}
    assert (first["week"], first["broken_at"]) == ({"ok": 8}, None)
    for page in ("/policies", "/policies/shop"):
        text = fresh.http.get(page).text
        assert ODD not in text
        said = dict(re.findall(r'href="(/runs\?q=guard[^"]*)">(\w+ \d+)</a>', text))
        assert sorted(said.values()) == [
            "asked 2", "doubt 1", "observed 1", "refused 1", "refused 3", "warned 1",
        ]  # fmt: skip
        (way,) = [way for way, words in said.items() if words == "refused 3"]
        listed = set(re.findall(r'href="/runs/([0-9a-f]{32})"', fresh.http.get(unescape(way)).text))
        assert refused < listed
        assert len(listed) == 3
    assert found(fresh, "guard:FIRST decided:asked last:7d") == asked
    assert found(fresh, f"guard:{ODD} decided:asked") == set()
    assert len(found(fresh, f'guard:"{ODD}"')) == 4
    assert fresh.http.get("/api/v1/policies/other/counts").status_code == 404


def test_what_is_deleted_or_told_later_counts_as_it_is(fresh: Client) -> None:
    fresh.http.put("/api/v1/policies/shop", content=RULES)
    run = guarded(fresh, "warn", "FIRST", "warn")
    at = {"pdoctor.guard.decision": "refused", "pdoctor.guard.rules": "FIRST"}
    fresh.send(agent_request(run, ["verify", "refund", {"name": "refund", "at": at}]))
    eventually(lambda: found(fresh, "decided:refused") == {run})
    fresh.http.delete(f"/api/v1/runs/{run}")
    assert counts(fresh)["FIRST"] == {
        "policy": "FIRST", "broken_at": None, "day": {}, "week": {}, "guard": {"day": {}, "week": {}}
    }  # fmt: skip


@pytest.mark.parametrize(
    "told",
    [
        "refused",
        {"decision": "refused", "rules": "FIRST"},
        {"decision": ["refused"], "rules": ["FIRST"]},
        {"decision": "sung", "rules": ["FIRST"]},
        {"decision": "refused", "rules": [1, None]},
        {},
    ],
)
def test_what_is_no_decision_is_none(told: Any) -> None:
    """Records that are handed in may hold anything."""
    assert decisions_of(Run("r", (ToolCall(None, "a", extra={"guard": told}),))) == ()


def test_a_run_has_so_many_decisions_and_no_more() -> None:
    told = {"decision": "refused", "rules": [f"{at:03}{'x' * 1000}" for at in range(999)]}
    made = decisions_of(Run("r", (ToolCall(None, "a", extra={"guard": told}),) * 3))
    assert (len(made), len(made[0][0])) == (LISTED, LONGEST)
