"""Agents that are no Python function: an HTTP service (`http://...`) or a program (`exec:COMMAND`).

Either is given one JSON object, `{"query", "tools", "tools_url", "case_id", "model", "base_url"}`: the
tools as Chat Completions specifications, and where to call them (`POST tools_url/NAME` with the
arguments as JSON; the answer is the result as text). Trace and case travel as W3C `traceparent` and
`baggage`, in headers or in the environment (TRACEPARENT, BAGGAGE). The agent exports its own spans to
the collector; with `pdoctor run` or any OpenTelemetry instrumentation it only has to take up that context.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
from opentelemetry import baggage, propagate

from synth.agents.mock_tools import as_openai_chat, run_tool
from synth.agents.model import CASE_ID, EXEC, Job, Outcome, Run, Unreachable
from synth.errors import BadInput


def load_external(agent: str) -> Run:
    """The run function of an external agent."""
    if agent.startswith(EXEC):
        command = shlex.split(agent.removeprefix(EXEC))
        if not command:
            raise BadInput("exec: needs a command, as in 'exec:node agent.js'", field="agent")
        return lambda job: _run_program(command, job)
    return lambda job: _ask_service(agent, job)


def _ask_service(url: str, job: Job) -> Outcome:
    with served_tools(job) as tools_url:
        # The harness has its own limit for the whole run and kills this process then.
        try:
            response = httpx.post(url, json=_request(job, tools_url), headers=_context(), timeout=None)
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise Unreachable(f"{error}: no agent answers at {url}") from error
        response.raise_for_status()
        return Outcome(response.text, 0)


def _run_program(command: list[str], job: Job) -> Outcome:
    with served_tools(job) as tools_url:
        environment = {name.upper(): value for name, value in _context().items()}
        try:
            done = subprocess.run(
                command,
                input=json.dumps(_request(job, tools_url)),
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        except OSError as error:
            raise Unreachable(f"{error.strerror}: {command[0]!r} cannot be run") from error
        return Outcome(done.stdout, 0)


def _request(job: Job, tools_url: str) -> dict[str, Any]:
    return {
        "query": job.query,
        "tools": [as_openai_chat(tool) for tool in job.tools],
        "tools_url": tools_url,
        "case_id": baggage.get_baggage(CASE_ID),
        "model": job.settings.model,
        "base_url": job.settings.base_url,
        **({} if job.settings.system is None else {"system": job.settings.system}),
    }


def _context() -> dict[str, str]:
    """`traceparent` and `baggage` of the run."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


@contextmanager
def served_tools(job: Job) -> Iterator[str]:
    """The mock tools over HTTP on loopback; gives their base URL."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """The agent owns the terminal."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            result = run_tool(job.tools, self.path.strip("/"), body.decode("utf-8", "replace"))
            self.send_response(400 if result.startswith("Error:") else 200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.end_headers()
            self.wfile.write(result.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
