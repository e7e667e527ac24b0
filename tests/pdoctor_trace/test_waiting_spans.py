"""Thousands of spans may wait for a collector that is away; each keeps what it says, and no buffer."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace import runtime
from pdoctor_trace.chats import Reply, begin
from pdoctor_trace.runs import OpenRun
from tests.support.sink import OtlpSink


class Waiting:
    """An exporter whose collector never comes."""

    asleep = is_taken = False

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def put(self, span: Any, size: int = 0) -> None:
        self.spans.append(span)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a span that waits asks for {name}")


def a_run() -> None:
    with pdoctor_trace.run(query="Is there a flight to Lisbon?"):
        pass


def a_run_with_tools_and_a_request_to_a_model() -> None:
    run = OpenRun("test", agent="a", query="Is there a flight to Lisbon?")
    run.offer([("search", "Look for flights.", {"type": "object"})])
    reply = Reply()
    reply.texts, reply.calls = ["I am looking."], [("call_1", "search", '{"to": "Lisbon"}')]
    chat = begin(run, "openai", "gpt")
    assert chat is not None
    chat.close(reply)
    run.close()


def an_odd_result() -> None:
    pdoctor_trace.tool(odd)()


def odd() -> Any:
    return {"not JSON": {1, 2, 3}}


@pytest.mark.parametrize(
    ("record", "spans"), [(a_run, 1), (a_run_with_tools_and_a_request_to_a_model, 2), (an_odd_result, 1)]
)
def test_a_span_that_waits_takes_less_than_a_kilobyte(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch, record: Callable[[], None], spans: int
) -> None:
    record()
    waiting = Waiting()
    monkeypatch.setattr(runtime.ACTIVE, "exporter", waiting)
    tracemalloc.start()
    try:
        for _ in range(300):
            record()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(waiting.spans) == 300 * spans
    assert kept / len(waiting.spans) < 1_000
