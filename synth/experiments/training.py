"""Failures of campaigns as material to train a model on (paper, section 7)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from synth.agents.mock_tools import ToolLog, as_openai_chat, mock_tools
from synth.cases.case import case_from_json
from synth.experiments.trial import Result
from synth.formal.constraints import clock
from synth.observed.instants import START_TIME

DONE = "All tasks are done."


def training_records(results: Iterable[Result]) -> list[Mapping[str, Any]]:
    """Each failure: query, wrong plan, what it broke, and a right plan (null where the verdict has none)."""
    records: list[Mapping[str, Any]] = []
    for result in results:
        verdict, case = result.verdict, result.case
        if result.outcome != "fail" or verdict is None or case is None or result.run is None:
            continue
        calls = [{"name": call["name"], "arguments": call["arguments"]} for call in result.run["calls"]]
        records.append(
            {
                "case_id": case["id"],
                "query": case["query"],
                "tools": [{"name": a["tool"], "description": a["description"]} for a in case["actions"]],
                "wrong_plan": calls,
                "error_type": verdict["error_type"],
                "violated": [f["constraint"] for f in verdict["findings"] if f["constraint"]],
                "explanations": [f["explanation"] for f in verdict["findings"] if f["type"] != "note"],
                "repaired_plan": _repaired(verdict["repair"], case),
            }
        )
    return records


def conversations(results: Iterable[Result]) -> list[Mapping[str, Any]]:
    """Each failure with a repair as the conversation that should have been: `messages` and `tools` as the
    fine-tuning of chat models takes them. Each case comes once, however often it was run."""
    results = list(results)
    cases = {result.case["id"]: result.case for result in results if result.case is not None}
    records = [record for record in training_records(results) if record["repaired_plan"] is not None]
    plans = {record["case_id"]: record["repaired_plan"] for record in records}
    return [_conversation(cases[name], plan) for name, plan in plans.items()]


def _conversation(body: Mapping[str, Any], plan: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    case = case_from_json(body)
    tools = {tool.name: tool for tool in mock_tools(case, ToolLog())}
    messages: list[Mapping[str, Any]] = [{"role": "user", "content": case.query}]
    for number, call in enumerate(plan):
        name, arguments = call["name"], call["arguments"]
        asked = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": f"call_{number}", "type": "function", "function": asked}]
        messages += [
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": tools[name].answer(arguments)},
        ]
    messages.append({"role": "assistant", "content": DONE})
    return {"messages": messages, "tools": [as_openai_chat(tool) for tool in tools.values()]}


def _repaired(repair: Mapping[str, Any] | None, case: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The repair as calls, None where the verdict has none."""
    if repair is None:
        return None
    tool = {action["id"]: action["tool"] for action in case["actions"]}
    starts = repair.get("starts") or {}
    return [
        {"name": tool[action], "arguments": {START_TIME: clock(starts[action])} if action in starts else {}}
        for action in repair["order"]
    ]
