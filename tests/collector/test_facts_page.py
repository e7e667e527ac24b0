"""What held at each call of a run under a contract."""

from __future__ import annotations

from tests.support.traces import Client, agent_request, new_id

CONTRACT = """actions: {pay: pay, verify: verify}
policies:
  - id: account
    contract:
      on_violation: apply
      initial: ["open <b>"]
      tools: {verify: {provides: known}, pay: {requires: known, provides: paid, clears: "open <b>"}}
"""


def test_the_page_of_a_run_tells_the_facts_before_each_call_and_what_was_missing(fresh: Client) -> None:
    assert fresh.http.put("/api/v1/policies/bank", content=CONTRACT).status_code == 200
    good, bad = new_id(), new_id()
    fresh.send(agent_request(good, ["verify", "pay"]))
    fresh.send(agent_request(bad, ["pay", "verify"]))
    fresh.judged(good), fresh.judged(bad)
    page = fresh.http.get(f"/runs/{good}").text
    assert "<td>known, open &lt;b&gt;</td>" in page, "what held before the payment"
    assert "<td>paid</td><td>open &lt;b&gt;</td><td>known, paid</td>" in page, "what it brought and took"
    assert "open <b>" not in page
    page = fresh.http.get(f"/runs/{bad}").text
    assert "Call 0 lacked known." in page
    assert '<tr class="bad"><td>before <a href="#call-0">call 0</a></td>' in page
