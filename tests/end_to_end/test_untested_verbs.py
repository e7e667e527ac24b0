"""Verbs that drive agents whose model refuses: told, counted apart, and made again by the same command."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import tty
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from test_command_line import PDOCTOR, json_lines, pdoctor

from synth.cases.generate import Options, generate
from tests.support.provider import Failure, Provider, Refusal

pytestmark = pytest.mark.heavy

BAD_KEY = Refusal(401, "Incorrect API key provided: any.")
WORDS = "Incorrect API key provided: any. (endpoint 401)"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as started:
        yield started


def driven(verb: str, provider: Provider, *arguments: object, model: str = "simulated-perfect") -> list[str]:
    said = (verb, *arguments, "--base-url", provider.base_url, "--model", model, "--parallel", 1)
    return [str(one) for one in said]


def last_row(said: str) -> str:
    """Of the table; below it is where to look."""
    return said.partition("\n\nLook: ")[0].splitlines()[-1]


def is_new(body: Mapping[str, Any]) -> bool:
    """A run begins: the model has said nothing yet."""
    return all(message["role"] != "assistant" for message in body["messages"])


def about(case: Any) -> Callable[[Mapping[str, Any]], Failure | None]:
    """Refuses one case."""
    return lambda body: BAD_KEY if case.paragraph in str(body["messages"][0]["content"]) else None


def test_what_was_refused_is_told_and_made_again_by_the_same_command(
    provider: Provider, tmp_path: Path
) -> None:
    cases = list(generate(3, 0, Options()))
    provider.fails = about(cases[1])
    journal, junit = tmp_path / "journal.jsonl", tmp_path / "junit.xml"
    again = driven("test", provider, "raw-loop", "--cases", 3, "--journal", journal, "--junit", junit)
    refused = pdoctor(*again)
    assert refused.returncode == 2
    assert f"{WORDS}: planning was not tested in 1 run" in refused.stdout
    row = refused.stdout.splitlines()[2].split()
    assert row == ["raw-loop", "simulated-perfect", "3", "2", "0", "1", "0", "100.0%"]
    assert f"to go on: pdoctor {' '.join(again)}" in refused.stderr
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("errors"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "0")
    assert [error.get("message") for error in suite.iter("error")] == [WORDS]

    page = tmp_path / "report.html"
    reported = pdoctor("report", journal, "-o", page)
    assert reported.returncode == 2, reported.stderr
    assert "planning was not tested in 1 run (--max-errors 0)" in reported.stderr
    assert "to go on: the command that wrote the journal makes these runs again" in reported.stderr
    assert pdoctor("report", journal, "-o", page, "--max-errors", 1).returncode == 0
    assert f"{WORDS}: planning was not tested in 1 run" in reported.stdout
    assert WORDS in page.read_text()

    provider.fails = lambda body: None
    provider.asked.clear()
    done = pdoctor(*again, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["runs"], said["passed"], said["errors"]) == (3, 3, 0)
    assert [cases[1].paragraph in str(body) for body in provider.asked if is_new(body)] == [True]
    tables = json.loads(pdoctor("report", journal, "-o", page, "--json").stdout)["tables"]
    (row,) = next(table["rows"] for table in tables if table["name"] == "overview")
    assert (row["generated"], row["errors"], row["error"]) == ("3", "0", "0")


def test_errors_in_a_row_stop_with_the_provider_s_words_and_the_command_that_goes_on(
    provider: Provider,
) -> None:
    provider.fails = lambda body: BAD_KEY
    again = driven("test", provider, "raw-loop", "--cases", 40, "--max-errors", 40, "--json")
    stopped = pdoctor(*again)
    assert stopped.returncode == 2
    assert f"pdoctor: {WORDS}: stopped after 5 runs in a row" in stopped.stderr
    assert f"to go on another time: pdoctor {' '.join(again)} --journal FILE" in stopped.stderr
    said = json.loads(stopped.stdout)
    assert said["pass_rate"] is None
    assert 5 <= said["errors"] == said["runs"] == len(provider.asked) < 20
    assert {result["outcome"] for result in said["results"]} == {"error"}
    assert said["results"][0]["trouble"] == {"kind": "endpoint", "status": 401, "message": BAD_KEY.message}


def test_at_a_terminal_somebody_is_asked_whether_to_go_on(provider: Provider, tmp_path: Path) -> None:
    provider.fails = lambda body: BAD_KEY
    journal = tmp_path / "journal.jsonl"
    command = driven("test", provider, "raw-loop", "--cases", 40, "--journal", journal)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with subprocess.Popen(
        [*PDOCTOR, *command], stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL
    ) as asks:
        os.close(theirs)
        said = read_until(ours, b"Go on? [y/N]: ")
        assert WORDS.encode() in said
        made = journal.read_bytes().count(b"\n")
        os.write(ours, b"y\n")
        read_until(ours, b"Go on? [y/N]: ")
        assert journal.read_bytes().count(b"\n") >= made + 5
        os.write(ours, b"n\n")
        read_until(ours, b"to go on: pdoctor test raw-loop")
        assert asks.wait(60) == 2
    os.close(ours)


def read_until(terminal: int, words: bytes) -> bytes:
    """What a program wrote, up to these words."""
    said = b""
    while words not in said:
        said += os.read(terminal, 4096)
    return said


def test_as_many_errors_as_are_allowed_change_no_exit_code(provider: Provider) -> None:
    (first, *_) = generate(3, 0, Options())
    provider.fails = about(first)
    allowed = pdoctor(*driven("test", provider, "raw-loop", "--cases", 3, "--max-errors", 1))
    assert allowed.returncode == 0
    assert WORDS in allowed.stdout


def test_errors_are_no_point_of_a_capability_curve(provider: Provider, tmp_path: Path) -> None:
    refuses = [0, 1]

    def fails(body: Mapping[str, Any]) -> Failure | None:
        return BAD_KEY if is_new(body) and refuses and refuses.pop() else None

    provider.fails = fails
    arguments = ("raw-loop", "--per-pair", 2, "--largest", 2, "--journal", tmp_path / "journal.jsonl")
    command = driven("capability", provider, *arguments)
    refused = pdoctor(*command)
    assert refused.returncode == 2
    assert f"{WORDS}: planning was not tested in 1 run" in refused.stdout
    assert last_row(refused.stdout).split()[:3] == ["2", "1", "100%"]
    assert last_row(refused.stdout).endswith(" 1")
    done = pdoctor(*command, "--json")
    assert done.returncode == 0
    (curve,) = json.loads(done.stdout)["curves"]
    assert [(point["runs"], point["errors"]) for point in curve["points"]] == [(2, 0)]


def test_a_failure_that_could_not_be_looked_into_has_no_cause(provider: Provider, tmp_path: Path) -> None:
    begun: list[bool] = []

    def fails(body: Mapping[str, Any]) -> Failure | None:
        begun.extend([True] if is_new(body) else [])
        return BAD_KEY if len(begun) > 1 else None

    provider.fails = fails
    journal = tmp_path / "journal.jsonl"
    arguments = ("raw-loop", "--cases", 1, "--repeats", 1, "--mutants", 1, "--as-paper", "--journal", journal)
    command = driven("dissect", provider, *arguments, model="simulated-constraints")
    refused = pdoctor(*command)
    assert refused.returncode == 2
    assert f"{WORDS}: planning was not tested in 1 run" in refused.stdout
    assert last_row(refused.stdout).split()[:2] == ["error", "1"]

    provider.fails = lambda body: None
    begun.clear()
    done = pdoctor(*command, "--json")
    assert done.returncode == 0, done.stderr
    assert [found["cause"] for found in json_lines(done.stdout)] == ["constraint"]


def test_the_experiments_of_a_report_stop_too(provider: Provider, tmp_path: Path) -> None:
    provider.fails = lambda body: BAD_KEY
    folder = tmp_path / "experiments"
    arguments = ("--quick", "--agent", "raw-loop", "--folder", folder, "-o", tmp_path / "report.html")
    stopped = pdoctor(*driven("report", provider, *arguments))
    assert stopped.returncode == 2
    assert f"pdoctor: {WORDS}: stopped after 5 runs in a row" in stopped.stderr
    assert f"to go on: pdoctor report --quick --agent raw-loop --folder {folder}" in stopped.stderr
    assert f"Not everything was measured: {WORDS}" in (tmp_path / "report.html").read_text()
    assert f"Not everything was measured: {WORDS}" in stopped.stdout
