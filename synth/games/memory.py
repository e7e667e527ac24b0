"""The memory variant: a player is told again what it did so far (AgentQuest, section 4: Mastermind*)."""

from __future__ import annotations

import re

from synth.games.model import Action, Driver, Observation, Turn

HEAD = "Your actions so far:"
_LINE = re.compile(r"^(.*) -> (.*)$", re.MULTILINE)


class Remembered:
    """A game that recalls each different action and the first line of what came of it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._told: dict[str, str] = {}

    def reset(self) -> Observation:
        """As the game itself."""
        self._told = {}
        return self._driver.reset()

    def step(self, action: Action) -> Observation:
        """What came of it, after all that came before."""
        seen = self._driver.step(action)
        self._told[" ".join(action.text.split())] = seen.text.split("\n", 1)[0]
        lines = "\n".join(f"{did} -> {told}" for did, told in self._told.items())
        return Observation(f"{HEAD}\n{lines}\n\n{seen.text}", seen.done, seen.success)

    @property
    def state(self) -> object:
        """As the game itself."""
        return self._driver.state

    @property
    def progress(self) -> float:
        """As the game itself."""
        return self._driver.progress


def recalled(seen: str) -> tuple[Turn, ...]:
    """The turns that an observation recalls; none where the game has no memory."""
    if not seen.startswith(HEAD):
        return ()
    return tuple(Turn(did, told) for did, told in _LINE.findall(seen.partition("\n\n")[0]))


def without_memory(seen: str) -> str:
    """What an observation says beside what it recalls."""
    return seen.partition("\n\n")[2] if seen.startswith(HEAD) else seen
