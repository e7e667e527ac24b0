"""Playing games: each has a row, whatever the player does; and the table over many (AgentQuest, Table 3)."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from synth.errors import BadInput
from synth.games.alfworld import Alfworld
from synth.games.gaia import Gaia
from synth.games.lateral import Lateral
from synth.games.mastermind import Mastermind
from synth.games.memory import Remembered
from synth.games.model import NOTHING, Driver, Player, Supplies
from synth.games.sitting import Move, Sitting, sendable
from synth.games.sudoku import Sudoku
from synth.progress import repetition

STEPS = 60
"""That a player is given, where nothing else is said (the paper's runtime)."""

GAMES: dict[str, Callable[[int, Supplies], Driver]] = {
    "mastermind": lambda seed, supplies: Mastermind.drawn(seed),
    "sudoku": lambda seed, supplies: Sudoku.drawn(seed),
    "ltp": Lateral.drawn,
    "alfworld": Alfworld.drawn,
    "gaia": Gaia.drawn,
}
"""Name -> the game of a seed. BadInput where it needs supplies that are not there."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A game as it is to be played: `mastermind`, `mastermind+memory`, `alfworld+120`."""

    game: str
    memory: bool = False
    """The player is told again what it did (the paper's Mastermind*)."""
    steps: int = STEPS
    """Given to the player (120 in the paper's ALFWorld*)."""

    @property
    def name(self) -> str:
        """As it is asked for."""
        memory = "+memory" if self.memory else ""
        return f"{self.game}{memory}{'' if self.steps == STEPS else f'+{self.steps}'}"

    def driver(self, seed: int, supplies: Supplies = NOTHING) -> Driver:
        """The game of a seed."""
        driver = GAMES[self.game](seed, supplies)
        return Remembered(driver) if self.memory else driver


def variant_named(name: str, steps: int = STEPS) -> Variant:
    """`GAME[+memory][+STEPS]`; without STEPS it has `steps`. BadInput for anything else."""
    game, *extras = name.split("+")
    numbers = [extra for extra in extras if re.fullmatch(r"[1-9][0-9]{0,5}", extra)]
    known = game in GAMES and len(numbers) < 2 and len(extras) == len(set(extras))
    if not known or set(extras) - {"memory", *numbers}:
        raise BadInput(
            f"{name!r} is no game; there are {', '.join(GAMES)}, each with +memory and +STEPS if wanted, "
            "as in mastermind+memory or sudoku+120",
            field="game",
        )
    return Variant(game, "memory" in extras, int(numbers[0]) if numbers else steps)


@dataclass(frozen=True, slots=True)
class Played:
    """One game."""

    game: str
    """The variant's name."""
    player: str
    seed: int
    steps: int
    """Given."""
    success: bool
    actions: tuple[str, ...]
    seconds: float
    """From the first look to the last step, or to the trouble."""
    progress: tuple[float, ...]
    """PR after each step."""
    repeated: tuple[bool, ...]
    """For each action: was it done before?"""
    repetition: tuple[float, ...]
    """RR after each step, of all steps that the player was given."""
    trouble: str | None = None
    """Why the player was not asked on: it crashed, took too long, or gave no text; or the game failed."""
    run_id: str | None = None
    """Of the run in the collector, where an agent was traced."""
    tokens: int | None = None
    """That the agent's model took; None where nobody told, or no agent played."""

    @property
    def progress_rate(self) -> float:
        """PR after the last step."""
        return (self.progress or (0.0,))[-1]

    @property
    def repetition_rate(self) -> float:
        """RR after the last step."""
        return (self.repetition or (0.0,))[-1]

    def to_json(self) -> dict[str, Any]:
        """The row of the game; halves of surrogate pairs are spelled out."""
        return {
            "game": self.game, "player": self.player, "seed": self.seed, "success": self.success,
            "steps": len(self.actions), "given": self.steps, "seconds": self.seconds,
            "progress_rate": self.progress_rate, "repetition_rate": self.repetition_rate,
            "trouble": None if self.trouble is None else sendable(self.trouble), "run_id": self.run_id,
            "tokens": self.tokens,
            "actions": list(map(sendable, self.actions)), "progress": list(self.progress),
            "repeated": list(self.repeated), "repetition": list(self.repetition),
        }  # fmt: skip


def played(
    variant: Variant, seed: int, moves: Sequence[Move], *, player: str = "", seconds: float = 0.0,
    trouble: str | None = None, threshold: float = 1.0, run_id: str | None = None,
    tokens: int | None = None,
) -> Played:  # fmt: skip
    """The row of a game from its moves."""
    actions = tuple(move.action for move in moves)
    found = repetition(actions, threshold=threshold)
    return Played(
        variant.name, player, seed, variant.steps, bool(moves) and moves[-1].seen.success, actions, seconds,
        tuple(move.progress for move in moves), found.repeated, found.rates(variant.steps), trouble, run_id,
        tokens,
    )  # fmt: skip


def play(
    variant: Variant, driver: Driver, player: Player, *, seed: int = 0, name: str = "",
    threshold: float = 1.0, patience: float = 60.0,
) -> Played:  # fmt: skip
    """Let a player play one game, each step of which it has `patience` seconds for."""
    began = time.monotonic()
    sitting, asked, trouble = Sitting(driver, variant.steps), _Asked(player), None
    while not sitting.is_over and trouble is None:
        answer, trouble = asked.for_action(sitting.seen.text, patience)
        if trouble is None:
            sitting.act(answer)
    asked.done()
    return played(
        variant, seed, sitting.moves, player=name, seconds=time.monotonic() - began,
        trouble=trouble or sitting.trouble, threshold=threshold,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """Of one player over several instances of one game, those with trouble included."""

    game: str
    player: str
    games: int
    success_rate: float
    steps: float
    """Mean, of all games."""
    steps_to_success: float | None
    """Mean, of the games that were won; None without one."""
    seconds_to_success: float | None
    """The same in time."""
    given: int
    """Steps that the player was given: the 60 of PR60 and RR60."""
    progress_rate: float
    """Mean PR after the last step: PR60 where 60 steps were given."""
    repetition_rate: float
    """Mean RR after the last step: RR60 where 60 steps were given."""
    trouble: int
    progress: tuple[float, ...]
    """Mean PR after each step that was given; a game that was over before keeps its last one (Figure 2)."""
    repetition: tuple[float, ...]
    """The same of RR."""


def table(rows: Sequence[Played]) -> Table:
    """The numbers over games of one kind. BadInput without one."""
    if not rows:
        raise BadInput("a table needs at least one game", field="games")
    won = [row for row in rows if row.success]
    given = rows[0].steps
    return Table(
        rows[0].game,
        rows[0].player,
        len(rows),
        len(won) / len(rows),
        fmean(len(row.actions) for row in rows),
        fmean(len(row.actions) for row in won) if won else None,
        fmean(row.seconds for row in won) if won else None,
        given,
        fmean(row.progress_rate for row in rows),
        fmean(row.repetition_rate for row in rows),
        sum(row.trouble is not None for row in rows),
        _mean_over_steps([row.progress for row in rows], given),
        _mean_over_steps([row.repetition for row in rows], given),
    )


def tables(rows: Iterable[Played]) -> tuple[Table, ...]:
    """One for each game and player, in the order in which they come first."""
    groups: dict[tuple[str, str], list[Played]] = {}
    for row in rows:
        groups.setdefault((row.game, row.player), []).append(row)
    return tuple(map(table, groups.values()))


def _mean_over_steps(curves: Sequence[Sequence[float]], steps: int) -> tuple[float, ...]:
    whole = [[*curve, *[curve[-1] if curve else 0.0] * (steps - len(curve))] for curve in curves]
    return tuple(fmean(at) for at in zip(*whole, strict=True))


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


def _answer(player: Player, seen: str) -> tuple[str, str | None]:
    try:
        answer: Any = player(seen)
    except BaseException as problem:
        return "", f"the player crashed: {type(problem).__name__}: {problem}"
    if not isinstance(answer, str):
        return "", f"the player gave no text but {type(answer).__name__}"
    return answer, None
