"""A LangChain agent: langchain_agent.py INSTRUMENTATION[+INSTRUMENTATION] [plain|stream|nested]."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from recording import AGENT, EXPERT_STORY, NESTED_STORY, QUERY, STORY, Recording, flush_mlflow, recording


def instrument(name: str, rec: Recording) -> None:
    """Switch one instrumentation on."""
    if name == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor

        LangChainInstrumentor().instrument()
    elif name == "openllmetry":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        LangchainInstrumentor().instrument()
    elif name == "genai":
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
        from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as GenAI

        GenAI().instrument()
    elif name == "mlflow":
        os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{rec.sink}/v1/traces"
        os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
        import mlflow

        mlflow.langchain.autolog()
    elif name == "pdoctor":
        os.environ["PDOCTOR_ENDPOINT"] = rec.sink
        os.environ["PDOCTOR_CONTENT"] = "full"
        import pdoctor_trace

        assert pdoctor_trace.status()


def settle(names: list[str], provider: Any) -> None:
    """Wait until everything is exported."""
    if "langsmith" in names:
        from langchain_core.tracers.langchain import get_client, wait_for_all_tracers

        wait_for_all_tracers()
        get_client().flush()
    if "mlflow" in names:
        flush_mlflow()
    if "pdoctor" in names:
        import pdoctor_trace

        pdoctor_trace.flush()
    if provider is not None:
        provider.force_flush()


def agent_of(rec: Recording, tools: list[Any], script: str, name: str, stream: bool) -> Any:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=script, base_url=rec.models.openai, api_key="x", max_retries=0, streaming=stream)
    return create_agent(model, [tool(one) for one in tools], name=name)


def asked(agent: Any, said: str, stream: bool) -> str:
    given = {"messages": [("user", said)]}
    if not stream:
        return str(agent.invoke(given)["messages"][-1].content)
    *_, last = agent.stream(given, stream_mode="values")
    return str(last["messages"][-1].content)


def with_expert(rec: Recording, tools: list[Any]) -> list[Any]:
    expert = agent_of(rec, tools[:1], EXPERT_STORY, "weather_expert", False)

    def ask_expert(question: str) -> str:
        """Ask an expert for the weather."""
        body = lambda: asked(expert, question, False)  # noqa: E731
        return str(rec.ran("ask_expert", {"question": question}, body))

    return [ask_expert, tools[1]]


def main(instrumentations: str, mode: str = "plain") -> None:
    names = instrumentations.split("+")
    if "langsmith" in names:
        os.environ.update(LANGSMITH_TRACING="true", LANGSMITH_OTEL_ENABLED="true", LANGSMITH_API_KEY="x",
                          LANGSMITH_OTEL_ONLY="true", LANGSMITH_ENDPOINT="http://127.0.0.1:9")  # fmt: skip
    with recording() as rec:
        provider = None if "mlflow" in names else rec.provider()
        for name in names:
            instrument(name, rec)
        tools: list[Any] = rec.tools()
        if mode == "nested":
            tools = with_expert(rec, tools)
        agent = agent_of(rec, tools, NESTED_STORY if mode == "nested" else STORY, AGENT, mode == "stream")
        with suppress(ValueError):  # the agent lets a failing tool end the run
            asked(agent, QUERY, mode == "stream")
        settle(names, provider)
        rec.write(f"{'+'.join(names)}_langchain_{mode}", offered=[tool.__name__ for tool in tools])


if __name__ == "__main__":
    main(*sys.argv[1:])
