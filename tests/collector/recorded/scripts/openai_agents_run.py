"""An agent of the OpenAI Agents SDK: openai_agents_run.py INSTRUMENTATION [plain|stream|nested|mcp].

`mcp` takes its tools from mcp_server.py, so that MCP's own spans lie below the framework's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from recording import AGENT, EXPERT_STORY, NESTED_STORY, QUERY, STORY, Recording, flush_mlflow, recording


def instrument(name: str, rec: Recording) -> Any:
    import agents

    agents.set_trace_processors([])  # the SDK's own would send to its vendor
    if name == "mlflow":
        os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{rec.sink}/v1/traces"
        os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
        import mlflow

        mlflow.openai.autolog()
        return None
    if name == "logfire":
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = rec.sink
        import logfire

        logfire.configure(send_to_logfire=False, console=False, inspect_arguments=False)
        logfire.instrument_openai_agents()
        return None
    provider = rec.provider()
    if name == "openinference":
        from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

        OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    elif name == "openllmetry":
        from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

        OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    else:
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
        from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor

        OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    return provider


def with_expert(rec: Recording, tools: list[Any], made: Any) -> list[Any]:
    from agents import Runner

    expert = made(EXPERT_STORY, "weather_expert", tools[:1])

    async def ask_expert(question: str) -> Any:
        """Ask an expert for the weather."""
        with rec.running("ask_expert", {"question": question}) as entry:
            entry["result"] = str((await Runner.run(expert, question)).final_output)
        return entry["result"]

    return [ask_expert, tools[1]]


async def over_mcp(rec: Recording, agent: Any) -> None:
    from agents import RunConfig, Runner
    from agents.mcp import MCPServerStdio

    log = Path(tempfile.mkdtemp()) / "calls.jsonl"
    program = str(Path(__file__).with_name("mcp_server.py"))
    params: Any = {"command": sys.executable, "args": [program, str(log), rec.sink]}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=30) as server:
        agent.tools, agent.mcp_servers = [], [server]
        config = RunConfig(tool_not_found_behavior="return_error_to_model")
        await Runner.run(agent, QUERY, run_config=config)
    rec.executed = sorted(map(json.loads, log.read_text().splitlines()), key=lambda entry: entry["start"])


async def work(rec: Recording, mode: str) -> list[str]:
    from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=rec.models.openai, api_key="x", max_retries=0)

    def made(script: str, name: str, tools: list[Any]) -> Any:
        model = OpenAIResponsesModel(model=script, openai_client=client)
        return Agent(
            name=name, instructions="Be brief.", model=model, tools=[function_tool(t) for t in tools]
        )

    tools: list[Any] = rec.tools()
    if mode == "nested":
        tools = with_expert(rec, tools, made)
    agent = made(NESTED_STORY if mode == "nested" else STORY, AGENT, tools)
    config = RunConfig(tool_not_found_behavior="return_error_to_model")
    if mode == "mcp":
        await over_mcp(rec, agent)
    elif mode == "stream":
        result = Runner.run_streamed(agent, QUERY, run_config=config)
        async for _ in result.stream_events():
            pass
    else:
        await Runner.run(agent, QUERY, run_config=config)
    await client.close()
    return [tool.__name__ for tool in tools]


def main(instrumentation: str, mode: str = "plain") -> None:
    with recording() as rec:
        provider = instrument(instrumentation, rec)
        offered = asyncio.run(work(rec, mode))
        if provider is not None:
            provider.force_flush()
        elif instrumentation == "logfire":
            import logfire

            logfire.force_flush()
        else:
            flush_mlflow()
        rec.write(f"{instrumentation}_agents_{mode}", offered=offered)


if __name__ == "__main__":
    main(*sys.argv[1:])
