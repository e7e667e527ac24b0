"""Metrics that other distributions bring: entry points in the group `pdoctor.metrics`, each a `Metric`.

    [project.entry-points."pdoctor.metrics"]
    refunds = "acme_metrics:REFUNDS"

They are loaded when the first run is measured. One that cannot be loaded, or fails on a run, is told in
the log by its name and passed over: what others wrote must not take a page or an answer down.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable
from importlib import metadata

from collector.metrics.model import Metric, Observed, Value

GROUP = "pdoctor.metrics"
LOG = logging.getLogger(__name__)


def load(taken: Iterable[str]) -> tuple[Metric, ...]:
    """What is installed, without names that are taken."""
    found: dict[str, Metric] = {}
    names = set(taken)
    for point in metadata.entry_points(group=GROUP):
        metric = _loaded(point)
        if metric is not None and metric.name in names:
            LOG.warning("metric %s (%s) is not used: there is one of that name", metric.name, point.value)
        elif metric is not None:
            found[metric.name] = metric
            names.add(metric.name)
    return tuple(found.values())


def _loaded(point: metadata.EntryPoint) -> Metric | None:
    try:
        found = point.load()
    except Exception as error:
        LOG.warning("metric %s (%s) cannot be loaded: %r", point.name, point.value, error)
        return None
    if not isinstance(found, Metric):
        kind = type(found).__name__
        LOG.warning(
            "metric %s (%s) is a %s (expected a collector.metrics.Metric)", point.name, point.value, kind
        )
        return None
    return found


def measure(metric: Metric, seen: Observed) -> Value:
    """Its value, or None where it fails (told once in the log)."""
    try:
        return metric.measure(seen)
    except Exception as error:
        _tell_once(metric.name, type(error).__name__)
        return None


@functools.lru_cache(maxsize=256)
def _tell_once(name: str, error: str) -> None:
    LOG.warning("metric %s fails (%s); its value is left out", name, error)
