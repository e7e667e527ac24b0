"""Budgets of the verbs that drive agents, the bench of planners on the terminal, and options of `synth`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import termios
import tty
from pathlib import Path

import pytest
from test_command_line import PDOCTOR, json_lines, pdoctor

from synth.simulated_model import PROFILES


@pytest.mark.heavy
def test_a_budget_of_cases_ends_each_verb_and_says_so(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    tested = pdoctor("test", "raw-loop", "--cases", "4", "--max-cases", "2", "--json")
    said = json.loads(tested.stdout)
    assert said["runs"] == 2
    assert all(result["synthesis_seconds"] > 0 for result in said["results"])
    options = ("--per-pair", "2", "--max-cases", "3", "--journal", journal, "--json")
    measured = pdoctor("capability", "raw-loop", *options)
    assert sum(p["runs"] for p in json.loads(measured.stdout)["curves"][0]["points"]) == 3
    options = ("--model", "simulated-constraints", "--cases", "4", "--seed", "3", "--max-cases", "4")
    dissected = pdoctor(
        "dissect", "raw-loop", *options, "--repeats", "1", "--mutants", "1", "--as-paper", "--json"
    )
    assert dissected.stdout == ""
    for said in (tested, measured, dissected):
        assert "stopped by the budget (cases)" in said.stderr


@pytest.mark.heavy
def test_what_dissect_has_run_it_does_not_run_again(tmp_path: Path) -> None:
    journal = tmp_path / "causes.jsonl"
    options = ("--model", "simulated-topics", "--cases", "4", "--seed", "5", "--journal", journal, "--json")
    first = pdoctor("dissect", "raw-loop", *options)
    assert {found["cause"] for found in json_lines(first.stdout)} == {"topic"}
    before = journal.read_bytes(), Path(f"{journal}.runs").read_bytes()
    assert pdoctor("dissect", "raw-loop", *options).stdout == first.stdout
    assert (journal.read_bytes(), Path(f"{journal}.runs").read_bytes()) == before


def test_a_cost_needs_a_price() -> None:
    refused = pdoctor(
        "test", "raw-loop", "--model", "own", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1"
    )
    assert (refused.returncode, "--max-cost needs the price of own" in refused.stderr) == (2, True)


BENCH = ("test", "raw-loop,react", "--model", "simulated-*", "--cases", "1", "--min-pass-rate", "0")


@pytest.mark.heavy
def test_the_bench_of_planners_prints_what_was_planted_and_what_was_found() -> None:
    tested = pdoctor(*BENCH)
    assert tested.returncode == 0, tested.stderr
    lines = [line.split() for line in tested.stdout.splitlines() if line.startswith("simulated-")]
    found = {name: tuple(map(int, numbers)) for name, *numbers in lines}
    assert found.keys() == {f"simulated-{profile.name}" for profile in PROFILES if profile.name != "slow"}
    assert found["simulated-swaps"] == (2, 2, 2, 0, 0, 0, 0)
    assert found["simulated-perfect"] == (2, 0, 0, 0, 0, 0, 0)
    assert {numbers[3:] for numbers in found.values()} == {(0, 0, 0, 0)}
    in_overview = {line.split()[1] for line in overview(tested.stdout)[2:]}
    assert in_overview == set(found), "in a pipe names are whole"


@pytest.mark.heavy
def test_the_table_of_the_bench_fits_a_terminal_of_80_columns() -> None:
    ends, said = in_terminal(*BENCH, columns=80)
    assert ends == 0, said
    assert len(overview(said)) == 2 * len(PROFILES)
    assert max(map(len, overview(said))) <= 80
    assert "simulated-perfect" in said


def overview(said: str) -> list[str]:
    """The lines of the table of agents and models, heads and rule first."""
    return said.split("\n\n")[0].splitlines()


def in_terminal(*arguments: str, columns: int) -> tuple[int, str]:
    """How a verb ends whose output is a terminal this wide, and what it writes there."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    termios.tcsetwinsize(theirs, (50, columns))
    with subprocess.Popen([*PDOCTOR, *arguments], stdout=theirs, stderr=subprocess.DEVNULL) as started:
        os.close(theirs)
        said = b"".join(iter(lambda: written(ours), b""))
    os.close(ours)
    return started.returncode, said.decode()


def written(terminal: int) -> bytes:
    """What a program writes next; nothing when it has ended."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sizes", "size=1"), "expected NAME=VALUE with NAME one of relative, depth"),
        (("--sizes", "parts=two"), "expected a number as in parts=2"),
        (("--sizes", "forms=1,2"), "as many as in forms="),
        (("--horizon", "9..18"), "expected a day such as 09:00..18:00"),
        (("--horizon", "18:00..09:00"), "begin < end"),
        (("--replans", "3..1"), "expected 0 <= LO <= HI"),
    ],
)
def test_wrong_shapes_of_cases_are_refused(options: tuple[str, ...], said: str) -> None:
    refused = pdoctor("synth", *options)
    assert (refused.returncode, said in refused.stderr) == (2, True)


def test_cases_have_the_day_the_replans_and_the_sentences_that_were_asked_for() -> None:
    shapes = ("--sizes", "depth=0", "--sizes", "relative=0", "--sizes", "forms=1,0,0,0,0")
    options = ("--mode", "timed", "--horizon", "08:00..20:00", "--replans", "1..3", "--cases", "3")
    made = json_lines(pdoctor("synth", *options, *shapes).stdout)
    assert [case["horizon"] for case in made] == [[480, 1200]] * 3
    assert all(1 <= case["statistics"]["replans"] <= 3 for case in made)
    assert not any(", which" in case["paragraph"] for case in made)
