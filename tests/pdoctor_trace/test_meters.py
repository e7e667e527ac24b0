"""Durations and tokens in the host's MeterProvider, where it has one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import openai
import pytest
from opentelemetry.metrics import _internal
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import pdoctor_trace
from pdoctor_trace import meters, semconv
from pdoctor_trace.runs import OpenRun
from pdoctor_trace.same_call import Request
from pdoctor_trace.wrappers import RunVisit
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

KNOWN = json.loads((Path(__file__).parents[1] / "support/genai_conventions.json").read_text())


@pdoctor_trace.tool
def divide(a: int, b: int) -> float:
    return a / b


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    """A host with a MeterProvider."""
    made = InMemoryMetricReader()
    provider = MeterProvider([made])
    monkeypatch.setattr(_internal, "_METER_PROVIDER", provider)
    yield made
    provider.shutdown()


def measured(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], Any]]]:
    """Name of the metric -> attributes and data point of each of its series."""
    data = reader.get_metrics_data()
    if data is None:
        return {}
    (scope,) = data.resource_metrics[0].scope_metrics
    told = (scope.scope.name, scope.scope.version, scope.scope.schema_url)
    assert told == (semconv.SCOPE_NAME, metadata.version("pdoctor-trace"), semconv.SCHEMA_URL)
    assert all(KNOWN["metrics"][metric.name] == metric.unit for metric in scope.metrics)
    return {
        metric.name: [(dict(point.attributes), point) for point in metric.data.data_points]
        for metric in scope.metrics
    }


def test_how_long_tools_ran(sink: OtlpSink, reader: InMemoryMetricReader) -> None:
    with pdoctor_trace.run(agent="me"):
        divide(4, 2)
        divide(6, 2)
        with pytest.raises(ZeroDivisionError):
            divide(1, 0)
    pdoctor_trace.flush()
    same = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "divide", "gen_ai.agent.name": "me"}
    (worked, point), (failed, _) = sorted(measured(reader)[meters.TOOL_DURATION], key=lambda one: len(one[0]))
    assert (worked, failed) == (same, {**same, "error.type": "ZeroDivisionError"})
    took = sum(call.end - call.start for call in sink.calls if not call.failed)
    assert (point.count, point.sum) == (2, pytest.approx(took / 1e9))
    assert point.explicit_bounds[:2] == (0.01, 0.02)


def test_what_did_not_run_or_was_not_seen_running_has_no_duration(
    models: FakeModels, sink: OtlpSink, reader: InMemoryMetricReader
) -> None:
    run = OpenRun("test")
    run.request(Request("call_1", "add", b"{}", 0, False, run.start_ns))
    RunVisit(run).returned(None)
    tools: Any = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
    asked: list[Any] = [{"role": "user", "content": "x"}]
    with openai.OpenAI(base_url=models.openai, api_key="k") as sdk:
        call = sdk.chat.completions.create(model="fake.one", messages=asked, tools=tools)
        asked += [call.choices[0].message, {"role": "tool", "tool_call_id": "call_0_0", "content": "42"}]
        sdk.chat.completions.create(model="fake.one", messages=asked, tools=tools)
    pdoctor_trace.flush()
    assert [call.tool for call in sink.calls] == ["add", "add"]
    assert meters.TOOL_DURATION not in measured(reader)


def test_how_long_models_took_and_their_tokens(
    models: FakeModels, sink: OtlpSink, reader: InMemoryMetricReader
) -> None:
    with openai.OpenAI(base_url=models.openai, api_key="k") as sdk, pdoctor_trace.run():
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "x"}])
    pdoctor_trace.flush()
    found = measured(reader)
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "fake",
        "gen_ai.response.model": "fake",
    }
    ((attributes, point),) = found[meters.OPERATION_DURATION]
    assert (attributes, point.count) == (said, 1)
    tokens = {
        attributes.pop("gen_ai.token.type"): (attributes, p.sum)
        for attributes, p in found[meters.TOKEN_USAGE]
    }
    assert tokens == {"input": (said, 5), "output": (said, 5)}


def test_a_model_that_failed(sink: OtlpSink, reader: InMemoryMetricReader) -> None:
    broken = openai.OpenAI(base_url="http://127.0.0.1:9", api_key="k", max_retries=0)
    with broken as sdk, pdoctor_trace.run(), pytest.raises(openai.APIConnectionError):
        sdk.chat.completions.create(model="fake", messages=[{"role": "user", "content": "x"}])
    pdoctor_trace.flush()
    found = measured(reader)
    ((attributes, _),) = found[meters.OPERATION_DURATION]
    assert attributes["error.type"] == "APIConnectionError"
    assert meters.TOKEN_USAGE not in found


def test_nothing_is_measured_where_the_hosts_sdk_is_left_alone(
    sink: OtlpSink, reader: InMemoryMetricReader
) -> None:
    pdoctor_trace.install(sdk_spans=False)
    divide(4, 2)
    pdoctor_trace.install(sdk_spans=True)
    pdoctor_trace.flush()
    assert measured(reader) == {}
