"""LangChain and LangGraph: what stands in the place of a tool's result where a guard refuses the call."""

from __future__ import annotations

import sys
from typing import Any

from pdoctor_trace.adapter import Call, call_of


def refuse_node(visit: Any, text: str, node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As the node answers where a tool failed."""
    return _error_message(text, visit.call)


def refuse_tool(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As a tool whose errors are handled answers."""
    call = call_of(visit)
    return text if kwargs.get("tool_call_id") is None else _error_message(text, call)


def _error_message(text: str, call: Call) -> Any:
    return sys.modules["langchain_core.messages"].ToolMessage(
        content=text, name=call.tool, tool_call_id=call.call_id, status="error"
    )
