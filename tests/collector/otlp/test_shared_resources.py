"""Big resources and scopes: kept once, however many runs of a request have them; one request costs little."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy import func, select, text, update

from collector.model import Batch
from collector.otlp.errors import ExportError
from collector.otlp.redact_spans import redacted
from collector.otlp.redaction import read_redaction
from collector.otlp.segments import INLINE_BYTES, from_protobuf, without
from collector.otlp.spans import spans_of
from collector.settings import MIB, Limits
from collector.store import Store, open_store, retention, schema, shared, stored
from collector.store import shared as shared_
from collector.store.ingest import KnownKeys, put
from collector.store.packing import pack
from tests.support.traces import Client, any_value, new_id

LIMITS = Limits()


def fleet(runs: int, resource: int = MIB, *, scope: int = 0, first: int = 1) -> ExportTraceServiceRequest:
    """One span each of so many runs, under one resource and one scope of about so many bytes."""
    message = ExportTraceServiceRequest()
    part = message.resource_spans.add(schema_url="resource/1")
    any_value(part.resource.attributes.add(key="service.name").value, "shop")
    any_value(part.resource.attributes.add(key="pad").value, "p" * resource)
    spans = part.scope_spans.add(schema_url="scope/1")
    spans.scope.name = "tracer" + "s" * scope
    for number in range(first, first + runs):
        spans.spans.add(trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name="n")
    return message


def bomb(runs: int = 5000) -> bytes:
    return fleet(runs).SerializeToString()


def test_one_small_request_costs_little_memory() -> None:
    body = bomb()
    assert len(gzip.compress(body)) < 150_000
    tracemalloc.start()
    batch = from_protobuf(body, LIMITS)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(batch.segments), len(batch.shared)) == (5000, 1)
    assert batch.size < 2 * len(body)
    assert peak < 16 * MIB, f"{peak / MIB:.0f} MiB, {held / MIB:.0f} stay"


@pytest.mark.parametrize("scope", [0, 2 * INLINE_BYTES])
@pytest.mark.parametrize("resource", [1, INLINE_BYTES - 60, INLINE_BYTES, 5000])
def test_a_span_gets_its_resource_and_scope_back_exactly(resource: int, scope: int) -> None:
    batch = from_protobuf(fleet(2, resource, scope=scope).SerializeToString(), LIMITS)
    for segment in batch.segments:
        (span,) = spans_of([segment.payload], batch.shared)
        assert dict(span.resource) == {"service.name": "shop", "pad": "p" * resource}
        assert span.scope == "tracer" + "s" * scope
        assert set(segment.shared) <= set(batch.shared)
    assert len(batch.shared) == (resource >= INLINE_BYTES) + (scope > 0)


def test_a_long_schema_url_is_kept_once_too() -> None:
    message = fleet(2, 1)
    message.resource_spans[0].schema_url = "u" * 600
    batch = from_protobuf(message.SerializeToString(), LIMITS)
    (head,) = batch.shared.values()
    assert b"u" * 600 in head
    assert not any(b"u" * 600 in segment.payload for segment in batch.segments)
    (span,) = spans_of([batch.segments[1].payload], batch.shared)
    assert span.resource["service.name"] == "shop"


def test_what_comes_again_is_left_out_and_the_rest_keeps_its_resource() -> None:
    message = fleet(1, 5000)
    message.resource_spans[0].scope_spans[0].spans.add(
        trace_id=(1).to_bytes(16, "big"), span_id=b"another.", name="new"
    )
    batch = from_protobuf(message.SerializeToString(), LIMITS)
    (segment,) = batch.segments
    rest = without(segment, {segment.keys[0]})
    (span,) = spans_of([rest.payload], batch.shared)
    assert (span.name, span.resource["pad"], rest.keys) == ("new", "p" * 5000, segment.keys[1:])
    assert rest.shared == segment.shared


def test_the_spans_of_a_resource_that_is_too_big_are_rejected_and_others_taken() -> None:
    message = fleet(2, 3 * MIB)
    message.MergeFrom(fleet(1, 10, first=9))
    batch = from_protobuf(message.SerializeToString(), LIMITS)
    assert [segment.run_id for segment in batch.segments] == [f"{9:032x}"]
    assert [refused.span[:44] for refused in batch.rejections] == [
        "resource_spans[0].scope_spans[0].spans[0] (t", "resource_spans[0].scope_spans[0].spans[1] (t",
    ]  # fmt: skip
    assert "its resource has 3145" in batch.rejections[0].reason
    scope = fleet(1, 10, scope=3 * MIB)
    assert "its scope has" in from_protobuf(scope.SerializeToString(), LIMITS).rejections[0].reason


def test_a_span_of_very_many_small_elements_is_not_decoded_where_it_is_too_big_anyway() -> None:
    message = fleet(1, 10)
    message.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="x" * 5 * MIB)
    (refused,) = from_protobuf(message.SerializeToString(), LIMITS).rejections
    assert "span_id 0000000000000001" in refused.span
    assert "at most 4194304 are taken" in refused.reason


@pytest.mark.parametrize("part", [b"\x0a\x00", b"\x0a\x02\x12\x00", b"\x0a\x04\x12\x02\x12\x00", b"\x78\x00"])
def test_millions_of_tiny_parts_are_refused_before_anything_is_made_of_them(part: bytes) -> None:
    """Each costs protobuf eighty bytes: 20 MiB of them 800 MiB."""
    body = part * (2 * MIB // len(part))
    with pytest.raises(ExportError) as refusal:
        from_protobuf(body, LIMITS)
    assert refusal.value.http == 413


def test_a_long_body_cut_short_is_refused_as_such() -> None:
    body = fleet(1, 10).SerializeToString() * 20_000
    with pytest.raises(ExportError, match="cut short"):
        from_protobuf(body[:-3], LIMITS)


def test_redaction_reaches_what_is_kept_once(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("keys: [pad]\npatterns: ['secret']\n")
    message = fleet(3, 5000)
    message.resource_spans[0].scope_spans[0].scope.name = "secret" * 200
    message.resource_spans[0].schema_url = "the/secret"
    batch = redacted(from_protobuf(message.SerializeToString(), LIMITS), read_redaction(tmp_path / "r.yaml"))
    assert not any(b"pppp" in said or b"secret" in said for said in batch.shared.values())
    for segment in batch.segments:
        assert set(segment.shared) <= set(batch.shared)
        (span,) = spans_of([segment.payload], batch.shared)
        assert span.resource["service.name"] == "shop"
        assert "secret" not in span.scope


# ---------------------------------------------------------------- in the store


@pytest.fixture
def store(store_url: str) -> Any:
    opened = open_store(store_url)
    yield opened
    opened.close()


def keep(store: Store, batch: Batch, *, now: float = 0.0) -> None:
    with store.write() as connection:
        arrivals = [(1, segment) for segment in batch.segments]
        put(connection, arrivals, KnownKeys(), without, now=now, open_check=1, bodies=batch.shared)


def count(store: Store, table: Any) -> int:
    with store.read() as connection:
        return int(connection.scalar(select(func.count()).select_from(table)) or 0)


def spans_in(store: Store, run: int) -> list[Any]:
    with store.read() as connection:
        found = stored.payloads(connection, [run])[run]
    assert found.problems == []
    return list(spans_of(found.payloads, found.shared))


def test_what_is_stored_already_is_not_packed_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[int] = []
    monkeypatch.setattr(shared_, "pack", lambda body: packed.append(len(body)) or pack(body))
    for first in (1, 2, 3):
        keep(store, from_protobuf(fleet(1, 5000, first=first).SerializeToString(), LIMITS))
    assert len(packed) == 1


@pytest.mark.both_engines
def test_it_is_stored_once_read_with_each_run_and_goes_with_the_last(store: Store) -> None:
    for first in (1, 4):
        keep(store, from_protobuf(fleet(3, 5000, first=first).SerializeToString(), LIMITS), now=first * 1e6)
    assert (count(store, schema.shared), count(store, schema.run_shared)) == (1, 6)
    assert {spans_in(store, run)[0].resource["pad"] for run in range(1, 7)} == {"p" * 5000}
    with store.write() as connection:
        connection.execute(update(schema.projects).values(retention_days=1.0))
    assert (retention.prune(store, now=2e6), shared.forget(store)) == (3, 0)
    assert count(store, schema.run_shared) == 3
    assert (retention.prune(store, now=9e6), shared.forget(store)) == (3, 1)
    assert (count(store, schema.shared), count(store, schema.run_shared)) == (0, 0)


@pytest.mark.both_engines
def test_a_damaged_or_missing_one_is_a_problem_of_the_run_and_the_spans_stay(store: Store) -> None:
    keep(store, from_protobuf(fleet(1, 5000, scope=900).SerializeToString(), LIMITS))
    with store.write() as connection:
        connection.execute(update(schema.shared).values(body=func.substr(schema.shared.c.body, 1, 30)))
    with store.read() as connection:
        found = stored.payloads(connection, [1])[1]
    assert found.problems == ["2 stored segments are damaged and were left out"]
    (span,) = spans_of(found.payloads, found.shared)
    assert (span.name, dict(span.resource), span.scope) == ("n", {}, "")


def test_of_a_run_that_is_too_big_the_beginning_is_read_and_the_rest_is_said(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    keep(store, from_protobuf(fleet(1, 10).SerializeToString(), LIMITS))
    big = {"run": 1, "spans": 1, "span_keys": b"", "payload": pack(bytes(30 * MIB))}
    with store.write() as connection:
        connection.execute(schema.segments.insert(), [big] * 3)
    with store.read() as connection:
        assert stored.weights(connection, [1])[1][1] > 90 * MIB
        found = stored.payloads(connection, [1])[1]
        two = stored.payloads(connection, [1], in_all=40 * MIB)[1]
    assert [len(payload) // MIB for payload in found.payloads] == [0, 30, 30]
    assert found.problems == ["the run is too big: 1 stored segments beyond 64 MiB were left out"]
    assert (len(two.payloads), two.left_out) == (2, 2)
    store.close()


def test_what_came_after_the_sizes_were_asked_is_left_to_the_next_look(store: Store) -> None:
    keep(store, from_protobuf(fleet(2, 5000).SerializeToString(), LIMITS))
    with store.read() as connection:
        sizes = stored.Sizes.of(connection, [1, 2])
        weights = sizes.weights([1, 2])
    later = {"run": 1, "spans": 1, "span_keys": b"", "payload": pack(b"later")}
    with store.write() as connection:
        connection.execute(schema.segments.insert(), [later])
    with store.read() as connection:
        assert stored.weights(connection, [1, 2])[1] == (weights[1][0] + 1, weights[1][1] + 5)
        then = stored.payloads(connection, [1], sizes=sizes.within([1]))[1]
        now = stored.payloads(connection, [1])[1]
    assert (now.payloads[:-1], now.payloads[-1]) == (then.payloads, b"later")
    assert next(iter(spans_of(then.payloads, then.shared))).resource["pad"] == "p" * 5000


def test_heads_that_are_too_many_are_left_out(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    keep(store, from_protobuf(fleet(1, 5000).SerializeToString(), LIMITS))
    with store.write() as connection:
        connection.execute(text("UPDATE shared SET body = :body"), {"body": pack(bytes(33 * MIB))})
    with store.read() as connection:
        found = stored.payloads(connection, [1])[1]
    assert (found.left_out, found.shared, len(found.payloads)) == (1, {}, 1)
    store.close()


def test_over_the_wire_a_run_shows_its_resource(shared: Client) -> None:
    run = new_id()
    message = fleet(1, 3000)
    message.resource_spans[0].scope_spans[0].spans[0].trace_id = bytes.fromhex(run)
    shared.send(message.SerializeToString())
    (item,) = shared.http.get(f"/api/v1/runs/{run}/spans").json()["items"]
    assert item["resource"] == {"service.name": "shop", "pad": "p" * 3000}
