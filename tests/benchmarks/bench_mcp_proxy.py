"""What `pdoctor mcp-proxy` adds to a tool call: python tests/benchmarks/bench_mcp_proxy.py

The same call to the same kind of server, directly and through a proxy with ten rules, in turns, in runs of
50 calls; wall time of one call after the other, so other work on the machine is in it. Over HTTP a third way
goes in the same turns: a proxy of the same libraries that passes bytes and looks at none. Beside them stands
the CPU time of the proxy for a call (Linux). Ends with 1 where the median adds over 2 ms.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from tests.support import plain_mcp_server

CALLS, RUN, LIMIT = 1_000, 50, 0.002
ACTIONS = "actions: {verify: verify, refund: refund, approve: approve}\npolicies:\n"
RULES = ACTIONS + "".join(
    f'  - {{id: R{n}, rule: "{rule}"}}\n'
    for n, rule in enumerate(
        (
            "Verify must happen before refund.",
            "Refund must never happen after approve.",
            "Approve must happen at most 3 times.",
            "Verify must happen at most 90000 times.",
            "Approve must happen before refund.",
            "If verify happens, approve must happen afterwards.",
            "Refund must happen at most 1 time with the same order_id.",
            "Verify must happen at most 90000 times within 1 minute.",
            "Refund must happen immediately after verify.",
            "Refund must never happen on Sundays.",
        )
    )
)
PROXY = [sys.executable, "-m", "pdoctor_trace", "mcp-proxy", "--mode", "block", "--policies"]
ENVIRON = {**os.environ, "PDOCTOR_EXPORT": "records", "PYTHONPATH": str(Path(__file__).parents[2])}


def call(number: int) -> dict[str, Any]:
    trace = {"traceparent": f"00-{number // RUN + 1:032x}-{1:016x}-01"}
    params = {"name": "verify", "arguments": {"order_id": str(number)}, "_meta": trace}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


BARE = """
import asyncio, socket, sys
import uvicorn
from pdoctor_trace.proxy.upstream import Server

server = Server(sys.argv[2])

async def proxy(scope, receive, send):
    body = (await receive())["body"]
    headers = [(name, value) for name, value in scope["headers"] if name != b"connection"]
    async with server.request("POST", scope["raw_path"], headers, body) as answer:
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        async for piece in answer.pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

with socket.socket(proto=socket.IPPROTO_TCP) as listening:
    listening.bind(("127.0.0.1", 0))
    print("bare proxy:", f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(proxy, log_level="warning", lifespan="off", access_log=False)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
"""
"""Tells its address as the proxy does, third word of a line."""


def cpu_seconds(process: int) -> float:
    """What a process has computed so far; 0 where that is not told."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def stdio(*command: str) -> Any:
    with subprocess.Popen(
        [*command, sys.executable, plain_mcp_server.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRON,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        write, read = process.stdin, process.stdout

        def ask(number: int) -> None:
            write.write(json.dumps(call(number)).encode() + b"\n")
            write.flush()
            assert json.loads(read.readline())["id"] == number

        yield ask, process.pid
        write.close()


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result = {"content": [{"type": "text", "text": "verify done"}]}
        body = json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: Any) -> None:
        """Say nothing."""


@contextmanager
def http(*command: str) -> Any:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    with ExitStack() as stack:
        pid = 0
        if command:
            proxy = stack.enter_context(
                subprocess.Popen(
                    [*command[:-1], "--url", url, "--port", "0"],
                    stderr=subprocess.PIPE,
                    text=True,
                    env=ENVIRON,
                )
            )
            stack.callback(proxy.terminate)
            assert proxy.stderr is not None
            url, pid = proxy.stderr.readline().split()[2], proxy.pid
        client = stack.enter_context(httpx.Client())

        def ask(number: int) -> None:
            assert client.post(url, json=call(number)).json()["id"] == number

        yield ask, pid
    server.shutdown()


def seconds(ask: Callable[[int], None], number: int) -> float:
    began = time.perf_counter()
    ask(number)
    return time.perf_counter() - began


def main() -> int:
    over = False
    print(f"{CALLS} calls in turns          p50 ms  added p50  added p95  CPU of the proxy")
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.yaml"
        rules.write_text(RULES)
        proxy = [*PROXY, str(rules), "--"]
        ways: dict[str, dict[str, Any]] = {
            "stdio": {"direct": stdio(), "ten rules": stdio(*proxy)},
            "HTTP": {
                "direct": http(),
                "bare": http(sys.executable, "-c", BARE, "--"),
                "ten rules": http(*proxy),
            },
        }
        for transport, each in ways.items():
            with ExitStack() as stack:
                asks = {name: stack.enter_context(way) for name, way in each.items()}
                for number in range(50):
                    for ask, _ in asks.values():
                        ask(number)
                computed = {name: cpu_seconds(pid) for name, (_, pid) in asks.items()}
                spent: dict[str, list[float]] = {name: [] for name in asks}
                for number in range(50, CALLS + 50):
                    for name, (ask, _) in asks.items():
                        spent[name].append(seconds(ask, number))
                computed = {name: cpu_seconds(pid) - computed[name] for name, (_, pid) in asks.items()}
            plain = statistics.median(spent["direct"])
            tail = statistics.quantiles(spent["direct"], n=20)[-1]
            for name, times in spent.items():
                median, last = statistics.median(times), statistics.quantiles(times, n=20)[-1]
                figures = (median, median - plain, last - tail, computed[name] / CALLS)
                print(f"{transport + ', ' + name:<22}" + "".join(f"{one * 1000:>11.2f}" for one in figures))
            over = over or median - plain > LIMIT
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
