"""Help pages, completion, and words that are nearly a verb."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from collector.cli.completion import command as completion
from collector.cli.completion import words_by_place
from pdoctor_trace import command

COLUMNS = 80
VERBS = [verb for verb in command.VERBS if verb not in command._OWN_VERBS]


def pages(name: str, made: click.Command) -> Iterator[tuple[str, str]]:
    yield name, made.get_help(click.Context(made, info_name=name, terminal_width=COLUMNS))
    for part, inner in getattr(made, "commands", {}).items():
        yield from pages(f"{name} {part}", inner)


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_page_fits_the_terminal(verb: str) -> None:
    made = importlib.import_module(f"collector.cli.{verb}").command
    wide = [
        (name, line)
        for name, page in pages(f"pdoctor {verb}", made)
        for line in page.splitlines()
        if len(line) > COLUMNS
    ]
    assert wide == []


def test_the_list_of_verbs_is_grouped_and_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) < COLUMNS
    assert [line for line in said.splitlines() if line == "Rules:"]
    grouped = [verb for verbs in command.GROUPS.values() for verb in verbs]
    assert sorted(grouped) == sorted(command.VERBS)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("serv", "unknown verb 'serv'; did you mean 'serve'?", id="near"),
        pytest.param("xyz", "unknown verb 'xyz'; `pdoctor --help` lists the verbs", id="far"),
    ],
)
def test_a_word_that_is_nearly_a_verb_is_told_with_it(
    word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([word]) == command.USAGE_ERROR
    assert message in capsys.readouterr().err


def test_completion_knows_every_verb_its_parts_and_its_options() -> None:
    known = dict(words_by_place())
    assert set(known[""]) == {verb for verb in command.VERBS if command._exists(verb)}
    assert "from-run" in known["cases"]
    assert {"--filter", "--pytest", "--help"} <= set(known["cases from-run"])
    fish = CliRunner().invoke(completion, ["fish"]).output
    seen = "'__fish_seen_subcommand_from cases ; and __fish_seen_subcommand_from from-run'"
    assert f"complete -c pdoctor -n {seen} -l pytest" in fish


@pytest.mark.processes
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("pdoctor repl", "replay", id="verb"),
        pytest.param("pdoctor cases fr", "from-run", id="part"),
        pytest.param("pdoctor cases from-run abc --fil", "--filter", id="option"),
    ],
)
def test_bash_completes(line: str, expected: str) -> None:
    script = CliRunner().invoke(completion, ["bash"]).output
    words = " ".join(f"'{word}'" for word in line.split())
    ask = f"COMP_WORDS=({words}); COMP_CWORD={len(line.split()) - 1}; _pdoctor; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [expected], done.stderr
