"""`pdoctor monitor`: states, transcripts, diagrams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
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
    assert f"{file}:3: " in wrong.output
    assert "needs :states" in ran("--transcript", str(bare(tmp_path)), given="x").output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[Question] x\n[Answer] y", "a text with prompts such as [Question]: follow it with --transcript"),
        ('{"events": []}', "expected one state a line, or a JSON list of them"),
        ('["Ques", {"a": 1}]', "expected one state a line, or a JSON list of them"),
    ],
)
def test_what_is_no_list_of_states_is_refused(given: str, said: str) -> None:
    done = ran("react", given=given)
    assert (done.exit_code, done.stderr.strip()) == (2, f"pdoctor: standard input: {said}")


def test_a_name_that_is_no_state_is_told_from_a_state_at_a_wrong_place() -> None:
    done = ran("react", given="Ques\nTht\nAct\nAct-inp\n")
    assert done.exit_code == 1
    assert done.output.splitlines()[-1] == (
        "violated at event 3; allowed there: Act-Inp; no state is called 'Act-inp'; did you mean Act-Inp?"
    )
    assert "no state is called" not in ran("react", given="Ques\nAct\n").output


def test_what_is_neither_a_file_nor_shipped_is_told_with_what_was_meant(tmp_path: Path) -> None:
    done = ran("raect", given="Ques")
    assert (done.exit_code, done.stderr.strip()) == (
        2,
        "pdoctor: no specification is called 'raect', and there is no such file; did you mean react? "
        "(shipped: react, rewoo, reflexion, pass, pass_raw, chain_of_thought, direct)",
    )


def test_a_file_that_is_no_text_is_told_as_such(tmp_path: Path) -> None:
    file = tmp_path / "picture"
    file.write_bytes(b"\xff\xd8")
    for arguments in (["react", str(file)], [str(file)]):
        done = ran(*arguments, given="Ques")
        assert done.exit_code == 2
        assert f"{file}: not UTF-8 text" in done.stderr
    done = CliRunner().invoke(command, ["react"], input=b"\xff\xd8")
    assert "standard input: not UTF-8 text" in done.stderr


def bare(folder: Path) -> Path:
    file = folder / "bare.spec"
    file.write_text("(next a b)")
    return file
