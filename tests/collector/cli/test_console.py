"""Exit codes, failures and tables of the command line."""

from __future__ import annotations

import pytest

from collector.cli.console import Exit, clear_errors, exit_code, table
from synth.errors import BadInput, MissingExtra


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], Exit.PASSED),
        (["pass", "ok", "not_applicable"], Exit.PASSED),
        (["pass", "undecided"], Exit.UNSETTLED),
        (["open"], Exit.UNSETTLED),
        (["unsupported", "ok"], Exit.UNSETTLED),
        (["undecided", "fail"], Exit.FAILED),
        (["violated", "ok"], Exit.FAILED),
    ],
)
def test_the_worst_result_decides_the_exit_code(results: list[str], code: Exit) -> None:
    assert exit_code(results) is code


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            BadInput("no calls", file="runs.jsonl", line=3, field="calls"),
            "runs.jsonl:3, field calls: no calls",
        ),
        (MissingExtra("Z3", "synth"), "pip install 'pdoctor-trace[synth]'"),
        (FileNotFoundError(2, "No such file", "gone.jsonl"), "gone.jsonl: no such file"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop, clear_errors():
        raise error
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert said in message
    assert message.count("\n") == 1


def test_a_bug_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), clear_errors():
        raise ZeroDivisionError


def test_a_table_fits_its_width_by_cutting_the_widest_column() -> None:
    text = table(["run", "what"], [["r1", "x" * 200], ["r22", "short"]], width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert "x…" in text
    assert "short" in text


def test_numbers_stand_to_the_right() -> None:
    assert table(["name", "runs"], [["a", 5], ["b", 12]], width=80).splitlines()[2:] == [
        "a        5",
        "b       12",
    ]


def test_content_cannot_forge_lines_or_colours() -> None:
    text = table(["run", "what"], [["a\nfake: 0 violated", "\x1b[31mred"]], width=80)
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text
    assert r"a\nfake" in text
