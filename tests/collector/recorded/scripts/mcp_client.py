"""MCP's own spans, client and server over stdio: mcp_client.py native.

Without an agent: the calls are made as a loop over a model's requests would make them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from recording import AGENT, recording

CALLS = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"}),
         ("find_flight", {"city": "Oslo"}), ("book_hotel", {"city": "Oslo", "nights": 2})]  # fmt: skip


async def work(rec: Any, log: Path) -> None:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    program = str(Path(__file__).with_name("mcp_server.py"))
    server = StdioServerParameters(command=sys.executable, args=[program, str(log), rec.sink])
    async with Client(server) as client:
        await client.list_tools()
        first, second, *rest = CALLS
        await asyncio.gather(*(client.call_tool(name, given) for name, given in (first, second)))
        for name, given in rest:
            try:
                await client.call_tool(name, given)
            except Exception as error:  # a tool that does not exist may be a protocol error
                sys.stdout.write(f"{name}: {error}\n")


def main(instrumentation: str) -> None:
    with recording() as rec:
        provider = rec.provider()
        log = Path(tempfile.mkdtemp()) / "calls.jsonl"
        with provider.get_tracer("app").start_as_current_span(AGENT):
            asyncio.run(work(rec, log))
        provider.force_flush()
        rec.executed = [json.loads(line) for line in log.read_text().splitlines()]
        rec.executed.sort(key=lambda entry: entry["start"])
        rec.requested = [{"id": None, "tool": name, "arguments": given} for name, given in CALLS]
        rec.write(f"{instrumentation}_mcp", offered=["get_weather", "book_hotel"])


if __name__ == "__main__":
    main(*sys.argv[1:])
