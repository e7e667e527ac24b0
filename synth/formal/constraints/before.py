"""`first` must end before `then` starts (paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from synth.formal.constraints.fields import Reader, action_id
from synth.formal.constraints.outline import Outline, Ran
from synth.formal.constraints.times import Times, Truth, clock


@dataclass(frozen=True, slots=True)
class Before:
    """Order between two actions; `sentence` and `span` say which words of the paragraph state it."""

    kind: ClassVar[str] = "before"
    fields: ClassVar[Mapping[str, Reader]] = {"first": action_id, "then": action_id}
    exact: ClassVar[bool] = True
    code: ClassVar[str] = "order"
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

    def narrow(self, outline: Outline) -> bool | None:
        return outline.before(self.first, self.then, self)

    def words(self, name: Callable[[str], str]) -> str:
        return f"{name(self.first)} must end before {name(self.then)} starts"

    def happened(self, ran: Mapping[str, Ran]) -> str:
        first, then = ran[self.first], ran[self.then]
        return (
            f"{then.task} started at {clock(then.start)}, "
            f"but {first.task} ran from {clock(first.start)} to {clock(first.end)}"
        )
