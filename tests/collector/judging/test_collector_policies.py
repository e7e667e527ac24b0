"""Policy files in a collector: versions, selection, sessions, broken files."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from collector.api import catalog
from collector.server import running
from synth.errors import BadInput
from tests.support.outside_policies import MODULE, for_children, installed
from tests.support.traces import MS, Client, agent_request, agent_spans, new_id, request, settings, until

ORDER = """\
actions:
  search: search
  book: book
policies:
  - id: search-first
    text: Search before you book.
    rule: Search must happen before book.
"""
ONLY_SHOP = ORDER + "    applies: {service: shop}\n"


def results(client: Client, run: str) -> dict[str, tuple[str, list[int]]]:
    found = client.judged(run)
    return {result["policy"]: (result["verdict"], result["violations"]) for result in found["policies"]}


def test_a_pushed_policy_judges_the_runs_that_follow(fresh: Client) -> None:
    before, after = new_id(), new_id()
    fresh.send(agent_request(before, ["book", "search"]))
    assert results(fresh, before) == {}
    answer = fresh.http.put("/api/v1/policies/shop", content=ORDER)
    assert (answer.status_code, answer.json()) == (200, {"name": "shop", "version": 1, "warnings": []})
    fresh.send(agent_request(after, ["book", "search"]))
    assert results(fresh, after) == {"search-first": ("violated", [0])}
    found = fresh.run(after)
    assert (found["outcome"], found["verdict"]) == ("fail", None)
    (finding,) = fresh.get("/findings", rule="policy:search-first")["items"]
    assert (finding["run_id"], finding["tool"], finding["type"]) == (after, "book", "policy")
    words = next(result["text"] for result in found["policies"])
    assert (finding["text"], finding["file"], finding["version"]) == (words, "shop", 1)
    assert words
    assert [item["id"] for item in fresh.get("/runs", policy="search-first")["items"]] == [after]


def test_a_new_version_replaces_the_old_one_and_both_stay_readable(fresh: Client) -> None:
    assert fresh.post("/policies", {"name": "shop", "text": ORDER}).status_code == 201
    assert fresh.post("/policies", {"name": "shop", "text": ORDER}).json()["version"] == 1
    assert fresh.post("/policies", {"name": "shop", "text": ONLY_SHOP}).json()["version"] == 2
    shown = fresh.get("/policies/shop")
    assert [(v["version"], v["active"]) for v in shown["versions"]] == [(2, True), (1, False)]
    assert fresh.http.delete("/api/v1/policies/shop").status_code == 200
    assert fresh.get("/policies")["items"] == []
    assert fresh.http.delete("/api/v1/policies/shop").status_code == 404
    run = new_id()
    fresh.send(agent_request(run, ["book"]))
    assert results(fresh, run) == {}


def test_selectors_decide_which_runs_a_policy_is_for(fresh: Client) -> None:
    fresh.post("/policies", {"name": "shop", "text": ONLY_SHOP})
    shop, other = new_id(), new_id()
    for run, service in ((shop, "shop"), (other, "other")):
        spans = agent_spans(run, ["book"])
        fresh.send(request(*spans, resource={"service.name": service}).SerializeToString())
    assert results(fresh, shop) == {"search-first": ("violated", [0])}
    assert results(fresh, other) == {"search-first": ("not_applicable", [])}


def test_the_same_id_in_two_files_is_told_apart(fresh: Client) -> None:
    fresh.post("/policies", {"name": "one", "text": ORDER})
    fresh.post("/policies", {"name": "two", "text": ORDER})
    run = new_id()
    fresh.send(agent_request(run, ["search", "book"]))
    assert results(fresh, run) == {"one/search-first": ("ok", []), "two/search-first": ("ok", [])}


def test_a_session_policy_looks_at_the_earlier_runs_of_the_conversation(fresh: Client) -> None:
    fresh.post("/policies", {"name": "shop", "text": "scope: session\n" + ORDER})
    conversation = {"gen_ai.conversation.id": "talk-1"}
    first, second, stranger = new_id(), new_id(), new_id()
    for minute, run, calls in ((0, first, ["search"]), (1, second, ["book"])):
        spans = agent_spans(run, calls)
        for span in spans:
            span["start"] += minute * 60_000 * MS
            span["end"] += minute * 60_000 * MS
        spans[-1]["at"].update(conversation)
        fresh.send(request(*spans).SerializeToString())
        fresh.judged(run)
    fresh.send(agent_request(stranger, ["book"]))
    assert results(fresh, second) == {"search-first": ("ok", [])}
    assert results(fresh, stranger) == {"search-first": ("violated", [0])}


@pytest.mark.parametrize(
    "text", ["", "policies: [", "/etc/passwd", "policies: 5", "unknown: 1", "a: &a [*a, *a]", "\x00"]
)
def test_a_broken_policy_file_is_refused_and_never_read_from_the_disk(shared: Client, text: str) -> None:
    answer = shared.post("/policies", {"name": "bad", "text": text})
    assert answer.status_code == 400, answer.text
    assert "root:" not in answer.text
    assert "No such file" not in answer.text
    assert shared.http.get("/api/v1/policies/bad").status_code == 404


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 200, "."])
def test_a_policy_file_needs_a_plain_name(shared: Client, name: str) -> None:
    assert shared.post("/policies", {"name": name, "text": ORDER}).status_code == 400


def test_the_policy_files_of_a_project_are_bounded_together(
    fresh: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "actions: {A: a, B: b}\npolicies:\n  - {id: p, rule: A must happen before B.}\n"
    monkeypatch.setattr(catalog, "POLICY_TEXT", 2 * len(text))

    def put(name: str, text: str) -> int:
        return fresh.http.put(f"/api/v1/policies/{name}", content=text).status_code

    assert [put("x", text), put("y", text), put("y", text + "# more\n")] == [200, 200, 413]
    fresh.http.delete("/api/v1/policies/x")
    assert put("y", text + "# more\n") == 200


def test_reading_a_policy_file_may_take_no_longer_than_judging(tmp_path: Path) -> None:
    rules = "".join(f"  - {{id: p{number}, rule: A must happen before B.}}\n" for number in range(5_000))
    with running(settings(tmp_path, check_seconds=0.1, checkers=0)) as url, Client(url) as client:
        refused = client.http.put(
            "/api/v1/policies/long", content=f"actions: {{A: a, B: b}}\npolicies:\n{rules}"
        )
        assert (refused.status_code, "could not be read" in refused.text) == (413, True)
        assert client.get("/policies")["items"] == []


def test_policies_are_loaded_at_start_from_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "shop.yaml").write_text(ORDER)
    (folder / "notes.txt").write_text("not a policy")
    with running(settings(tmp_path, policies=folder)) as url, Client(url) as client:
        assert [item["name"] for item in client.get("/policies")["items"]] == ["shop"]


def test_a_broken_policy_file_stops_the_start_and_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(ORDER + "    colour: red\n")
    service = running(settings(tmp_path, policies=tmp_path / "bad.yaml"))
    with pytest.raises(BadInput, match=r"bad\.yaml:.*colour"), service:
        raise AssertionError("the collector started")


def test_an_open_run_is_judged_again_at_its_end(fresh: Client) -> None:
    fresh.post("/policies", {"name": "shop", "text": ORDER})
    run = new_id()
    book, root = agent_spans(run, ["book"])
    fresh.send(request(book).SerializeToString())
    for _ in until():
        if (found := fresh.judged(run, complete=False))["policies"]:
            break
    assert found["outcome"] == "fail"
    fresh.send(request(root).SerializeToString())
    assert results(fresh, run) == {"search-first": ("violated", [0])}


def test_a_stored_file_that_cannot_be_read_any_more_does_not_stop_the_others(tmp_path: Path) -> None:
    """As after a downgrade, or an upgrade that reads more strictly."""
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        client.post("/policies", {"name": "good", "text": ORDER})
        client.post("/policies", {"name": "bad", "text": ORDER})
    connection = sqlite3.connect(tmp_path / "store.db")
    with connection:
        connection.execute("UPDATE policies SET text = 'policies: [' WHERE name = 'bad'")
    connection.close()
    with running(settings(tmp_path)) as url, Client(url) as client:
        run = new_id()
        client.send(agent_request(run, ["book"]))
        assert results(client, run) == {"search-first": ("violated", [0])}


def test_a_policy_kind_of_another_distribution_is_judged_by_the_checkers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "site"
    outside.mkdir()
    monkeypatch.setenv("PYTHONPATH", for_children(outside))
    file = ORDER.replace("rule: Search must happen before book.", "pairs: Search")
    with installed(outside) as put:
        put(f"pairs = {MODULE}:Pairs")
        with running(settings(tmp_path)) as url, Client(url) as client:
            assert client.post("/policies", {"name": "shop", "text": file}).status_code == 201
            odd, even = new_id(), new_id()
            client.send(agent_request(odd, ["search", "book"]))
            client.send(agent_request(even, ["search", "search"]))
            assert results(client, odd) == {"search-first": ("violated", [0])}
            assert results(client, even) == {"search-first": ("ok", [])}


TICKETS = """\
actions: {login: login, create ticket: create_ticket, delete: delete}
policies:
  - id: logged-in
    contract:
      initial: []
      tools: {login: {provides: session}, logout: {clears: session}, create_ticket: {requires: session}}
  - {id: no-delete, rule: Delete must never happen.}
  - {id: login-first, rule: Login must happen before create ticket.}
