"""`pdoctor games`: tables of players, ours and the user's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.games import command, labels
from synth.experiments import plots


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


def test_several_games_and_players_are_one_table() -> None:
    result = games("mastermind", "mastermind+memory+5", "--player", "good,forgetting", "--games", 2)
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0].split() == ["game", "player", "games", "SR", "Steps", "to", "win", "PR", "RR", "trouble"]
    rows = [line.split() for line in lines[2:6]]
    assert [row[:3] for row in rows] == [
        ["mastermind", "good", "2"], ["mastermind", "forgetting", "2"],
        ["mastermind+memory+5", "good", "2"], ["mastermind+memory+5", "forgetting", "2"],
    ]  # fmt: skip
    assert rows[0][3:] == ["1.00", "6.50", "6.50", "1.00", "0.00", "0"]
    assert rows[1][3:6] == ["0.00", "60.00", "-"]
    assert rows[2][3:] == rows[3][3:]
    assert lines[-4].split()[:2] == ["mastermind", "good"]
    assert lines[-3].endswith("█")


def test_agents_and_models_are_told_apart_by_what_differs() -> None:
    assert labels(["a m", "a n"]) == {"a m": "m", "a n": "n"}
    assert labels(["a m", "b m"]) == {"a m": "a", "b m": "b"}
    assert labels(["a m", "b n"]) == {"a m": "a m", "b n": "b n"}
    assert labels(["good", "a m"]) == {"good": "good", "a m": "a m"}


def test_repeated_actions_are_drawn() -> None:
    lines = games(
        "ltp", "--player", "repeating", "--games", 2, "--steps", 5, "--repeated"
    ).stdout.splitlines()
    assert lines[:3] == ["ltp+5 repeating 0: .####", "ltp+5 repeating 1: .####", ""]


def test_one_player_tells_when_it_won() -> None:
    last = games("ltp", "--games", 2).stdout.splitlines()[-1]
    assert last.startswith("SR 1.00  Steps 3.00 (3.00 steps, 0.")
    assert last.endswith("s where won)  PR60 1.00  RR60 0.00")


@pytest.mark.processes
def test_a_report_has_table_curves_and_pictures(tmp_path: Path) -> None:
    page = tmp_path / "games.html"
    result = games("ltp+memory", "--player", "repeating", "--games", 2, "--steps", 6, "-o", page)
    text = page.read_text()
    assert text.count("<img") == 2
    assert len(list(tmp_path.glob("*.png"))) == 2
    assert "repeating at ltp+memory+6, game 0: not won after 6 steps, progress 0.00, repetition 1.00" in text
    assert 'id="table3"' in text
    assert re.search(r"<td>ltp\+memory\+6</td><td>repeating</td><td class=.number.>2</td>", text)
    assert re.search(
        r"repeating</td><td class=.number.>6</td><td class=.number.>0.000</td><td[^>]*>1.000", text
    )
    assert "<td>Is it about the weather?</td><td>repeated</td>" in text
    assert f"written: {page}" in result.stderr


@pytest.mark.processes
def test_pictures_have_a_cell_for_each_action_and_two_lines_for_each_player() -> None:
    (cells,) = plots.repeated_figure([("g", [False, True, True]), ("h", [False])], 5, "t").axes
    assert [len(one.get_paths()) for one in cells.collections] == [1, 2, 1, 0]
    (lines,) = plots.rates_figure([("p", [0.0, 0.5], [0.0, 1.0])], "t").axes
    assert [list(line.get_ydata()) for line in lines.lines] == [[0.0, 0.5], [0.0, 1.0]]  # type: ignore[call-overload]
    assert [line.get_label() for line in lines.lines] == ["p: progress", "p: repetition"]


def test_names_of_games_and_models_are_checked_before_anybody_plays() -> None:
    for arguments, said in [
        (("chess",), "'chess' is no game"),
        (("ltp", "--data", "/nowhere"), "cannot read the puzzles"),
        (("ltp", "--agent", "raw-loop", "--model", "simulated-nobody"), "unknown model"),
    ]:
        result = games(*arguments)
        assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


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
