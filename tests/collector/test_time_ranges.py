"""Times on pages: two instants of one's own beside the usual ranges, and an exact instant behind each."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from collector.ui.ranges import Range
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


NOW = datetime(2026, 11, 27, 11, 37, 12, tzinfo=UTC).timestamp()
HOUR, DAY = 3_600, 86_400


@pytest.mark.parametrize(
    ("since", "names"),
    [
        (NOW - 15 * 60, ["11:25", "11:30", "11:35"]),
        (NOW - HOUR, ["10:45", "11:00", "11:15", "11:30"]),
        (NOW - DAY, ["12:00", "18:00", "27 Nov", "06:00"]),
        (NOW - 7 * DAY, ["21 Nov", "22 Nov", "23 Nov", "24 Nov", "25 Nov", "26 Nov", "27 Nov"]),
        (NOW - 30 * DAY, ["29 Oct", "03 Nov", "08 Nov", "13 Nov", "18 Nov", "23 Nov"]),
        (NOW - 3, ["11:37:09", "11:37:10", "11:37:11", "11:37:12"]),
    ],
)
def test_an_axis_names_round_instants_and_days_where_they_begin(since: float, names: list[str]) -> None:
    ticks = Range(since, NOW, None).ticks
    assert [tick.label for tick in ticks] == names
    for tick in ticks:
        if "Nov" in tick.label or "Oct" in tick.label:
            at = since + tick.at * (NOW - since)
            assert round(at) % DAY == 0


def test_an_axis_of_any_length_has_few_names() -> None:
    for since, until in ((-1e15, 1e15), (0, 1), (0, 4e11), (NOW - 400 * DAY, NOW)):
        assert len(Range(since, until, None).ticks) <= 8
    assert Range(NOW - 400 * DAY, NOW, None).ticks[0].label[:4] == "2025"
