"""What models wrote for constraint sets, as a table and from a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.experiments.paraphrases import paraphrase_table, written_in
from synth.llm.extract import Faithfulness, Written


def written(actions: int, *outcomes: Faithfulness, model: str = "m") -> list[Written]:
    return [Written(actions, f"c{at}", "text", outcome, "", model) for at, outcome in enumerate(outcomes)]


def test_accuracy_is_told_by_model_and_number_of_actions() -> None:
    made = [
        *written(3, "faithful", "unreadable", model="b"),
        *written(2, "faithful", "faithful"),
        *written(3, "faithful", "different", "contradictory", "different"),
    ]
    table = paraphrase_table(made)
    rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
    assert [(row["model"], row["actions"], row["paragraphs"], row["accuracy"]) for row in rows] == [
        ("b", "3", "2", "50.0%"),
        ("m", "2", "2", "100.0%"),
        ("m", "3", "4", "25.0%"),
    ]
    (three,) = (row for row in rows if row["model"] == "m" and row["actions"] == "3")
    assert [three[name] for name in ("different", "contradictory", "unreadable")] == ["2", "1", "0"]


def test_it_reads_what_rewrite_writes_and_names_a_line_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "written.jsonl"
    made = written(2, "faithful", "different")
    good = "".join(f"{json.dumps(asdict(one))}\n" for one in made)
    file.write_text(f"{good}\n")
    assert list(written_in(file)) == made
    for bad in ("nothing", "[1]", "{}", json.dumps({**asdict(made[0]), "outcome": "good"})):
        file.write_text(f"{good}{bad}\n")
        with pytest.raises(BadInput, match="expected a line that `pdoctor rewrite --json` wrote") as told:
            list(written_in(file))
        assert told.value.line == 3