"""


def test_calls_that_never_arrived_leave_open_what_they_could_change_and_no_more(fresh: Client) -> None:
    assert fresh.post("/policies", {"name": "tickets", "text": TICKETS}).status_code == 201
    calls = ["login", "logout", "create_ticket", "delete"]

    def found(lost: set[int], **more: Any) -> dict[str, str]:
        run = new_id()
        spans = agent_spans(run, calls, **more)
        kept = [span for index, span in enumerate(spans) if index not in lost]
        fresh.send(request(*kept).SerializeToString())
        return {policy: verdict for policy, (verdict, _) in results(fresh, run).items()}

    assert found(set()) == {"logged-in": "violated", "no-delete": "violated", "login-first": "ok"}
    beside_login = found({1})
    assert beside_login == {"logged-in": "undecided", "no-delete": "violated", "login-first": "undecided"}
    assert found({3}) == {"logged-in": "violated", "no-delete": "undecided", "login-first": "ok"}
    assert found({0}) == {"logged-in": "undecided", "no-delete": "violated", "login-first": "undecided"}
    offered = found({3}, tools=["login", "logout", "create_ticket"])
    assert offered == {"logged-in": "violated", "no-delete": "not_applicable", "login-first": "ok"}


def test_the_record_of_a_run_says_where_calls_are_missing(fresh: Client) -> None:
    run = new_id()
    first, _, third, _, root = agent_spans(run, ["a", "b", "c", "d"])
    fresh.send(request(first, third, root).SerializeToString())
    record = fresh.judged(run)["record"]
    hole, tail = record["problems"]
    assert record["unseen"] == [
        {"problem": hole, "after": 0, "before": 1, "calls": 1},
        {"problem": tail, "after": 1, "calls": 1},
    ]


TWO_CLAUSES = """\
actions:
  search: search
  book: book
  pay: pay
