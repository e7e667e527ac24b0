"""Bodies that are small on the wire and big in memory: refused, or read within bounds, off the event loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError

from collector import memory
from collector.judging import bind
from collector.memory import TooBig, bounded
from collector.otlp import segments
from collector.otlp.errors import ExportError
from collector.otlp.json_in import from_json
from collector.otlp.segments import from_protobuf
from collector.pipeline import reading
from collector.server import running
from collector.settings import Limits
from collector.store.stored import Stored
from tests.support.traces import Client, agent_request, agent_spans, any_value, new_id, request, settings

LIMITS = Limits()


def with_value(value: Any, place: str = "attributes") -> bytes:
    """A request of one span with such an attribute of its own, of an event or of a link."""
    message = request(agent_spans("a" * 32, ["search"])[0])
    span: Any = message.resource_spans[0].scope_spans[0].spans[0]
    owner = span if place == "attributes" else getattr(span, place).add()
    any_value(owner.attributes.add(key="value").value, value)
    return message.SerializeToString()


@pytest.mark.parametrize("place", ["attributes", "events", "links"])
@pytest.mark.parametrize("value", [[None] * 60_000, [[None] * 300] * 200, [[[None] * 9_000]] * 6])
def test_a_span_of_very_many_elements_is_rejected(value: Any, place: str) -> None:
    (refused,) = from_protobuf(with_value(value, place), LIMITS).rejections
    assert refused.reason == "its attribute values have more than 50000 elements"


def test_vectors_of_numbers_are_taken() -> None:
    batch = from_protobuf(with_value([[0.25] * 3072] * 10), LIMITS)
    assert (len(batch.segments), batch.rejections) == (1, ())


def test_json_of_very_many_objects_is_refused_unread() -> None:
    body = b'{"resourceSpans":[' + b"{}," * 1_000_000 + b"{}]}"
    with pytest.raises(ExportError, match="objects and lists") as refusal:
        from_json(body, LIMITS)
    assert refusal.value.http == 413


def test_a_broken_span_is_tried_once_and_its_neighbours_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    class Counting:
        @staticmethod
        def FromString(content: bytes) -> Any:
            tried.append(len(content))
            return span(content)

    span = segments.Span.FromString
    monkeypatch.setattr(segments, "Span", Counting)
    message = request(*agent_spans("a" * 32, ["WORD"] * 500 + ["search"] * 500))
    batch = from_protobuf(message.SerializeToString().replace(b"WORD", b"\xff\xfe\xfd\xff"), LIMITS)
    assert (len(tried), len(batch.rejections)) == (1001, 500)


def test_what_grows_too_much_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = iter(range(0, 1000, 10))
    monkeypatch.setattr(memory, "STATM", "")  # none, as outside of Linux
    monkeypatch.setattr(memory, "resident", lambda: next(grown))
    taken: list[int] = []
    with pytest.raises(TooBig):
        taken.extend(bounded(range(1000), 25))
    assert len(taken) == 3 * memory.LOOK - 1
    assert list(bounded(range(50), 1000)) == [*range(50)]


def test_a_run_that_does_not_fit_is_told_so_and_its_spans_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_id()
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        client.send(agent_request(run, ["a"] * 40))
        monkeypatch.setattr(memory, "READ_BYTES", -1)
        for path in (f"/api/v1/runs/{run}", f"/runs/{run}"):
            answer = client.http.get(path)
            assert (answer.status_code, "too big to be put together" in answer.text) == (503, True)
        assert len(client.get(f"/runs/{run}/spans")["items"]) == 41


def test_a_run_that_takes_too_much_memory_is_undecided_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for failure in (MemoryError(), DecodeError("Error parsing message: Arena alloc failed")):

        def full(*_given: object, failure: Exception = failure) -> Any:
            raise failure

        monkeypatch.setattr(reading, "spans_of", full)
        rebuilt, _ = reading.rebuilt_run("a" * 32, Stored())
        why = "the spans could not be read: they take more memory than a judging process may have"
        assert rebuilt.run.problems == (f"{why} (--checker-memory)",)
        assert bind.lacking(rebuilt) is None


PROGRAM = """
from collector import memory
memory.limit(200)
try:
    kept = bytes(300 * 2**20)
    print("no bound")
except MemoryError:
    print("bounded", memory.resident() > 0)
"""


def test_a_checker_fails_for_want_of_memory_and_not_the_machine() -> None:
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert said.stdout == "bounded True\n"
