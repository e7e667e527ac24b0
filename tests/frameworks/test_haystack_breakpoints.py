"""Breakpoints of agents, which version 2 of Haystack has: what stops and goes on is one run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from haystack.core.errors import BreakpointException
from haystack.dataclasses import ChatMessage
from haystack.dataclasses.breakpoints import AgentBreakpoint, AgentSnapshot, Breakpoint, ToolBreakpoint

import pdoctor_trace
from tests.frameworks.conformance import QUERY, ToolLog
from tests.frameworks.test_haystack import agent
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SCRIPT = "fake.one.sleepy"
AT: Any = {
    "tool": ToolBreakpoint("tool_invoker", visit_count=1, tool_name="slow_echo"),
    "model": Breakpoint("chat_generator", visit_count=1),
}


def use(one: Any, mode: str, **options: Any) -> Any:
    given: Any = {"messages": [ChatMessage.from_user(QUERY)], **options}
    return asyncio.run(one.run_async(**given)) if mode == "async" else one.run(**given)


def stopped(one: Any, at: str, mode: str = "sync") -> str:
    """JSON text of the snapshot that a run stops with."""
    with pytest.raises(BreakpointException) as caught:
        use(one, mode, break_point=AgentBreakpoint("agent", AT[at]))
    return json.dumps(caught.value.pipeline_snapshot.agent_snapshot.to_dict())


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("at", AT)
def test_a_run_that_stops_at_a_breakpoint_is_one_run_with_what_goes_on(
    models: FakeModels, sink: OtlpSink, mode: str, at: str
) -> None:
    log = ToolLog()
    first_agent, second_agent = (agent(models, SCRIPT, log.functions()) for _ in range(2))
    snapshot = AgentSnapshot.from_dict(json.loads(stopped(first_agent, at, mode)))
    use(second_agent, mode, messages=[], snapshot=snapshot)
    pdoctor_trace.flush()
    first, last = sink.runs
    assert (first["pdoctor.run.state"], first["pdoctor.run.pause_reason"]) == ("paused", "other")
    assert (last["pdoctor.run.state"], last["pdoctor.run.calls"]) == (None, 3)
    assert len({(span.run_id, span.trace_id) for span in sink.spans}) == 1
    told = [(call.tool, call.executed, call["pdoctor.step.index"]) for call in sink.calls]
    assert told == [("add", True, 0), ("slow_echo", True, 1), ("slow_echo", True, 2)]
    assert sorted(log.names) == ["add", "slow_echo", "slow_echo"]


def test_a_run_that_another_process_goes_on_with_says_so(models: FakeModels, sink: OtlpSink) -> None:
    snapshot = stopped(agent(models, SCRIPT, ToolLog().functions()), "tool")
    pdoctor_trace.flush()
    (first,) = sink.runs
    code = (
        "import json, os, sys, types, pdoctor_trace\n"
        "from haystack.dataclasses.breakpoints import AgentSnapshot\n"
        "from tests.frameworks.conformance import ToolLog\n"
        "from tests.frameworks.test_haystack import agent\n"
        "models = types.SimpleNamespace(openai=sys.argv[1])\n"
        "snapshot = AgentSnapshot.from_dict(json.loads(sys.stdin.read()))\n"
        f"agent(models, {SCRIPT!r}, ToolLog().functions()).run(messages=[], snapshot=snapshot)\n"
        "pdoctor_trace.flush()\n"
    )
    sink.clear()
    subprocess.run(
        [sys.executable, "-c", code, models.openai],
        input=snapshot,
        text=True,
        env={**os.environ, "PDOCTOR_ENDPOINT": sink.url},
        check=True,
    )
    (last,) = sink.runs
    assert last["pdoctor.run.resumed"] == first["pdoctor.run.token"]
    assert [call.tool for call in sink.calls] == ["slow_echo", "slow_echo"]
