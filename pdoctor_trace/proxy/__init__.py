"""`pdoctor mcp-proxy`: in front of any MCP server, for hosts that are not ours to touch.

What passes is passed on as it came, byte by byte, whatever it is; the proxy reads along. A request to call a
tool is a span, and the guard is asked about it: what is refused never reaches the server. `session` knows
what is under way between one client and one server, `messages` how JSON-RPC is written; `stdio` carries it.
"""
