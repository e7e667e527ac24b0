"""`pdoctor games`: tables of players, ours and the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.games import command


def games(*arguments: Any) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)))


def test_a_good_player_wins_and_ends_with_0() -> None:
    result = games("mastermind", "--games", 2, "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["table"]["success_rate"], said["table"]["progress_rate"]) == (0, 1, 1)
    assert [row["seed"] for row in said["games"]] == [0, 1]
    assert said["table"]["steps"] == sum(row["steps"] for row in said["games"]) / 2


def test_one_that_repeats_itself_does_not_and_ends_with_1() -> None:
    result = games("mastermind", "--player", "repeating", "--games", 2, "--steps", 10, "--seed", 4)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("SR 0.00  Steps 10.00  PR10 0.")
    assert lines[-1].endswith("RR10 1.00")
    assert [line.split()[0] for line in lines[2:4]] == ["4", "5"]


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "pd_own_player.py").write_text(
        "def make(seed):\n    return lambda seen: f'{seed:04}'\n"
        "def crashes(seed):\n    return lambda seen: 1 / 0\n"
        "def none(seed):\n    return None\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return "pd_own_player"


def test_a_player_of_ones_own_is_made_for_each_game(player: str) -> None:
    said = json.loads(
        games("mastermind", "--player", f"{player}:make", "--games", 2, "--steps", 2, "--json").stdout
    )
    assert [row["actions"] for row in said["games"]] == [["0000"] * 2, ["0001"] * 2]


def test_a_player_that_crashes_has_a_row(player: str) -> None:
    result = games("mastermind", "--player", f"{player}:crashes", "--games", 1)
    assert result.exit_code == 1
    assert "the player crash" in result.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("perfect", "good, repeating, forgetting"),
        ("pd_own_player:nobody", "cannot be loaded"),
        ("pd_no_such_module:make", "cannot be loaded"),
        ("pd_own_player:none", "gives no function but NoneType"),
    ],
    ids=["name", "function", "module", "nothing"],
)
def test_a_player_that_is_none_is_named(player: str, name: str, message: str) -> None:
    result = games("mastermind", "--player", name, "--games", 1)
    assert (result.exit_code, message in result.stderr) == (2, True)
