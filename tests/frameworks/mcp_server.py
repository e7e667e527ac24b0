"""A small MCP server with the conformance tools; on stdio when run as a program."""

from __future__ import annotations

import anyio

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
except ImportError:  # version 1
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("conformance")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool()
async def slow_echo(text: str) -> str:
    """Echo a text slowly."""
    await anyio.sleep(0.03)
    return text


@server.tool()
def boom(x: str) -> str:
    """Always fails."""
    raise RuntimeError(f"boom {x}")


@server.tool()
def number(context: Context) -> str:
    """Tell the id of this very request."""
    return str(context.request_id)


if __name__ == "__main__":
    server.run("stdio")
