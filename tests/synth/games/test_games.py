"""Games against an independent reading of their rules; players of every kind have a row."""

from __future__ import annotations

import random
import re
import threading
from typing import Any

import pytest

from synth.errors import BadInput
from synth.games import (
    STRATEGIES,
    Action,
    Driver,
    Observation,
    Played,
    Table,
    Variant,
    play,
    reference,
    table,
    tables,
    variant_named,
)
from synth.games.lateral import Lateral, by_words, shipped
from synth.games.mastermind import Mastermind
from synth.games.sudoku import Sudoku, solutions
from tests.support.soak import soaks


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


MANY = pytest.mark.parametrize(
    "games", [20, pytest.param(1000 if soaks() else 150, marks=pytest.mark.heavy, id="many")]
)
"""Random games; `make soak` plays a thousand."""


@MANY
def test_random_games_of_mastermind_keep_the_rules(games: int) -> None:
    rng = random.Random(5)
    for seed in range(games):
        game = Mastermind.drawn(seed)
        game.reset()
        for _ in range(5):
            guess = "".join(rng.choices("0123456789", k=4))
            placed, elsewhere = pegs(guess, game.goal)
            seen = game.step(Action(guess))
            assert seen.text == f"{placed} in place, {elsewhere} elsewhere."
            assert seen.done is seen.success is (guess == game.goal)
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


