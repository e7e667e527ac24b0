"""Playing games: each has a row, whatever the player does; and the table over many (AgentQuest, Table 3)."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, get_args

from synth.errors import BadInput
from synth.games.mastermind import Mastermind
from synth.games.model import Action, Driver
from synth.games.players import Player, filler, guesser, repeater
from synth.games.sudoku import Sudoku
from synth.progress import repetition

Reference = Literal["good", "repeating", "forgetting"]
GAMES: dict[str, Callable[[int], Driver]] = {"mastermind": Mastermind.drawn, "sudoku": Sudoku.drawn}
"""Name -> the game of a seed."""
REFERENCES: dict[tuple[str, Reference], Callable[[int], Player]] = {
    ("mastermind", "good"): guesser,
    ("mastermind", "repeating"): lambda seed: repeater("0123"),
    ("mastermind", "forgetting"): lambda seed: guesser(seed, memory=1),
    ("sudoku", "good"): filler,
    ("sudoku", "repeating"): lambda seed: repeater("0 0 1"),
    ("sudoku", "forgetting"): lambda seed: filler(seed, memory=False),
}


@dataclass(frozen=True, slots=True)
class Played:
    """One game."""

    game: str
    seed: int
    success: bool
    actions: tuple[str, ...]
    progress: tuple[float, ...]
    """PR after each step."""
    repetition: tuple[float, ...]
    """RR after each step, of all steps that the player was given."""
    trouble: str | None = None
    """Why the player was not asked on: it crashed, took too long, or gave no text."""

    def to_json(self) -> dict[str, Any]:
        """The row of the game; halves of surrogate pairs are spelled out."""
        return {
            "game": self.game, "seed": self.seed, "success": self.success, "steps": len(self.actions),
            "progress_rate": (self.progress or (0.0,))[-1],
            "repetition_rate": (self.repetition or (0.0,))[-1],
            "trouble": None if self.trouble is None else _sendable(self.trouble),
            "actions": list(map(_sendable, self.actions)), "progress": list(self.progress),
            "repetition": list(self.repetition),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """Over several games, those with trouble included."""

    games: int
    success_rate: float
    steps: float
    """Mean, of all games."""
    steps_to_success: float | None
    """Mean, of the games that were won; None without one."""
    progress_rate: float
    """Mean PR after the last step: PR60 where 60 steps were given."""
    repetition_rate: float
    """Mean RR after the last step: RR60 where 60 steps were given."""
    trouble: int


def play(
    game: str, driver: Driver, player: Player, *, seed: int = 0, steps: int = 60, threshold: float = 1.0,
    patience: float = 60.0,
) -> Played:  # fmt: skip
    """Let a player play one game of at most `steps` steps, each of which it has `patience` seconds for."""
    seen = driver.reset()
    actions: list[str] = []
    progress: list[float] = []
    asked = _Asked(player)
    trouble = None
    while not seen.done and len(actions) < steps and trouble is None:
        answer, trouble = asked.for_action(seen.text, patience)
        if trouble is None:
            seen = driver.step(Action(answer))
            actions.append(answer)
            progress.append(driver.progress)
    asked.done()
    rates = repetition(actions, threshold=threshold).rates(steps)
    return Played(game, seed, seen.success, tuple(actions), tuple(progress), rates, trouble)


def table(rows: Sequence[Played]) -> Table:
    """The numbers over games. BadInput without one."""
    if not rows:
        raise BadInput("a table needs at least one game", field="games")
    won = [len(row.actions) for row in rows if row.success]
    return Table(
        len(rows),
        len(won) / len(rows),
        fmean(len(row.actions) for row in rows),
        fmean(won) if won else None,
        fmean((row.progress or (0.0,))[-1] for row in rows),
        fmean((row.repetition or (0.0,))[-1] for row in rows),
        sum(row.trouble is not None for row in rows),
    )


def reference(game: str, name: str, seed: int) -> Player:
    """A reference player. BadInput for another name."""
    for (of, kind), make in REFERENCES.items():
        if (of, kind) == (game, name):
            return make(seed)
    raise BadInput(f"there is no reference player {name!r}; there are {', '.join(get_args(Reference))}")


class _Asked:
    """A player in a thread of its own: one that hangs is left behind, and ends with the process."""

    def __init__(self, player: Player) -> None:
        self._questions: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, args=(player,), daemon=True, name="player").start()

    def for_action(self, seen: str, patience: float) -> tuple[str, str | None]:
        """(action, trouble)."""
        self._questions.put(seen)
        try:
            return self._answers.get(timeout=patience)
        except queue.Empty:
            return "", f"the player had no answer after {patience:g} s"

    def done(self) -> None:
        self._questions.put(None)

    def _run(self, player: Player) -> None:
        while (seen := self._questions.get()) is not None:
            self._answers.put(_answer(player, seen))


def _sendable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _answer(player: Player, seen: str) -> tuple[str, str | None]:
    try:
        answer: Any = player(seen)
    except BaseException as problem:
        return "", f"the player crashed: {type(problem).__name__}: {problem}"
    if not isinstance(answer, str):
        return "", f"the player gave no text but {type(answer).__name__}"
    return answer, None
