"""Whatever bytes come in: an answer that says what was wrong, never an unexpected exception."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.model import Batch
from collector.otlp.body import decompress
from collector.otlp.errors import ExportError
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf, without
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from tests.support.soak import seeded, tries
from tests.support.traces import JSON, PROTOBUF, Client, agent_request, agent_spans, new_id, request

LIMITS = Limits(attributes=50, depth=5)
GOOD = agent_request(
    "a" * 32, [{"name": "search", "arguments": {"q": [1, None]}}, "book"], case="c", tools=["x"]
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
names = st.sampled_from(
    [
        "resourceSpans", "scopeSpans", "spans", "resource", "scope", "attributes", "key", "value", "traceId",
        "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "status", "code",
        "message", "events", "links", "stringValue", "intValue", "doubleValue", "boolValue", "arrayValue",
        "kvlistValue", "bytesValue", "values", "traceState", "flags", "droppedEventsCount", "unknown",
    ]
)  # fmt: skip
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
    max_leaves=40,
)


def fully_read(batch: Batch) -> None:
    """Every stored form must be readable again, and tell of a run."""
    for segment in batch.segments:
        spans = list(spans_of([segment.payload]))
        assert [bytes.fromhex(s.trace_id + s.span_id) for s in spans] == list(segment.keys)
        rebuilt = rebuild(segment.run_id, spans)
        assert rebuilt.spans == len(segment.keys)
        rebuilt.run.to_json()
        assert without(segment, set(segment.keys)).keys == ()


def export(body: bytes, *, as_json: bool) -> Batch | None:
    """The batch, or None where the request was refused for a reason that the sender is told."""
    try:
        return from_json(body, LIMITS) if as_json else from_protobuf(body, LIMITS)
    except ExportError as failure:
        refusal = failure
    assert refusal.http in (400, 413)
    assert refusal.message
    return None


def mutated(seed: int) -> bytes:
    dice = random.Random(seed)
    body = bytearray(GOOD)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(body))
        how = dice.randrange(4)
        if how == 0:
            body[at] = dice.randrange(256)
        elif how == 1:
            del body[at : at + dice.randint(1, 30)]
        elif how == 2:
            body[at:at] = dice.randbytes(dice.randint(1, 10))
        else:
            body[at:at] = body[: dice.randint(1, len(body))]
        if not body:
            break
    return bytes(body)


@given(st.integers(0, 2**40))
@settings(max_examples=300, deadline=None)
def test_damaged_protobuf_is_read_in_part_or_refused(seed: int) -> None:
    if batch := export(mutated(seed), as_json=False):
        fully_read(batch)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for as_json in (True, False):
        if batch := export(body, as_json=as_json):
            fully_read(batch)
    for coding in ("gzip", "deflate"):
        with suppress(ExportError):
            assert len(decompress(body, coding, 1000)) <= 1000


@pytest.mark.slow
@given(trees)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_is_read_in_part_or_refused(tree: Any) -> None:
    body = json.dumps(tree).encode("utf-8", "surrogatepass")
    if batch := export(body, as_json=True):
        fully_read(batch)


@pytest.mark.slow
@given(st.dictionaries(names, trees, max_size=8))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_span_is_taken_or_rejected_alone(said: dict[str, Any]) -> None:
    good = {"traceId": "b" * 32, "spanId": "c" * 16, "name": "execute_tool x"}
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [good, {**good, "spanId": "d" * 16, **said}]}]}]}
    batch = export(json.dumps(document).encode("utf-8", "surrogatepass"), as_json=True)
    if batch is None:  # only JSON that is none, such as a number that no parser takes
        return
    stored = {key for segment in batch.segments for key in segment.keys}
    assert bytes.fromhex("b" * 32 + "c" * 16) in stored
    assert len(stored) + len(batch.rejections) >= 1
    fully_read(batch)


@pytest.mark.heavy
def test_very_many_damaged_requests() -> None:
    with seeded() as r:
        for _ in range(tries(50_000)):
            if batch := export(mutated(r.getrandbits(40)), as_json=False):
                fully_read(batch)


ROUTES = [
    "/api/v1/runs", "/api/v1/findings", "/api/v1/cases", "/api/v1/policies", "/api/v1/stats", "/api/v1/audit",
    "/api/v1/keys", "/api/v1/webhooks", "/", "/docs", "/metrics",
]  # fmt: skip
PARAMETERS = [
    "limit", "cursor", "since", "until", "case", "policy", "outcome", "error_type", "agent", "tool", "rule",
    "type", "run", "service",
]  # fmt: skip
hostile = st.text(max_size=30) | st.sampled_from(
    [
        "' OR 1=1 --",
        "<script>",
        "%00",
        "\x00",
        "9" * 40,
        "-1",
        "1e309",
        "nan",
        "inf",
        "../../etc/passwd",
        "2026",
    ]
)


@given(st.sampled_from(ROUTES), st.dictionaries(st.sampled_from(PARAMETERS), hostile, max_size=4))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_makes_the_server_fail(shared: Client, route: str, query: dict[str, str]) -> None:
    sendable = {key: value.encode("utf-8", "replace").decode() for key, value in query.items()}
    answer = shared.http.get(route, params=sendable, follow_redirects=True)
    assert answer.status_code in (200, 400), answer.text
    assert "html" not in answer.headers["content-type"] or "<script>" not in answer.text


@given(
    st.sampled_from(
        ["/api/v1/cases", "/api/v1/bindings", "/api/v1/policies", "/api/v1/check", "/api/v1/webhooks"]
    ),
    trees,
)
@settings(
    max_examples=150, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_no_body_makes_the_server_fail(shared: Client, route: str, tree: Any) -> None:
    answer = shared.http.post(route, content=json.dumps(tree).encode("utf-8", "surrogatepass"), headers=JSON)
    assert answer.status_code == 400, answer.text
    assert set(answer.json()) == {"error"}


def test_out_of_order_duplicates_and_skewed_clocks_are_taken(shared: Client) -> None:
    run = "e" * 32
    spans = agent_spans(run, ["a", "b"])
    spans[0] |= {"start": 0, "end": 0}
    spans[1] |= {"start": 2**63, "end": 5}
    for part in (spans[::-1], spans, spans[:1]):
        assert shared.send(request(*part).SerializeToString(), PROTOBUF).status_code == 200
    found = shared.judged(run)
    assert [call["name"] for call in found["calls"]] == ["a", "b"]
    assert shared.http.get(f"/runs/{run}").status_code == 200
    assert orjson.loads(shared.http.get(f"/api/v1/runs/{run}").content)["id"] == run


LOOKED_AT = [
    "/", "/runs?sort=duration", "/findings", "/policies", "/metrics-explorer?metric=duration_ms",
    "/compare?by=version&a=1&b=2", "/api/v1/stats", "/api/v1/metrics?metric=duration_ms",
]  # fmt: skip


def test_times_whose_sum_no_database_holds_break_no_page(fresh: Client) -> None:
    for start, end in ((1, 2**63 - 1), (3, 2**63 - 1), (2**64 - 2, 0)):
        run = new_id()
        spans = [one | {"start": start, "end": end} for one in agent_spans(run, ["a", "b"])]
        about = {"service.name": "s", "service.version": str(1 + start % 2)}
        assert fresh.send(request(*spans, resource=about).SerializeToString(), PROTOBUF).status_code == 200
        fresh.judged(run)
    for address in LOOKED_AT:
        answer = fresh.http.get(address)
        assert answer.status_code == 200, (address, answer.text)
