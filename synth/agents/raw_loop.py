"""Agent `raw-loop`: the loop everybody writes first, over the bare OpenAI SDK."""

from __future__ import annotations

from typing import Any

from openai import OpenAI

from synth.agents.mock_tools import as_openai_chat, run_tool
from synth.agents.model import Job, Outcome, OutOfIterations


def run(job: Job) -> Outcome:
    settings = job.settings
    messages: list[Any] = [{"role": "user", "content": job.query}]
    specs: Any = [as_openai_chat(tool) for tool in job.tools]
    tokens = 0
    with OpenAI(base_url=settings.base_url, api_key=settings.api_key) as client:
        for iteration in range(1, settings.max_iterations + 1):
            completion = client.chat.completions.create(
                model=settings.model, messages=messages, tools=specs, **settings.sampling()
            )
            tokens += completion.usage.total_tokens if completion.usage else 0
            message = completion.choices[0].message
            if not message.tool_calls:
                return Outcome(message.content or "", iteration, tokens)
            messages.append(message.model_dump(exclude_none=True))
            messages += [_result(job, call) for call in message.tool_calls]
    raise OutOfIterations(settings.max_iterations)


def _result(job: Job, call: Any) -> dict[str, str]:
    content = run_tool(job.tools, call.function.name, call.function.arguments)
    return {"role": "tool", "tool_call_id": call.id, "content": content}
