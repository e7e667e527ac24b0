"""What guards said about one call whose tool is about to run, and who has to be told how it ends."""

from __future__ import annotations

from typing import Any

import orjson

from . import semconv
from .asking import Refused
from .runtime import ACTIVE
from .values import Truncated


class Said:
    """What one guard said about one call."""

    __slots__ = ("changed", "course", "error", "place", "text", "values")

    def __init__(
        self,
        course: Any,
        place: int | None,
        values: bool,
        text: str | None = None,
        error: BaseException | None = None,
        changed: dict[str, Any] | None = None,
    ) -> None:
        """`course`: the run that the call is at `place` of; `values`: are there rules that read results?"""
        self.course, self.place, self.values = course, place, values
        self.text, self.error, self.changed = text, error, changed

    def over(self, result: Any, error: BaseException | str | None) -> None:
        if self.course is not None and self.place is not None:
            said = values_of(ACTIVE.capture.result(result)) if self.values and error is None else None
            self.course.prefix.ended(self.place, said, None if error is None else _named(error))

    def waits(self, call: Any) -> None:
        if self.course is not None:
            self.course.waiting[call.call_id, call.tool] = self
        call.rare = {name: told for name, told in call.rare.items() if name != semconv.GUARD_DECISION}


class SaidByAll:
    """What several guards said: the first refusal counts, and the arguments that the first one changed."""

    __slots__ = ("changed", "error", "others", "text")

    def __init__(self, others: list[Said]) -> None:
        self.others = others
        first = next((one for one in others if one.text is not None), None)
        self.text, self.error = (None, None) if first is None else (first.text, first.error)
        self.changed = next((one.changed for one in others if one.changed is not None), None)
        if first is not None:
            self.over(None, first.error or Refused("refused"))

    def over(self, result: Any, error: BaseException | str | None) -> None:
        for one in self.others:
            one.over(result, error)

    def waits(self, call: Any) -> None:
        for one in self.others:
            one.waits(call)


def kept() -> bool:
    """Whether values stand in the evidence as they are."""
    return ACTIVE.capture.mode == "full" and ACTIVE.capture.redactor is None


def values_of(text: bytes | None) -> Any:
    """The values themselves, where all of them are known as they are."""
    if text is None or type(text) is Truncated or not kept():
        return None
    return orjson.loads(text)


def _named(error: BaseException | str) -> str:
    """As a verdict reads it in the span."""
    return "tool_raised" if isinstance(error, str) else type(error).__name__
