"""Agent `raw-loop`: the loop everybody writes first, over the bare OpenAI SDK.

With the request parameter `stream=true` it takes answers in pieces and joins them, as the SDK does.
"""

from __future__ import annotations

from typing import Any

from openai.lib.streaming.chat import ChatCompletionStreamState

from synth.agents.mock_tools import as_openai_chat, run_tool
from synth.agents.model import Job, Outcome, OutOfIterations
from synth.agents.openai_client import client_of


def run(job: Job) -> Outcome:
    settings = job.settings
    messages: list[Any] = [*settings.opening, {"role": "user", "content": job.query}]
    specs: Any = [as_openai_chat(tool) for tool in job.tools]
    client = client_of(settings)
    streams = bool(settings.params.get("stream"))
    pieces: Any = {"stream": True, "stream_options": {"include_usage": True}} if streams else {}
    for iteration in range(1, settings.max_iterations + 1):
        made: Any = client.chat.completions.create(
            model=settings.model, messages=messages, tools=specs, **pieces, **settings.sampling()
        )
        completion = _joined(made) if streams else made
        job.answers.told(completion)
        message = completion.choices[0].message
        if not message.tool_calls:
            return Outcome(message.content or "", iteration)
        messages.append(message.model_dump(exclude_none=True))
        messages += [_result(job, call) for call in message.tool_calls]
    raise OutOfIterations(settings.max_iterations)


def _joined(chunks: Any) -> Any:
    """The completion that a stream's chunks make up."""
    state: Any = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(chunk)
    return state.get_final_completion()


def _result(job: Job, call: Any) -> dict[str, str]:
    content = run_tool(job.tools, call.function.name, call.function.arguments)
    return {"role": "tool", "tool_call_id": call.id, "content": content}
