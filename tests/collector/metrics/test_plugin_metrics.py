"""Metrics that other distributions bring by an entry point."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.metrics import METRICS, Observed, measured, outside_metrics
from collector.model import Run, ToolCall

SOURCE = """
from collector.metrics import Metric
def refunds(seen):
    return sum(call.tool == "refund" for call in seen.run.calls)
REFUNDS = Metric("refunds", "calls of the refund tool", refunds)
FAILS = Metric("fails", "always fails", lambda seen: 1 / 0)
TAKEN = Metric("calls", "a name that is taken", lambda seen: -1)
TEXT = "not a metric"
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs a distribution with the given entry points, as pip leaves it."""
    info = tmp_path / "pd_acme_metrics-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pd-acme-metrics\nVersion: 1.0\n")
    (tmp_path / "pd_acme_metrics.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(*points: str) -> None:
        (info / "entry_points.txt").write_text("\n".join(["[pdoctor.metrics]", *points, ""]))
        outside_metrics.cache_clear()

    yield put
    outside_metrics.cache_clear()
    sys.modules.pop("pd_acme_metrics", None)


SEEN = Observed(Run("r", (ToolCall("1", "refund"), ToolCall("2", "search"))))


def test_one_entry_point_adds_a_metric(install: Callable[..., None]) -> None:
    before = measured(SEEN)
    install("refunds = pd_acme_metrics:REFUNDS")
    assert measured(SEEN) == before | {"refunds": 1}


def test_broken_ones_are_told_by_name_and_passed_over(
    install: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    install(
        "refunds = pd_acme_metrics:REFUNDS",
        "fails = pd_acme_metrics:FAILS",
        "taken = pd_acme_metrics:TAKEN",
        "text = pd_acme_metrics:TEXT",
        "gone = pd_acme_metrics:GONE",
        "nowhere = pd_no_such_module:X",
    )
    found = measured(SEEN)
    assert (found["refunds"], found["fails"], found["calls"]) == (1, None, 2)
    assert set(found) == {metric.name for metric in METRICS} | {"refunds", "fails"}
    for told in (
        "metric fails fails",
        "metric calls (",
        "metric text (",
        "metric gone (",
        "metric nowhere (",
    ):
        assert told in caplog.text
