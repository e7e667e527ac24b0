"""Mastermind: guess a hidden code from how many of its digits are right."""

from __future__ import annotations

import random
from collections import Counter

from synth.games.model import Action, Observation

DIGITS = "0123456789"
LENGTH = 4
RULES = (
    f"Guess a code of {LENGTH} digits from 0 to 9; digits may occur several times. Answer with {LENGTH} "
    "digits and nothing else."
)


class Mastermind:
    """A game with one hidden code; progress is the share of digits in place in the last guess."""

    def __init__(self, goal: str) -> None:
        self.goal = goal
        self._guess: str | None = None

    @classmethod
    def drawn(cls, seed: int) -> Mastermind:
        """The game of a seed."""
        return cls("".join(random.Random(seed).choices(DIGITS, k=LENGTH)))

    def reset(self) -> Observation:
        """The rules."""
        self._guess = None
        return Observation(RULES)

    def step(self, action: Action) -> Observation:
        """How good a guess is."""
        guess = action.text
        if len(guess) != LENGTH or not set(guess) <= set(DIGITS):
            return Observation(f"Not allowed: a guess is {LENGTH} digits from 0 to 9 and nothing else.")
        self._guess = guess
        placed, misplaced = compared(guess, self.goal)
        won = placed == LENGTH
        return Observation(f"{placed} in place, {misplaced} elsewhere.", done=won, success=won)

    @property
    def state(self) -> dict[str, str | None]:
        """The code and the last guess."""
        return {"goal": self.goal, "guess": self._guess}

    @property
    def progress(self) -> float:
        """Digits in place / digits."""
        return 0.0 if self._guess is None else compared(self._guess, self.goal)[0] / LENGTH


def compared(guess: str, goal: str) -> tuple[int, int]:
    """(right digits in place, right digits elsewhere)."""
    placed = sum(a == b for a, b in zip(guess, goal, strict=True))
    return placed, (Counter(guess) & Counter(goal)).total() - placed
