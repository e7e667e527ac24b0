"""Runs of very many calls: the API hands them out in pages, the page shows a part and sums up the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from collector import room
from collector.api import runs as api
from collector.api import views
from collector.cli.runs import export, show
from collector.server import running
from collector.ui import call_rows, run_page
from synth.client import Collector
from tests.support.traces import Client, agent_request, agent_spans, new_id, request, settings

CALLS = 45
BAD = [3, 17, 44]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """A collector that hands out 10 at a time, and a run of 45 calls, three of which break a rule."""
    run = new_id()
    patch = pytest.MonkeyPatch()
    patch.setattr(views, "MOST_CALLS", 10)
    for module in (call_rows, run_page):
        patch.setattr(module, "SHOWN", 10)
    folder = tmp_path_factory.mktemp("long")
    with running(settings(folder)) as url, Client(url) as client:
        rule = "actions: {look: look, pay: pay}\npolicies:\n  - {id: never, rule: Pay must never happen.}\n"
        assert client.http.put("/api/v1/policies/x", content=rule).status_code == 200
        names = ["pay" if at in BAD else "look" for at in range(CALLS)]
        client.send(agent_request(run, [{"name": n, "error": "no" if n == "pay" else None} for n in names]))
        client.judged(run)
        yield client, run
    patch.undo()


def test_the_calls_of_a_run_come_in_pages_that_make_it_whole(long: tuple[Client, str]) -> None:
    client, run = long
    found = client.get(f"/runs/{run}")
    assert ([call["index"] for call in found["calls"]], found["record"]) == ([*range(10)], None)
    calls, cursor = list(found["calls"]), found["calls_cursor"]
    while cursor:
        part = client.get(f"/runs/{run}/calls", cursor=cursor, limit=20)
        calls, cursor = calls + part["items"], part["cursor"]
    assert [call["index"] for call in calls] == [*range(CALLS)]
    assert len({call["span_id"] for call in calls}) == CALLS
    with Collector(client.url) as collector:
        whole = collector.run(run)
        assert whole is not None
        assert (whole["calls"], whole["record"]) == (calls, collector.record(run))
    assert [call["name"] for call in whole["record"]["calls"]] == [call["name"] for call in calls]


def test_the_spans_of_a_run_come_in_pages(long: tuple[Client, str], monkeypatch: pytest.MonkeyPatch) -> None:
    client, run = long

    def pages(limit: int) -> list[list[str]]:
        found, cursor = [], None
        while True:
            part = client.http.get(
                f"/api/v1/runs/{run}/spans", params={"limit": limit} | ({"cursor": cursor} if cursor else {})
            ).json()
            found.append([item["span_id"] for item in part["items"]])
            cursor = part["cursor"]
            if not cursor:
                return found

    assert [len(page) for page in pages(20)] == [20, 20, 6]
    assert [len(page) for page in pages(23)] == [23, 23]
    assert len({one for page in pages(20) for one in page}) == CALLS + 1
    monkeypatch.setattr(api, "PAGE_BYTES", 1)
    assert [len(page) for page in pages(20)] == [1] * (CALLS + 1)


@pytest.mark.parametrize("path", ["calls", "spans"])
def test_a_foreign_cursor_is_refused(long: tuple[Client, str], path: str) -> None:
    client, run = long
    for cursor in ("x", views.encode_cursor("-1")):
        answer = client.http.get(f"/api/v1/runs/{run}/{path}", params={"cursor": cursor})
        assert answer.status_code == 400


def test_verbs_show_and_write_all_of_it(long: tuple[Client, str]) -> None:
    client, run = long
    shown = CliRunner().invoke(show, [run, "--collector", client.url])
    assert len(re.findall(r"^[! ]\d+", shown.stdout, re.MULTILINE)) == CALLS
    written = CliRunner().invoke(export, ["--collector", client.url])
    assert written.stdout.count('"name": "look"') + written.stdout.count('"name":"look"') == CALLS - len(BAD)


def rows(text: str) -> list[int]:
    return [int(index) for index in re.findall(r'<tr id="call-(\d+)"', text)]


def test_the_page_shows_a_part_and_sums_up_the_rest(long: tuple[Client, str]) -> None:
    client, run = long
    first = client.http.get(f"/runs/{run}").text
    assert rows(first) == [*range(10)]
    assert "Part 1 of 5" in first
    assert re.search(r"The 35 others:.*look</a> 33, .*pay</a> 2 \(2 failed\)\.", first)
    assert 'href="?part=1#calls">Later calls' in first
    assert "Earlier" not in first
    assert '<a href="#call-3">3</a>, <a href="?calls=17#call-17">17</a>' in first
    last = client.http.get(f"/runs/{run}?calls=44").text
    assert (rows(last), "Later" in last) == ([*range(40, 45)], False)
    assert 'href="?calls=44&amp;part=3#calls">Earlier calls' in last
    assert '<a href="?calls=3#call-3">3</a>' in last
    assert rows(client.http.get(f"/runs/{run}?part=99999").text) == [*range(40, 45)]
    assert rows(client.http.get(f"/runs/{run}?calls=99999").text) == [*range(10)]
    for wrong in ("calls=-1", "part=-1", "part=99999999999"):
        assert client.http.get(f"/runs/{run}?{wrong}").status_code in (400, 422)


def test_links_of_a_finding_are_few(long: tuple[Client, str]) -> None:
    client, run = long
    assert re.search(r"17</a> and 1 more</span>", client.http.get(f"/runs/{run}").text)


def test_an_open_page_asks_whether_there_is_news(long: tuple[Client, str]) -> None:
    client, _ = long
    run = new_id()
    spans = agent_spans(run, ["look", "look"])
    client.send(request(spans[0]).SerializeToString())
    client.judged(run, complete=False)
    page = client.http.get(f"/runs/{run}").text
    (shown,) = re.findall(r'data-live data-state="([^"]*)"', page)
    asked = client.http.get(f"/runs/{run}/state")
    assert (asked.text, len(asked.content) < 200) == (shown, True)
    client.send(request(spans[1]).SerializeToString())
    assert client.http.get(f"/runs/{run}/state").text != shown
    assert client.http.get(f"/runs/{'0' * 32}/state").status_code == 404


def test_big_runs_are_read_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "HEAVY_BYTES", 0)
    monkeypatch.setattr(room, "PATIENCE", 0.01)
    run, held = new_id(), []
    read = api.load_run

    def reading(*given: object) -> object:
        held.append(client.http.get(f"/api/v1/runs/{run}/spans").status_code)
        return read(*given)  # type: ignore[arg-type]

    with running(settings(tmp_path)) as url, Client(url) as client:
        client.send(agent_request(run, ["a"]))
        client.judged(run)
        monkeypatch.setattr(api, "load_run", reading)
        assert client.http.get(f"/api/v1/runs/{run}").status_code == 200
        monkeypatch.setattr(api, "load_run", read)
        assert client.http.get(f"/api/v1/runs/{run}/calls").status_code == 200
    assert held == [503]
