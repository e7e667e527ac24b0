"""An MCP server that uses all of the protocol, for what stands in front of it: `stdio`, or `http PORT`.

Each call of a tool that really ran is a line in the file that MCP_RAN names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("everything")


def ran(tool: str) -> str:
    with Path(os.environ["MCP_RAN"]).open("a") as file:
        file.write(f"{tool}\n")
    return f"{tool} done"


class Answer(BaseModel):
    name: str


@server.tool()
def verify(order: str) -> str:
    """Verify an order."""
    return ran("verify")


@server.tool()
def refund(order: str) -> str:
    """Refund an order."""
    return ran("refund")


@server.tool()
def boom() -> str:
    """Always fails."""
    raise RuntimeError("kaput")


@server.tool()
async def steps(context: Context) -> str:
    """Tell of progress, and in the log."""
    for step in range(3):
        await context.report_progress(step + 1, 3, f"step {step + 1}")
        await anyio.sleep(0.1)  # the TypeScript client forgets what comes together with the answer
    return "three steps"


@server.tool()
async def think(context: Context) -> str:
    """Ask the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="two and two?"))
    said = await context.session.create_message([message], max_tokens=9)
    return f"the model said {said.content.text}"


@server.tool()
async def who(context: Context) -> str:
    """Ask the user."""
    said = await context.elicit("Who are you?", Answer)
    return f"{said.action}: {said.data.name}"


@server.tool()
async def forever() -> str:
    """Wait until somebody cancels."""
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        ran("cancelled")
        raise
    return "never"


@server.tool()
def die() -> str:
    """End the server at once."""
    os._exit(9)


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"note {name}"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Greet {name}."


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
