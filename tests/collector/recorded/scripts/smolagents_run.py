"""A smolagents ToolCallingAgent under OpenInference: smolagents_run.py openinference."""

from __future__ import annotations

import sys
from typing import Any

from recording import AGENT, QUERY, fake_models, recording

fake_models.STEPS["answer"] = [("final_answer", '{"answer": "all done"}')]


def main(instrumentation: str) -> None:
    with recording() as rec:
        provider = rec.provider()
        from openinference.instrumentation.smolagents import SmolagentsInstrumentor

        SmolagentsInstrumentor().instrument(tracer_provider=provider)
        from smolagents import MessageRole, OpenAIServerModel, ToolCallingAgent, tool

        get_weather, book_hotel = rec.tools()
        get_weather.__doc__ = "Tell the weather.\n\nArgs:\n    city: where"
        book_hotel.__doc__ = "Book a hotel.\n\nArgs:\n    city: where\n    nights: how long"
        # its own roles, which it would turn into the user's, and the scripted model counts those
        roles: Any = {MessageRole.TOOL_CALL: MessageRole.ASSISTANT, MessageRole.TOOL_RESPONSE: "tool"}
        script = "fake.talk.weather.talk.flight.talk.hotel.talk.answer"  # it drops failed turns without text
        model = OpenAIServerModel(script, rec.models.openai, api_key="x", custom_role_conversions=roles)
        tools: list[Any] = [tool(get_weather), tool(book_hotel)]
        ToolCallingAgent(tools, model, name=AGENT, description="d", verbosity_level=0).run(QUERY)
        provider.force_flush()
        rec.write(f"{instrumentation}_smolagents", offered=["get_weather", "book_hotel", "final_answer"])


if __name__ == "__main__":
    main(*sys.argv[1:])
