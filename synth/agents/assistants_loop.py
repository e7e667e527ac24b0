"""Agent `assistants`: the deprecated Assistants API, while the SDK still has it."""

from __future__ import annotations

import warnings
from typing import Any

from openai import OpenAI

from synth.agents.mock_tools import as_openai_chat, run_tool
from synth.agents.model import Job, Outcome, OutOfIterations

POLL_MS = 100
"""How often a real server's run is looked at."""


def run(job: Job) -> Outcome:
    settings = job.settings
    with OpenAI(base_url=settings.base_url, api_key=settings.api_key) as client, warnings.catch_warnings():
        # The SDK warns of the deprecation at every call; the README's table of agents says it once.
        warnings.simplefilter("ignore", DeprecationWarning)
        return _run(job, client)


def _run(job: Job, client: OpenAI) -> Outcome:
    specs: Any = [as_openai_chat(tool) for tool in job.tools]
    assistant = client.beta.assistants.create(
        model=job.settings.model, tools=specs, **job.settings.sampling()
    )
    thread = client.beta.threads.create(messages=[{"role": "user", "content": job.query}])
    runs = client.beta.threads.runs
    state = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=POLL_MS)
    for iteration in range(1, job.settings.max_iterations + 1):
        if state.status != "requires_action" or state.required_action is None:
            return Outcome(state.status, iteration, state.usage.total_tokens if state.usage else 0)
        calls = state.required_action.submit_tool_outputs.tool_calls
        state = runs.submit_tool_outputs_and_poll(
            run_id=state.id,
            thread_id=thread.id,
            tool_outputs=[_output(job, call) for call in calls],
            poll_interval_ms=POLL_MS,
        )
    runs.cancel(run_id=state.id, thread_id=thread.id)
    raise OutOfIterations(job.settings.max_iterations)


def _output(job: Job, call: Any) -> Any:
    output = run_tool(job.tools, call.function.name, call.function.arguments)
    return {"tool_call_id": call.id, "output": output}
