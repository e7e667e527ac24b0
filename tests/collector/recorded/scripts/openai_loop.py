"""A raw loop over the OpenAI SDK: openai_loop.py INSTRUMENTATION [chat|stream|responses]."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from recording import AGENT, QUERY, STORY, flush_mlflow, recording

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def instrument(name: str, rec: Any) -> Any:
    """Switch the instrumentation on; returns the tracer provider, None for MLflow's own."""
    if name == "official_old":  # messages as log records: spans carry none
        os.environ[CONTENT] = "true"
    elif name in ("official", "genai"):
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ[CONTENT] = "SPAN_ONLY"
    if name == "mlflow":
        os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{rec.sink}/v1/traces"
        os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
        import mlflow

        mlflow.openai.autolog()
        return None
    provider = rec.provider()
    if name == "openinference":
        from openinference.instrumentation.openai import OpenAIInstrumentor
    elif name == "openllmetry":
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor
    elif name == "genai":
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    else:
        from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    return provider


def schemas(responses: bool) -> list[dict[str, Any]]:
    city, nights = {"city": {"type": "string"}}, {"nights": {"type": "integer"}}
    made = []
    for name, properties in (("get_weather", city), ("book_hotel", {**city, **nights})):
        function = {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": properties},
        }
        made.append(
            {"type": "function", **function} if responses else {"type": "function", "function": function}
        )
    return made


def execute(tools: dict[str, Any], name: str, arguments: str) -> str:
    try:
        return str(tools[name](**json.loads(arguments)))
    except KeyError:
        return f"error: there is no tool {name}"
    except ValueError as error:
        return f"error: {error}"


def chat(client: Any, tools: dict[str, Any], stream: bool) -> None:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUERY}]
    while True:
        calls = ask(client, messages, stream)
        if not calls:
            return
        asked = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
        messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        for i, n, a in calls:
            messages.append({"role": "tool", "tool_call_id": i, "content": execute(tools, n, a)})


def ask(client: Any, messages: list[Any], stream: bool) -> list[tuple[str, str, str]]:
    request = {"model": STORY, "messages": messages, "tools": schemas(False)}
    if not stream:
        said = client.chat.completions.create(**request).choices[0].message
        return [(c.id, c.function.name, c.function.arguments) for c in said.tool_calls or ()]
    found: dict[int, list[str]] = {}
    for chunk in client.chat.completions.create(**request, stream=True):
        for part in chunk.choices[0].delta.tool_calls or () if chunk.choices else ():
            entry = found.setdefault(part.index, ["", "", ""])
            entry[0] = part.id or entry[0]
            entry[1] += part.function.name or ""
            entry[2] += part.function.arguments or ""
    return [(i, n, a) for i, n, a in found.values()]


def responses(client: Any, tools: dict[str, Any]) -> None:
    given: Any = QUERY
    previous = None
    while True:
        more = {"previous_response_id": previous} if previous else {}
        answer = client.responses.create(model=STORY, input=given, tools=schemas(True), **more)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return
        previous = answer.id
        given = [
            {
                "type": "function_call_output",
                "call_id": c.call_id,
                "output": execute(tools, c.name, c.arguments),
            }
            for c in calls
        ]


def mlflow_span() -> Any:
    import mlflow

    return mlflow.start_span(AGENT)


def main(instrumentation: str, mode: str = "chat") -> None:
    with recording() as rec:
        provider = instrument(instrumentation, rec)
        from openai import OpenAI

        client = OpenAI(base_url=rec.models.openai, api_key="x", max_retries=0)
        tools = {tool.__name__: tool for tool in rec.tools()}
        with provider.get_tracer("app").start_as_current_span(AGENT) if provider else mlflow_span():
            if mode == "responses":
                responses(client, tools)
            else:
                chat(client, tools, mode == "stream")
        if provider is None:
            flush_mlflow()
        rec.write(f"{instrumentation}_openai_{mode}", offered=["get_weather", "book_hotel"])


if __name__ == "__main__":
    main(*sys.argv[1:])
