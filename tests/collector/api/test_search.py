"""The search line of the list of runs, and what people keep and delete."""

from __future__ import annotations

import re
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.api.runs import run_filter
from collector.api.search import FIELDS, line_of, parts_of, searched
from collector.errors import BadRequest
from collector.server import running
from collector.store.reads import Filter
from collector.ui import pages, runs_page
from tests.support.traces import Client, agent_spans, eventually, new_id, request, settings

NOW = 1_700_000_000.0


def read(line: str) -> Filter:
    return searched(line, NOW, run_filter)


def test_every_part_narrows() -> None:
    line = 'outcome:fail agent:"support desk" tool:cancel_* rule:A2 version:1.4 "in seattle" last:24h'
    assert read(line) == Filter(
        outcome="fail", agent="support desk", tool="cancel_*", rule="A2", version="1.4",
        words=("in seattle",), since=NOW - 86_400,
    )  # fmt: skip
    assert read("") == Filter()
    assert read('outcome:"not judged" error:order_error refund') == Filter(
        outcome="unbound", error_type="order_error", words=("refund",)
    )


@pytest.mark.parametrize(
    ("line", "place", "why"),
    [
        ("agnt:x", 0, "'agnt' is no field"),
        ('agent:x "open', 8, "is not closed"),
        ("agent:x agent:y", 8, "twice"),
        ("last:soon", None, "no length of time"),
        ("last:0h", None, "no length of time"),
        ("outcome:bad", None, "expected one of"),
        ("since:never", None, "expected a time"),
        ("x " * 11, None, "more than 10 words"),
        ("x" * 2001, None, "2000 at most"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(line: str, place: int | None, why: str) -> None:
    with pytest.raises(BadRequest) as told:
        read(line)
    assert why in str(told.value)
    if place is not None:
        assert told.value.message.splitlines()[-1] == " " * place + "^"


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), st.text(min_size=1).filter(lambda s: '"' not in s)))
def test_a_line_of_fields_reads_back_to_them(fields: dict[str, str]) -> None:
    kept = {name: value for name, value in fields.items() if len(value) < 50}
    assert dict(parts_of(line_of(kept))) == kept


@given(st.text(max_size=80))
def test_any_line_is_read_or_refused(line: str) -> None:
    with suppress(BadRequest):
        read(line)


# ---------------------------------------------------------------- in a running collector


def sent(client: Client, *calls: str, agent: str, query: str, user: str, session: str = "") -> str:
    run = new_id()
    spans = agent_spans(run, list(calls), agent=agent, query=query)
    spans[-1]["at"].update({"user.id": user, **({"session.id": session} if session else {})})
    client.send(request(*spans).SerializeToString())
    client.judged(run)
    return run


def ids(client: Client, line: str) -> set[str]:
    return {item["id"] for item in client.get("/runs", q=line)["items"]}


@pytest.mark.both_engines
def test_a_search_finds_what_was_asked_called_and_found(shared: Client) -> None:
    mark = new_id()[:8]
    rule = f"actions: {{pay: pay_{mark}}}\npolicies: [{{id: p{mark}, rule: Pay must happen at most once.}}]\n"
    shared.http.put(f"/api/v1/policies/p{mark}", content=rule)
    one = sent(shared, f"pay_{mark}", f"pay_{mark}", agent=mark, query="100% of A_1 in Seattle", user="u1")
    two = sent(shared, f"pay_{mark}", agent=mark, query="Refund 1005 A11 in Boston", user="u2")
    for line, found in {
        "": {one, two},
        "SEATTLE": {one},
        '"100%"': {one},
        "a_1": {one},
        f"tool:pay_{mark[:4]}*": {one, two},
        "tool:pa_*": set(),
        f"rule:p{mark}": {one},
        f"rule:policy:p{mark}": {one},
        f"policy:p{mark}": {one, two},
        "user:u2": {two},
        "user:u1 boston": set(),
        "last:1h": {one, two},
        "until:2020-01-01": set(),
        '"call 1"': {one},
    }.items():
        assert ids(shared, f"agent:{mark} {line}") == found, line
    shared.http.delete(f"/api/v1/policies/p{mark}")


@pytest.mark.both_engines
def test_pages_of_a_list_lead_both_ways_and_sort(shared: Client) -> None:
    agent = new_id()[:10]
    runs = [sent(shared, *["search"] * (at + 1), agent=agent, query="q", user="u") for at in range(3)]
    page = shared.http.get("/runs", params={"q": f"agent:{agent}"}).text
    places = [page.index(f'value="{run}"') for run in reversed(runs)]
    assert places == sorted(places)
    by_calls = shared.http.get("/runs", params={"q": f"agent:{agent}", "sort": "calls"}).text
    assert [by_calls.index(f'value="{run}"') for run in reversed(runs)] == sorted(
        by_calls.index(f'value="{run}"') for run in runs
    )
    assert "3 runs match." in page
    assert shared.http.get("/runs", params={"sort": "luck"}).status_code == 400


