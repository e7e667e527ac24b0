"""LangChain and LangGraph: what stands in place of the result of a call that a guard refuses, and how a
tool is given arguments that a person changed."""

from __future__ import annotations

import sys
from typing import Any

from pdoctor_trace.adapter import Call, Given, call_of, merged, with_arguments


def refuse_node(visit: Any, text: str, node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As the node answers where a tool failed."""
    return _error_message(text, visit.call)


def refuse_tool(visit: Any, text: str, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As a tool whose errors are handled answers."""
    call = call_of(visit)
    return text if kwargs.get("tool_call_id") is None else _error_message(text, call)


def change_node(changed: dict[str, Any], node: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    return with_arguments(
        args, kwargs, 0, "call", lambda call: {**call, "args": merged(call["args"], changed)}
    )


def change_tool(changed: dict[str, Any], tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    return with_arguments(args, kwargs, 0, "tool_input", lambda given: merged(given, changed))


def _error_message(text: str, call: Call) -> Any:
    return sys.modules["langchain_core.messages"].ToolMessage(
        content=text, name=call.tool, tool_call_id=call.call_id, status="error"
    )
