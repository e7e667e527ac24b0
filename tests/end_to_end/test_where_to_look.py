"""Verbs that leave something to see end with where that is: a page that is there, or how to open it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_command_line import json_lines, pdoctor

from collector.cli.bench import command as bench
from collector.cli.capability import command as capability
from collector.cli.compare import command as compare
from collector.cli.dissect import command as dissect
from collector.cli.recheck import command as recheck
from collector.cli.replay import command as replay
from collector.cli.report import command as report
from collector.cli.runs import command as runs
from collector.cli.test import command as driving_test
from collector.server import running
from tests.support.traces import Client, eventually, settings

MODEL = ("--model", "simulated-swaps")
RECORD = {"run_id": "r1", "query": "Pay.", "agent": "desk", "calls": [{"id": None, "name": "pay"}]}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str, Path]]:
    """A collector with one judged run, its id, and a folder with the run's file."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "runs.jsonl").write_text(json.dumps(RECORD) + "\n")
    with running(settings(folder)) as url, Client(url) as client:
        others = [{**RECORD, "run_id": v, "versions": {"service": v}} for v in ("1 & 2", "b")]
        run, *_ = client.post("/runs", [RECORD, *others]).json()["ids"]
        eventually(lambda: client.get("/stats")["unchecked"] == 0)
        yield client, run, folder


def looked(told: tuple[Client, str, Path], verb: Any, *arguments: str) -> str:
    """The path of the page that the verb's last line names, which is there."""
    client, run, folder = told
    filled = [argument.format(run=run, folder=folder) for argument in arguments]
    said = CliRunner().invoke(verb, [*filled, "--collector", client.url])
    assert said.exception is None or isinstance(said.exception, SystemExit), said.output
    last = said.stdout.splitlines()[-1]
    assert last.startswith(f"Look: {client.url}/"), said.output
    path = last.removeprefix(f"Look: {client.url}")
    assert client.http.get(path).status_code == 200
    return path


@pytest.mark.parametrize(
    ("verb", "arguments", "page"),
    [
        pytest.param(runs, ("import", "{folder}/runs.jsonl"), "/", id="import"),
        pytest.param(runs, ("show", "{run}"), "/runs/{run}", id="show"),
        pytest.param(compare, ("{run}", "{run}"), "/compare?a={run}&b={run}", id="compare"),
        pytest.param(
            compare, ("--by", "version", "1 & 2", "b", "--agent", "desk"),
            "/compare?a=1+%26+2&b=b&by=version&agent=desk", id="versions",
        ),
        pytest.param(recheck, ("--agent", "desk"), "/", id="recheck"),
    ],
)  # fmt: skip
def test_verbs_that_ask_a_collector_name_its_page(
    told: tuple[Client, str, Path], verb: Any, arguments: tuple[str, ...], page: str
) -> None:
    assert looked(told, verb, *arguments) == page.format(run=told[1])


@pytest.mark.heavy
def test_verbs_that_drive_agents_name_their_campaign_which_the_collector_has(
    told: tuple[Client, str, Path],
) -> None:
    client, run, folder = told
    cases = folder / "cases.jsonl"
    made = pdoctor("cases", "from-run", run, "-o", cases, "--collector", client.url)
    assert made.returncode == 0, made.stderr
    small = (*MODEL, "--cases", "1", "--journal", "{folder}/journal")
    quickly = ("--cases", "1", "--repeats", "1", "--mutants", "1", "--as-paper")
    verbs = [
        ("test", driving_test, ("raw-loop", *small, "--name", "mine", "--seed", "3")),
        ("report", report, ("{folder}/journal", "-o", "{folder}/report.html")),
        (
            "dissect",
            dissect,
            ("raw-loop", *MODEL, *quickly),
        ),
        ("capability", capability, ("raw-loop", *MODEL, "--per-pair", "1", "--largest", "2")),
        ("replay", replay, ("{folder}/cases.jsonl",)),
    ]
    for name, verb, arguments in verbs:
        path = looked(told, verb, *arguments)
        campaign = client.get(path)
        assert (campaign["verb"], campaign["state"], campaign["runs"] > 0) == (name, "done", True), campaign
        if name != "replay":
            assert [row[0] for row in campaign["report"]["facts"]][:2] == ["date", "versions"]
        if name == "test":
            assert (campaign["name"], campaign["seed"], campaign["options"]["repeat"]) == ("mine", 3, 1)
            assert (
                f'href="/runs/{client.get(f"{path}/results")["items"][0]["run_id"]}"'
                in client.http.get(path).text
            )
        if name in ("dissect", "capability"):
            titles = [table["name"] for table in campaign["report"]["tables"]]
            assert titles[0] == {"dissect": "causes", "capability": "limit"}[name]
    assert len(client.get("/campaigns")["items"]) == len(verbs)


@pytest.mark.heavy
def test_a_suite_names_its_campaign(told: tuple[Client, str, Path]) -> None:
    arguments = ("run", "order-small", "raw-loop", *MODEL, "-o", "{folder}/cards", "--max-tokens", "30000")
    campaign = told[0].get(looked(told, bench, *arguments))
    assert (campaign["verb"], campaign["options"]["suites"]) == ("bench", "order-small")


@pytest.mark.heavy
def test_without_a_collector_the_command_that_shows_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PDOCTOR_CACHE", str(tmp_path))
    said = pdoctor("test", "raw-loop", "--cases", "1", "--journal", tmp_path / "journal")
    store, folder, campaign = said.stdout.splitlines()[-1].removeprefix("Look: pdoctor open ").split("/")
    assert ((tmp_path / "stores" / f"{store}.db").is_file(), folder, len(campaign)) == (True, "campaigns", 32)
    written = pdoctor("report", tmp_path / "journal", "-o", tmp_path / "report.html")
    assert written.stdout.splitlines()[-1] == f"Look: {tmp_path / 'report.html'}"
    assert json_lines(pdoctor("test", "raw-loop", "--cases", "1", "--json").stdout)
