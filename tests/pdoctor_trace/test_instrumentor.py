"""The entry points that `opentelemetry-instrument` finds."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

import pdoctor_trace
from pdoctor_trace import instrumentor
from tests.support.sink import OtlpSink


def test_the_entry_points_name_what_exists() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for group in ("opentelemetry_pre_instrument", "opentelemetry_instrumentor"):
        module, _, name = project["entry-points"][group]["pdoctor_trace"].partition(":")
        assert hasattr(sys.modules[module], name)


def test_instrumenting_turns_tracing_on_and_off(sink: OtlpSink) -> None:
    pdoctor_trace.uninstall()
    instrument = instrumentor.PDoctorInstrumentor()
    instrument.instrument(tracer_provider=None)
    assert pdoctor_trace.status()["installed"]
    instrument.uninstrument()
    assert not pdoctor_trace.status()["installed"]
    assert instrument.instrumentation_dependencies() == ()


def test_the_list_of_disabled_instrumentations_is_honoured(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    pdoctor_trace.uninstall()
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "langchain, pdoctor_trace")
    instrumentor.pre_instrument()
    assert not pdoctor_trace.status()["installed"]
