"""The replay agent: `create_agent` on the `replay:<run_id>` model, its tools answer as recorded."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import StructuredTool, ToolException

from synth.agents.langchain_tools import run_agent
from synth.agents.mock_tools import ToolLog
from synth.agents.model import Outcome, Settings
from synth.agents.usage import Answers

ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}


def run_record(record: Mapping[str, Any], settings: Settings, log: ToolLog, told: Answers) -> Outcome:
    """Make the recorded calls again, really: same ids, arguments, results and errors."""
    answers = _Recorded(record)
    names = dict.fromkeys([*(record.get("tools") or ()), *(call["name"] for call in record["calls"])])
    tools = [_tool(name, answers, log) for name in names]
    return run_agent(record["query"], tools, settings, told)


class _Recorded:
    """Recorded answers by tool and arguments; the same call made twice gets its answers in order."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, str], deque[Mapping[str, Any]]] = defaultdict(deque)
        for call in record["calls"]:
            self._answers[_key(call["name"], call["arguments"])].append(call)

    def next(self, name: str, arguments: Any) -> Mapping[str, Any]:
        with self._lock:
            return self._answers[_key(name, arguments)].popleft()


def _key(name: str, arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments, sort_keys=True)


def _tool(name: str, answers: _Recorded, log: ToolLog) -> StructuredTool:
    def call(**arguments: Any) -> Any:
        recorded = answers.next(name, arguments)
        error = recorded.get("error")
        log.record(name, arguments, lambda: json.dumps(recorded.get("result", error)))
        if error is not None:
            raise ToolException(error)
        return recorded.get("result")

    return StructuredTool.from_function(
        func=call,
        name=name,
        description=f"Recorded tool {name}.",
        args_schema=dict(ANYTHING),
        infer_schema=False,
        handle_tool_error=True,
    )
