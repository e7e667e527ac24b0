"""Span vocabularies: one file each, one line in `DIALECTS`; the first that recognises a span reads it."""

from __future__ import annotations

from collector.dialects import genai
from collector.dialects.reading import Dialect, SeenAgent, SeenCall

DIALECTS: tuple[Dialect, ...] = (genai.DIALECT,)

__all__ = ["DIALECTS", "Dialect", "SeenAgent", "SeenCall"]
