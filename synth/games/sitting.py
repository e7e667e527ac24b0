"""One game as it is played: what was done and what came of it, whoever plays and however it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from synth.games.model import Action, Driver, Observation


@dataclass(frozen=True, slots=True)
class Move:
    """One step."""

    action: str
    seen: Observation
    progress: float
    """The share of milestones reached after it."""

    def to_json(self) -> dict[str, Any]:
        """Texts as they are; halves of surrogate pairs are spelled out."""
        seen = self.seen
        return {
            "action": sendable(self.action), "seen": sendable(seen.text), "done": seen.done,
            "success": seen.success, "progress": self.progress,
        }  # fmt: skip


def move_from_json(said: Any) -> Move:
    """A move as `to_json` writes it."""
    seen = Observation(said["seen"], said["done"], said["success"])
    return Move(said["action"], seen, said["progress"])


class Sitting:
    """A driver, a limit of steps, and the moves so far. Calls may come from several threads."""

    def __init__(self, driver: Driver, steps: int, tell: Callable[[Move], None] = lambda move: None) -> None:
        """`tell` hears of each move when it was made."""
        self._driver, self._steps, self._tell = driver, steps, tell
        self._lock = threading.Lock()
        self.moves: list[Move] = []
        self.trouble: str | None = None
        """What is wrong with the game itself; then it is over."""
        self.first = Observation("")
        try:
            self.first = driver.reset()
        except Exception as problem:
            self.trouble = _failed(problem)

    @property
    def seen(self) -> Observation:
        """What came of the last step."""
        return self.moves[-1].seen if self.moves else self.first

    @property
    def is_over(self) -> bool:
        """The game says so, its steps are used up, or it failed."""
        return self.seen.done or len(self.moves) >= self._steps or self.trouble is not None

    @property
    def state(self) -> object:
        """Of the driver."""
        return self._driver.state

    def act(self, action: str) -> bool:
        """Take one step; False where there is none to take any more."""
        with self._lock:
            if self.is_over:
                return False
            try:
                seen = self._driver.step(Action(action))
                move = Move(action, seen, _share(self._driver.progress))
            except Exception as problem:
                self.trouble = _failed(problem)
                return False
            self.moves.append(move)
            self._tell(move)
            return True


def sendable(text: str) -> str:
    """The text as UTF-8 can say it."""
    return text.encode(errors="backslashreplace").decode()


def _share(progress: float) -> float:
    if isinstance(progress, bool) or not isinstance(progress, int | float) or not 0 <= progress <= 1:
        raise ValueError(f"its progress is a number from 0 to 1, not {progress!r}")
    return float(progress)


def _failed(problem: Exception) -> str:
    return f"the game failed: {type(problem).__name__}: {problem}"
