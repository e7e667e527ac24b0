"""An MCP server without any library, for tests of what stands in front of it; `python plain_mcp_server.py`.

Its tools do to the protocol whatever their names say. Each line that it gets is echoed to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

TOOLS = ("verify", "refund", "die", "hang", "garbage", "huge", "ask_back", "progress", "fail", "exit")


def say(message: Any) -> None:
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def answer(id_: Any, text: str, **more: Any) -> None:
    say({"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": text}], **more}})


def call(id_: Any, params: dict[str, Any]) -> None:
    tool, given = params["name"], params.get("arguments") or {}
    if tool == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif tool == "exit":
        sys.exit(given["code"])
    elif tool == "garbage":
        say("this is a debug line")
        answer(id_, "after the garbage")
    elif tool == "huge":
        answer(id_, "x" * given["bytes"])
    elif tool == "ask_back":
        say({"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": {"n": 1}})
        answer(id_, "asked: " + sys.stdin.readline().strip())
    elif tool == "progress":
        token = params["_meta"]["progressToken"]
        say(
            {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1},
            }
        )
        answer(id_, "done")
    elif tool == "fail":
        answer(id_, "no such order", isError=True)
    elif tool != "hang":
        answer(id_, f"{tool} done")


def take(message: dict[str, Any]) -> None:
    id_, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        said = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {},
            "serverInfo": {"name": "plain"},
        }
        say({"jsonrpc": "2.0", "id": id_, "result": said})
    elif method == "tools/list":
        tools = [{"name": tool, "inputSchema": {"type": "object"}} for tool in TOOLS]
        say({"jsonrpc": "2.0", "id": id_, "result": {"tools": tools}})
    elif method == "tools/call":
        call(id_, params)
    elif id_ is not None and method is not None:
        say({"jsonrpc": "2.0", "id": id_, "result": {"echo": method}, "odd": "as it is"})


def main() -> None:
    if "--deaf" in sys.argv:  # to all that should end it
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        sys.stderr.write(f"got {line}")
        sys.stderr.flush()
        said = json.loads(line)
        for message in said if isinstance(said, list) else [said]:
            take(message)
    while "--deaf" in sys.argv:
        time.sleep(60)


if __name__ == "__main__":
    main()
