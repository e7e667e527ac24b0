"""Sudoku: fill a grid of which some cells are given; each has one solution."""

from __future__ import annotations

import random
import re

from synth.games.model import Action, Observation

SIZE = 9
EMPTY = "*"
BLANKS = 40
RULES = (
    "Fill the grid so that each row, column and box of 3 by 3 has each digit from 1 to 9 once. * is an empty "
    "cell. Answer with row, column (from 0 to 8) and digit, like: 0 4 7"
)
_MOVE = re.compile(r"\s*\[?\s*([0-8])[\s,]+([0-8])[\s,]+([1-9])\s*\]?\s*", re.ASCII)


class Sudoku:
    """A game with one puzzle; progress is the right cells / 81, given ones too."""

    def __init__(self, given: tuple[str, ...], goal: tuple[str, ...]) -> None:
        """Rows of nine characters each."""
        self.given, self.goal = given, goal
        self._rows = [list(row) for row in given]

    @classmethod
    def drawn(cls, seed: int, blanks: int = BLANKS) -> Sudoku:
        """The puzzle of a seed: at most `blanks` cells are empty, and its solution is the only one."""
        rng = random.Random(seed)
        goal = _shuffled(rng)
        rows = [list(row) for row in goal]
        cells = [(r, c) for r in range(SIZE) for c in range(SIZE)]
        rng.shuffle(cells)
        for r, c in cells:
            if blanks == 0:
                break
            kept, rows[r][c] = rows[r][c], EMPTY
            if len(solutions(["".join(row) for row in rows], 2)) == 1:
                blanks -= 1
            else:
                rows[r][c] = kept
        return cls(tuple("".join(row) for row in rows), goal)

    def reset(self) -> Observation:
        """The rules and the puzzle."""
        self._rows = [list(row) for row in self.given]
        return Observation(f"{RULES}\n{self._shown}")

    def step(self, action: Action) -> Observation:
        """The grid after a move."""
        move = _MOVE.fullmatch(action.text)
        if move is None:
            return Observation(f"Not allowed: a move is row, column and digit, like: 0 4 7\n{self._shown}")
        r, c, digit = int(move[1]), int(move[2]), move[3]
        if self.given[r][c] != EMPTY:
            return Observation(f"Not allowed: the cell {r} {c} is given.\n{self._shown}")
        if digit in _seen_by(self._rows, r, c):
            return Observation(
                f"Not allowed: {digit} stands in the row, column or box of {r} {c}.\n{self._shown}"
            )
        self._rows[r][c] = digit
        won = self._shown == "\n".join(self.goal)
        return Observation(self._shown, done=won, success=won)

    @property
    def _shown(self) -> str:
        return "\n".join(map("".join, self._rows))

    @property
    def state(self) -> dict[str, list[str]]:
        """The solution and the grid."""
        return {"goal": list(self.goal), "grid": self._shown.split("\n")}

    @property
    def progress(self) -> float:
        """Right cells / 81."""
        right = sum(a == b for a, b in zip(self._shown, "\n".join(self.goal), strict=True))
        return (right - (SIZE - 1)) / SIZE**2


def solutions(given: list[str], most: int) -> list[tuple[str, ...]]:
    """Up to `most` ways to fill a grid; the cell with the fewest possible digits is tried first."""
    rows, found = [list(row) for row in given], []

    def fill() -> None:
        best: tuple[int, int, set[str]] | None = None
        for r in range(SIZE):
            for c in range(SIZE):
                if rows[r][c] == EMPTY:
                    fits = set("123456789") - _seen_by(rows, r, c)
                    if best is None or len(fits) < len(best[2]):
                        best = (r, c, fits)
        if best is None:
            found.append(tuple("".join(row) for row in rows))
            return
        r, c, fits = best
        for digit in sorted(fits):
            rows[r][c] = digit
            fill()
            rows[r][c] = EMPTY
            if len(found) == most:
                return

    fill()
    return found


def _seen_by(rows: list[list[str]], r: int, c: int) -> set[str]:
    """What stands in the row, column and box of a cell, itself left out."""
    top, left = r - r % 3, c - c % 3
    seen = {rows[r][k] for k in range(SIZE) if k != c} | {rows[k][c] for k in range(SIZE) if k != r}
    seen |= {rows[i][j] for i in range(top, top + 3) for j in range(left, left + 3) if (i, j) != (r, c)}
    return seen


def _shuffled(rng: random.Random) -> tuple[str, ...]:
    """A filled grid: the plain pattern with digits, bands, rows, stacks and columns exchanged."""
    digits = rng.sample("123456789", SIZE)
    rows, columns = (
        [3 * band + line for band in rng.sample(range(3), 3) for line in rng.sample(range(3), 3)]
        for _ in range(2)
    )
    return tuple("".join(digits[(3 * (r % 3) + r // 3 + c) % SIZE] for c in columns) for r in rows)
