"""Numbers about a run: one line each in `METRICS`, measured when somebody asks, never stored.

They follow from the spans alone and bind to nothing: a run without case and policies has them too.
Other distributions bring more by entry points in the group `pdoctor.metrics`, each a `Metric`:

    [project.entry-points."pdoctor.metrics"]
    refunds = "acme_metrics:REFUNDS"

They are loaded when the first run is measured; one that fails on a run has no value there.
"""

from __future__ import annotations

import functools

from collector import plugins
from collector.metrics import calls, plans, progress, times, tokens
from collector.metrics.metric import Metric, Observed, Value, observed
from synth.progress import Step

METRICS: tuple[Metric, ...] = (
    *calls.METRICS,
    *progress.METRICS,
    *plans.METRICS,
    *times.METRICS,
    *tokens.METRICS,
)

__all__ = ["METRICS", "Metric", "Observed", "Step", "Value", "measured", "observed", "outside_metrics"]


def measured(seen: Observed) -> dict[str, Value]:
    """Every metric of a run by name, those of other distributions included."""
    own = {metric.name: metric.measure(seen) for metric in METRICS}
    others = outside_metrics()
    return own | {other.name: plugins.tried("metric", other.name, other.measure, seen) for other in others}


@functools.cache
def outside_metrics() -> tuple[Metric, ...]:
    """Metrics that other distributions bring."""
    return plugins.load("metric", Metric, (metric.name for metric in METRICS))