policies:
  - id: order
    text: Search, book, pay.
    rule: Search must happen before book, and book must happen before pay.
"""


def rule_of(result: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(result[name] for name in ("text", "file", "version", "sentence", "span"))


def put(client: Client, name: str, text: str) -> None:
    assert client.post("/policies", {"name": name, "text": text}).status_code == 201


def test_a_result_carries_the_rule_of_the_version_that_it_was_judged_by(fresh: Client) -> None:
    put(fresh, "shop", TWO_CLAUSES)
    run = new_id()
    fresh.send(agent_request(run, ["search", "pay"]))
    (result,) = fresh.judged(run)["policies"]
    sentence = "Search must happen before book, and book must happen before pay."
    assert rule_of(result) == ("Search, book, pay.", "shop", 1, sentence, [36, 63])
    put(fresh, "shop", TWO_CLAUSES.replace("Search, book, pay.", "Other words."))
    found = fresh.run(run)
    assert rule_of(found["policies"][0]) == rule_of(result)
    assert found["history"][-1]["policies"] == found["policies"] == found["verdicts"]


def test_a_new_version_is_news_where_the_rule_has_other_words(fresh: Client) -> None:
    put(fresh, "shop", TWO_CLAUSES)
    run = new_id()
    fresh.send(agent_request(run, ["search", "pay"]))
    fresh.judged(run)
    versions = []
    for text in (f"# a comment\n{TWO_CLAUSES}", TWO_CLAUSES.replace("Search, book, pay.", "Other words.")):
        put(fresh, "shop", text)
        assert fresh.post("/recheck", {}).json() == {"runs": 1}
        versions.append([entry["policies"][0]["version"] for entry in fresh.judged(run)["history"]])
    assert versions == [[1], [1, 3]]


def stored_bodies(folder: Path, change: str | None = None) -> list[str]:
    """The conclusions in a store, after a change of theirs in SQL."""
    connection = sqlite3.connect(folder / "store.db")
    with connection:
        if change:
            connection.execute(f"UPDATE verdicts SET body = {change}")
        found = [body for (body,) in connection.execute("SELECT body FROM verdicts")]
    connection.close()
    return found


def test_the_words_of_a_rule_are_stored_once_with_its_file(tmp_path: Path) -> None:
    run = new_id()
    with running(settings(tmp_path)) as url, Client(url) as client:
        put(client, "one", ORDER)
        put(client, "two", ORDER)
        client.send(agent_request(run, ["book"]))
        found = client.judged(run)["policies"]
    assert [rule_of(result)[:4] for result in found] == [
        ("Search before you book.", name, 1, "Search must happen before book.") for name in ("one", "two")
    ]
    (body,) = stored_bodies(tmp_path)
    assert "Search before" not in body
    assert "must happen" not in body


def test_results_from_before_they_had_words_and_of_lost_kinds_are_shown_without(tmp_path: Path) -> None:
    run, query = new_id(), "Search must happen before book."
    with running(settings(tmp_path, query_rules="judge")) as url, Client(url) as client:
        put(client, "shop", ORDER)
        client.send(agent_request(run, ["book"], query=query, tools=["search", "book"]))
        client.judged(run)
    fields = ", ".join(f"'$.policies[0].{name}'" for name in ("file", "version", "span"))
    stored_bodies(tmp_path, f"json_remove(body, {fields})")
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        old, stated = client.run(run)["policies"]
        assert (old["verdict"], rule_of(old)) == ("violated", (None,) * 5)
        assert rule_of(stated) == (query, None, None, query, [0, 30])
    stored_bodies(tmp_path, "json_set(body, '$.policies[0].file', 'shop', '$.policies[0].version', 7)")
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        assert rule_of(client.run(run)["policies"][0]) == (None, "shop", 7, None, None)


def test_a_text_that_comes_with_a_request_is_of_no_file(shared: Client) -> None:
    record = {"run_id": "r", "calls": [{"name": "book"}]}
    answer = shared.post("/check", {"run": record, "policies": ORDER}).json()
    (result,) = answer["policies"]
    assert rule_of(result)[1:] == (None, None, "Search must happen before book.", [0, 30])
