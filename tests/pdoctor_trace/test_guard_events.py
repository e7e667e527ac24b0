"""What a guard decided is an event of the tool's span, among the records and in the host's provider."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import pdoctor_trace
from tests.pdoctor_trace.test_sdk_spans import host, look_up
from tests.support.sink import OtlpSink

__all__ = ["host"]  # the fixture


@pytest.mark.parametrize("content", [True, False])
def test_what_a_guard_decided_is_an_event_on_both_paths(
    sink: OtlpSink, host: InMemorySpanExporter, content: bool
) -> None:
    """Its reason is content: it may say values."""
    pdoctor_trace.install(sdk_content=content)
    rules = "actions: {look: look_up}\npolicies:\n  - {id: R, rule: Look must happen at most 1 time.}\n"
    with pdoctor_trace.guard(rules, mode="feedback"), pdoctor_trace.run():
        look_up("a")
        look_up("b")
    pdoctor_trace.flush()
    ((name, at, said),) = [event for call in sink.calls for event in call.events]
    ((span, theirs),) = [(span, event) for span in host.get_finished_spans() for event in span.events]
    assert (theirs.name, theirs.timestamp) == (name, at)
    assert said["pdoctor.guard.decision"] == "refused"
    withheld: set[str] = set() if content else {"pdoctor.guard.reason"}
    for attributes, recorded in ((theirs.attributes, said), (span.attributes, sink.calls[1].attributes)):
        assert set(recorded) - set(attributes) >= withheld
        assert all(attributes[key] == recorded[key] for key in said if key not in withheld)
        assert not withheld & set(attributes)
