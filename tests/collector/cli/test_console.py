"""Exit codes, failures and tables of the command line."""

from __future__ import annotations

import io
import sys
import time

import click
import pytest
from click.testing import CliRunner

from collector.cli import console
from collector.cli.console import (
    Exit,
    clear_errors,
    color_option,
    colored,
    exit_code,
    is_colored,
    table,
    told_while,
)
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


@click.command()
@color_option
def verdict() -> None:
    rows = [["pass", "fail"], ["not judged", "fail"]]
    click.echo(table(["outcome", "query"], rows, width=80))


@pytest.mark.parametrize(
    ("when", "painted"),
    [pytest.param("always", True, id="always"), pytest.param("never", False, id="never"),
     pytest.param("auto", False, id="no-terminal")],
)  # fmt: skip
def test_colours_are_those_of_outcomes_alone_and_follow_the_option(when: str, painted: bool) -> None:
    said = CliRunner().invoke(verdict, ["--color", when], color=True).output
    assert said.count("\x1b[32mpass") == painted
    assert said.count("\x1b[31m") == 0
    assert [click.unstyle(line) for line in said.splitlines()][2:] == ["pass        fail", "not judged  fail"]


class Terminal(io.StringIO):
    """What is written to it can be read, and it says that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_colours_unless_no_color_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert is_colored()
    assert colored("violated") == "\x1b[31mviolated\x1b[0m"
    assert colored("7 of 9", "undecided") == "\x1b[33m7 of 9\x1b[0m"
    assert colored("refund") == "refund"
    monkeypatch.setenv("NO_COLOR", "1")
    assert colored("violated") == "violated"


def test_long_work_is_told_of_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Terminal()
    monkeypatch.setattr(sys, "stderr", watched)
    monkeypatch.setattr(console, "TOLD_EVERY", 0.01)
    with told_while("comparing"):
        deadline = time.monotonic() + 30
        while "comparing (" not in watched.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert watched.getvalue().startswith("comparing (")


def test_long_work_is_silent_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "TOLD_EVERY", 0.0)
    with told_while("comparing"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_finding_is_wrapped_on_a_terminal_and_one_line_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "[A1] refund order (call 0) needs an earlier success of " + "verify identity and " * 4 + "more."
    result = {"policy": "A1", "verdict": "violated", "violations": [0], "explanation": said[5:]}
    assert console.policy_text(result, "  ").splitlines()[0] == said
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    lines = [
        "- " + console.policy_text(result, "  ").splitlines()[0],
        *console.in_width(said, "  ").splitlines(),
    ]
    assert max(map(len, lines)) <= 80
    assert len(lines) == 3
    assert lines[2].startswith("  ")
