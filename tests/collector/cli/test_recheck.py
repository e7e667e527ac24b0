"""Stored runs judged again after their policies or cases changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.cli.recheck import command
from collector.server import running
from tests.support.traces import Client, agent_request, case_json, new_id, settings

ORDER = """
actions: {search: search, book: book}
policies:
  - {id: order, rule: %s}
"""
ALLOWED, BROKEN = (
    ORDER % f"{first} must happen before {then}." for first, then in (("book", "search"), ("search", "book"))
)


def send(client: Client, *tools: str, **more: Any) -> str:
    run = new_id()
    client.send(agent_request(run, list(tools), **more))
    client.judged(run)
    return run


def recheck(*options: str) -> tuple[int, Any]:
    result = CliRunner().invoke(command, [*options, "--json", "--wait", "30"])
    assert result.stdout, result.output
    return result.exit_code, json.loads(result.stdout)


def test_a_changed_policy_re_judges_stored_runs_and_keeps_the_history(fresh: Client) -> None:
    fresh.http.put("/api/v1/policies/shop", content=ALLOWED)
    run, other = send(fresh, "book", "search"), send(fresh, "walk")
    fresh.http.put("/api/v1/policies/shop", content=BROKEN)
    assert fresh.run(run)["outcome"] == "pass"
    code, said = recheck("--collector", fresh.url)
    assert (code, said["runs"]) == (1, 2)
    assert said["changed"] == [{"run_id": run, "before": "pass", "after": "fail"}]
    assert said["outcomes"] == {"fail": 1, "unbound": 1}
    assert said["broken"] == {run: fresh.run(run)["policies"]}
    history = fresh.run(run)["history"]
    assert [entry["outcome"] for entry in history][-2:] == ["pass", "fail"]
    lengths = [len(fresh.run(one)["history"]) for one in (run, other)]
    assert recheck("--collector", fresh.url)[1]["changed"] == []
    assert [len(fresh.run(one)["history"]) for one in (run, other)] == lengths


def test_only_the_runs_that_a_filter_names_are_judged_again(fresh: Client) -> None:
    fresh.http.put("/api/v1/policies/shop", content=ALLOWED)
    mine, other = (send(fresh, "book", "search", agent=agent) for agent in ("mine", "other"))
    fresh.http.put("/api/v1/policies/shop", content=BROKEN)
    code, said = recheck("--collector", fresh.url, "--agent", "mine")
    assert (code, said["runs"], [c["run_id"] for c in said["changed"]]) == (1, 1, [mine])
    assert fresh.run(other)["outcome"] == "pass"


def test_a_store_without_a_collector_is_re_judged_by_new_files(tmp_path: Path) -> None:
    """A case that comes later also binds by the text of its query."""
    case = case_json("later", "a < b")
    with running(settings(tmp_path)) as url, Client(url) as client:
        run = send(client, "do_b", "do_a", query=case["query"])
        assert client.run(run)["case_id"] is None
    cases, policies = tmp_path / "cases.jsonl", tmp_path / "own.yaml"
    cases.write_text(json.dumps(case))
    policies.write_text(ORDER % "search must never happen.")
    store = f"sqlite:///{tmp_path / 'store.db'}"
    code, said = recheck("--store", store, "--cases", str(cases), "--policies", str(policies))
    assert (code, said["runs"]) == (1, 1)
    assert said["changed"] == [{"run_id": run, "before": None, "after": "fail"}]
    assert said["broken"] == {run: []}
    with running(settings(tmp_path)) as url, Client(url) as client:
        found = client.run(run)
    assert (found["case_id"], [r["policy"] for r in found["policies"]]) == ("later", ["order"])
    assert [entry["outcome"] for entry in found["history"]][-2:] == [None, "fail"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--store", "sqlite:///x", "--collector", "http://x"], "not both"),
        (["--cases", __file__], "go with --store"),
        (["--collector", "http://127.0.0.1:9"], "no collector answers"),
        (["--store", "nothing"], "nothing"),
    ],
)
def test_wrong_use_is_told(options: list[str], said: str) -> None:
    result = CliRunner().invoke(command, options)
    assert (result.exit_code, said in result.output) == (2, True)


def test_the_table_names_what_changed(fresh: Client) -> None:
    fresh.http.put("/api/v1/policies/shop", content=ALLOWED)
    run = send(fresh, "book", "search")
    fresh.http.put("/api/v1/policies/shop", content=BROKEN)
    said = CliRunner().invoke(command, ["--collector", fresh.url]).output
    assert "1 runs judged again, 1 changed" in said
    assert f"{run}  pass    fail" in said
    assert said.endswith(
        f"\n{run}\n"
        "  - [order] book (call 0) needs an earlier success of search.\n"
        "    rule: “search must happen before book” (shop, version 2)\n"
        "    would have worked: search (call 1, moved), book (call 0)\n"
        f"Look: {fresh.url}/\n"
    )


def test_a_store_without_a_collector_tells_the_rules_that_are_broken_now(tmp_path: Path) -> None:
    with running(settings(tmp_path)) as url, Client(url) as client:
        run = send(client, "book")
    policies = tmp_path / "shop.yaml"
    policies.write_text(BROKEN)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    _, said = recheck("--store", store, "--policies", str(policies))
    (broken,) = said["broken"][run]
    assert (broken["sentence"], broken["version"]) == ("search must happen before book.", 1)
