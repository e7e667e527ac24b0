"""`pdoctor policies list|show|try|rm` against a collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from collector.cli.policies import command
from collector.cli.runs import results, run_text
from collector.server import running
from tests.support.traces import Client, settings

RULES = """\
actions: {search: search, book: book}
policies:
  - {id: order, rule: Search must happen before book.}
"""
STRICTER = """\
actions: {search: search, book: book, pay: pay}
policies:
  - {id: order, rule: Search must happen before book.}
  - {id: once, rule: Search must happen at most 1 time.}
  - {id: paid, applies: {tools: [pay]}, rule: Book must happen before pay.}
"""


def record(name: str, *calls: str, **more: object) -> bytes:
    return orjson.dumps({"run_id": name, "calls": [{"name": call} for call in calls], **more})


RUNS = {
    "known": record("known", "book", case_id="a-case-that-is-not-stored"),
    "new": record("new", "search", "search", "book"),
    "good": record("good", "search", "book"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A collector with a policy file in two versions, and runs that were judged by the newest."""
    with running(settings(tmp_path_factory.mktemp("store"))) as url, Client(url) as client:
        for text in (f"# the first\n{RULES}", RULES):
            assert client.http.put("/api/v1/policies/shop", content=text).is_success
        for run_id in client.http.post("/api/v1/runs", content=b"\n".join(RUNS.values())).json()["ids"]:
            client.judged(run_id)
        yield client


def policies(client: Client, *words: str) -> Result:
    return CliRunner().invoke(command, [*words, "--collector", client.url])


def ids(client: Client) -> dict[str, str]:
    """What each run calls -> its id at the collector."""
    return {
        " ".join(call["name"] for call in client.get(f"/runs/{item['id']}")["calls"]): item["id"]
        for item in client.get("/runs")["items"]
    }


def test_a_run_that_is_not_judged_yet_is_no_run_without_a_policy(client: Client) -> None:
    run = client.get(f"/runs/{ids(client)['search book']}")
    waits = {**run, "judged": False}
    assert run_text(waits).splitlines()[0].endswith(": waits to be judged; ask again in a moment")
    assert (results(run), results(waits)) == (["ok"], ["ok", "open"])


def test_the_list_has_each_policy_in_words(client: Client) -> None:
    said = policies(client, "list")
    assert (said.exit_code, said.stdout.splitlines()[2:]) == (
        0, ["shop        2  order   Search must happen before book."]
    )  # fmt: skip


def test_a_file_is_shown_as_it_was_stored(client: Client) -> None:
    assert policies(client, "show", "shop").stdout == RULES
    assert policies(client, "show", "shop", "--version", "1").stdout == f"# the first\n{RULES}"
    said = json.loads(policies(client, "show", "shop", "--json").stdout)
    assert [one["version"] for one in said["versions"]] == [2, 1]


def test_rules_are_tried_on_stored_runs_and_nothing_is_stored(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "stricter.yaml"
    file.write_text(STRICTER)
    before = client.get("/policies"), client.get("/runs")
    said = policies(client, "try", str(file))
    run = ids(client)
    lines = said.stdout.splitlines()
    assert (said.exit_code, lines[0]) == (1, "3 runs: 2 would be flagged, 1 of them new")
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("order ", "paid "))}
    assert rows == {"order": ["1", "2", "0", "0"], "paid": ["0", "0", "3", "0"]}
    assert f"run {run['book']}" in lines
    assert f"run {run['search search book']} (new)" in lines
    assert "    rule: “Search must happen at most 1 time” (stricter)" in lines
    assert (client.get("/policies"), client.get("/runs")) == before


