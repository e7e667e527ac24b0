"""A PydanticAI agent: pydantic_ai_run.py native|logfire [plain|stream|nested]."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any

from recording import AGENT, EXPERT_STORY, NESTED_STORY, QUERY, STORY, Recording, recording


def instrument(name: str, rec: Recording) -> Any:
    """Switch it on; returns what flushes."""
    from pydantic_ai import Agent

    if name == "logfire":
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = rec.sink
        import logfire

        logfire.configure(send_to_logfire=False, console=False, inspect_arguments=False)
        logfire.instrument_pydantic_ai()
        return logfire
    Agent.instrument_all()
    return rec.provider()


async def work(rec: Recording, mode: str) -> list[str]:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=rec.models.openai, api_key="x", max_retries=0)

    def made(script: str, name: str, tools: list[Any]) -> Any:
        model = OpenAIChatModel(script, provider=OpenAIProvider(openai_client=client))
        return Agent(model, name=name, tools=tools, instructions="Be brief.")

    tools: list[Any] = rec.tools()
    if mode == "nested":
        expert = made(EXPERT_STORY, "weather_expert", tools[:1])

        async def ask_expert(question: str) -> str:
            """Ask an expert for the weather."""
            with rec.running("ask_expert", {"question": question}) as entry:
                entry["result"] = (await expert.run(question)).output
            return str(entry["result"])

        tools = [ask_expert, tools[1]]
    agent = made(NESTED_STORY if mode == "nested" else STORY, AGENT, tools)
    with suppress(ValueError):  # a failing tool ends the run
        if mode == "stream":
            async with agent.iter(QUERY) as steps:
                async for _ in steps:
                    pass
        else:
            await agent.run(QUERY)
    await client.close()
    return [tool.__name__ for tool in tools]


def main(instrumentation: str, mode: str = "plain") -> None:
    with recording() as rec:
        flusher = instrument(instrumentation, rec)
        offered = asyncio.run(work(rec, mode))
        flusher.force_flush()
        rec.write(f"{instrumentation}_pydantic_ai_{mode}", offered=offered)


if __name__ == "__main__":
    main(*sys.argv[1:])
