"""`pdoctor questions`: the tables, and what is said before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.questions import command
from synth.questions import EXAMPLES, read_questions
from synth.simulated_model import SimulatedModel
from tests.support.questions import written


def questions(*arguments: Any) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)))


class Listening(SimulatedModel):
    """Remembers what it was asked."""

    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        self.prompts = [*getattr(self, "prompts", []), body["prompt"]]
        return super().complete(body, key)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_so_many_examples_reach_the_model(
    tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    file = written(tmp_path)["gsm8k"]
    with Listening(questions=read_questions("gsm8k", file)) as model:
        where = ("--base-url", model.base_url, "--model", "simulated-perfect", "--questions", "1")
        result = questions(f"gsm8k={file}", "--agent", "spec:react", "--examples", str(count), *where)
        assert result.exit_code == 0, result.output
        for prompt in model.prompts:
            assert [one.question in prompt for one in EXAMPLES["gsm8k"]] == [k < count for k in range(3)]


def test_the_tables_the_report_and_the_journal(tmp_path: Path) -> None:
    files = written(tmp_path)
    sets = [f"{name}={files[name]}" for name in ("gsm8k", "triviaqa")]
    given = [*sets, "--corpus", files["corpus"], "--agent", "spec:direct,spec:direct+pass"]
    journal = tmp_path / "j.jsonl"
    result = questions(*given, "--journal", journal, "-o", tmp_path / "r.html")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1].split()[:3] == ["method", "model", "GSM8K"]
    assert lines[3].startswith("Direct          simulated-perfect  100.0 (34 to 100) of 2")
    assert "measured on simulated-perfect, not on Llama-2-70b" in lines[-1]
    page = (tmp_path / "r.html").read_text()
    assert page.count("data:image/svg+xml") == 2
    before = journal.read_text()
    again = json.loads(questions(*given, "--journal", journal, "--json").stdout)
    assert journal.read_text() == before
    assert [one["right"] for one in again["answers"]] == [True] * 6
    fewer = questions(*given, "--journal", journal, "--examples", "1")
    assert (fewer.exit_code, "(examples differ)" in fewer.output) == (2, True)
    files["gsm8k"].write_text(files["gsm8k"].read_text().replace("Ana", "Eva"))
    other = questions(*given, "--journal", journal)
    assert (other.exit_code, "this is another campaign (questions differ)" in other.output) == (2, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["gsm8k"], "expected SET=FILE"),
        (["gsm8k={gsm8k}", "gsm8k={gsm8k}"], "each data set can be given once"),
        (["squad={gsm8k}"], "no data set is called 'squad'"),
        (["gsm8k={nothing}"], "expected a file, your copy of gsm8k"),
        (["gsm8k={gsm8k}", "--questions", "0"], "expected a count from 1 upward or all, got '0'"),
        (["gsm8k={gsm8k}", "--agent", "spec:nothing"], "no specification is called 'nothing'"),
        (["gsm8k={gsm8k}", "--model", "real"], "needs OPENAI_API_KEY or --base-url"),
        (["triviaqa={triviaqa}"], "Search and Lookup need your pages: give --corpus"),
        (["triviaqa={triviaqa}", "--corpus", "{nothing}"], "expected a folder"),
    ],
    ids=range(9),
)
def test_what_is_missing_or_wrong_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    files = {**written(tmp_path), "nothing": tmp_path / "nothing"}
    result = questions(*(one.format(**files) for one in given))
    assert result.exit_code == 2
    assert said in result.output
