"""The hand-written OTLP bytes mean what the official protobuf classes say they mean."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from pdoctor_trace.capture import Truncated
from pdoctor_trace.wire import Record, rejected_spans, request_bytes, span_bytes

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), texts.map(str.encode), st.none())
pairs = st.lists(st.tuples(texts, values), max_size=6, unique_by=lambda pair: pair[0])
uint64 = st.integers(0, 2**64 - 1)


def flat(items: list[tuple[str, object]]) -> tuple[object, ...]:
    return tuple(part for pair in items for part in pair)


@st.composite
def records(draw: st.DrawFn) -> tuple[Record, list[tuple[str, object]]]:
    items = draw(pairs)
    cut = draw(st.integers(0, len(items)))
    record = Record(
        draw(st.integers(1, 2**128 - 1)),
        draw(st.integers(1, 2**64 - 1)),
        draw(uint64),
        draw(texts),
        draw(uint64),
        draw(uint64),
        draw(st.none() | texts),
        flat(items[:cut]),  # type: ignore[arg-type]
        flat(items[cut:]),  # type: ignore[arg-type]
    )
    return record, items


def as_python(value: object) -> object:
    return value.decode() if isinstance(value, bytes) else value


@given(st.lists(records(), max_size=4), pairs)
def test_a_decoded_request_holds_what_was_encoded(
    drawn: list[tuple[Record, list[tuple[str, object]]]], resource: list[tuple[str, object]]
) -> None:
    kept = {key: value for key, value in resource if value is not None}
    body = request_bytes([span_bytes(record) for record, _ in drawn], kept, "scope", "1.2")  # type: ignore[arg-type]
    (resource_spans,) = ExportTraceServiceRequest.FromString(body).resource_spans
    (scope_spans,) = resource_spans.scope_spans
    assert decoded(resource_spans.resource.attributes) == {k: as_python(v) for k, v in kept.items()}
    assert (scope_spans.scope.name, scope_spans.scope.version) == ("scope", "1.2")
    for (record, items), span in zip(drawn, scope_spans.spans, strict=True):
        assert int.from_bytes(span.trace_id, "big") == record.trace_id
        assert int.from_bytes(span.span_id, "big") == record.span_id
        assert int.from_bytes(span.parent_span_id, "big") == record.parent_id
        assert (len(span.trace_id), len(span.span_id), span.kind) == (16, 8, 1)
        assert (span.name, span.start_time_unix_nano, span.end_time_unix_nano) == (
            record.name,
            record.start_ns,
            record.end_ns,
        )
        assert (span.status.code, span.status.message) == (
            (2, record.error) if record.error is not None else (0, "")
        )
        assert decoded(span.attributes) == {k: as_python(v) for k, v in items if v is not None}


def decoded(attributes: object) -> dict[str, object]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}  # type: ignore[attr-defined]


def test_a_truncated_value_is_marked() -> None:
    record = Record(1, 2, 0, "n", 1, 2, None, (), ("a", Truncated(b'"x"')))
    (span,) = (
        ExportTraceServiceRequest.FromString(request_bytes([span_bytes(record)], {}, "s", "1"))
        .resource_spans[0]
        .scope_spans[0]
        .spans
    )
    assert decoded(span.attributes) == {"a": '"x"', "pdoctor.truncated": True}


def test_lone_surrogates_become_question_marks() -> None:
    record = Record(1, 2, 0, "n\ud800", 1, 2, "\udfff", (), ("k", "\ud800x"))
    (span,) = (
        ExportTraceServiceRequest.FromString(request_bytes([span_bytes(record)], {}, "s", "1"))
        .resource_spans[0]
        .scope_spans[0]
        .spans
    )
    assert (span.name, span.status.message, decoded(span.attributes)) == ("n?", "?", {"k": "?x"})


@given(st.integers(0, 2**40), texts)
def test_the_number_of_rejected_spans_is_read(count: int, message: str) -> None:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = count
    response.partial_success.error_message = message
    assert rejected_spans(response.SerializeToString()) == count


@given(st.binary(max_size=60))
def test_any_answer_is_read_without_an_error(body: bytes) -> None:
    assert rejected_spans(body) >= 0
