"""Stored payloads as spans: the same whether a payload is decoded at once or span by span."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.model import NO_ATTRIBUTE
from collector.otlp import spans as spans_
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import LazyAttributes, spans_of
from collector.settings import Limits
from tests.support.traces import agent_spans, any_value, request

RUN = "a" * 32


def payload(tools: list[str], pad: int = 0) -> bytes:
    message = request(*agent_spans(RUN, tools))
    any_value(message.resource_spans[0].resource.attributes.add(key="pad").value, "p" * pad)
    (segment,) = from_protobuf(message.SerializeToString(), Limits()).segments
    return segment.payload


def plain(payloads: list[bytes]) -> list[tuple[Any, ...]]:
    return [(*span[:8], dict(span.attributes), *span[9:]) for span in spans_of(payloads)]


def test_a_big_payload_says_what_a_small_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = payload(["search", "book"])
    at_once = plain([stored])
    assert len(at_once) == 3
    monkeypatch.setattr(spans_, "WHOLE_BYTES", len(stored) - 1)
    assert plain([stored]) == at_once


def test_only_a_big_payload_is_decoded_span_by_span(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, singly = payload(["search"]), 0

    class Counted:
        @staticmethod
        def FromString(content: bytes) -> Any:
            nonlocal singly
            singly += 1
            return SpanMessage.FromString(content)

    monkeypatch.setattr(spans_, "SpanMessage", Counted)
    list(spans_of([stored]))
    assert singly == 0
    monkeypatch.setattr(spans_, "WHOLE_BYTES", len(stored) - 1)
    list(spans_of([stored]))
    assert singly == 2


def test_a_span_that_comes_in_two_payloads_is_one() -> None:
    both = payload(["search", "book"])
    assert plain([both, payload(["search"]), both]) == plain([both])


def test_the_spans_before_one_that_is_damaged_are_read() -> None:
    data = TracesData.FromString(payload(["search"]))
    good = data.resource_spans[0].scope_spans[0].spans[0].name
    damaged = data.SerializeToString().replace(b"invoke_agent", b"\xff" * len("invoke_agent"), 1)
    found = spans_of([damaged])
    assert next(found).name == good
    with pytest.raises(Exception, match="parsing"):
        next(found)


@pytest.mark.parametrize(
    "said",
    [
        {"gen_ai.operation.name": "execute_tool", "a": 1, "b": "", "c": "x"},
        {"gen_ai.operation.name": "chat", "a": 1, "c": ""},
        {"a": 1, "gen_ai.operation.name": "execute_tool"},
        {"a": ""},
        {},
    ],
    ids=["a call", "a model", "a call said later", "empty text", "nothing"],
)
def test_attributes_are_all_there_in_their_order(said: dict[str, Any]) -> None:
    message = SpanMessage()
    for key, value in said.items():
        any_value(message.attributes.add(key=key).value, value)
    found = LazyAttributes(message.attributes)
    assert found.first == next(iter(said.items()), NO_ATTRIBUTE)
    assert list(found.items()) == list(said.items())


def test_of_equal_keys_the_last_counts() -> None:
    message = SpanMessage()
    for value in ("execute_tool", "chat"):
        any_value(message.attributes.add(key="gen_ai.operation.name").value, value)
    assert dict(LazyAttributes(message.attributes)) == {"gen_ai.operation.name": "chat"}
