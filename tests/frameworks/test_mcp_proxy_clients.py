"""The official MCP clients, in Python and TypeScript, with a proxy between them and the official server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CreateMessageResult, ElicitResult, TextContent

from tests.frameworks.environments import HOME, node_packages
from tests.support.sink import OtlpSink

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SERVER = str(HERE / "mcp_everything.py")
RULES = """
actions: {verify: verify, refund: refund}
policies: [{id: FIRST, rule: Verify must happen before refund.}]
"""
TOOLS = ["verify", "refund", "boom", "steps", "think", "who", "forever", "die"]
WAYS = ("stdio", "http")


class Place:
    """Where one test's proxy and server are."""

    def __init__(self, folder: Path, sink: OtlpSink) -> None:
        self.ran, rules = folder / "ran", folder / "rules.yaml"
        rules.write_text(RULES)
        self.ran.touch()
        self.options = ["--policies", str(rules), "--mode", "feedback"]
        said = {"PYTHONPATH": str(ROOT), "MCP_RAN": str(self.ran), "PDOCTOR_ENDPOINT": sink.url}
        self.environ = {**{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}, **said}
        self.proxy = [sys.executable, "-m", "pdoctor_trace", "mcp-proxy", *self.options]
        self.stdio = [*self.proxy, "--", sys.executable, SERVER, "stdio"]

    @contextmanager
    def http(self) -> Iterator[str]:
        """A server and the proxy before it; the proxy's address."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen([sys.executable, SERVER, "http", str(port)], env=self.environ)
        behind = f"http://127.0.0.1:{port}/mcp"
        command = [*self.proxy, "--url", behind, "--port", "0"]
        proxy = subprocess.Popen(command, env=self.environ, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(port)
            assert proxy.stderr is not None
            found = re.search(r"http://[\d.:]+/mcp", proxy.stderr.readline())
            assert found is not None
            yield found[0]
        finally:
            proxy.terminate()
            proxy.communicate(timeout=20)
            server.kill()
            server.wait()

    @property
    def calls(self) -> list[str]:
        return self.ran.read_text().split()


def wait_for(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")


@pytest.fixture
def place(tmp_path: Path, sink: OtlpSink) -> Place:
    return Place(tmp_path, sink)


async def model(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="four"), model="m")


async def user(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


@asynccontextmanager
async def session(place: Place, way: str) -> AsyncIterator[ClientSession]:
    """The protocol with a handshake."""
    more = {"sampling_callback": model, "elicitation_callback": user}
    if way == "stdio":
        command, *rest = place.stdio
        parameters = StdioServerParameters(command=command, args=rest, env=place.environ)
        async with stdio_client(parameters) as (read, write), ClientSession(read, write, **more) as made:
            await made.initialize()
            yield made
    else:
        with place.http() as url:
            async with (
                streamable_http_client(url) as (read, write, *_),
                ClientSession(read, write, **more) as made,
            ):
                await made.initialize()
                yield made


def run(main: Any) -> Any:
    return asyncio.run(asyncio.wait_for(main, 60))


def text(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


@pytest.mark.parametrize("way", WAYS)
def test_the_python_client_does_all_that_it_does_without_us(place: Place, sink: OtlpSink, way: str) -> None:
    seen: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async def main() -> None:
        async with session(place, way) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            refused = await client.call_tool("refund", {"order": "7"})
            assert refused.is_error
            assert text(refused).startswith("Not run: Verify must happen before refund.")
            assert text(await client.call_tool("verify", {"order": "7"})) == "verify done"
            assert text(await client.call_tool("refund", {"order": "7"})) == "refund done"
            assert (await client.call_tool("boom", {})).is_error
            assert text(await client.call_tool("think", {})) == "the model said four"
            assert text(await client.call_tool("who", {})) == "accept: Ada"
            assert text(await client.call_tool("steps", {}, progress_callback=progress)) == "three steps"
            note = await client.read_resource("note://x")
            assert note.contents[0].text == "note x"
            assert (await client.get_prompt("greet", {"name": "Ada"})).messages[
                0
            ].content.text == "Greet Ada."
            with pytest.raises(MCPError):
                await client.read_resource("nothing://at-all")
            await client.send_ping()

    run(main())
    assert seen == [(step, 3, f"step {step}") for step in (1, 2, 3)]
    assert place.calls == ["verify", "refund"]
    calls = [call for call in sink.calls if call["pdoctor.source"] == "mcp-proxy"]  # the client has its own
    assert [(call.tool, call.executed, call.failed) for call in calls][:4] == [
        ("refund", False, True),
        ("verify", True, False),
        ("refund", True, False),
        ("boom", True, True),
    ]
    assert len({call.run_id for call in calls}) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_client_of_the_newest_protocol_is_understood(place: Place, way: str) -> None:
    """Requests that stand for themselves; a tool that asks the client is called again with the answer."""

    async def main() -> None:
        with place.http() as url:
            command, *rest = place.stdio
            there = StdioServerParameters(command=command, args=rest, env=place.environ)
            target: Any = url if way == "http" else stdio_client(there)
            async with Client(target, sampling_callback=model, elicitation_callback=user) as client:
                refused = await client.call_tool("refund", {"order": "7"})
                assert refused.is_error
                assert "Verify must happen before refund" in text(refused)
                await client.call_tool("verify", {"order": "7"})
                assert text(await client.call_tool("refund", {"order": "7"})) == "refund done"

    run(main())
    assert place.calls == ["verify", "refund"]


@pytest.mark.parametrize("way", WAYS)
def test_a_cancelled_call_is_cancelled_at_the_server(place: Place, way: str) -> None:
    async def main() -> None:
        async with session(place, way) as client:
            waiting = asyncio.ensure_future(client.call_tool("forever", {}))
            await asyncio.sleep(0.5)
            waiting.cancel()
            for _ in range(200):
                if "cancelled" in place.calls:
                    break
                await asyncio.sleep(0.05)
            assert text(await client.call_tool("verify", {"order": "1"})) == "verify done"

    run(main())
    assert place.calls == ["cancelled", "verify"]


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_dies_is_an_error_to_the_client(place: Place, way: str) -> None:
    async def main() -> None:
        async with session(place, way) as client:
            with pytest.raises(MCPError, match=r"the MCP server .*(exit code 9|does not answer)"):
                await client.call_tool("die", {})

    run(main())


@pytest.mark.parametrize("way", WAYS)
def test_the_typescript_client_does_all_that_it_does_without_us(place: Place, way: str) -> None:
    packages = node_packages(HOME / "typescript")
    script = [node_program(), str(HERE / "typescript" / "client.cjs"), str(packages)]

    def done(*target: str) -> Any:
        found = subprocess.run(
            [*script, *target], env=place.environ, capture_output=True, text=True, timeout=120
        )
        assert found.returncode == 0, found.stderr
        return json.loads(found.stdout)

    if way == "stdio":
        said = done("stdio", *place.stdio)
    else:
        with place.http() as url:
            said = done("http", url)
    refused = said.pop("refused")
    assert refused["isError"] is True
    assert refused["content"][0]["text"].startswith("Not run: Verify must happen before refund.")
    assert re.search("exit code 9|does not answer", said.pop("died"))
    assert said == {
        "tools": TOOLS,
        "verified": "verify done",
        "refunded": "refund done",
        "failed": True,
        "sampled": "the model said four",
        "elicited": "accept: Ada",
        "progress": [1, 2, 3],
        "resource": "note x",
        "prompt": "Greet Ada.",
        "cancelled": True,
    }
    assert place.calls == ["verify", "refund", "cancelled"]


def node_program() -> str:
    import shutil

    found = shutil.which("node")
    assert found is not None, "these tests need Node: apt-get install nodejs npm"
    return found
