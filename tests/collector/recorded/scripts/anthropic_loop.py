"""Anthropic Messages: anthropic_loop.py INSTRUMENTATION [messages|stream|runner].

`native` is the SDK's own tracing; the others are recorded with that switched off, as they would be
with an older SDK, unless `+native` is said. `runner` lets the SDK's tool runner execute the tools.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from recording import AGENT, QUERY, STORY, recording

CITY, NIGHTS = {"city": {"type": "string"}}, {"nights": {"type": "integer"}}


def instrument(name: str) -> None:
    if name == "openinference":
        from openinference.instrumentation.anthropic import AnthropicInstrumentor
    elif name == "openllmetry":
        from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
    elif name == "genai":
        from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
    else:
        return
    AnthropicInstrumentor().instrument()


def result_of(tools: dict[str, Any], call: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return {**block, "content": tools[call.name](**call.input)}
    except KeyError:
        return {**block, "content": f"there is no tool {call.name}", "is_error": True}
    except ValueError as error:
        return {**block, "content": str(error), "is_error": True}


def loop(client: Any, tools: dict[str, Any], stream: bool) -> None:
    schemas = [
        {"name": name, "description": name, "input_schema": {"type": "object", "properties": properties}}
        for name, properties in (("get_weather", CITY), ("book_hotel", {**CITY, **NIGHTS}))
    ]
    messages: list[Any] = [{"role": "user", "content": QUERY}]
    while True:
        request = {
            "model": STORY,
            "max_tokens": 99,
            "system": "Be brief.",
            "messages": messages,
            "tools": schemas,
        }
        if stream:
            with client.messages.stream(**request) as events:
                said = events.get_final_message()
        else:
            said = client.messages.create(**request)
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            return
        messages.append({"role": "assistant", "content": said.content})
        messages.append({"role": "user", "content": [result_of(tools, call) for call in calls]})


def runner(client: Any, tools: list[Any]) -> None:
    from anthropic import beta_tool

    request = {"model": STORY, "max_tokens": 99, "messages": [{"role": "user", "content": QUERY}]}
    client.beta.messages.tool_runner(**request, tools=[beta_tool(tool) for tool in tools]).until_done()


def main(instrumentation: str, mode: str = "messages") -> None:
    names = instrumentation.split("+")
    os.environ["ANTHROPIC_OPEN_TELEMETRY"] = str("native" in names).lower()
    os.environ["ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE"] = "content"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    with recording() as rec:
        provider = rec.provider()
        for name in names:
            instrument(name)
        from anthropic import Anthropic

        client = Anthropic(base_url=rec.models.anthropic, api_key="x", max_retries=0)
        made = rec.tools()
        with provider.get_tracer("app").start_as_current_span(AGENT):
            if mode == "runner":
                runner(client, made)
            else:
                loop(client, {tool.__name__: tool for tool in made}, mode == "stream")
        provider.force_flush()
        rec.write(f"{instrumentation}_anthropic_{mode}", offered=["get_weather", "book_hotel"])


if __name__ == "__main__":
    main(*sys.argv[1:])
