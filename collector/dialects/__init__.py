"""Span vocabularies: one file each, one line in `DIALECTS`.

The first that recognises a span reads it: a vocabulary that uses the GenAI names in its own way stands
before GenAI. Which one recognises a span depends only on its attributes, see `readers`.
"""

from __future__ import annotations

from collector.dialects import genai, langsmith, logfire, mcp, mlflow, openinference, openllmetry, vercel
from collector.dialects.names import OPERATION_NAME
from collector.dialects.reading import Dialect, SeenAgent, SeenCall, SeenModel, first_key
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

GENAI = (genai.DIALECT,)

__all__ = ["DIALECTS", "Dialect", "SeenAgent", "SeenCall", "SeenModel", "readers"]


def readers(span: Span) -> tuple[Dialect, ...]:
    """The dialects to try for a span.

    Who writes the GenAI operation first writes nothing else: true of our tracer and of every recorded
    GenAI instrumentation but LangSmith. Most spans are told apart by that, without looking at their other
    attributes.
    """
    return GENAI if first_key(span) == OPERATION_NAME and span.scope != langsmith.SCOPE else DIALECTS
