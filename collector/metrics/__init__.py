"""Numbers about a run: one line each in `METRICS`, measured when somebody asks, never stored.

They follow from the spans alone and bind to nothing: a run without case and policies has them too.
"""

from __future__ import annotations

from collector.metrics import calls, models, times
from collector.metrics.model import Metric, Observed, Value, observed

METRICS: tuple[Metric, ...] = (*calls.METRICS, *times.METRICS, *models.METRICS)

__all__ = ["METRICS", "Metric", "Observed", "Value", "measured", "observed"]


def measured(seen: Observed) -> dict[str, Value]:
    """Every metric of a run by name."""
    return {metric.name: metric.measure(seen) for metric in METRICS}
