"""Numbers about a run: one line each in `METRICS`, measured when somebody asks, never stored.

They follow from the spans alone and bind to nothing: a run without case and policies has them too.
"""

from __future__ import annotations

import functools

from collector.metrics import calls, models, outside, times
from collector.metrics.model import Metric, Observed, Value, observed

METRICS: tuple[Metric, ...] = (*calls.METRICS, *times.METRICS, *models.METRICS)

__all__ = ["METRICS", "Metric", "Observed", "Value", "measured", "observed", "outside_metrics"]


def measured(seen: Observed) -> dict[str, Value]:
    """Every metric of a run by name, those of other distributions included."""
    own = {metric.name: metric.measure(seen) for metric in METRICS}
    return own | {metric.name: outside.measure(metric, seen) for metric in outside_metrics()}


@functools.cache
def outside_metrics() -> tuple[Metric, ...]:
    """Metrics that other distributions bring."""
    return outside.load(metric.name for metric in METRICS)
