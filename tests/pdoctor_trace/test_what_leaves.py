"""What leaves the process by which path, for every setting: read off the wire of both."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import pdoctor_trace
from pdoctor_trace import otel_variables, settings
from tests.support.sink import OtlpSink

SECRETS = (b"my-card", b"my-receipt", b"my-question", b"my-fact", b"my-failure")
PAGE = (Path(__file__).parents[2] / "docs" / "frameworks.md").read_text()
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpSink]:
    """The back end of a host with a provider of its own."""
    with OtlpSink() as sink:
        provider = TracerProvider(resource=Resource.create({"service.name": "shop", "team.size": 7}))
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{sink.url}/v1/traces")))
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
        yield sink
        provider.shutdown()


@pdoctor_trace.tool
def pay(card: str) -> str:
    pdoctor_trace.state("my-state")
    if card == "none":
        raise ValueError("my-failure")
    return "my-receipt"


def act() -> None:
    """A run with content of every kind."""
    with suppress(ValueError), pdoctor_trace.run(query="my-question", facts={"f": "my-fact"}):
        pay("my-card")
        pay("none")
    pdoctor_trace.flush()


def use(ours: OtlpSink, environment: dict[str, str]) -> None:
    """Install as in an environment of these variables."""
    found = replace(settings.from_environment(environment), endpoint=ours.url, batch_delay=0.0)
    chosen = ("content", "sdk_content", "sdk_spans", "records", "hash_key")
    pdoctor_trace.install(**{name: getattr(found, name) for name in chosen})


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    usual = settings.Settings()
    chosen = ("content", "sdk_content", "sdk_spans", "records", "hash_key")
    pdoctor_trace.install(**{name: getattr(usual, name) for name in chosen})


def secrets(sink: OtlpSink) -> set[bytes]:
    return {secret for secret in SECRETS if any(secret in body for body in sink.bodies)}


def rows_of_the_page() -> list[tuple[dict[str, str], str, str]]:
    """The rows of the page's table: (variables, what leaves in records, what on spans)."""
    _, _, after = PAGE.partition("## What leaves to where")
    rows = [line.strip("| ").split(" | ") for line in after.split("\n\n")[2].splitlines()[2:]]
    return [(_variables(said), here, there) for said, here, there in rows]


def _variables(said: str) -> dict[str, str]:
    pairs = [one.partition("=") for one in said.strip("`").split(" ")]
    return {name: value for name, _, value in pairs if value}


FURTHER: list[tuple[dict[str, str], str, str]] = [
    ({CAPTURE: "a slip"}, "no content", "no content"),
    ({CAPTURE: " true "}, "content", "no content"),
    ({CAPTURE: ""}, "content", "no content"),
    ({CAPTURE: "EVENT_ONLY", "PDOCTOR_RECORDS": "false"}, "no records", "no content"),
    ({"PDOCTOR_SDK_SPANS": "false", "PDOCTOR_SDK_CONTENT": "true"}, "content", "no spans"),
]
SETTINGS = rows_of_the_page() + FURTHER


def test_the_page_has_every_setting_that_decides() -> None:
    names = {name for environment, _, _ in rows_of_the_page() for name in environment}
    assert names == {
        CAPTURE,
        "PDOCTOR_CONTENT",
        "PDOCTOR_RECORDS",
        "PDOCTOR_SDK_CONTENT",
        "PDOCTOR_SDK_SPANS",
    }
    assert len(rows_of_the_page()) > 10


@pytest.mark.parametrize(("environment", "here", "there"), SETTINGS, ids=[str(row[0]) for row in SETTINGS])
def test_content_leaves_by_the_paths_that_the_page_says(
    sink: OtlpSink, theirs: OtlpSink, environment: dict[str, str], here: str, there: str
) -> None:
    use(sink, environment)
    act()
    for said, wire in ((here, sink), (there, theirs)):
        assert secrets(wire) == (set(SECRETS) if said == "content" else set())
        assert bool(wire.bodies) == (said not in ("no records", "no spans"))
        hashed = any("str:7:" in str(span.attributes) for span in wire.spans)
        assert hashed == (said == "types, lengths, keyed hashes")


