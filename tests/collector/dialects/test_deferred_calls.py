"""Calls whose longest parts are read when somebody looks at them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.dialects import deferred
from collector.dialects.deferred import deferred_call
from collector.model import ToolCall

SAID = {"gen_ai.tool.call.arguments": '{"city": "Bern"}', "pdoctor.tool.attempts": 3, "pdoctor.turn.index": 7}
ELSEWHERE: dict[str, Any] = {"step": 4, "start": (5, 5), "end": (6, 6), "extra": {"note": "x"}}


def call(**changes: Any) -> ToolCall:
    made = deferred_call("id", "search", "refused", (1, 2), (3, 4), False, SAID)
    return replace(made, **changes) if changes else made


@pytest.mark.parametrize("changes", [{}, {"finished": False}], ids=["as it was read", "made again"])
def test_a_call_at_another_place_is_the_same_otherwise(changes: dict[str, Any]) -> None:
    there = call(**changes).moved(*ELSEWHERE.values())
    assert there == replace(call(**changes), **ELSEWHERE)
    assert (there.arguments, there.attempts, there.step) == ({"city": "Bern"}, 3, 4)


def test_moving_a_call_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        deferred, "LATER", {name: lambda said, name=name: read.append(name) for name in deferred.LATER}
    )
    there = call().moved(*ELSEWHERE.values())
    assert (there.tool, there.end, read) == ("search", (6, 6), [])
    assert (there.result, read) == (None, ["result"])
