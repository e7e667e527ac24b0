"""What a game is: a driver that takes actions and tells what came of them (AgentQuest, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Action:
    """What the player does, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What the player is told."""

    text: str
    done: bool = False
    """The game is over."""
    success: bool = False
    """It is over because it was won."""


class Driver(Protocol):
    """One game, which can be played again and again."""

    def reset(self) -> Observation:
        """Begin anew: the rules, and what is to be seen first."""

    def step(self, action: Action) -> Observation:
        """Take one action; one that the rules do not allow changes nothing and is told so."""

    @property
    def state(self) -> object:
        """What is hidden from the player, for metrics."""

    @property
    def progress(self) -> float:
        """The share of milestones that the present state has reached."""


@dataclass(frozen=True, slots=True)
class Supplies:
    """What games need beside a seed."""

    data: Path | None = None
    """Of the user: a file or folder with the game's data."""
    ask: Callable[[str], str] | None = None
    """A language model, from a prompt to its answer, for games that need a judge."""


NOTHING = Supplies()


@dataclass(frozen=True, slots=True)
class Turn:
    """One step as the player remembers it."""

    action: str
    seen: str
    """What came of it."""


Player = Callable[[str], str]
"""Is told what there is to see, and answers with an action. One is made for each game."""
Strategy = Callable[[int, str, Sequence[Turn]], str]
"""(seed, what there was to see first, the turns so far) -> action."""
