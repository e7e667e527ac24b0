"""How `pdoctor` tells a verb's failure: one line for errors on purpose, a traceback for the others."""

from __future__ import annotations

import importlib.util

import click
import pytest

from collector.errors import CollectorError, NotFound
from pdoctor_trace import command
from synth.errors import BadInput, MissingExtra, SynthError


class Elsewhere(BadInput):
    """An error on purpose whose class stands in another package, as that of an outside metric."""


@pytest.mark.parametrize(
    "error", [BadInput("no"), Elsewhere("no"), SynthError("no"), NotFound("no"), CollectorError("no")]
)
def test_an_error_on_purpose_is_one_line(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert command._click_failure("check", error) == 2
    assert capsys.readouterr().err == "pdoctor check: no\n"


def test_a_missing_extra_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert command._click_failure("check", MissingExtra("a plot", "report")) == 2
    assert "pip install 'pdoctor-trace[report]'" in capsys.readouterr().err


def test_an_error_of_click_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert command._click_failure("check", click.UsageError("which one?")) == 2
    assert "Error: which one?" in capsys.readouterr().err


def test_any_other_error_is_a_bug_and_shown_as_python_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert command._click_failure("check", KeyError("lost")) == 2
    assert capsys.readouterr().err == "KeyError: 'lost'\n"


class ProcessFailed(Exception):
    """As packages that run processes raise it; the code is that of the process."""

    exit_code = 0


def test_an_exit_code_of_somebody_else_is_not_that_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert command._click_failure("test", ProcessFailed("ls ended")) == 2
    assert capsys.readouterr().err.endswith("ProcessFailed: ls ended\n")


@pytest.mark.parametrize("verb", [verb for verb in command.VERBS if verb not in command._OWN_VERBS])
def test_every_verb_that_is_listed_exists(verb: str) -> None:
    assert importlib.util.find_spec(f"collector.cli.{verb}") is not None
