"""What the page of a run shows beside its calls."""

from __future__ import annotations

import re
from html import unescape

from tests.support.traces import Client, agent_request, case_json, new_id

RULES = """\
actions: {pay: pay, verify: verify, fly: fly}
policies:
  - {id: verify-first, rule: Verify must happen before pay.}
  - {id: no-flights, rule: Verify must happen before fly.}
"""


def shown(client: Client, *calls: object, **options: object) -> tuple[str, str]:
    """A run, and its page."""
    run = new_id()
    client.send(agent_request(run, calls, **options))  # type: ignore[arg-type]
    client.judged(run)
    return run, client.http.get(f"/runs/{run}").text


def test_the_finding_is_the_heading_and_rules_that_did_not_apply_are_folded(fresh: Client) -> None:
    fresh.http.put("/api/v1/policies/shop", content=RULES)
    _, page = shown(fresh, "pay", "verify", agent="desk")
    (heading,) = re.findall(r"<h1>.*?</h1>", page, re.DOTALL)
    assert "pay (call 0) needs an earlier success of verify." in heading
    table, folded = page.split('<details class="idle">')
    assert "1 rule that did not apply" in folded
    assert ">no-flights</a>" in folded
    assert ">no-flights</a>" not in table[table.index('id="policies"') :]
    _, good = shown(fresh, "look", agent="desk")
    assert "desk" in re.findall(r"<h1>.*?</h1>", good, re.DOTALL)[0]
    assert "2 rules that did not apply" in good


def test_every_metric_that_is_known_is_shown_and_leads_to_its_course(fresh: Client) -> None:
    run, page = shown(fresh, "search", {"name": "search", "error": "no room"})
    known = {name for name, value in fresh.run(run)["metrics"].items() if value not in (None, {})}
    told = set(re.findall(r'href="/metrics-explorer\?metric=(\w+)&amp;last=30d"', page))
    assert told == known
    assert "<dd>50.0%</dd>" in page, "a share"
    assert fresh.http.get("/metrics-explorer?metric=failed_calls&last=30d").status_code == 200


def test_a_bracket_joins_what_one_message_asked_for(fresh: Client) -> None:
    calls = [{"name": "look", "at": {"pdoctor.turn.index": turn}} for turn in (0, 0, 0, 1, 2, 2)]
    _, page = shown(fresh, *calls)
    found = re.findall(r'<tr id="call-\d">|<tr id="call-\d" class="\w+">\s*<td class="num([ \w]*)">', page)
    assert found == [
        " together first", " together middle", " together last", "", " together first", " together last",
    ]  # fmt: skip
    assert "A bracket joins calls" in page
    assert "A bracket joins calls" not in shown(fresh, "look", "look")[1]


def test_what_z3_decided_is_told_with_its_time(fresh: Client) -> None:
    case = new_id()
    fresh.post("/cases", case_json(case, "a < b"))
    run, page = shown(fresh, "do_b", "do_a", case=case)
    spent = fresh.run(run)["verdict"]["z3_ms"]
    assert spent > 0
    assert "Z3 and direct evaluation" in page
    assert "in Z3)" in page


def test_a_part_of_the_time_axis_has_an_address(fresh: Client) -> None:
    run, whole = shown(fresh, "a", "b", "c")
    part = fresh.http.get(f"/runs/{run}?since=9&until=16").text
    assert whole.count('class="stretch') == 3
    assert part.count('class="stretch') == 1
    assert "A part of the time axis" in part
    for wrong in ("since=-1&until=2", "since=nan&until=2", "since=a&until=2"):
        assert fresh.http.get(f"/runs/{run}?{wrong}").status_code == 400, wrong
    for odd in ("since=16&until=9", "since=5&until=5", "since=90000000&until=900000000", "since=3"):
        assert fresh.http.get(f"/runs/{run}?{odd}").status_code == 200, odd


def test_a_rule_can_be_begun_from_the_tools_of_a_run(fresh: Client) -> None:
    run, page = shown(fresh, "verify_identity", "issue-refund")
    assert f'href="/policies/new?run={run}"' in page
    text = unescape(fresh.http.get(f"/policies/new?run={run}").text)
    assert '  issue refund: "issue-refund"' in text
    assert "rule: Verify identity must happen before issue refund." in text
    odd, _ = shown(fresh, '"must: happen"\n- before', "</textarea><script>", "دفع")
    text = fresh.http.get(f"/policies/new?run={odd}").text
    assert "</textarea><script>" not in text
    assert "<textarea" in text
    assert fresh.http.get("/policies/new?run=none").status_code == 404
