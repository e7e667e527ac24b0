"""`pdoctor progress`: rates of recorded runs, on the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.progress import command, curve
from tests.support.traces import case_json

MILESTONES = [
    {"tool": "a"},
    {"tool": "b", "after": ["a"]},
    {"name": "c2", "tool": "c", "arguments": {"n": 2}},
]


def record(run: str, *tools: str, **more: Any) -> str:
    calls = [{"id": None, "name": tool, "arguments": {"n": 2}} for tool in tools]
    return json.dumps({"run_id": run, "query": None, "tools": None, "calls": calls, **more})


def progress(*arguments: Any, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)), input=stdin)


def said(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    file = tmp_path / "runs.jsonl"
    file.write_text(
        "\n".join([record("one", "b", "a", "a", "b", "c"), record("two", case_id="case-1")]) + "\n"
    )
    return file


@pytest.fixture
def milestones(tmp_path: Path) -> Path:
    file = tmp_path / "milestones.json"
    file.write_text(json.dumps(MILESTONES))
    return file


def test_rates_after_each_step_with_milestones_of_ones_own(runs: Path, milestones: Path) -> None:
    one, two = said(progress(runs, "--milestones", milestones, "--json"))
    assert one["progress"] == [0, 1 / 3, 1 / 3, 2 / 3, 1]
    assert one["repetition"] == [0, 0, 0.25, 0.5, 0.5]
    assert one["repeated"] == [False, False, True, True, False]
    assert (one["progress_rate"], one["repetition_rate"], one["steps"], one["milestones"]) == (1, 0.5, 5, 3)
    assert (two["progress"], two["progress_rate"], two["repetition_rate"]) == ([], 0, 0)


def test_the_actions_of_a_case_are_milestones_of_its_runs(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps(case_json("case-1", "a < b")))
    tools = [action["tool"] for action in case_json("case-1", "a < b")["actions"]]
    right = record("right", *tools, case_id="case-1")
    wrong = record("wrong", *reversed(tools), case_id="case-1")
    other = record("other", *tools, case_id="case-2")
    cases = ["--cases", tmp_path / "cases.jsonl", "--json"]
    found = said(progress("-", *cases, stdin="\n".join([right, wrong, other])))
    assert [one["progress"] for one in found] == [[0.5, 1], [0, 0.5], None]
    assert found[2]["progress_rate"] is None


def test_steps_thresholds_and_readings_are_of_ones_choice(runs: Path) -> None:
    loose, strict = said(progress(runs, "--threshold", 0.8, "--threshold", 1, "--steps", 3, "--json"))[:2]
    assert (loose["threshold"], loose["repeated"]) == (0.8, [False, True, True, True, True])
    assert loose["repetition"] == [0, 0.5, 1]
    assert (strict["threshold"], strict["repetition"]) == (1, [0, 0, 0.5])
    unique = said(progress(runs, "--against", "unique", "--similarity", "exact", "--json"))[0]
    assert (unique["against"], unique["similarity"], unique["repetition_rate"]) == ("unique", "exact", 0.5)


def test_progress_by_the_end_of_the_given_steps(runs: Path, milestones: Path) -> None:
    assert (
        said(progress(runs, "--milestones", milestones, "--steps", 2, "--json"))[0]["progress_rate"] == 1 / 3
    )


def test_the_terminal_shows_curves_in_80_columns(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    file.write_text(record("r" * 90, *"abcd" * 50))
    shown = progress(file)
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "0.98" in shown.stdout
    assert progress("-", stdin="").stdout == "No runs.\n"


def test_a_curve_shows_the_last_of_each_stretch() -> None:
    assert curve([]) == ""
    assert curve([0, 0.5, 1]) == "▁▅█"
    assert curve([0] * 31 + [1]) == "▁" * 15 + "█"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "2"], "threshold is above 0"),
        (["--similarity", "levenshtein"], "there are indel, exact, bleu, rouge"),
        (["--cases", "x", "--milestones", "y"], "give --cases or --milestones"),
        (["--milestones", "missing.json"], "missing.json: cannot be read: No such file"),
        (["--cases", "missing.jsonl"], "missing.jsonl"),
    ],
    ids=["threshold", "similarity", "both", "milestones", "cases"],
)
def test_bad_options_end_with_2_and_say_why(runs: Path, options: list[str], message: str) -> None:
    result = progress(runs, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_milestone_file_that_is_none_names_the_field(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "m.json").write_text('[{"tool": "a"}, {"tool": 1}]')
    result = progress(runs, "--milestones", tmp_path / "m.json")
    assert (result.exit_code, "milestones[1].tool" in result.stderr) == (2, True)


def test_what_unseen_calls_may_change_is_not_said(tmp_path: Path, milestones: Path) -> None:
    file = tmp_path / "gaps.jsonl"
    file.write_text(record("gap", "a", "a", problems=["lost spans"]) + "\n")
    (one,) = said(progress(file, "--milestones", milestones, "--json"))
    assert (one["progress_rate"], one["progress"]) == (None, [1 / 3, 1 / 3])
    assert (one["repetition_rate"], one["repetition"]) == (None, [0, 1])
    assert one["doubts"] == {"progress": ["lost spans"], "repetition": ["lost spans"]}
    lines = progress(
        file, "--milestones", milestones, "--threshold", 1, "--threshold", 0.5
    ).stdout.splitlines()
    assert [line.split()[3::3] for line in lines[2:4]] == [["-", "-"], ["-", "-"]]
    assert lines[4:] == [
        "gap: progress is not known: lost spans", "gap: repetition is not known: lost spans",
    ]  # fmt: skip
