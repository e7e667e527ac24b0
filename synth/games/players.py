"""Reference players, with tables known beforehand: a good one, one that repeats itself, one that forgets.

Each is a function of what was seen, so a model that is asked anew for every step can play it too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import Literal, get_args

from synth.errors import BadInput
from synth.games import lateral, mastermind, sudoku
from synth.games.mastermind import DIGITS, LENGTH, compared
from synth.games.memory import recalled, without_memory
from synth.games.model import Player, Strategy, Turn
from synth.games.sudoku import EMPTY, SIZE, solutions

Reference = Literal["good", "repeating", "forgetting"]


def reference(game: str, name: str, seed: int) -> Player:
    """A reference player. BadInput for another name, or a game that has none."""
    strategy = STRATEGIES.get(game, {}).get(name)
    if strategy is None and game in STRATEGIES:
        known = ", ".join(get_args(Reference))
        raise BadInput(f"there is no reference player {name!r}; there are {known}", field="player")
    if strategy is None:
        raise BadInput(f"{game} has no reference players; give an agent, or module:function", field="player")
    return as_player(strategy, seed)


def as_player(strategy: Strategy, seed: int) -> Player:
    """A strategy that remembers the turns of one game."""
    first: str | None = None
    turns: list[Turn] = []
    action = ""

    def play(seen: str) -> str:
        nonlocal first, action
        if first is None:
            first = seen
        else:
            turns.append(Turn(action, seen))
        action = strategy(seed, first, turns)
        return action

    return play


def game_in(text: str) -> str | None:
    """Which game a text tells the rules of, of those with reference players."""
    return next((game for game, rules in _RULES.items() if rules in text), None)


def _known(turns: Sequence[Turn], forgets: bool) -> tuple[Turn, ...]:
    """What a player knows: all turns, or, when it forgets, the last one and what that recalls."""
    told = recalled(turns[-1].seen) if turns else ()
    seen = turns[-1:] if forgets else turns
    return (*told, *(Turn(turn.action, without_memory(turn.seen)) for turn in seen))


# ---------------------------------------------------------------- strategies


def guesser(forgets: bool = False) -> Strategy:
    """Mastermind: guesses a code that fits the answers it knows."""

    def guess(seed: int, first: str, turns: Sequence[Turn]) -> str:
        known = {
            turn.action: (int(told[1]), int(told[2]))
            for turn in _known(turns, forgets)
            if (told := re.match(r"(\d) in place, (\d)", turn.seen))
        }
        return next(
            code for code in _codes(seed) if all(compared(code, old) == told for old, told in known.items())
        )

    return guess


@lru_cache(8)
def _codes(seed: int) -> tuple[str, ...]:
    codes = ["".join(code) for code in product(DIGITS, repeat=LENGTH)]
    random.Random(seed).shuffle(codes)
    return tuple(codes)


def ticking_off(moves_of: Callable[[str], tuple[str, ...]], forgets: bool = False) -> Strategy:
    """Knows the moves that win from what is seen first; when it forgets, takes any that it does not know
    to have made."""

    def play(seed: int, first: str, turns: Sequence[Turn]) -> str:
        done = {turn.action for turn in _known(turns, forgets)}
        left = [move for move in moves_of(first) if move not in done] or [*moves_of(first), "?"]
        return random.Random(f"{seed} {len(turns)}").choice(left) if forgets else left[0]

    return play


@lru_cache(64)
def fillings(first: str) -> tuple[str, ...]:
    """The moves that fill in the Sudoku that a text shows; none where it shows none."""
    rows = re.findall(rf"^[1-9{re.escape(EMPTY)}]{{{SIZE}}}$", first, re.MULTILINE)[-SIZE:]
    if len(rows) < SIZE:
        return ()
    cells = [(r, c) for r in range(SIZE) for c in range(SIZE) if rows[r][c] == EMPTY]
    return tuple(f"{r} {c} {goal[r][c]}" for goal in solutions(rows, 1) for r, c in cells)


def repeater(action: str) -> Strategy:
    """The same action again and again."""
    return lambda seed, first, turns: action


STRATEGIES: dict[str, dict[str, Strategy]] = {
    "mastermind": {
        "good": guesser(), "repeating": repeater("0123"), "forgetting": guesser(forgets=True),
    },
    "sudoku": {
        "good": ticking_off(fillings), "repeating": repeater("0 0 1"),
        "forgetting": ticking_off(fillings, forgets=True),
    },
    "ltp": {
        "good": ticking_off(lateral.questions_for), "repeating": repeater("Is it about the weather?"),
        "forgetting": ticking_off(lateral.questions_for, forgets=True),
    },
}  # fmt: skip
_RULES = {"mastermind": mastermind.RULES, "sudoku": sudoku.RULES, "ltp": lateral.RULES}
