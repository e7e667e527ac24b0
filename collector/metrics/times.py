"""How long a run took, and where the time went."""

from __future__ import annotations

from collections.abc import Iterable

from collector.metrics.metric import Metric, Observed


def duration_ms(seen: Observed) -> float | None:
    """From the first to the last instant of the run's spans, else of its calls."""
    window = _window(seen)
    return None if window is None else (window[1] - window[0]) / 1e6


def tool_time_share(seen: Observed) -> float | None:
    """Time in which at least one tool ran / duration, from exact times only."""
    window = _window(seen)
    spans = [_exact(call.start, call.end) for call in seen.run.calls if call.executed]
    known = [span for span in spans if span is not None]
    if window is None or window[0] == window[1] or not known or len(known) < len(spans):
        return None
    return min(1.0, covered(known) / (window[1] - window[0]))


def covered(spans: Iterable[tuple[int, int]]) -> int:
    """Nanoseconds that lie in at least one of the spans."""
    total, reached = 0, None
    for start, end in sorted(spans):
        begin = start if reached is None else max(start, reached)
        total += max(0, end - begin)
        reached = end if reached is None else max(reached, end)
    return total


def _exact(start: tuple[int, int] | None, end: tuple[int, int] | None) -> tuple[int, int] | None:
    if start is None or end is None or start[0] != start[1] or end[0] != end[1]:
        return None
    return start[0], end[0]


def _window(seen: Observed) -> tuple[int, int] | None:
    if seen.started_ns is not None and seen.ended_ns is not None:
        return seen.started_ns, max(seen.started_ns, seen.ended_ns)
    starts = [call.start[0] for call in seen.run.calls if call.start]
    ends = [call.end[1] for call in seen.run.calls if call.end]
    return (min(starts), max(*starts, *ends)) if starts and ends else None


METRICS = (
    Metric("duration_ms", "from the first to the last instant; null without times", duration_ms, "ms"),
    Metric(
        "tool_time_share",
        "share of the duration in which a tool ran; null where times are missing or only bounded",
        tool_time_share, highest=1,
    ),
)  # fmt: skip
