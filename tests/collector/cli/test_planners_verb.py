"""`pdoctor planners`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from collector.cli.planners import command
from synth.cases.case import read_cases

FEW = ("--tasks", "3", "--strategy", "multi-step", "--format", "json", "--feedback", "none,PVE")


def run(*arguments: object) -> Result:
    return CliRunner(env={"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}).invoke(
        command, [*map(str, arguments)]
    )


def test_a_table_over_feedback(tmp_path: Path) -> None:
    saved = tmp_path / "attempts.jsonl"
    done = run(*FEW, "--model", "simulated-tool-always", "--save", saved, "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [(row["feedback"], row["pass_rate"], row["turns"]) for row in rows] == [
        ("none", 0, 1),
        ("PVE", 1, 2),
    ]
    assert len(saved.read_text().splitlines()) == 6
    text = run(*FEW, "--model", "simulated-tool-always").stdout
    assert text.startswith("multi-step, json\nplanner")
    assert "simulated-tool-always  PVE " in text


def test_drawn_tasks_can_be_written_and_read_again(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    assert run("--tasks", 4, "--seed", 9, "--sample", tasks).exit_code == 0
    again = run("--tasks", tasks, *FEW[2:], "--model", "simulated-none-never", "--json")
    assert [row["attempts"] for row in json.loads(again.stdout)["rows"]] == [4, 4]
    listed = tmp_path / "tasks.json"
    listed.write_text(json.dumps([json.loads(line) for line in tasks.read_text().splitlines()]))
    assert (
        run("--tasks", listed, *FEW[2:], "--model", "simulated-none-never", "--json").stdout == again.stdout
    )


def test_tasks_can_be_written_as_cases(tmp_path: Path) -> None:
    tasks, cases = tmp_path / "tasks.jsonl", tmp_path / "cases.jsonl"
    assert run("--tasks", 20, "--sample", tasks, "--cases", cases).stdout == ""
    drawn = [json.loads(line) for line in tasks.read_text().splitlines()]
    read = read_cases(cases)
    assert [list(case.gold_plan or ()) for case in read] == [task["plan"] for task in drawn]
    assert [case.query for case in read] == [task["query"] for task in drawn]
    assert any(case.constraints for case in read)


def test_plans_in_python_have_two_more_columns_and_scores_go_with_right_answers() -> None:
    code = ("--tasks", 6, "--strategy", "multi-step", "--format", "code", "--feedback", "none")
    models = "simulated-none-never,simulated-tool-never"
    found = json.loads(run(*code, "--model", models, "--json").stdout)
    right, wrong = found["rows"]
    assert right["code"] == {"ast_accuracy": 100, "codebleu": pytest.approx(100)}
    assert wrong["code"]["ast_accuracy"] == 0 < wrong["code"]["codebleu"] < 100
    assert found["correlations"]["plan_argvalue_accuracy"]["pearson"] == pytest.approx(1)
    text = run(*code, "--model", models).stdout
    assert "CodeBLEU" in text
    assert "Correlation with right answers" in text


def test_tools_of_ones_own(tmp_path: Path) -> None:
    tools, edges = tmp_path / "tools.json", tmp_path / "edges.json"
    tools.write_text(json.dumps([{"name": "a", "inputs": ["y"], "outputs": ["y"]}]))
    edges.write_text('[["a", "a"]]')
    done = run("--tasks", 3, "--tools", tools, "--edges", edges, "--sample", "-")
    assert {step["name"] for line in done.stdout.splitlines() for step in json.loads(line)["plan"]} == {"a"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tasks", "0"], "no tasks"),
        (["--model", "simulated-words"], "unknown planner"),
        (["--model", "gpt-4o"], "OPENAI_API_KEY"),
        (["--feedback", "V"], "is none of"),
        (["--tasks", "/nowhere"], "no such file"),
    ],
    ids=["count", "planner", "key", "feedback", "file"],
)
def test_bad_input_is_told(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, words in done.stderr.lower() or words in done.stderr) == (2, True)
