"""Games against an independent reading of their rules; players of every kind have a row."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from synth.errors import BadInput
from synth.games import GAMES, REFERENCES, Action, Driver, Observation, play, reference, table
from synth.games.mastermind import Mastermind
from synth.games.sudoku import Sudoku, solutions


def pegs(guess: str, goal: str) -> tuple[int, int]:
    """By taking pegs out one by one."""
    left, rest, placed = list(goal), [], 0
    for at, digit in enumerate(guess):
        if goal[at] == digit:
            placed += 1
            left.remove(digit)
        else:
            rest.append(digit)
    elsewhere = 0
    for digit in rest:
        if digit in left:
            left.remove(digit)
            elsewhere += 1
    return placed, elsewhere


def test_mastermind_by_hand() -> None:
    game = Mastermind("5618")
    assert "4 digits" in game.reset().text
    assert (game.progress, game.state) == (0, {"goal": "5618", "guess": None})
    assert game.step(Action("5681")).text == "2 in place, 2 elsewhere."
    assert game.progress == 2 / 4
    assert game.step(Action("5618")) == Observation("4 in place, 0 elsewhere.", done=True, success=True)
    game.reset()
    assert game.progress == 0


def test_thousand_random_games_of_mastermind_keep_the_rules() -> None:
    rng = random.Random(5)
    for seed in range(1000):
        game = Mastermind.drawn(seed)
        game.reset()
        for _ in range(5):
            guess = "".join(rng.choices("0123456789", k=4))
            placed, elsewhere = pegs(guess, game.goal)
            assert game.step(Action(guess)).text == f"{placed} in place, {elsewhere} elsewhere."
            assert game.progress == placed / 4


@pytest.mark.parametrize("action", ["", "123", "12345", "12a4", "\uff11234", " 1234", "1234\n", "²²²²"])
def test_what_is_no_guess_is_told_and_changes_nothing(action: str) -> None:
    game = Mastermind("5618")
    game.step(Action("5600"))
    assert game.step(Action(action)).text.startswith("Not allowed")
    assert game.progress == 0.5


def complete(grid: tuple[str, ...]) -> bool:
    """Every row, column and box is the nine digits."""
    columns = ["".join(row[c] for row in grid) for c in range(9)]
    boxes = ["".join(grid[r + i][c : c + 3] for i in range(3)) for r in (0, 3, 6) for c in (0, 3, 6)]
    return all(sorted(part) == list("123456789") for part in [*grid, *columns, *boxes])


def test_sudokus_are_right_and_have_one_solution() -> None:
    for seed in range(5):
        game = Sudoku.drawn(seed)
        assert complete(game.goal)
        assert sum(row.count("*") for row in game.given) == 40
        assert all(a in ("*", b) for a, b in zip("".join(game.given), "".join(game.goal), strict=True))
        assert solutions(list(game.given), 2) == [game.goal]


def test_a_grid_with_several_solutions_shows_them() -> None:
    assert len(solutions(["*" * 9] * 9, 3)) == 3


def test_thousand_random_moves_of_sudoku_keep_the_rules() -> None:
    rng = random.Random(2)
    for seed in range(5):
        game = Sudoku.drawn(seed)
        game.reset()
        grid = [list(row) for row in game.given]
        for _ in range(200):
            r, c, digit = rng.randrange(9), rng.randrange(9), str(rng.randint(1, 9))
            peers = {(r, k) for k in range(9)} | {(k, c) for k in range(9)}
            peers |= {(i, j) for i in range(9) for j in range(9) if (i // 3, j // 3) == (r // 3, c // 3)}
            allowed = game.given[r][c] == "*" and all(grid[i][j] != digit for i, j in peers - {(r, c)})
            seen = game.step(Action(rng.choice([f"{r} {c} {digit}", f"[{r}, {c}, {digit}]"])))
            if allowed:
                grid[r][c] = digit
            assert seen.text.startswith("Not allowed") is not allowed
            assert seen.text.endswith("\n".join(map("".join, grid)))
            right = sum(grid[i][j] == game.goal[i][j] for i in range(9) for j in range(9))
            assert game.progress == right / 81


@pytest.mark.parametrize(
    "action", ["", "0 4", "9 0 1", "0 9 1", "0 0 0", "0 0 10", "a b c", "\u0660 \u0660 \u0661"]
)
def test_what_is_no_move_is_told_and_changes_nothing(action: str) -> None:
    game = Sudoku.drawn(1)
    before = game.progress
    assert game.step(Action(action)).text.startswith("Not allowed: a move is")
    assert game.progress == before


PLANNED = {
    ("mastermind", "good"): (1.0, 1.0, 0.0),
    ("mastermind", "repeating"): (0.0, None, 1.0),
    ("mastermind", "forgetting"): (None, None, None),
    ("sudoku", "good"): (1.0, 1.0, 0.0),
    ("sudoku", "repeating"): (0.0, None, 1.0),
    ("sudoku", "forgetting"): (0.0, None, None),
}
"""(SR, PR60, RR60) of each reference player, where it is one number."""


@pytest.mark.parametrize(("game", "name"), list(REFERENCES), ids=map("-".join, REFERENCES))
def test_reference_players_play_as_planned(game: str, name: str) -> None:
    rows = [play(game, GAMES[game](seed), reference(game, name, seed), seed=seed) for seed in range(3)]
    total = table(rows)
    found = (total.success_rate, total.progress_rate, total.repetition_rate)
    assert all(want in (None, has) for want, has in zip(PLANNED[game, name], found, strict=True)), found  # type: ignore[index]
    assert total.trouble == 0
    assert total.success_rate < 1 or total.steps == total.steps_to_success
    if name == "forgetting":
        good = table([play(game, GAMES[game](s), reference(game, "good", s)) for s in range(3)])
        assert total.repetition_rate > good.repetition_rate
        assert total.steps > good.steps
    if game == "sudoku" and name == "good":
        assert total.steps == 40


def test_a_game_that_is_not_finished_has_its_steps_and_rates() -> None:
    row = play("mastermind", Mastermind("5618"), lambda seen: "5600", steps=5)
    assert (row.success, row.actions, row.trouble) == (False, ("5600",) * 5, None)
    assert row.progress == (0.5,) * 5
    assert row.repetition == (0, 0.25, 0.5, 0.75, 1)


def test_rates_are_of_all_steps_that_were_given() -> None:
    guesses = iter(["1234", "1234", "5618"])
    row = play("mastermind", Mastermind("5618"), lambda seen: next(guesses), steps=60)
    assert row.to_json() == {
        "game": "mastermind", "seed": 0, "success": True, "steps": 3, "progress_rate": 1.0,
        "repetition_rate": 1 / 59, "trouble": None, "actions": ["1234", "1234", "5618"],
        "progress": [0.0, 0.0, 1.0], "repetition": [0.0, 1 / 59, 1 / 59],
    }  # fmt: skip


def quits(seen: str) -> str:
    raise SystemExit("enough")


def hangs(seen: str) -> str:
    threading.Event().wait()
    return ""


@pytest.mark.parametrize(
    ("player", "trouble"),
    [
        (lambda seen: 1 // 0, "crashed: ZeroDivisionError"),
        (quits, "crashed: SystemExit: enough"),
        (hangs, "no answer after 0.1 s"),
        (lambda seen: 1234, "no text but int"),
    ],
    ids=["crash", "exit", "hang", "number"],
)
def test_players_in_trouble_have_a_row(player: Any, trouble: str) -> None:
    row = play("mastermind", Mastermind("5618"), player, patience=0.1)
    assert trouble in (row.trouble or "")
    assert row.to_json()["progress_rate"] == row.to_json()["repetition_rate"] == 0
    total = table([row])
    assert (total.trouble, total.success_rate, total.steps_to_success) == (1, 0, None)


def test_illegal_actions_are_steps_like_others() -> None:
    row = play("sudoku", Sudoku.drawn(0), lambda seen: "\ud800", steps=3)
    assert (len(row.actions), row.trouble, row.repetition[-1]) == (3, None, 1)
    assert row.to_json()["actions"] == ["\\ud800"] * 3


def test_a_driver_of_ones_own_can_be_played() -> None:
    class Counting:
        """Won after three steps."""

        state = 0

        def reset(self) -> Observation:
            self.state = 0
            return Observation("go")

        def step(self, action: Action) -> Observation:
            self.state += 1
            return Observation(action.text, done=self.state == 3, success=self.state == 3)

        @property
        def progress(self) -> float:
            return self.state / 3

    driver: Driver = Counting()
    assert play("counting", driver, lambda seen: seen + "!").actions == ("go!", "go!!", "go!!!")


def test_bad_names_and_empty_tables_are_named() -> None:
    with pytest.raises(BadInput, match="good, repeating, forgetting"):
        reference("sudoku", "perfect", 0)
    with pytest.raises(BadInput, match="at least one game"):
        table([])
