"""Two runs side by side, two versions with the right test, and rules over weeks; of the API and its verbs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner

from collector.api import compare
from collector.cli.compare import command as compare_verb
from collector.cli.drift import command as drift_verb
from collector.cli.recheck import command as recheck_verb
from collector.cli.runs import call_row, newest, run_table
from collector.cli.runs import command as runs_verb
from collector.server import running
from collector.store.populations import monday
from tests.support.traces import Client, eventually, settings

POLICIES = """\
actions: {pay: pay, verify: verify}
policies:
  - {id: verified, rule: Verify must happen before pay.}
"""


def record(run_id: str, version: str, *tools: str, amount: int = 1) -> dict[str, Any]:
    calls = [{"id": None, "name": tool, "arguments": {"amount": amount}, "result": "done"} for tool in tools]
    return {
        "run_id": run_id,
        "calls": calls,
        "versions": {"service": version},
        "query": "Pay.",
        "agent": "desk",
    }


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, dict[str, str]]]:
    """A collector with 30 runs of version 1.4, of which 1 breaks the rule, and 30 of 1.5, of which 20 do."""
    with running(settings(tmp_path_factory.mktemp("told"))) as url, Client(url) as client:
        assert client.http.put("/api/v1/policies/bank", content=POLICIES).status_code == 200
        good, bad = ("verify", "pay"), ("pay", "verify")
        records = [record(f"old{k}", "1.4", *(bad if k < 1 else good)) for k in range(30)]
        records += [record(f"new{k}", "1.5", *(bad if k < 20 else good), "mail") for k in range(30)]
        ids = client.post("/runs", records).json()["ids"]
        eventually(lambda: client.get("/stats")["unchecked"] == 0)
        yield client, {said["run_id"]: run_id for said, run_id in zip(records, ids, strict=True)}


def invoked(verb: Any, client: Client, *arguments: str) -> Any:
    return CliRunner().invoke(verb, [*arguments, "--collector", client.url])


def test_two_versions_are_compared_by_outcome_rule_tool_and_metric(
    told: tuple[Client, dict[str, str]],
) -> None:
    client, _ = told
    said = client.get("/compare", by="version", a="1.4", b="1.5")
    assert (said["runs"], said["pairs"], said["by"]) == ([30, 30], 0, "version")
    found = {(one["kind"], one["name"]): one for one in said["differences"]}
    assert found["tool", "mail"]["differs"]
    rule = found["rule", "verified"]
    assert (rule["a"]["hits"], rule["b"]["hits"], rule["b"]["trials"], rule["differs"]) == (1, 20, 30, True)
    assert rule["test"] == "Fisher's exact test"
    calls = found["metric", "calls"]
    assert (calls["a"]["mean"], calls["b"]["mean"], calls["differs"]) == (2.0, 3.0, True)
    assert not found["tool", "pay"]["differs"]
    assert {name for kind, name in found if kind == "metric"} > {"calls"}
    nothing = client.get("/compare", by="version", a="1.4", b="9")
    assert (nothing["runs"], any(one["differs"] for one in nothing["differences"])) == ([30, 0], False)


def test_the_newest_runs_are_compared(
    told: tuple[Client, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "COMPARED", 10)
    said = told[0].get("/compare", by="version", a="1.4", b="1.5", agent="desk")
    assert said["runs"] == [10, 10]
    found = {(one["kind"], one["name"]): one for one in said["differences"]}
    assert [found["tool", "pay"][side]["trials"] for side in "ab"] == [10, 10]


def test_the_verb_shows_it_and_fails_where_more_is_broken(told: tuple[Client, dict[str, str]]) -> None:
    client, _ = told
    said = invoked(compare_verb, client, "--by", "version", "1.4", "1.5")
    assert said.exit_code == 1
    assert "version 1.4: 30 complete runs; 1.5: 30" in said.output
    assert "1/30 3%" in said.output
    assert invoked(compare_verb, client, "--by", "version", "1.5", "1.4").exit_code == 0
    both = json.loads(invoked(compare_verb, client, "--by", "version", "1.4", "1.5", "--json").output)
    assert both["runs"] == [30, 30]
    narrow = invoked(compare_verb, client, "--by", "version", "1.4", "1.5", "--agent", "nobody", "--json")
    assert (narrow.exit_code, narrow.stdout) == (2, "")
    assert "no complete run of version '1.4' or '1.5'" in narrow.output


def test_two_runs_are_aligned_call_by_call(told: tuple[Client, dict[str, str]]) -> None:
    client, ids = told
    said = client.get("/compare", a=ids["old1"], b=ids["new0"])
    assert [(one["a"], one["b"], one["tool"], one["how"]) for one in said["calls"]] in (
        [(0, 1, "verify", "moved"), (1, 0, "pay", "same"), (None, 2, "mail", "inserted")],
        [(1, 0, "pay", "moved"), (0, 1, "verify", "same"), (None, 2, "mail", "inserted")],
    )
    assert (said["policies"], said["first_difference"]) == ({"verified": ["ok", "violated"]}, 0)
    assert (said["a"]["version"], said["b"]["version"]) == ("1.4", "1.5")
    same = client.get("/compare", a=ids["old1"], b=ids["old2"])
    assert (same["first_difference"], same["policies"]) == (None, {})
    shown = invoked(compare_verb, client, ids["old1"][:8], ids["new0"][:8])
    assert (shown.exit_code, "moved" in shown.output, "verified" in shown.output) == (0, True, True)


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"a": "x", "b": "y", "by": "colour"}, 400, "expected one of version"),
        ({"a": "0" * 32, "b": "1" * 32}, 404, "there is no run"),
        ({"a": "1"}, 400, "b"),
        ({"a": "1", "b": "2", "by": "version", "since": "soon"}, 400, "since"),
    ],
    ids=["by", "runs", "missing", "since"],
)
def test_what_cannot_be_compared_is_said(
    told: tuple[Client, dict[str, str]], asked: dict[str, str], status: int, words: str
) -> None:
    answer = told[0].http.get("/api/v1/compare", params=asked)
    assert answer.status_code == status
    assert words in answer.text


def test_rules_are_counted_by_version_and_week(told: tuple[Client, dict[str, str]]) -> None:
    client, _ = told
    items = client.get("/drift")["items"]
    assert [(one["rule"], one["version"]) for one in items] == [("verified", "1.4"), ("verified", "1.5")]
    assert [one["violations"]["hits"] for one in items] == [1, 20]
    assert [one["before"]["trials"] for one in items] == [0, 0]  # the same week
    said = invoked(drift_verb, client)
    assert (said.exit_code, "20/30" in said.output) == (0, True)
    assert invoked(drift_verb, client, "--agent", "nobody").output.startswith("No complete run")
    sunday = datetime(2026, 11, 22, 23, 59, tzinfo=UTC).timestamp()
    assert [monday(sunday), monday(sunday + 60)] == ["2026-11-16", "2026-11-23"]


def test_the_beginning_of_an_id_is_enough_where_one_run_has_it(told: tuple[Client, dict[str, str]]) -> None:
    client, ids = told
    whole = ids["old1"]
    assert client.get(f"/runs/{whole[:6]}")["id"] == whole
    assert client.http.get(f"/runs/{whole[:9]}").status_code == 200
    assert client.http.get(f"/api/v1/runs/{whole[:5]}").status_code == 404
    near = [record(f"abcdef{k}" + "0" * 25, "2") for k in range(5)]
    client.post("/runs", near)
    several = client.http.get("/api/v1/runs/abcdef")
    assert (several.status_code, "several runs begin with 'abcdef'" in several.text) == (400, True)
    assert client.get("/runs/abcdef1")["id"] == "abcdef1" + "0" * 25
    assert "pdoctor runs list" in client.http.get("/api/v1/runs/abcdff").text


# ---------------------------------------------------------------- the verbs of runs


def test_a_list_never_cuts_an_id_and_names_what_is_not_judged(told: tuple[Client, dict[str, str]]) -> None:
    client, ids = told
    said = invoked(runs_verb, client, "list", "--version", "1.5", "--limit", "3")
    assert {line.split()[0] for line in said.output.splitlines()[2:]} <= {*ids.values()}
    rows = run_table([{"id": "a" * 32, "agent": "x" * 90, "outcome": None, "service": None}])
    line = rows.splitlines()[2]
    assert (line.startswith("a" * 32), "x…" in line, "not judged" in line, len(line) <= 80) == (True,) * 4
    assert (
        run_table([{"id": "1", "service": "unknown_service:agent.py"}]).splitlines()[2].split()[1]
        == "agent.py"
    )


def test_a_filter_that_nothing_passes_is_no_empty_collector(told: tuple[Client, dict[str, str]]) -> None:
    client, _ = told
    none = invoked(runs_verb, client, "list", "--tool", "nothing", "--version", "1.4")
    assert none.output.startswith("No run matches --version 1.4, --tool nothing;")
    odd = invoked(runs_verb, client, "list", "--error-type", "foo")
    assert (odd.exit_code, "expected one of timeout" in odd.output) == (2, True)
    for shown, outcome in (("failed", "fail"), ("not judged", "unbound"), ("passed", "pass")):
        asked = [client.get("/runs", outcome=one, version="1.5")["items"] for one in (shown, outcome)]
        assert asked[0] == asked[1]


def test_a_run_is_shown_with_arguments_and_the_rule(told: tuple[Client, dict[str, str]]) -> None:
    client, ids = told
    said = invoked(runs_verb, client, "show", ids["new0"][:8]).output
    assert re.search(r'^!0 +pay +\{"amount": 1\} +ok$', said, re.MULTILINE)
    assert "rule: “Verify must happen before pay”" in said
    assert said.index("rule: ") < said.index("metrics:")
    gone = invoked(runs_verb, client, "show", "f" * 7)
    assert (gone.exit_code, "`pdoctor runs list`" in gone.output) == (2, True)


def test_a_call_says_whose_it_is_and_whether_it_ran() -> None:
    run = {"agent": "desk"}
    assert call_row(run, 0, {"name": "pay", "agent": "desk", "arguments": {}}, wrong=False) == [
        " 0",
        "pay",
        "-",
        "ok",
    ]
    call = {"name": "pay", "agent": "bot", "arguments": {"a": "ü"}, "executed": False}
    assert call_row(run, 1, call, wrong=True) == ["!1", "pay by bot", '{"a": "ü"}', "did not run"]
    assert call_row(run, 2, {**call, "execution": "unknown"}, wrong=False)[3] == "not known"
    assert call_row(run, 3, {"name": "x", "arguments": "no JSON", "error": "boom"}, wrong=False)[2:] == [
        "no JSON",
        "boom",
    ]


def test_tail_follows_what_comes(
    told: tuple[Client, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = told
    looks: list[int] = []

    def looked(collector: Any, wanted: Any) -> list[dict[str, Any]]:
        looks.append(1)
        if len(looks) == 2:
            client.post("/runs", [record("tailed", "3", "verify", "pay")])
        assert len(looks) < 600, "what came was not shown"
        return newest(collector, wanted)

    monkeypatch.setattr("collector.cli.runs.newest", looked)
    said = invoked(runs_verb, client, "tail", "--runs", "1", "--every", "0.1", "--version", "3")
    assert (said.exit_code, len(said.output.splitlines()), "desk" in said.output) == (0, 1, True)


def test_every_verb_asks_the_collector_of_the_endpoint(
    told: tuple[Client, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = told
    monkeypatch.setenv("PDOCTOR_ENDPOINT", client.url)
    for verb, arguments in (
        (runs_verb, ["list", "--limit", "1"]),
        (compare_verb, ["--by", "version", "1.5", "1.4"]),
        (recheck_verb, ["--version", "nothing"]),
    ):
        assert CliRunner().invoke(verb, arguments).exit_code == 0, arguments
    monkeypatch.setenv("PDOCTOR_ENDPOINT", "http://127.0.0.1:9")
    assert invoked(runs_verb, client, "list", "--limit", "1").exit_code == 0
    assert CliRunner().invoke(runs_verb, ["list"]).exit_code == 2
