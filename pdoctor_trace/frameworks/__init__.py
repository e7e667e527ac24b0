"""Every framework that the tracer knows: one file and one line each."""

from __future__ import annotations

from ..raw_loops.openai import OPENAI
from .framework import Framework, Target
from .langchain import LANGCHAIN

FRAMEWORKS: tuple[Framework, ...] = (
    LANGCHAIN,
    OPENAI,
)

__all__ = ["FRAMEWORKS", "Framework", "Target"]
