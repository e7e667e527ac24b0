"""`first` must end before `then` starts (paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from synth.constraints.times import Times, Truth


@dataclass(frozen=True, slots=True)
class Before:
    """Order between two actions; `sentence` and `span` say which words of the paragraph state it."""

    kind: ClassVar[str] = "before"
    first: str
    then: str
    sentence: int | None = None
    """0-based index of the sentence in the paragraph."""
    span: tuple[int, int] | None = None
    """Half-open range of code points in the paragraph."""

    @property
    def actions(self) -> tuple[str, ...]:
        return (self.first, self.then)

    def formula(self, t: Times) -> Truth:
        return t.end(self.first) <= t.start(self.then)

    def words(self, name: Callable[[str], str]) -> str:
        return f"{name(self.first)} must end before {name(self.then)} starts"
