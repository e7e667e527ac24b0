"""Times on pages: two instants of one's own beside the usual ranges, and an exact instant behind each."""

from __future__ import annotations

import re

from tests.support.traces import Client, agent_request, new_id


def test_two_instants_can_be_given_and_stay_given(fresh: Client) -> None:
    run = new_id()
    fresh.send(agent_request(run, ["pay"], agent="desk"))
    fresh.judged(run)
    for path, kept in (("/", ""), ("/metrics-explorer", "metric=calls"), ("/runs", "q=agent:desk+last:24h")):
        page = fresh.http.get(f"{path}?{kept}").text
        (form,) = re.findall(r'<details class="custom">.*?</details>', page, re.DOTALL)
        asked = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
        assert asked == {"": {}, "metric=calls": {"metric": "calls"}}.get(kept, {"q": "agent:desk"})
        asked |= {"since": "2020-01-31T09:00", "until": "2020-02-01"}
        answer = fresh.http.get(path, params=asked)
        assert answer.status_code == 200
        (form,) = re.findall(r'<details class="custom">.*?</details>', answer.text, re.DOTALL)
        assert 'aria-current="true"' in form
        assert 'value="2020-01-31T09:00"' in form
        assert run[:12] not in answer.text.partition('id="latest"')[0]


def test_every_relative_time_has_its_instant(fresh: Client) -> None:
    run = new_id()
    fresh.http.put(
        "/api/v1/policies/shop",
        content="actions: {pay: pay}\npolicies:\n  - {id: no, rule: Pay must never happen.}\n",
    )
    fresh.send(agent_request(run, ["pay"]))
    fresh.judged(run)
    fresh.post("/approvals", {"tool": "pay", "text": "Not run: a person decides."})
    for path in (
        "/",
        "/runs",
        f"/runs/{run}",
        "/findings",
        "/policies",
        "/policies/shop",
        "/approvals",
        "/settings",
    ):
        page = fresh.http.get(path).text
        relative = len(re.findall(r">\d+ (?:s|min|h|d) ago<", page))
        told = len(
            re.findall(
                r'<time datetime="[\d-]+T[\d:.+]+" title="[^"]+ UTC">\d+ (?:s|min|h|d) ago</time>', page
            )
        )
        assert relative == told > 0, path
