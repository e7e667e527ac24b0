"""`pdoctor test --guard`: real agents on simulated planners, without a guard and under one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_command_line import pdoctor

SWAPS = "simulated-swaps,simulated-swaps+always"
MODES = ("none", "feedback", "block")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal and the JSON of two agents on a planner that heeds and on a deaf one."""
    folder = tmp_path_factory.mktemp("guarded")
    tested = pdoctor(
        "test", "raw-loop,openai-tools", "--cases", "1", "--model", SWAPS, "--guard", ",".join(MODES),
        "--max-iterations", "12", "--journal", folder / "journal.jsonl", "--json",
    )  # fmt: skip
    assert tested.returncode == 1, tested.stderr
    (folder / "journal.json").write_text(tested.stdout)
    return folder / "journal.jsonl"


def test_feedback_helps_who_heeds_and_no_violating_call_runs(journal: Path) -> None:
    told = json.loads(journal.with_suffix(".json").read_text())
    rows = {(row["agent"], row["model"], row["guard"]): row for row in told["guard"]}
    assert len(rows) == 2 * 2 * len(MODES)
    told_of = {("raw-loop", "feedback"), ("openai-tools", "feedback"), ("raw-loop", "block")}
    for (agent, model, guard), row in rows.items():
        heeds = model.endswith("+always") and (agent, guard) in told_of  # this loop tells of any exception
        assert row["pass_rate"] == (1.0 if heeds else 0.0), row
        assert (row["violating_calls"] == 0) == (guard != "none"), row
        assert (row["refused_calls"] == 0) == (guard == "none"), row
    assert {result["outcome"] for result in told["results"]} == {"pass", "fail"}
    assert {found["missed"] for found in told["detection"]} == {0}


def test_the_report_of_its_journal_has_the_table(journal: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = pdoctor("report", journal, "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "Without a guard and under one" in text
    assert "raw-loop (guard: block)" in text


@pytest.mark.parametrize(
    ("agent", "guard", "why"),
    [
        ("raw-loop", "ask", "in mode ask nobody would answer"),
        ("raw-loop", "none,loud", "expected none, observe, warn, feedback, block"),
        ("exec:./agent", "block", "no guard of ours is asked"),
    ],
)
def test_guards_that_are_none_are_refused(agent: str, guard: str, why: str) -> None:
    refused = pdoctor("test", agent, "--cases", "1", "--guard", guard)
    assert refused.returncode == 2
    assert why in refused.stderr
