"""Agent `responses`: the Responses API, where the server holds the conversation."""

from __future__ import annotations

from typing import Any

from synth.agents.mock_tools import as_openai_responses, run_tool
from synth.agents.model import Job, Outcome, OutOfIterations
from synth.agents.openai_client import client_of


def run(job: Job) -> Outcome:
    settings = job.settings
    given: Any = job.query
    specs: Any = [as_openai_responses(tool) for tool in job.tools]
    previous: Any = {}
    told: Any = {} if settings.system is None else {"instructions": settings.system}
    client = client_of(settings)
    for iteration in range(1, settings.max_iterations + 1):
        response = client.responses.create(
            model=settings.model, input=given, tools=specs, **told, **previous, **settings.sampling()
        )
        job.answers.told(response)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return Outcome(response.output_text, iteration)
        given = [_result(job, call) for call in calls]
        previous = {"previous_response_id": response.id}
    raise OutOfIterations(settings.max_iterations)


def _result(job: Job, call: Any) -> dict[str, str]:
    output = run_tool(job.tools, call.name, call.arguments)
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}
