"""The hand-written OTLP bytes mean what the official protobuf classes say they mean."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from pdoctor_trace.values import Truncated
from pdoctor_trace.wire import (
    EVENTS,
    CallRecord,
    Head,
    call_bytes,
    event_bytes,
    rejected_spans,
    request_bytes,
    run_bytes,
    span_bytes,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), texts.map(str.encode), st.none())
pairs = st.lists(st.tuples(texts, values), max_size=6, unique_by=lambda pair: pair[0])


TRACE_ID = 0xFEDCBA98765432100123456789ABCDEF
uint64 = st.integers(0, 2**64 - 1)
maybe_text = st.none() | texts
maybe_json = st.none() | texts.map(str.encode) | texts.map(lambda text: Truncated(text.encode()))


def flat(items: list[tuple[str, object]]) -> tuple[object, ...]:
    return tuple(part for pair in items for part in pair)


def as_python(value: object) -> object:
    return value.decode() if isinstance(value, bytes) else value


def decoded(attributes: Any) -> dict[str, object]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


def official(spans: list[bytes], resource: dict[str, Any] | None = None) -> Any:
    return ExportTraceServiceRequest.FromString(
        request_bytes(spans, resource or {}, "scope", "1.2", "schema")
    )


def only(span: bytes) -> Any:
    return official([span]).resource_spans[0].scope_spans[0].spans[0]


def same_frame(
    span: Any, trace_id: int, span_id: int, parent_id: int, name: str, start: int, end: int
) -> bool:
    return (span.trace_id, span.span_id, span.kind) == (
        trace_id.to_bytes(16, "big"),
        span_id.to_bytes(8, "big"),
        1,
    ) and (
        int.from_bytes(span.parent_span_id, "big"),
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
    ) == (
        parent_id,
        name,
        start,
        end,
    )


def test_events_of_a_call_stand_beside_its_rare_attributes() -> None:
    events = event_bytes("first", 5, ("a", "b", "none", None)) + event_bytes("second", 2**63, ())
    head, shared = Head("execute_tool x", ()), run_bytes(TRACE_ID, ())
    record = CallRecord(
        head, shared, 7, 0, 1, 9, None, None, 0, None, None, None, None, None, {"k": "v", EVENTS: events}
    )
    span = only(call_bytes(record))
    assert decoded(span.attributes) == {"pdoctor.step.index": 0, "k": "v"}
    assert [(one.name, one.time_unix_nano, decoded(one.attributes)) for one in span.events] == [
        ("first", 5, {"a": "b"}),
        ("second", 2**63, {}),
    ]


def status(span: Any) -> str | None:
    return span.status.message if span.status.code == 2 else None


@given(
    st.integers(1, 2**128 - 1),
    st.integers(1, 2**64 - 1),
    uint64,
    texts,
    uint64,
    uint64,
    maybe_text,
    pairs,
    pairs,
)
def test_a_decoded_span_holds_what_was_encoded(
    trace_id: int,
    span_id: int,
    parent_id: int,
    name: str,
    start: int,
    end: int,
    error: str | None,
    run: Any,
    own: Any,
) -> None:
    shared = run_bytes(trace_id, flat(run))  # type: ignore[arg-type]
    span = only(span_bytes(shared, span_id, parent_id, name, start, end, error, flat(own)))  # type: ignore[arg-type]
    assert same_frame(span, trace_id, span_id, parent_id, name, start, end)
    assert status(span) == error
    expected = [(key, as_python(value)) for key, value in [*run, *own] if value is not None]
    assert [(a.key, getattr(a.value, a.value.WhichOneof("value"))) for a in span.attributes] == expected


@given(
    st.builds(
        CallRecord,
        head=st.builds(lambda name, items: Head(name, flat(items)), texts, pairs),  # type: ignore[arg-type]
        run=pairs.map(lambda items: run_bytes(TRACE_ID, flat([(f"run.{k}", v) for k, v in items]))),  # type: ignore[arg-type]
        span_id=st.integers(1, 2**64 - 1),
        parent_id=uint64,
        start_ns=uint64,
        end_ns=uint64,
        error=maybe_text,
        error_type=maybe_text,
        step=st.integers(0, 2**40),
        call_id=maybe_text,
        arguments=maybe_json,
        result=maybe_json,
        turn=st.none() | st.integers(0, 2**20),
        has_text=st.none() | st.booleans(),
        rare=st.none() | st.dictionaries(st.sampled_from(["rare.one", "rare.two"]), texts | st.booleans()),
    )
)
def test_a_decoded_call_holds_what_was_recorded(record: CallRecord) -> None:
    span = only(call_bytes(record))
    assert same_frame(
        span,
        TRACE_ID,
        record.span_id,
        record.parent_id,
        record.head.name,
        record.start_ns,
        record.end_ns,
    )
    assert status(span) == record.error
    cut = any(isinstance(value, Truncated) for value in (record.arguments, record.result))
    expected = {
        "pdoctor.step.index": record.step,
        "gen_ai.tool.call.id": record.call_id,
        "gen_ai.tool.call.arguments": as_python(record.arguments),
        "gen_ai.tool.call.result": as_python(record.result),
        "pdoctor.turn.index": record.turn,
        "pdoctor.turn.has_text": None if record.turn is None else record.has_text,
        "pdoctor.truncated": cut or None,
        "error.type": None if record.error is None else record.error_type or "_OTHER",
        **(record.rare or {}),
    }
    found = decoded(span.attributes)
    assert {key: found.get(key) for key in expected} == expected
    head = {k: as_python(v) for k, v in zip(record.head.pairs[::2], record.head.pairs[1::2], strict=True)}
    assert {key: found.get(key) for key in head} == head


@given(pairs)
def test_the_resource_and_the_scope(resource: list[tuple[str, object]]) -> None:
    kept = {key: value for key, value in resource if value is not None}
    (resource_spans,) = official([], kept).resource_spans
    (scope_spans,) = resource_spans.scope_spans
    assert decoded(resource_spans.resource.attributes) == {k: as_python(v) for k, v in kept.items()}
    assert (scope_spans.scope.name, scope_spans.scope.version) == ("scope", "1.2")
    assert scope_spans.schema_url == "schema"


def test_values_of_every_length_are_encoded() -> None:
    for size in (0, 1, 100, 127, 128, 2_047, 2_048, 16_383, 16_384, 70_000, 2_100_000):
        head, run = Head("n", ()), run_bytes(TRACE_ID, ())
        record = CallRecord(head, run, 2, 0, 1, 2, None, None, 0, "c" * size, b"a" * size, None, None, None)
        found = decoded(only(call_bytes(record)).attributes)
        assert found["gen_ai.tool.call.arguments"] == "a" * size
        assert found["gen_ai.tool.call.id"] == "c" * size


def test_lone_surrogates_become_question_marks() -> None:
    span = only(span_bytes(run_bytes(1, ()), 2, 0, "n\ud800", 1, 2, "\udfff", ("k", "\ud800x")))
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
