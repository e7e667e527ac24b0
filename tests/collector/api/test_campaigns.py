"""Campaigns: what is told is kept once, bounded, and shown as text whatever it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.api.description import ROUTES
from collector.store import Store, campaigns, open_store, projects
from collector.store.campaigns import CampaignFull, Post, Told
from tests.support.traces import Client, agent_request, new_id

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}"


def result(key: str, outcome: str = "pass", **more: Any) -> dict[str, Any]:
    said = {"key": key, "agent": "planner", "model": "m", "outcome": outcome, "case_id": key, "actions": 3}
    return {**said, **more}


def begun(**more: Any) -> dict[str, Any]:
    return {"id": new_id(), "verb": "test", "name": "nightly", "agent": "planner", "model": "m", **more}


def told(client: Client, said: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The campaign after this was told of it."""
    answer = client.post("/campaigns", {**said, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = client.get(f"/campaigns/{said['id']}")
    return found


@pytest.mark.both_engines(heavy="postgresql")
def test_a_campaign_is_told_in_parts_and_a_part_that_comes_twice_is_there_once(shared: Client) -> None:
    said = begun(seed=7, commit="abc", options={"repeat": 2})
    first = told(shared, said, results=[result("a"), result("b", "fail"), result("c", "error")])
    assert (first["state"], first["seed"], first["commit"], first["options"]) == (
        "running", 7, "abc", {"repeat": 2},
    )  # fmt: skip
    told(shared, said, results=[result("b", "fail"), result("c", "pass"), result("d", "open")])
    last = told(shared, said, state="done", report={"summary": ["All in all."], "facts": [["date", "today"]]})
    counts = {name: last[name] for name in ("runs", "passed", "failed", "errors", "unsettled", "state")}
    assert counts == {"runs": 4, "passed": 2, "failed": 1, "errors": 0, "unsettled": 1, "state": "done"}
    assert (last["pass_rate"], last["report"]["summary"]) == (2 / 3, ["All in all."])
    page = shared.get(f"/campaigns/{said['id']}/results", limit=3)
    rest = shared.get(f"/campaigns/{said['id']}/results", cursor=page["cursor"])
    assert [one["key"] for one in page["items"] + rest["items"]] == ["a", "b", "c", "d"]
    assert shared.get("/campaigns", limit=1)["items"][0]["id"] == said["id"]


def test_its_page_shows_the_report_and_leads_to_the_runs_that_are_here(shared: Client) -> None:
    run = new_id()
    shared.send(agent_request(run, ["do_a"]))
    shared.judged(run)
    gone = new_id()
    finding = {"type": "order_error", "explanation": "do_b came first."}
    lost = result("b", "fail", run_id=gone, error_type="order_error", findings=[finding])
    said = begun()
    told(shared, said, results=[result("a", run_id=run), lost])
    running = shared.http.get(f"/campaigns/{said['id']}").text
    assert "planner on m: do_b came first." in running
    assert (f'href="/runs/{run}"' in running, f'href="/runs/{gone}"' in running, gone in running) == (
        True, False, True,
    )  # fmt: skip
    assert "data-live" in running
    table = {
        "name": "curve",
        "title": "Success by size",
        "headers": ["agent", "actions"],
        "rows": [["p", "3"]],
    }
    told(shared, said, state="done", report={"tables": [table], "facts": [["tokens, cost", "0.02 USD"]]})
    done = shared.http.get(f"/campaigns/{said['id']}").text
    assert all(text in done for text in ("Success by size", "0.02 USD", f'href="/runs/{run}"'))
    assert ("Queries, errors" in done, "data-live" in done) == (False, False)
    assert f'href="/campaigns/{said["id"]}"' in shared.http.get("/campaigns").text


def test_two_campaigns_are_compared_as_pairs(shared: Client) -> None:
    before, after = begun(name="before"), begun(name="after")
    cases = [f"case{k}" for k in range(12)]
    told(shared, before, results=[result(case, "fail") for case in cases])
    told(shared, after, results=[result(case) for case in cases], state="done", report={"summary": ["x"]})
    page = shared.http.get(f"/campaigns/{after['id']}", params={"before": before["id"]}).text
    assert "Before and after" in page
    assert '<td class="number"><a href="#runs-1">12</a></td>' in page  # now pass
    assert shared.http.get(f"/campaigns/{after['id']}?before={new_id()}").status_code == 404


def test_a_campaign_that_is_compared_keeps_what_its_report_measured(shared: Client) -> None:
    before, after = begun(name="before"), begun(name="after")
    told(shared, before, results=[result("a", "fail")])
    measured = {"name": "guard", "title": "Without a guard", "headers": ["agent", "Agent-Time s"]}
    report = {
        "note": "Sizes: small", "summary": ["It was quick."], "findings": ["planner on m: do_b came first."],
        "tables": [{**measured, "rows": [["planner", "12.34"]]}], "facts": [["cost", "0.02 USD"]],
    }  # fmt: skip
    told(shared, after, results=[result("a")], state="done", report=report)
    page = shared.http.get(f"/campaigns/{after['id']}", params={"before": before["id"]}).text
    told_of = ("Before and after", "12.34", "0.02 USD", "Sizes: small", "It was quick.", "do_b came first.")
    assert [text for text in told_of if text not in page] == []
    assert "Queries, errors" not in page  # it would say that nothing took any time
    told(shared, before, results=[result("a", "fail", agent="another")])
    other = begun(name="other")
    told(shared, other, results=[result("a", agent="third")], state="done", report=report)
    page = shared.http.get(f"/campaigns/{other['id']}", params={"before": before["id"]}).text
    assert "Nothing is compared: no agent ran on the same model in both campaigns." in page


def test_nothing_that_is_told_becomes_markup_or_reads_a_file(shared: Client, tmp_path: Path) -> None:
    (tmp_path / "seen.spec").write_text("secret")
    finding = {"type": HOSTILE, "explanation": HOSTILE}
    trouble = {"kind": "endpoint", "status": 429, "message": HOSTILE}
    results = [
        result(
            HOSTILE,
            "fail",
            agent=HOSTILE,
            model=HOSTILE,
            run_id=HOSTILE,
            error_type=HOSTILE,
            findings=[finding],
        ),
        result("t", "error", agent=f"spec:{tmp_path / 'seen.spec'}", case_id=HOSTILE, trouble=trouble),
    ]
    table = {"name": HOSTILE, "title": HOSTILE, "headers": [HOSTILE], "rows": [[HOSTILE]], "note": HOSTILE}
    report = {
        "note": HOSTILE, "summary": [HOSTILE], "findings": [HOSTILE], "tables": [table],
        "facts": [[HOSTILE, HOSTILE]],
    }  # fmt: skip
    said = begun(
        name=HOSTILE, agent=HOSTILE, model=HOSTILE, commit=HOSTILE, seed=HOSTILE, options={HOSTILE: HOSTILE}
    )
    told(shared, said, results=results)
    pages = [shared.http.get(f"/campaigns/{said['id']}")]
    told(shared, said, results=results, state="stopped", report=report)
    pages += [shared.http.get(path) for path in ("/campaigns", f"/campaigns/{said['id']}")]
    pages.append(shared.http.get(f"/campaigns/{said['id']}", params={"before": said["id"]}))
    for page in pages:
        assert page.status_code == 200
        assert "&lt;script&gt;" in page.text
        assert [bad for bad in ("<script>alert", "<img src=x", "secret") if bad in page.text] == []
    assert "49}}" not in pages[1].text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"id": "x"}, "no id of a campaign"),
        ({"id": "A" * 32}, "no id of a campaign"),
        ({"verb": ""}, "`verb`"),
        ({"name": "a\0b"}, "`name`"),
        ({"state": "over"}, "expected one of running"),
        ({"colour": 1}, "unknown field 'colour'"),
        ({"options": []}, "`options`"),
        ({"options": {"a": "x" * 70_000}}, "over the limit"),
        ({"results": [{}] * 1001}, "at most 1000"),
        ({"results": [{"key": "a"}]}, "result 0: `agent`"),
        ({"results": [result("a", "good")]}, "expected one of pass"),
        ({"results": [result("a", seconds=-1)]}, "`seconds`"),
        ({"results": [result("a", actions=True)]}, "`actions`"),
        ({"results": [result("a", trouble={"kind": "x"})]}, "trouble"),
        ({"results": [result("a", findings=[1])]}, "findings"),
        ({"report": {"tables": [{"name": "t", "title": "t", "headers": ["a"], "rows": [[]]}]}}, "as long as"),
        ({"report": {"summary": "all"}}, "`summary`"),
        ({"report": {"facts": [1]}}, "`facts`"),
        ({"report": []}, "`report`"),
    ],
    ids=[
        "short-id", "upper-id", "verb", "name", "state", "unknown", "options", "long-options", "many",
        "agent", "outcome", "seconds", "actions", "trouble", "findings", "rows", "summary", "facts", "report",
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_with_the_field(
    shared: Client, wrong: dict[str, Any], words: str
) -> None:
    answer = shared.post("/campaigns", {**begun(), **wrong})
    assert answer.status_code in (400, 413), answer.text
    assert words in answer.text


def test_options_that_are_nested_too_deeply_are_no_server_error(shared: Client) -> None:
    head = ROUTES["POST /api/v1/campaigns"].body_example["id"]
    deep = '{"a":' * 300 + "1" + "}" * 300
    body = f'{{"id": "{head}", "verb": "test", "name": "n", "options": {deep}}}'
    answer = shared.http.post("/api/v1/campaigns", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400


# ---------------------------------------------------------------- the store


@pytest.fixture
def store(store_url: str) -> Any:
    opened = open_store(store_url)
    yield opened
    opened.close()


def put(store: Store, key: str, count: int = 0, now: float = 0.0, size: int = 1) -> None:
    results = [Told(f"{k}", "pass", "x" * size) for k in range(count)]
    campaigns.put(store, 1, Post(key, "test", key, "{}", results=results), now=now)


def kept(store: Store) -> list[str]:
    with store.read() as connection:
        return [row["key"] for row in campaigns.listed(connection, 1, limit=1000)]


@pytest.mark.both_engines(heavy="postgresql")
def test_the_oldest_go_where_there_are_too_many_or_too_large_ones(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "MOST_CAMPAIGNS", 3)
    for key in "abcd":
        put(store, key, 2)
    assert kept(store) == ["d", "c", "b"]
    monkeypatch.setattr(campaigns, "MOST_BYTES", 49)
    put(store, "e", 2, size=20)
    assert kept(store) == ["e", "d"]
    put(store, "f", 2, size=100)
    assert kept(store) == ["f"], "what is told of now stays, however large it is"
    with store.read() as connection:
        rows = connection.exec_driver_sql("SELECT count(*) FROM campaign_results").scalar()
    assert rows == 2


@pytest.mark.both_engines(heavy="postgresql")
def test_a_campaign_takes_so_many_results_and_none_of_what_is_too_much(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "MOST_RESULTS", 5)
    put(store, "a", 5)
    put(store, "a", 5)
    with pytest.raises(CampaignFull, match="6 results, 5 at most"):
        put(store, "a", 6)
    with store.read() as connection:
        row = campaigns.found(connection, 1, "a")
        assert row is not None
        assert (row["runs"], len(campaigns.results(connection, row["id"]))) == (5, 5)
        assert row["size"] == 5 + len("{}")


@pytest.mark.both_engines(heavy="postgresql")
def test_campaigns_are_forgotten_with_the_runs_of_their_time(store: Store) -> None:
    day = 86_400.0
    put(store, "old", 1, now=0)
    put(store, "told of again", 1, now=0)
    put(store, "told of again", 1, now=9.5 * day)
    put(store, "new", 1, now=9 * day)
    assert campaigns.prune(store, now=1e9) == 0, "without a limit nothing is forgotten"
    projects.change(store, 1, {"retention_days": 2.0})
    assert [campaigns.prune(store, now=10 * day) for _ in range(2)] == [1, 0]
    assert kept(store) == ["new", "told of again"]
