"""The lines with which a program is watched: of each framework, and of what sends OpenTelemetry already."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import orjson

FRAMEWORKS: Mapping[str, str] = {
    "LangChain, LangGraph": """\
import pdoctor_trace
from langchain.agents import create_agent

agent = create_agent(model, tools=[search])
agent.invoke({"messages": [("user", "Refund order A-17")]})""",
    "OpenAI Agents SDK": """\
import pdoctor_trace
from agents import Agent, Runner

agent = Agent(name="refunds", tools=[search])
Runner.run_sync(agent, "Refund order A-17")""",
    "PydanticAI": """\
import pdoctor_trace
from pydantic_ai import Agent

agent = Agent(model, tools=[search])
agent.run_sync("Refund order A-17")""",
    "MCP client": """\
import pdoctor_trace
from mcp import ClientSession

await session.call_tool("search", {"order": "A-17"})  # of a ClientSession""",
    "DSPy": """\
import pdoctor_trace
import dspy

agent = dspy.ReAct("question -> answer", tools=[search])
agent(question="Refund order A-17")""",
    "Google ADK": """\
import pdoctor_trace
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

runner = InMemoryRunner(LlmAgent(name="refunds", model=model, tools=[search]))""",
    "Agno": """\
import pdoctor_trace
from agno.agent import Agent

Agent(model=model, tools=[search]).run("Refund order A-17")""",
    "Haystack": """\
import pdoctor_trace
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage

agent = Agent(chat_generator=generator, tools=[search])
agent.run(messages=[ChatMessage.from_user("Refund order A-17")])""",
    "Strands Agents": """\
import pdoctor_trace
from strands import Agent

agent = Agent(model=model, tools=[search])
agent("Refund order A-17")""",
    "Semantic Kernel": """\
import pdoctor_trace
from semantic_kernel.agents import ChatCompletionAgent

agent = ChatCompletionAgent(service=service, name="refunds", plugins=[Orders()])
await agent.get_response("Refund order A-17")""",
    "LlamaIndex": """\
import pdoctor_trace
from llama_index.core.agent.workflow import FunctionAgent

agent = FunctionAgent(llm=llm, tools=[search])
await agent.run("Refund order A-17")""",
    "smolagents": """\
import pdoctor_trace
from smolagents import ToolCallingAgent

ToolCallingAgent(tools=[search], model=model).run("Refund order A-17")""",
    "AutoGen": """\
import pdoctor_trace
from autogen_agentchat.agents import AssistantAgent

agent = AssistantAgent("refunds", model_client=client, tools=[search])
await agent.run(task="Refund order A-17")""",
    "CrewAI": """\
import pdoctor_trace
from crewai import Agent, Crew, Task

Crew(agents=[agent], tasks=[task]).kickoff()""",
    "LiteLLM, raw loops": """\
import pdoctor_trace
import litellm

@pdoctor_trace.tool  # exact times and errors; your loop calls it as before
def search(order: str): ...

litellm.completion(model=model, messages=messages, tools=tools)""",
    "OpenAI SDK, raw loops": """\
import pdoctor_trace
import openai

@pdoctor_trace.tool  # exact times and errors; your loop calls it as before
def search(order: str): ...

openai.OpenAI().chat.completions.create(model=model, messages=messages, tools=tools)""",
    "Anthropic SDK, raw loops": """\
import pdoctor_trace
import anthropic

@pdoctor_trace.tool  # exact times and errors; your loop calls it as before
def search(order: str): ...

anthropic.Anthropic().messages.create(model=model, max_tokens=1024, messages=messages, tools=tools)""",
}
"""Framework, as docs/frameworks.md calls it -> a program on it."""
PLACEHOLDER = "pdk_..."


def senders(endpoint: str, key: str | None, now: float) -> list[tuple[str, str]]:
    """(what sends, its lines) for programs that speak OTLP already; `key` where one is needed."""
    headers = "" if key is None else f"\nOTEL_EXPORTER_OTLP_TRACES_HEADERS=Authorization=Bearer%20{key}"
    return [
        (
            "Any OpenTelemetry SDK, by its environment",
            f"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={endpoint}/v1/traces{headers}\n"
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
        ),
        ("An OpenTelemetry Collector, one exporter more", _collector(endpoint, key)),
        ("curl, one run by hand", _curl(endpoint, key, now)),
        ("Vercel AI SDK, TypeScript", "experimental_telemetry: { isEnabled: true }  // in generateText, ..."),
    ]


def _collector(endpoint: str, key: str | None) -> str:
    headers = "" if key is None else f"\n    headers: {{Authorization: Bearer {key}}}"
    return (
        f"exporters:\n  otlphttp/pdoctor:\n    endpoint: {endpoint}{headers}\n"
        "service:\n  pipelines:\n    traces:\n      exporters: [otlphttp/pdoctor]  # one more"
    )


def _curl(endpoint: str, key: str | None, now: float) -> str:
    """A run of one call, as JSON on one line."""
    start = int(now * 1e9)
    span = {
        "traceId": f"{start:032x}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 10**9),
    }
    said = (
        ("a1" * 8, "", "invoke_agent", {"gen_ai.agent.name": "by-hand"}),
        ("b2" * 8, "a1" * 8, "execute_tool", {"gen_ai.tool.name": "search"}),
    )
    spans = [
        {
            **span, "spanId": own, "parentSpanId": parent, "name": does,
            "attributes": [
                {"key": name, "value": {"stringValue": value}}
                for name, value in {"gen_ai.operation.name": does, **about}.items()
            ],
        }
        for own, parent, does, about in said
    ]  # fmt: skip
    body = orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).decode()
    allowed = "" if key is None else f" -H {shlex.quote(f'Authorization: Bearer {key}')}"
    return (
        f"curl {endpoint}/v1/traces -H 'Content-Type: application/json'{allowed} \\\n  -d {shlex.quote(body)}"
    )