def test_what_is_withheld_is_told_as_that(sink: OtlpSink, theirs: OtlpSink) -> None:
    """Spans in the host's provider are then those of content mode `none`, and nothing else is missing."""
    act()
    withheld = theirs.spans
    pdoctor_trace.install(content="none")
    theirs.bodies.clear()
    act()
    varies = {"pdoctor.run.id"}
    assert len(withheld) == 3
    for span, other in zip(withheld, theirs.spans, strict=True):
        kept, expected = ({k: v for k, v in s.attributes.items() if k not in varies} for s in (span, other))
        assert kept == expected
        assert (span.name, span.failed, span.message) == (other.name, other.failed, other.message)
    assert {span["pdoctor.content"] for span in withheld} == {"none"}


def test_parameters_of_tools_are_content_too(sink: OtlpSink, theirs: OtlpSink) -> None:
    from pdoctor_trace.withheld import without_content

    tools = [{"type": "function", "name": "pay", "description": "d", "parameters": {"enum": ["my-card"]}}]
    found = without_content({"gen_ai.tool.definitions": json.dumps(tools).encode()})
    text = found["gen_ai.tool.definitions"]
    assert isinstance(text, bytes)
    assert json.loads(text) == [{"type": "function", "name": "pay", "description": "d"}]


@pytest.mark.parametrize("value", ["span_only", "span_and_event", "true"])
def test_who_asks_for_content_on_spans_gets_it(value: str) -> None:
    assert settings.from_environment({CAPTURE: value.upper()}).content == "full"
    assert value in otel_variables.CONTENT_ON_SPANS


# -- who sends


def test_the_hosts_resource_counts_on_both_paths(
    monkeypatch: pytest.MonkeyPatch, sink: OtlpSink, theirs: OtlpSink
) -> None:
    act()
    (here,), (there,) = (
        {json.dumps(s.resource, sort_keys=True) for s in one.spans} for one in (sink, theirs)
    )
    ours, own = json.loads(here), json.loads(there)
    assert (ours["service.name"], ours["team.size"]) == (own["service.name"], own["team.size"]) == ("shop", 7)
    assert ours["process.pid"] == os.getpid()
    assert ours["telemetry.sdk.name"] == "pdoctor_trace"


def test_a_provider_that_is_set_later_counts_from_then_on(
    monkeypatch: pytest.MonkeyPatch, sink: OtlpSink
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from the environment")
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    pdoctor_trace.install(batch_delay=0.01)  # an exporter of its own, which has asked nobody yet
    look = pdoctor_trace.tool(lambda: 1)
    look()
    pdoctor_trace.flush()
    resource = Resource.create({"service.name": "in code", "listed": ("a", "b"), "process.pid": 1})
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", TracerProvider(resource=resource))
    look()
    pdoctor_trace.flush()
    before, after = (call.resource for call in sorted(sink.calls, key=lambda call: call.start))
    assert (before["service.name"], after["service.name"]) == ("from the environment", "in code")
    assert (after["listed"], after["process.pid"]) == ('["a","b"]', os.getpid())


class Strange:
    """A provider that is none of the SDK's."""

    @property
    def resource(self) -> Any:
        raise RuntimeError("no resource")

    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return trace.NoOpTracer()


@pytest.mark.parametrize("provider", [Strange(), trace.ProxyTracerProvider(), TracerProvider()])
def test_providers_that_say_nothing_change_nothing(
    monkeypatch: pytest.MonkeyPatch, sink: OtlpSink, provider: Any
) -> None:
    from pdoctor_trace.harmless import FAILURES

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    pdoctor_trace.install(batch_delay=0.02)
    pdoctor_trace.tool(lambda: 1)()
    assert pdoctor_trace.flush(30)
    assert sink.calls[0].resource["service.name"].startswith("unknown_service:")
    monkeypatch.undo()  # whoever still asks the provider must not fail after the counts are cleared
    assert pdoctor_trace.flush(30)
    FAILURES.clear()
