"""What a run's span says of the tools that its model could call."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace.runs import OpenRun
from tests.support.sink import OtlpSink

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def told(sink: OtlpSink, **kept: Any) -> list[dict[str, Any]]:
    pdoctor_trace.install(endpoint=sink.url, **kept)
    run = OpenRun("test")
    run.offer([("weather", "Of a city.", SCHEMA), ("now", None)])
    run.offer([("weather", "Something else.", {"type": "string"})])
    run.close()
    pdoctor_trace.flush()
    found: list[dict[str, Any]] = json.loads(sink.runs[0]["gen_ai.tool.definitions"])
    return found


def test_definitions_have_types_and_the_parameters_that_are_known(sink: OtlpSink) -> None:
    assert told(sink) == [
        {"type": "function", "name": "weather", "description": "Of a city.", "parameters": SCHEMA},
        {"type": "function", "name": "now"},
    ]


@pytest.mark.parametrize("kept", [{"content": "shape"}, {"content": "none"}, {"max_value_bytes": 40}])
def test_parameters_are_told_where_all_content_is(
    sink: OtlpSink, kept: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: pdoctor_trace.install(max_value_bytes=65_536))
    assert [one["name"] for one in told(sink, **kept) if "parameters" not in one] == ["weather", "now"]


def test_many_long_schemas_are_left_out_together(sink: OtlpSink) -> None:
    run = OpenRun("test")
    long = {"type": "object", "description": "x" * 40_000}
    run.offer([("one", "1", long), ("two", "2", long)])
    run.close()
    pdoctor_trace.flush()
    listed = json.loads(sink.runs[0]["gen_ai.tool.definitions"])
    assert [sorted(one) for one in listed] == [["description", "name", "type"]] * 2


def test_what_is_no_schema_is_not_read(sink: OtlpSink) -> None:
    class Schema(dict[str, Any]):
        def __bool__(self) -> bool:
            raise RuntimeError("asked")

    run = OpenRun("test")
    run.offer([("a", None, object()), ("b", None, None), ("c", None, Schema(x=1))])
    run.close()
    pdoctor_trace.flush()
    listed = json.loads(sink.runs[0]["gen_ai.tool.definitions"])
    assert [one.get("parameters") for one in listed] == [None, None, {"x": 1}]


def test_the_run_around_has_the_schemas_too(sink: OtlpSink) -> None:
    from pdoctor_trace.wrappers import enter_frame, leave

    with pdoctor_trace.run():
        inner = OpenRun("test")
        token = enter_frame(inner)
        inner.offer([("weather", None, SCHEMA)])
        leave(token)
        inner.close()
    pdoctor_trace.flush()
    for run in sink.runs:
        assert json.loads(run["gen_ai.tool.definitions"])[0]["parameters"] == SCHEMA