@pytest.mark.both_engines
def test_a_list_can_be_narrowed_by_what_its_runs_differ_in(
    shared: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = new_id()[:10]
    for at in range(4):
        about = {"service.version": f"1.{at % 2}"}
        run, agent = new_id(), f"{mark} {'ab'[at == 3]}"
        spans = agent_spans(run, ["pay"], agent=agent, query="q")
        spans[-1]["at"] |= {"user.id": mark, "gen_ai.request.model": f"m-{mark}"}
        shared.send(request(*spans, resource=about).SerializeToString())
        shared.judged(run)
    expected = {f'agent:"{mark} a"': 3, f'agent:"{mark} b"': 1, "version:1.0": 2, "version:1.1": 2}
    for rows in (50, 2):  # all of them are shown, or the newest two
        monkeypatch.setattr(runs_page, "ROWS", rows)
        page = unescape(shared.http.get("/runs", params={"q": f"user:{mark}"}).text)
        assert "4 runs match." in page
        found = re.findall(r'<a href="/runs\?q=([^"]*)">[^<]* <span class="kind">(\d+)</span>', page)
        assert {
            unquote_plus(line).removeprefix(f"user:{mark} "): int(runs) for line, runs in found
        } == expected
        assert f'<option value="model:m-{mark}">' in page
        for line, runs in found:
            assert f"{runs} run" in shared.http.get("/runs", params={"q": unquote_plus(line)}).text
    alone = shared.http.get("/runs", params={"q": f'user:{mark} agent:"{mark} b"'}).text
    assert "Narrow by" not in alone  # there is nothing left to tell apart


def test_what_a_long_list_differs_in_is_counted_in_its_newest_runs(
    fresh: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("ROWS", 2), ("NEWEST", 3)):
        monkeypatch.setattr(runs_page, name, most)
    for at in range(5):
        sent(fresh, "pay", agent=f"a{at}", query="q", user="u")
    page = fresh.http.get("/runs").text
    assert "5 runs." in page
    assert "Counted in the newest 3 runs." in page
    assert sorted(re.findall(r'q=agent%3A(a\d)">', page)) == ["a2", "a3", "a4"]
    assert "Counted in" not in fresh.http.get("/runs?q=user:u").text


def test_templates_are_ready_before_somebody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "WARM_AFTER", 0.0)
    assert pages.templates.cache is not None
    pages.templates.cache.clear()
    with running(settings(tmp_path, checkers=0)):
        eventually(lambda: len(pages.templates.cache or ()) == len(pages.templates.list_templates()))


@pytest.mark.both_engines
def test_runs_are_deleted_by_id_by_session_and_by_user(shared: Client) -> None:
    agent = new_id()[:10]
    one = sent(shared, "a", agent=agent, query="q", user=f"{agent}-1")
    two = sent(shared, "a", agent=agent, query="q", user=f"{agent}-2", session=f"{agent}-s")
    three = sent(shared, "a", agent=agent, query="q", user=f"{agent}-2")
    before = shared.get("/stats")["runs"]
    assert shared.http.delete(f"/api/v1/runs/{one}").json() == {"deleted": 1}
    assert ids(shared, f"agent:{agent}") == {two, three}
    gone = shared.http.delete("/api/v1/runs", params={"user": f"{agent}-2", "session": f"{agent}-s"})
    assert (gone.json(), ids(shared, f"agent:{agent}")) == ({"deleted": 1}, {three})
    assert shared.http.delete("/api/v1/runs", params={"user": f"{agent}-2"}).json() == {"deleted": 1}
    assert shared.get("/stats")["runs"] == before - 3
    assert shared.http.delete("/api/v1/runs").status_code == 400
    assert shared.http.delete(f"/api/v1/runs/{one}").status_code == 404
    audit: list[dict[str, Any]] = shared.get("/audit")["items"]
    assert {"runs.delete"} == {item["action"] for item in audit[:3]}
    assert one in audit[2]["subject"]


@pytest.mark.both_engines
def test_views_are_kept_replaced_and_dropped(shared: Client) -> None:
    name = "mine & <b>yours"
    kept = shared.http.put(f"/api/v1/views/{name}", json={"query": "outcome:fail"})
    assert kept.json()["query"] == "outcome:fail"
    assert shared.http.put(f"/api/v1/views/{name}", json={"query": "agent:x"}).status_code == 200
    assert [(v["name"], v["query"]) for v in shared.get("/views")["items"]] == [(name, "agent:x")]
    assert shared.http.put("/api/v1/views/bad", json={"query": "agnt:x"}).status_code == 400
    page = shared.http.get("/runs").text
    assert "&lt;b&gt;yours" in page or "Waiting for the first span" in page
    assert shared.http.delete(f"/api/v1/views/{name}").json() == {"name": name, "dropped": True}
    assert shared.http.delete(f"/api/v1/views/{name}").status_code == 404


def test_wrong_addresses_answer_a_page_to_a_browser_and_json_to_a_program(shared: Client) -> None:
    for path, status in (("/nothing", 404), ("/runs?cursor=x", 400), ("/runs/none", 404)):
        looked = shared.http.get(path, headers={"accept": "text/html,*/*"})
        assert (looked.status_code, looked.headers["content-type"][:9]) == (status, "text/html"), path
        assert "<h1>" in looked.text
    assert shared.http.get("/nothing").json()["error"]["code"] == "not_found"
    assert shared.http.get("/api/v1/nothing", headers={"accept": "text/html"}).json()["error"]
