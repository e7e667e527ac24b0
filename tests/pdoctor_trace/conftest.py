"""The tracer's own tests use the same OTLP sink and scripted models as the framework tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "frameworks"))

from fake_models import FakeModels
from otlp_sink import OtlpSink

import pdoctor_trace
from pdoctor_trace.guard import FAILURES


@pytest.fixture(scope="session")
def models() -> Iterator[FakeModels]:
    with FakeModels() as server:
        yield server


@pytest.fixture
def sink() -> Iterator[OtlpSink]:
    """Spans of this test; the tracer must not have failed anywhere inside."""
    FAILURES.clear()
    with OtlpSink() as server:
        pdoctor_trace.install(endpoint=server.url, batch_delay=0.0, content="full")
        yield server
        pdoctor_trace.flush()
        pdoctor_trace.uninstall()
    assert dict(FAILURES) == {}