def number_of_solutions(given: tuple[str, ...]) -> int:
    """0, 1 or 2 for more, by exact cover (Knuth's Algorithm X): nothing of the game's own solver."""
    places = [(r, c, d) for r in range(9) for c in range(9) for d in "123456789"]
    wanted: dict[tuple[object, ...], set[tuple[int, int, str]]] = {}
    covers = {
        (r, c, d): [("cell", r, c), ("row", r, d), ("column", c, d), ("box", r // 3, c // 3, d)]
        for r, c, d in places
    }
    for place, parts in covers.items():
        for part in parts:
            wanted.setdefault(part, set()).add(place)

    def choose(place: tuple[int, int, str]) -> list[tuple[tuple[object, ...], set[tuple[int, int, str]]]]:
        taken = []
        for part in covers[place]:
            for other in wanted[part]:
                for rest in covers[other]:
                    if rest != part and rest in wanted:
                        wanted[rest].discard(other)
            taken.append((part, wanted.pop(part)))
        return taken

    def undo(taken: list[tuple[tuple[object, ...], set[tuple[int, int, str]]]]) -> None:
        for part, others in reversed(taken):
            wanted[part] = others
            for other in others:
                for rest in covers[other]:
                    if rest != part and rest in wanted:
                        wanted[rest].add(other)

    def count() -> int:
        if not wanted:
            return 1
        part = min(wanted, key=lambda one: len(wanted[one]))
        found = 0
        for place in list(wanted[part]):
            taken = choose(place)
            found += count()
            undo(taken)
            if found > 1:
                break
        return found

    for r in range(9):
        for c in range(9):
            if given[r][c] != "*":
                choose((r, c, given[r][c]))
    return min(count(), 2)


@MANY
def test_random_games_of_sudoku_are_right_and_keep_the_rules(games: int) -> None:
    rng = random.Random(2)
    for seed in range(games):
        game = Sudoku.drawn(seed)
        assert complete(game.goal)
        assert sum(row.count("*") for row in game.given) == 40
        assert all(a in ("*", b) for a, b in zip("".join(game.given), "".join(game.goal), strict=True))
        assert number_of_solutions(game.given) == 1
        game.reset()
        grid = [list(row) for row in game.given]
        for _ in range(40):
            r, c, digit = rng.randrange(9), rng.randrange(9), str(rng.randint(1, 9))
            if rng.random() < 0.5:
                digit = game.goal[r][c]
            peers = {(r, k) for k in range(9)} | {(k, c) for k in range(9)}
            peers |= {(i, j) for i in range(9) for j in range(9) if (i // 3, j // 3) == (r // 3, c // 3)}
            allowed = game.given[r][c] == "*" and all(grid[i][j] != digit for i, j in peers - {(r, c)})
            seen = game.step(Action(rng.choice([f"{r} {c} {digit}", f"[{r}, {c}, {digit}]"])))
            if allowed:
                grid[r][c] = digit
            assert seen.text.startswith("Not allowed") is not allowed
            assert seen.text.endswith("\n".join(map("".join, grid)))
            right = sum(grid[i][j] == game.goal[i][j] for i in range(9) for j in range(9))
            assert (game.progress, seen.done) == (right / 81, right == 81)


def test_a_grid_with_several_solutions_shows_them() -> None:
    assert len(solutions(["*" * 9] * 9, 3)) == 3


def says(question: str, words: Any) -> bool:
    """Does a question say, for each entry, a word that begins so? By patterns, not by splitting."""
    return all(re.search(r"(?<!\w)(" + "|".join(begins) + ")", question.lower()) for begins in words)


@MANY
def test_random_games_of_lateral_thinking_keep_the_rules(games: int) -> None:
    rng = random.Random(3)
    spoken = sorted(
        {word for puzzle in shipped() for point in puzzle.points for word in point.question.split()}
    )
    begins = sorted({word for p in shipped() for fact in (*p.true, *p.false) for one in fact for word in one})
    for seed in range(games):
        game = Lateral.drawn(seed)
        puzzle, met = game.puzzle, set()
        assert game.reset().text.endswith(puzzle.story)
        for _ in range(10):
            question = " ".join(rng.choices([*spoken, *begins, "not", "isn't"], k=rng.randint(1, 6)))
            seen = game.step(Action(question))
            points = {at for at, point in enumerate(puzzle.points) if says(question, point.words)}
            if "not" in question.split() or "isn't" in question:
                points, wanted = set(), "Please ask without a negation."
            elif points:
                wanted = "Yes."
            elif any(says(question, fact) for fact in puzzle.false):
                wanted = "No."
            else:
                wanted = "Yes." if any(says(question, fact) for fact in puzzle.true) else "I cannot say."
            met |= points
            over = len(met) == len(puzzle.points)
            assert seen.text == (f"{wanted} {puzzle.solution}" if over else wanted)
            assert (seen.done, seen.success) == (over, over)
            assert game.progress == len(met) / len(puzzle.points)


def test_each_point_of_a_puzzle_is_met_by_its_own_question_alone() -> None:
    for puzzle in shipped():
        for at, point in enumerate(puzzle.points):
            assert by_words(puzzle, point.question).points == {at}, point.question


@pytest.mark.parametrize(
    "action", ["", "0 4", "9 0 1", "0 9 1", "0 0 0", "0 0 10", "a b c", "\u0660 \u0660 \u0661"]
)
def test_what_is_no_move_is_told_and_changes_nothing(action: str) -> None:
    game = Sudoku.drawn(1)
    before = game.progress
    assert game.step(Action(action)).text.startswith("Not allowed: a move is")
    assert game.progress == before


Plan = tuple[float | None, float | None, float | None, float | None]
PLANNED: dict[tuple[str, str], Plan] = {
    ("mastermind", "good"): (1, None, 1, 0),
    ("mastermind", "repeating"): (0, 60, None, 1),
    ("mastermind", "forgetting"): (0, 60, None, None),
    ("sudoku", "good"): (1, 40, 1, 0),
    ("sudoku", "repeating"): (0, 60, None, 1),
    ("sudoku", "forgetting"): (0, 60, None, None),
    ("ltp", "good"): (1, 10 / 3, 1, 0),
    ("ltp", "repeating"): (0, 60, 0, 1),
    ("ltp", "forgetting"): (1, None, 1, None),
}
"""(SR, Steps, PR60, RR60) of each reference player in games 3, 4 and 5, where it is known beforehand."""


def numbers(game: str, name: str) -> Table:
    variant = variant_named(game)
    seeds = (3, 4, 5)
    return table([
        play(variant, variant.driver(seed), reference(variant.game, name, seed), seed=seed, name=name)
        for seed in seeds
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("game", "name"), [(game, name) for game, players in STRATEGIES.items() for name in players]
)
def test_reference_players_play_as_planned(game: str, name: str) -> None:
    total = numbers(game, name)
    found = (total.success_rate, total.steps, total.progress_rate, total.repetition_rate)
    assert all(want in (None, has) for want, has in zip(PLANNED[game, name], found, strict=True)), found
    assert (total.trouble, total.games, total.game, total.player) == (0, 3, game, name)
    assert total.success_rate < 1 or total.steps == total.steps_to_success
    assert total.progress[-1] == total.progress_rate
    assert total.repetition[-1] == total.repetition_rate
    if name == "repeating":
        assert total.repetition == pytest.approx([step / 59 for step in range(60)])


@pytest.mark.parametrize("game", STRATEGIES)
def test_who_forgets_repeats_and_plays_as_well_as_any_with_memory(game: str) -> None:
    good, forgetting = numbers(game, "good"), numbers(game, "forgetting")
    assert (forgetting.repetition_rate, forgetting.steps) > (good.repetition_rate, good.steps)
    reminded, best = numbers(f"{game}+memory", "forgetting"), numbers(f"{game}+memory", "good")
    assert (reminded.success_rate, reminded.repetition_rate) == (1, 0)
    assert reminded.steps == best.steps == good.steps


def test_a_game_with_memory_recalls_each_action_once() -> None:
    driver = variant_named("mastermind+memory").driver(0)
    assert "so far" not in driver.reset().text
    driver.step(Action("1111"))
    driver.step(Action("11 11\nYour"))
    seen = driver.step(Action("1111"))
    assert seen.text.split("\n") == [
        "Your actions so far:",
        f"1111 -> {seen.text.rpartition(chr(10))[2]}",
        "11 11 Your -> Not allowed: a guess is 4 digits from 0 to 9 and nothing else.",
        "",
        seen.text.rpartition("\n")[2],
    ]
    assert driver.reset().text == Mastermind("0").reset().text
    assert driver.step(Action("x")).text.count("->") == 1


def test_variants_have_names() -> None:
    assert variant_named("ltp") == Variant("ltp", memory=False, steps=60)
    assert variant_named("ltp", 7).name == "ltp+7"
    longer = variant_named("sudoku+120+memory", 7)
    assert (longer, longer.name) == (Variant("sudoku", True, 120), "sudoku+memory+120")


@pytest.mark.parametrize(
    "name", ["chess", "", "ltp+", "ltp+0", "ltp+1+2", "ltp+memory+memory", "ltp+60 ", "ltp+9999999"]
)
def test_other_names_are_no_games(name: str) -> None:
    with pytest.raises(BadInput, match="there are mastermind, sudoku, ltp"):
        variant_named(name)


def test_a_game_that_is_not_finished_has_its_steps_and_rates() -> None:
    row = play(Variant("mastermind", steps=5), Mastermind("5618"), lambda seen: "5600")
    assert (row.success, row.actions, row.trouble) == (False, ("5600",) * 5, None)
    assert row.progress == (0.5,) * 5
    assert row.repetition == (0, 0.25, 0.5, 0.75, 1)


def test_rates_are_of_all_steps_that_were_given() -> None:
    guesses = iter(["1234", "1234", "5618"])
    row = play(variant_named("mastermind"), Mastermind("5618"), lambda seen: next(guesses), name="me")
    assert row.to_json() == {
        "game": "mastermind", "player": "me", "seed": 0, "success": True, "steps": 3, "given": 60,
        "seconds": row.seconds, "progress_rate": 1.0, "repetition_rate": 1 / 59, "trouble": None,
        "run_id": None, "actions": ["1234", "1234", "5618"], "progress": [0.0, 0.0, 1.0],
        "repeated": [False, True, False], "repetition": [0.0, 1 / 59, 1 / 59], "tokens": None,
    }  # fmt: skip
    assert 0 < row.seconds < 60


def rowed(name: str, curve: tuple[float, ...], success: bool, seconds: float = 1.0) -> Played:
    again = (False, *[True] * len(curve))[: len(curve)]
    rates = tuple(step / 3 for step in range(len(curve)))
    return Played(name, "me", 0, 4, success, ("a",) * len(curve), seconds, curve, again, rates)


def test_tables_are_means_and_games_that_are_over_keep_their_rates() -> None:
    one, other, none = (
        rowed("x", (0.5, 1.0), True, 3.0),
        rowed("x", (0.0, 0.2, 0.4, 0.6), False),
        rowed("y", (), False),
    )
    first, second = tables([one, none, other])
    assert (first.game, first.games, first.success_rate, first.steps) == ("x", 2, 0.5, 3)
    assert (first.steps_to_success, first.seconds_to_success) == (2, 3.0)
    assert (first.progress_rate, first.repetition_rate) == (0.8, pytest.approx(2 / 3))
    assert first.progress == pytest.approx((0.25, 0.6, 0.7, 0.8))
    assert first.repetition == pytest.approx((0, 1 / 3, 1 / 2, 2 / 3))
    assert (second.progress_rate, second.repetition_rate, second.progress) == (0, 0, (0, 0, 0, 0))
    assert (second.steps_to_success, second.seconds_to_success) == (None, None)


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
    row = play(variant_named("mastermind"), Mastermind("5618"), player, patience=0.1)
    assert trouble in (row.trouble or "")
    assert row.to_json()["progress_rate"] == row.to_json()["repetition_rate"] == 0
    total = table([row])
    assert (total.trouble, total.success_rate, total.steps_to_success) == (1, 0, None)


def test_illegal_actions_are_steps_like_others() -> None:
    row = play(Variant("sudoku", steps=3), Sudoku.drawn(0), lambda seen: "\ud800")
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
    row = play(Variant("counting"), driver, lambda seen: seen + "!")
    assert (row.actions, row.success) == (("go!", "go!!", "go!!!"), True)


class Broken:
    """Fails in one of its methods, in its second step."""

    def __init__(self, where: str) -> None:
        self.where, self.steps = where, 0

    def reset(self) -> Observation:
        if self.where == "reset":
            raise OSError("no disk")
        return Observation("go")

    def step(self, action: Action) -> Observation:
        self.steps += 1
        if self.where == "step" and self.steps == 2:
            raise KeyError("lost")
        return Observation("on")

    @property
    def state(self) -> object:
        return None

    @property
    def progress(self) -> Any:
        return (
            {"nan": float("nan"), "text": "0.5", "beyond": 1.5}.get(self.where, 0.5) if self.steps > 1 else 0
        )


@pytest.mark.parametrize(
    ("where", "said", "steps"),
    [
        ("reset", "OSError: no disk", 0),
        ("step", "KeyError: 'lost'", 1),
        ("nan", "from 0 to 1, not nan", 1),
        ("text", "not '0.5'", 1),
        ("beyond", "not 1.5", 1),
    ],
)
def test_a_game_that_fails_has_a_row(where: str, said: str, steps: int) -> None:
    row = play(Variant("broken", steps=5), Broken(where), lambda seen: "a")
    assert "the game failed" in (row.trouble or "")
    assert said in (row.trouble or "")
    assert (len(row.actions), row.success) == (steps, False)


def test_bad_names_and_empty_tables_are_named() -> None:
    with pytest.raises(BadInput, match="good, repeating, forgetting"):
        reference("sudoku", "perfect", 0)
    with pytest.raises(BadInput, match="gaia has no reference players"):
        reference("gaia", "good", 0)
    with pytest.raises(BadInput, match="at least one game"):
        table([])
