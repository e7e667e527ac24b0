"""Model calls and the tokens they report."""

from __future__ import annotations

from collections.abc import Iterable

from collector.metrics.metric import Metric, Observed


def model_calls(seen: Observed) -> int | None:
    return len(seen.models) or None


def input_tokens(seen: Observed) -> int | None:
    return _sum(call.input_tokens for call in seen.models)


def output_tokens(seen: Observed) -> int | None:
    return _sum(call.output_tokens for call in seen.models)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


METRICS = (
    Metric("model_calls", "model calls that have a span; null where nothing recorded them", model_calls),
    Metric("input_tokens", "tokens given to the models; null where none says so", input_tokens, "tokens"),
    Metric("output_tokens", "tokens that the models wrote; null as above", output_tokens, "tokens"),
)  # fmt: skip
