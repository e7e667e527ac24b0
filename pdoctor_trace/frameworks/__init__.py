"""Every framework that the tracer knows: one file and one line each."""

from __future__ import annotations

from pdoctor_trace.framework import Framework
from pdoctor_trace.raw_loops.openai import OPENAI

from .langchain import LANGCHAIN

FRAMEWORKS: tuple[Framework, ...] = (
    LANGCHAIN,
    OPENAI,
)

__all__ = ["FRAMEWORKS"]
