"""What is sent with each request to a model, as the verbs that drive agents take it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from collector.cli.driving import Setup, drawn, driving_options
from synth.errors import BadInput
from synth.experiments.harness import Options


def taken(*arguments: str) -> tuple[object, str]:
    """The settings that a verb gets, and what it says where it refuses."""
    found: list[Setup] = []

    @click.command()
    @driving_options
    def verb(**settings: object) -> None:
        found.append(Setup.take(settings))

    said = CliRunner().invoke(verb, arguments)
    return (found[0].temperature, found[0].params) if found else None, said.output


def test_a_temperature_is_a_number_or_not_sent() -> None:
    assert taken()[0] == (0.0, {})
    assert taken("--temperature", "0.7")[0] == (0.7, {})
    assert taken("--temperature", "None")[0] == (None, {})
    for none in ("warm", "nan", "inf"):
        assert "expected a number, or none" in taken("--temperature", none)[1]


@pytest.mark.parametrize(
    ("said", "value"),
    [("seed=7", 7), ("reasoning_effort=low", "low"), ('stop=["a", "b=c"]', ["a", "b=c"]), ("x=null", None)],
    ids=["number", "text", "list", "null"],
)
def test_parameters_are_json_or_text(said: str, value: object) -> None:
    assert taken("--param", said)[0] == (0.0, {said.partition("=")[0]: value})


def test_a_parameter_needs_a_name_and_a_value() -> None:
    assert "expected KEY=JSON, as in seed=7" in taken("--param", "seed")[1]
    assert "expected KEY=JSON, as in seed=7" in taken("--param", "=7")[1]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((), None),
        (("--role",), "You are {role}."),
        (("--system", "FILE"), "Keep the rules."),
        (("--system", "FILE", "--role"), "You are {role}.\n\nKeep the rules."),
    ],
    ids=["neither", "role", "file", "both"],
)
def test_options_make_the_prompt(given: tuple[str, ...], told: str | None, tmp_path: Path) -> None:
    file = tmp_path / "system.txt"
    file.write_text("\nKeep the rules.\n")

    @click.command()
    @driving_options
    def verb(**settings: Any) -> Setup:
        return Setup.take(settings)

    made = verb.main([str(file) if one == "FILE" else one for one in given], standalone_mode=False)
    assert made.told == told
    assert made.prompt == ({} if told is None else {"system": told})
    file.write_text(" ")
    with pytest.raises(click.BadParameter, match="this file is empty"):
        verb.main(["--system", str(file)], standalone_mode=False)


@pytest.mark.parametrize(
    ("given", "apart"),
    [
        ((), {}),
        (("--temperature", "0.0", "--max-iterations", "50", "--parallel", "7", "--name", "x"), {}),
        (("--temperature", "none"), {"temperature": None}),
        (("--temperature", "1"), {"temperature": 1.0}),
        (("--param", "seed=7"), {"params": {"seed": 7}}),
        (("--max-iterations", "9", "--agent-timeout", "5"), {"max_iterations": 9, "agent_timeout": 5.0}),
        (("--role",), {"system": "You are {role}."}),
    ],
)
def test_agents_that_are_driven_otherwise_are_another_campaign_s(
    given: tuple[str, ...], apart: dict[str, object]
) -> None:
    @click.command()
    @driving_options
    def verb(**settings: Any) -> Setup:
        return Setup.take(settings)

    assert verb.main(list(given), standalone_mode=False).apart == apart


def test_where_no_option_is_given_agents_are_driven_as_by_the_harness_alone() -> None:
    usual, alone = Setup.usual(), Options()
    assert (usual.temperature, usual.params) == (alone.temperature, alone.params)
    assert (usual.agent_timeout, usual.max_iterations) == (alone.timeout, alone.max_iterations)


def test_a_star_names_every_planner_with_what_stands_behind_it() -> None:
    plain, heeding = (replace(Setup.usual(), model=f"simulated-*{more}") for more in ("", "+always:3"))
    assert len(plain.models) > 10
    assert heeding.models == tuple(f"{model}+always:3" for model in plain.models)
    heeding.check_model()
    assert replace(plain, model="simulated-swaps,other").models == ("simulated-swaps", "other")


def test_a_file_without_a_case_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("\n")
    with pytest.raises(BadInput, match="no case to run: the file is empty"):
        drawn(str(tmp_path / "none.jsonl"), {})
