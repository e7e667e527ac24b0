"""Tokens that a model call reports, whatever its vocabulary calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collector.dialects.reading import json_value, loaded, whole
from collector.model import ModelCall, Span

INPUT_KEYS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "llm.usage.prompt_tokens",
)
OUTPUT_KEYS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "llm.usage.completion_tokens",
)


def model_call(span: Span) -> ModelCall:
    """Times and tokens of a span that a dialect has read as a model call."""
    attributes = loaded(span)
    return ModelCall(
        span.start_ns,
        max(span.start_ns, span.end_ns),
        _first(attributes, INPUT_KEYS),
        _first(attributes, OUTPUT_KEYS),
    )


def _first(attributes: Mapping[str, Any], keys: Sequence[str]) -> int | None:
    for key in keys:
        count = whole(attributes.get(key))
        if count is not None and count >= 0:
            return count
    usage = json_value(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, Mapping):
        return whole(usage.get("input_tokens" if keys is INPUT_KEYS else "output_tokens"))
    return None