def test_only_the_newest_runs_that_match_are_tried(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "stricter.yaml"
    file.write_text(STRICTER)
    [newest] = [item["id"] for item in client.get("/runs", limit=1)["items"]]
    said = json.loads(policies(client, "try", str(file), "--runs", "1", "--json").stdout)
    assert (said["runs"], set(said["flagged"]) <= {newest}) == (1, True)
    nothing = policies(client, "try", str(file), "--agent", "nobody")
    assert (nothing.exit_code, nothing.stdout) == (
        0, "No run matches --agent nobody; without these, `pdoctor runs list` has all.\n"
    )  # fmt: skip


def test_that_a_case_is_not_stored_is_no_gap_in_what_was_seen(client: Client) -> None:
    run = client.get(f"/runs/{ids(client)['book']}")
    assert run["problems"] == ["case a-case-that-is-not-stored is not known here; post it to /api/v1/cases"]
    assert not run["record"]["problems"]


def test_tools_that_no_run_shows_are_told(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "typo.yaml"
    rule = "{id: a, rule: Serch must happen before book.}"
    file.write_text(f"actions: {{serch: serch, book: book}}\npolicies:\n  - {rule}\n")
    said = policies(client, "try", str(file))
    assert "Warning [a]: The tool 'serch' was never seen (no run states its tools); did" in said.stdout
    [told] = json.loads(policies(client, "try", str(file), "--json").stdout)["warnings"]
    assert (told["tool"], told["policies"]) == ("serch", ["a"])


UNDECIDED = """\
actions: {book: book}
policies:
  - {id: late, rule: "Book must happen after 09:00."}
"""


def test_what_could_not_be_decided_is_no_pass(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "late.yaml"
    file.write_text(UNDECIDED)
    said = policies(client, "try", str(file))
    assert (said.exit_code, said.stdout.splitlines()[0]) == (3, "3 runs: none would be flagged"), said.output
    assert "not decided: [late] run" in said.stdout


def test_a_file_that_is_switched_off_judges_no_more_and_can_still_be_read(client: Client) -> None:
    assert client.http.put("/api/v1/policies/old", content=RULES).is_success
    assert "old is switched off; `pdoctor policies show old`" in policies(client, "rm", "old").stdout
    assert [item["name"] for item in client.get("/policies")["items"]] == ["shop"]
    shown = policies(client, "show", "old")
    assert (shown.stdout, shown.stderr) == (
        RULES, "pdoctor: old is switched off: no run is judged by it\n"
    )  # fmt: skip
    again = policies(client, "rm", "old")
    assert (again.exit_code, "old is switched off already" in again.output) == (2, True)


def test_rules_that_another_file_has_too_are_told(client: Client, tmp_path: Path) -> None:
    twice, others = tmp_path / "twice.yaml", tmp_path / "others.yaml"
    twice.write_text(f"# again\n{RULES}")
    others.write_text(RULES.replace("book: book", "book: buy"))
    try:
        said = policies(client, "push", str(twice)).stdout
        assert "Warning [order]: shop says the same: what breaks it is found twice." in said
        assert "says the same" not in policies(client, "push", str(others)).stdout
    finally:
        for name in ("twice", "others"):
            client.http.delete(f"/api/v1/policies/{name}")


IN_USE = "`pdoctor policies list` names those that are in use"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param("show shpo", f"no policy file 'shpo': {IN_USE}; did you mean 'shop'?", id="name"),
        pytest.param("rm shop.yaml", f"no policy file 'shop.yaml': {IN_USE}; did you mean 'sh", id="path"),
        pytest.param("show shop --version 7", "shop has no version 7 (it has 1, 2)", id="version"),
        pytest.param("try shop", "shop: cannot be read: No such file", id="a-name-is-no-file"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(client: Client, words: str, said: str) -> None:
    done = policies(client, *words.split())
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_a_guard_is_tried_on_stored_runs_and_on_those_of_a_file(client: Client, tmp_path: Path) -> None:
    file, runs = tmp_path / "stricter.yaml", tmp_path / "runs.jsonl"
    file.write_text(STRICTER.replace("1 time.}", "1 time., on_break: observe}"))
    runs.write_bytes(b"\n".join(RUNS.values()))
    for source in ("last:1d", "100", str(runs)):
        said = policies(client, "try", str(file), "--mode", "block", "--runs", source, "--json")
        told = json.loads(said.stdout)
        assert (said.exit_code, told["calls"], told["refused"], told["runs"], told["cut"]) == (1, 6, 1, 1, 0)
        example = told["policies"]["order"].pop("example")
        assert told["policies"]["order"] == {
            "mode": "block", "calls": 1, "runs": 1, "right": 1, "follows": 0, "wrong": 0,
        }  # fmt: skip
        assert (example["call"], example["tool"]) == (0, "book")
        assert told["policies"]["once"]["calls"] == 0
    said = policies(client, "try", str(file), "--mode", "block", "--runs", str(runs))
    assert said.stdout.startswith("It would have refused 1 of 6 calls, in 1 run.\n")
    assert "[order] run known, call 0 (book): " in said.stdout
    said = policies(client, "try", str(file), "--mode", "observe", "--agent", "nobody")
    assert (said.exit_code, said.stdout) == (0, "It would have refused none of 0 calls.\n")


def test_the_page_of_a_file_tells_what_a_guard_would_have_refused(client: Client) -> None:
    said = client.http.post("/policies/shop", data={"do": "try", "text": RULES, "q": ""}).text
    assert "It would have refused 1 of 6 calls, in 1 run." in said
    assert "<td>order</td>" in said[said.index("As a guard that blocks") :]
