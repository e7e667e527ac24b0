"""`pdoctor monitor`: states, transcripts, diagrams."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from collector.cli.monitor import command

TEXT = """[Question] How many?
[Thought] I must look. [Action] look
[Action Input] here
[Observation] seven
[Final Thought] So it is.
[Answer] 7"""


def ran(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(command, list(arguments), input=given)


def test_states_are_followed() -> None:
    done = ran("direct", given="Ques\nAns\n")
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "complete")
    broken = ran("direct", "--json", given='["Ques", "Ques"]')
    assert broken.exit_code == 1
    assert json.loads(broken.output)["violated_at"] == 1
    assert ran("direct", given="Ques\n").exit_code == 3


def test_a_transcript_is_split_at_the_prompts() -> None:
    done = ran("react", "--transcript", "--json", given=TEXT)
    assert done.exit_code == 0
    assert json.loads(done.output)["events"] == ["Ques", "Tht", "Act", "Act-Inp", "Obs", "Final-Tht", "Ans"]
    broken = ran("react", "--transcript", given=TEXT.replace("[Observation]", "[Thought]"))
    assert broken.exit_code == 1
    assert "violated at event 4; allowed there: Obs" in broken.output


def test_a_diagram_is_written(tmp_path: Path) -> None:
    file = tmp_path / "pass.svg"
    assert ran("pass", "--diagram", str(file)).exit_code == 0
    assert file.read_text().startswith("<svg ")


def test_errors_show_the_words(tmp_path: Path) -> None:
    file = tmp_path / "own.spec"
    file.write_text('(define own\n  (:states (A (:text "a")))\n  (:behavior (or A)))\n')
    wrong = ran(str(file), given="A")
    assert wrong.exit_code == 2
    assert "must begin with next" in wrong.output
    assert "^^" in wrong.output
    assert "needs :states" in ran("--transcript", str(bare(tmp_path)), given="x").output


def bare(folder: Path) -> Path:
    file = folder / "bare.spec"
    file.write_text("(next a b)")
    return file
