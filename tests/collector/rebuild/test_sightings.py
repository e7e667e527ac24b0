"""Which spans of several instrumentations are one call."""

from __future__ import annotations

import pytest

from collector.dialects.reading import SeenCall
from collector.model import Span, ToolCall
from collector.rebuild.sightings import once_each

OURS, THEIRS = "pdoctor_trace", "openinference.instrumentation.langchain"


def seen(scope: str, call_id: str | None, tool: str = "heat_oven", at: tuple[int, int] = (0, 5)) -> SeenCall:
    """A sighting of a call of `tool` by the instrumentation `scope`, `at` its start and end in ns."""
    span = Span("ab" * 16, f"{scope} {call_id} {tool} {at}", None, tool, *at, "ok", "", {}, scope=scope)
    return SeenCall(ToolCall(call_id, tool, {"degrees": 200}, "done", None, *at), span)


@pytest.mark.parametrize(
    ("another", "calls"),
    [
        (seen(THEIRS, "call_1"), 1),
        (seen(THEIRS, None), 1),
        (seen(THEIRS, "call_2"), 2),
        (seen(THEIRS, "call_1", tool="bake"), 2),
        (seen(THEIRS, "call_1", at=(6, 9)), 2),
        (seen(OURS, "call_1", at=(1, 4)), 2),
    ],
    ids=["the same", "id unknown", "another id", "another tool", "another time", "the same layer"],
)
@pytest.mark.parametrize("order", [1, -1])
def test_two_sightings_are_one_call_if_ids_and_tool_agree_layers_differ_and_times_overlap(
    another: SeenCall, calls: int, order: int
) -> None:
    assert len(once_each([seen(OURS, "call_1"), another][::order])) == calls
