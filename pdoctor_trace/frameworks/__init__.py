"""Every framework that the tracer knows: one file and one line each.

An adapter's file is loaded when one of its packages is about to be imported, not before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pdoctor_trace.adapter import Framework


class Entry(NamedTuple):
    """One line of the table."""

    name: str
    adapter: str
    """`module:NAME` of its `Framework`, below `pdoctor_trace`."""
    packages: tuple[str, ...]
    """Top-level packages that wake the adapter."""

    def load(self) -> Framework:
        """The adapter itself."""
        module, _, name = f"pdoctor_trace.{self.adapter}".partition(":")
        __import__(module)
        framework: Framework = getattr(sys.modules[module], name)
        return framework


FRAMEWORKS: tuple[Entry, ...] = (
    Entry("langchain", "frameworks.langchain:LANGCHAIN", ("langchain_core", "langgraph", "langchain")),
    Entry("openai_agents", "frameworks.openai_agents:OPENAI_AGENTS", ("agents",)),
    Entry("pydantic_ai", "frameworks.pydantic_ai:PYDANTIC_AI", ("pydantic_ai",)),
    Entry("mcp", "frameworks.mcp:MCP", ("mcp",)),
    Entry("dspy", "frameworks.dspy:DSPY", ("dspy",)),
    Entry("google_adk", "frameworks.google_adk:GOOGLE_ADK", ("google.adk",)),
    Entry("agno", "frameworks.agno:AGNO", ("agno",)),
    Entry("haystack", "frameworks.haystack:HAYSTACK", ("haystack",)),
    Entry("strands", "frameworks.strands:STRANDS", ("strands",)),
    Entry("semantic_kernel", "frameworks.semantic_kernel:SEMANTIC_KERNEL", ("semantic_kernel",)),
    Entry("llama_index", "frameworks.llama_index:LLAMA_INDEX", ("llama_index",)),
    Entry("smolagents", "frameworks.smolagents:SMOLAGENTS", ("smolagents",)),
    Entry("autogen", "frameworks.autogen:AUTOGEN", ("autogen_core", "autogen_agentchat")),
    Entry("crewai", "frameworks.crewai:CREWAI", ("crewai",)),
    Entry("litellm", "raw_loops.litellm:LITELLM", ("litellm",)),
    Entry("openai", "raw_loops.openai:OPENAI", ("openai",)),
    Entry("anthropic", "raw_loops.anthropic:ANTHROPIC", ("anthropic",)),
)
