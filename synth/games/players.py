"""Reference players, with tables known beforehand: a good one, one that repeats itself, one that forgets."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import product

from synth.games.mastermind import DIGITS, LENGTH, compared
from synth.games.sudoku import EMPTY, SIZE, solutions

Player = Callable[[str], str]
"""Is told what there is to see, and answers with an action. One is made for each game."""


def guesser(seed: int, memory: int | None = None) -> Player:
    """Mastermind: guesses a code that fits the last `memory` answers, or all of them."""
    codes = ["".join(code) for code in product(DIGITS, repeat=LENGTH)]
    random.Random(seed).shuffle(codes)
    answers: list[tuple[str, tuple[int, int]]] = []
    guess = ""

    def play(seen: str) -> str:
        nonlocal guess
        if told := re.match(r"(\d) in place, (\d)", seen):
            answers.append((guess, (int(told[1]), int(told[2]))))
        known = answers if memory is None else answers[-memory:]
        guess = next(code for code in codes if all(compared(code, old) == told for old, told in known))
        return guess

    return play


def filler(seed: int, memory: bool = True) -> Player:
    """Sudoku: fills in the solution cell by cell; without memory any cell of it, filled before or not."""
    rng = random.Random(seed)
    moves: list[str] = []

    def play(seen: str) -> str:
        grid = seen.split("\n")[-SIZE:]
        if not moves:
            goal = solutions(grid, 1)[0]
            empty = [(r, c) for r in range(SIZE) for c in range(SIZE) if grid[r][c] == EMPTY]
            moves.extend(f"{r} {c} {goal[r][c]}" for r, c in empty)
        return moves.pop(0) if memory else rng.choice(moves)

    return play


def repeater(action: str) -> Player:
    """The same action again and again."""
    return lambda seen: action
