"""Requests that protobuf refuses as a whole: what can be read of them is taken, span by span."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.model import Batch
from collector.otlp.errors import ExportError
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.settings import Limits
from tests.support.traces import agent_spans, any_value, request

RUN = "a" * 32
WHY = "not a readable protobuf Span"


def broken(message: Any) -> bytes:
    """The request with every `WORD` made into bytes that are no text."""
    body: bytes = message.SerializeToString()
    return body.replace(b"WORD", b"\xff\xfe\xfd\xff")


def names(batch: Batch) -> list[str]:
    return [span.name for segment in batch.segments for span in spans_of([segment.payload])]


def refusals(batch: Batch) -> list[tuple[str, str]]:
    return [(refused.span, refused.reason) for refused in batch.rejections]


def test_of_three_spans_one_of_which_is_broken_two_are_saved() -> None:
    message = request(*agent_spans(RUN, ["search", "WORD"]))
    batch = from_protobuf(broken(message), Limits())
    assert names(batch) == ["execute_tool search", "invoke_agent planner"]
    assert refusals(batch) == [("resource_spans[0].scope_spans[0].spans[1]", WHY)]


@pytest.mark.parametrize("place", ["resource", "resource's url", "scope", "scope's url"])
def test_what_spans_share_may_be_broken_and_costs_no_span(place: str) -> None:
    message = request(*agent_spans(RUN, ["search"]))
    resource = message.resource_spans[0]
    scope = resource.scope_spans[0]
    resource.schema_url = scope.schema_url = "https://opentelemetry.io/schemas/1.30"
    if place == "resource":
        any_value(resource.resource.attributes.add(key="WORD").value, 1)
    elif place == "scope":
        scope.scope.version = "WORD"
    else:
        (resource if place == "resource's url" else scope).schema_url = "WORD"
    batch = from_protobuf(broken(message), Limits())
    assert (len(names(batch)), refusals(batch)) == (2, [])
    stored = TracesData.FromString(batch.segments[0].payload).resource_spans[0]
    kept = {
        "resource": bool(stored.resource.attributes),
        "resource's url": bool(stored.schema_url),
        "scope": bool(stored.scope_spans[0].scope.name),
        "scope's url": bool(stored.scope_spans[0].schema_url),
    }
    assert [name for name, is_there in kept.items() if not is_there] == [place]


@pytest.mark.parametrize("depth", range(44, 55))
def test_a_span_as_deep_as_protobuf_just_takes_can_be_read_again(depth: int) -> None:
    """Alone, a span may be nested some levels deeper than inside a request; it is always read alone."""
    deep: object = "x"
    for _ in range(depth):
        deep = [deep]
    message = request(*agent_spans(RUN, ["search"]), {"trace": RUN, "id": 77, "at": {"deep": deep}})
    batch = from_protobuf(message.SerializeToString(), Limits())
    assert len(names(batch)) + len(batch.rejections) == 3
    assert len(batch.rejections) == (depth > 49)


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a\xff\x01" + b"x" * 10,
        b"\x0a",
        b"\xff" * 11,
        b"GET / HTTP/1.1",
        b"\x0a\x05\x12\x10\x12\x01\xff",
    ],
)
def test_broken_frames_are_refused_as_a_whole(body: bytes) -> None:
    with pytest.raises(ExportError, match="no protobuf ExportTraceServiceRequest") as refusal:
        from_protobuf(body, Limits())
    assert refusal.value.http == 400


def test_broken_spans_count_too() -> None:
    message = request(*agent_spans(RUN, ["WORD", "search", "book"]))
    assert len(from_protobuf(broken(message), Limits(spans=4)).rejections) == 1
    with pytest.raises(ExportError, match="over the limit of 3"):
        from_protobuf(broken(message), Limits(spans=3))


spans = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6)
"""(broken, of another run) each."""


@given(st.lists(st.tuples(st.booleans(), st.lists(st.tuples(st.booleans(), spans), max_size=3)), max_size=3))
def test_exactly_the_broken_spans_are_missing(resources: list[Any]) -> None:
    """A request of any shape: what is saved, under which runs, and what is told of the rest."""
    message, good, bad, number = request(), [], [], 1
    del message.resource_spans[:]
    for r, (broken_resource, scopes) in enumerate(resources):
        resource = message.resource_spans.add(schema_url="WORD" if broken_resource else "u")
        for s, (broken_scope, said) in enumerate(scopes):
            scope = resource.scope_spans.add()
            scope.scope.name = "WORD" if broken_scope else "scope"
            for i, (is_broken, another) in enumerate(said):
                trace, number = bytes([1 + another]) * 16, number + 1
                span = scope.spans.add(trace_id=trace, span_id=number.to_bytes(8, "big"), name="n")
                if is_broken:
                    any_value(span.attributes.add(key="k").value, "WORD")
                    bad.append((f"resource_spans[{r}].scope_spans[{s}].spans[{i}]", WHY))
                else:
                    good.append(trace + number.to_bytes(8, "big"))
    batch = from_protobuf(broken(message), Limits())
    assert {key for segment in batch.segments for key in segment.keys} == set(good)
    assert {segment.run_id for segment in batch.segments} == {key[:16].hex() for key in good}
    assert len(names(batch)) == len(good)
    assert refusals(batch) == bad
