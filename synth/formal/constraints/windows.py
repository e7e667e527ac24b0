"""Clock-time limits of the time extension (paper, section 4.3): when an action must end or may start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from synth.formal.constraints.fields import Reader, action_id, clock_time
from synth.formal.constraints.outline import Outline, Ran
from synth.formal.constraints.times import Times, Truth, clock, minutes


@dataclass(frozen=True, slots=True)
class EndsBy:
    """`action` must have ended by `time` (minutes after midnight)."""

    kind: ClassVar[str] = "ends_by"
    fields: ClassVar[Mapping[str, Reader]] = {"action": action_id, "time": clock_time}
    exact: ClassVar[bool] = True
    code: ClassVar[str] = "too_late"
    action: str
    time: int
    sentence: int | None = None
    span: tuple[int, int] | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        return (self.action,)

    def formula(self, t: Times) -> Truth:
        return t.end(self.action) <= t.until(self.time)

    def narrow(self, outline: Outline) -> bool:
        return outline.ends_by(self.action, self.time, self)

    def words(self, name: Callable[[str], str]) -> str:
        return f"{name(self.action)} must end by {clock(self.time)}"

    def happened(self, ran: Mapping[str, Ran]) -> str:
        own = ran[self.action]
        late = minutes(own.end - self.time)
        return f"{own.task} started at {clock(own.start)} and ended at {clock(own.end)}, {late} too late"


@dataclass(frozen=True, slots=True)
class StartsFrom:
    """`action` must not start before `time` (minutes after midnight)."""

    kind: ClassVar[str] = "starts_from"
    fields: ClassVar[Mapping[str, Reader]] = {"action": action_id, "time": clock_time}
    exact: ClassVar[bool] = True
    code: ClassVar[str] = "too_early"
    action: str
    time: int
    sentence: int | None = None
    span: tuple[int, int] | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        return (self.action,)

    def formula(self, t: Times) -> Truth:
        return t.start(self.action) >= t.since(self.time)

    def narrow(self, outline: Outline) -> bool:
        return outline.starts_from(self.action, self.time, self)

    def words(self, name: Callable[[str], str]) -> str:
        return f"{name(self.action)} must not start before {clock(self.time)}"

    def happened(self, ran: Mapping[str, Ran]) -> str:
        own = ran[self.action]
        return f"{own.task} started at {clock(own.start)}, {minutes(self.time - own.start)} too early"
