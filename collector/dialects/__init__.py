"""Span vocabularies: one file each, one line in `DIALECTS`.

The first that recognises a span reads it: a vocabulary that uses the GenAI names in its own way stands
before GenAI. Which one recognises a span depends only on its attributes, see `readers`.
"""

from __future__ import annotations

from collections.abc import Mapping

from collector.dialects import genai, langsmith, logfire, mcp, mlflow, openinference, openllmetry, vercel
from collector.dialects.names import OPERATION_NAME, SCOPE_NAME
from collector.dialects.reading import Dialect, SeenAgent, SeenCall, SeenModel, first_attribute, loaded
from collector.model import Span

DIALECTS: tuple[Dialect, ...] = (
    openllmetry.DIALECT,
    langsmith.DIALECT,
    openinference.DIALECT,
    mlflow.DIALECT,
    vercel.DIALECT,
    logfire.DIALECT,
    mcp.DIALECT,
    genai.DIALECT,
)

GENAI: Mapping[str, tuple[Dialect, ...]] = {
    "execute_tool": (genai.CALLS,),
    "chat": (genai.MODELS,),
    "generate_content": (genai.MODELS,),
    "text_completion": (genai.MODELS,),
}
"""What spans of these operations can be; others are asked everything."""
ANY_GENAI = (genai.DIALECT,)

__all__ = ["DIALECTS", "Dialect", "SeenAgent", "SeenCall", "SeenModel", "readers"]


def readers(span: Span) -> tuple[Dialect, ...]:
    """The dialects to try for a span.

    Who writes the GenAI operation first writes nothing else: true of every recorded GenAI instrumentation
    but LangSmith; and our own tracer writes nothing else. Most spans are told apart by that, without
    looking at their other attributes.
    """
    key, operation = first_attribute(span)
    if key != OPERATION_NAME:
        operation = loaded(span).get(OPERATION_NAME) if span.scope == SCOPE_NAME else None
    if not isinstance(operation, str) or span.scope == langsmith.SCOPE:
        return DIALECTS
    return GENAI.get(operation, ANY_GENAI)
