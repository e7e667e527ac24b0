"""The MCP server of mcp_client.py: mcp_server.py LOG SINK. It keeps the log and exports its own spans."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from mcp.server import MCPServer
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

log, sink = sys.argv[1:]
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{sink}/v1/traces")))
trace.set_tracer_provider(provider)
server = MCPServer("travel")


@contextmanager
def running(tool: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    entry: dict[str, Any] = {"tool": tool, "arguments": arguments, "start": time.time_ns()}
    try:
        yield entry
    except BaseException as error:
        entry["error"] = str(error)
        raise
    finally:
        entry["end"] = time.time_ns()
        with open(log, "a") as file:
            file.write(json.dumps(entry) + "\n")


@server.tool()
async def get_weather(city: str) -> str:
    """Tell the weather in a city."""
    with running("get_weather", {"city": city}) as entry:
        await anyio.sleep(0.02 if city == "Oslo" else 0.005)
        entry["result"] = f"sunny in {city}"
    return str(entry["result"])


@server.tool()
async def book_hotel(city: str, nights: int) -> str:
    """Book a hotel in a city."""
    with running("book_hotel", {"city": city, "nights": nights}):
        raise ValueError(f"no room in {city}")


if __name__ == "__main__":
    server.run("stdio")
