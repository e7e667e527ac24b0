"""Which spans of several instrumentations are one call."""

from __future__ import annotations

import pytest

from collector.dialects.reading import SeenCall, SeenModel
from collector.model import Span, ToolCall
from collector.rebuild.sightings import once_each, once_each_model

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


def model(scope: str, start: int, end: int, span_id: str = "m", parent: str = "0") -> SeenModel:
    return SeenModel(Span("ab" * 16, span_id, parent, "chat", start, end, "unset", "", {}, scope=scope))


def test_a_model_call_that_two_layers_tell_of_counts_once() -> None:
    assert len(once_each_model([model("framework", 0, 10), model("sdk", 2, 8)])) == 1
    assert len(once_each_model([model("framework", 0, 10), model("sdk", 10, 18)])) == 1
    assert len(once_each_model([model("framework", 0, 10), model("sdk", 11, 18)])) == 2


def test_a_model_call_is_looked_for_in_all_before_it_that_had_not_ended() -> None:
    listed = [model("framework", 0, 100), model("other", 200, 210), model("framework", 220, 400)]
    listed += [model("other", 230, 240), model("sdk", 300, 310)]
    assert [seen.span.start_ns for seen in once_each_model(listed)] == [0, 200, 220]


def test_a_model_call_that_ends_before_it_starts_is_still_that_of_its_parent() -> None:
    assert len(once_each_model([model("sdk", 10, 20, "a"), model("sdk", 30, 15, "b", parent="a")])) == 1
