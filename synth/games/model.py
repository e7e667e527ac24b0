"""What a game is: a driver that takes actions and tells what came of them (AgentQuest, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
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
