"""The verbs around a campaign: journal, resumption, report, export, baseline, dissection, capability."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_command_line import json_lines, pdoctor

from synth.cases.generate import Options, generate


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the journal and the JSON output of a campaign in which every run fails."""
    folder = tmp_path_factory.mktemp("campaign")
    arguments = (
        "--cases",
        "2",
        "--model",
        "simulated-swaps",
        "--journal",
        folder / "journal.jsonl",
        "--json",
    )
    tested = pdoctor("test", "raw-loop", *arguments)
    assert tested.returncode == 1, tested.stderr
    (folder / "output.json").write_text(tested.stdout)
    return folder


def test_the_same_journal_runs_nothing_twice(campaign: Path) -> None:
    before = (campaign / "journal.jsonl").read_bytes()
    arguments = (
        "--cases",
        "2",
        "--model",
        "simulated-swaps",
        "--journal",
        campaign / "journal.jsonl",
        "--json",
    )
    again = json.loads(pdoctor("test", "raw-loop", *arguments).stdout)
    assert (campaign / "journal.jsonl").read_bytes() == before
    assert again == json.loads((campaign / "output.json").read_text())


def test_a_journal_of_another_campaign_is_refused(campaign: Path) -> None:
    refused = pdoctor("test", "openai-tools", "--cases", "1", "--journal", campaign / "journal.jsonl")
    assert refused.returncode == 2
    assert "another campaign" in refused.stderr


def test_training_examples_repair_what_was_broken(campaign: Path) -> None:
    exported = json_lines(pdoctor("export", campaign / "journal.jsonl", "--finetune").stdout)
    cases = {case.id: case for case in generate(2, 0, Options())}
    assert {example["case_id"] for example in exported} == set(cases)
    for example in exported:
        plans = [[call["name"] for call in example[plan]] for plan in ("wrong_plan", "repaired_plan")]
        broken, mended = (broken_constraints(cases[example["case_id"]], plan) for plan in plans)
        assert broken
        assert mended == []
        assert len(example["violated"]) == len(example["explanations"]) > 0


def broken_constraints(case: Any, plan: list[str]) -> list[Any]:
    tools = {action.id: action.tool for action in case.actions}
    return [c for c in case.constraints if plan.index(tools[c.first]) > plan.index(tools[c.then])]


def test_a_report_is_one_file_that_loads_nothing(campaign: Path) -> None:
    page = campaign / "report.html"
    written = pdoctor("report", campaign / "journal.jsonl", "-o", page)
    assert written.returncode == 0, written.stderr
    text = page.read_text()
    assert "Order Error" in text or "order_error" in text
    assert [mark for mark in ("<script", "http://", "https://", "<link") if mark in text] == []


def test_a_report_has_a_table_of_what_models_wrote(campaign: Path) -> None:
    made = {"actions": 3, "case_id": "c", "text": "t", "outcome": "different", "detail": "", "model": "wordy"}
    (campaign / "written.jsonl").write_text(json.dumps(made))
    given = ("--paraphrases", campaign / "written.jsonl", "-o", campaign / "with.html", "--json")
    report = json.loads(pdoctor("report", campaign / "journal.jsonl", *given).stdout)
    assert [
        row["model"] for table in report["tables"] if table["name"] == "paraphrases" for row in table["rows"]
    ] == ["wordy"]
    assert "Paragraphs written by models" in (campaign / "with.html").read_text()


@pytest.mark.heavy
def test_worse_than_the_baseline_fails(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text(json.dumps({"pass_rate": 1.0}))
    same = ("test", "raw-loop", "--cases", "2", "--model", "simulated-swaps")
    kept = pdoctor(*same, "--baseline", campaign / "output.json", "--repeat", "2")
    assert kept.returncode == 0, kept.stderr
    assert "(0 worse, 0 better, p = 1.000): not shown to be worse" in kept.stdout
    assert "pass^k" in kept.stdout
    assert pdoctor(*same, "--baseline", campaign / "journal.jsonl").returncode == 0
    refused = pdoctor(*same, "--baseline", tmp_path / "none.json")
    assert (refused.returncode, "this holds no results" in refused.stderr) == (2, True)
    others = pdoctor(*same, "--seed", "9", "--baseline", campaign / "output.json")
    assert (others.returncode, "decided none of these cases" in others.stderr) == (2, True)


@pytest.mark.heavy
def test_dissect_names_the_planted_cause() -> None:
    arguments = ("--cases", "1", "--model", "simulated-constraints", "--repeats", "1")
    found = json_lines(
        pdoctor("dissect", "raw-loop", *arguments, "--mutants", "1", "--as-paper", "--json").stdout
    )
    assert [dissection["cause"] for dissection in found] == ["constraint"]


@pytest.mark.heavy
def test_capability_stops_where_nothing_succeeds() -> None:
    arguments = ("--model", "simulated-forgets", "--per-pair", "2", "--largest", "4", "--json")
    (curve,) = json.loads(pdoctor("capability", "raw-loop", *arguments).stdout)["curves"]
    assert (curve["limit"], [point["actions"] for point in curve["points"]]) == (1, [2])
