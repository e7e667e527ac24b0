"""Provenance: what was not seen, and what may have come later, is never called ok."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.observed.run import ToolCall
from tests.support.building import call
from tests.support.policing import brief, policy

PROVENANCE = policy("provenance: {calls: B, argument: 'items[].id', from: A}")


def pays(*ids: str) -> ToolCall:
    return call("b", arguments={"items": [{"id": i} for i in ids]})


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("b", arguments="{bad")], ("unsupported", ())),
        ([call("b", arguments=None)], ("unsupported", ())),
        ([pays("o1"), call("b", arguments=None)], ("unsupported", ())),
        ([pays("o2"), call("b", arguments=None)], ("violated", (1,))),
        ([call("b", arguments={"Items": []})], ("not_applicable", ())),
        ([pays("o1"), call("b", arguments={})], ("ok", ())),
    ],
)
def test_arguments_that_were_not_seen_are_not_called_ok(calls: list[ToolCall], expected: object) -> None:
    assert brief(PROVENANCE, [call("a", result={"id": "o1"}), *calls]) == expected


@pytest.mark.parametrize(
    ("ended", "ids", "verdict"),
    [
        ((5, 15), ["o1"], "undecided"),
        ((5, 15), ["o2"], "violated"),
        ((5, 8), ["o1"], "ok"),
        ((13, 15), ["o1"], "violated"),
    ],
)
def test_a_value_of_a_result_that_may_have_come_later_is_undecided(
    ended: tuple[int, int], ids: list[str], verdict: str
) -> None:
    for started in ((0, 0), (5, 9)):
        source = replace(call("a", result={"id": "o1"}), start=started, end=ended)
        paid = replace(pays(*ids), start=(8, 12), end=(20, 20))
        assert brief(PROVENANCE, [source, paid])[0] == verdict
    source = replace(source, start=(9, 9), end=(10, 10))
    assert brief(PROVENANCE, [source, paid])[0] == ("undecided" if ids == ["o1"] else "violated")
