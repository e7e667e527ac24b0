"""The worker process: runs one case at a time, told by JSON lines on stdin, answers on stdout.

Started as `pdoctor run --endpoint URL -- python -m synth.agents.worker AGENT`, so the tracer is
installed without this package importing it. Trace id and case id are attached as OpenTelemetry context,
exactly as a caller in another process would hand them over.

In: `{"job", "trace_id", "case_id", "case" | "record", "settings", "tool_log"}` a line; the mock tools
write their own log into the file `tool_log`, which so survives a killed process.

Out: `{"ready": true}` or `{"ready": false, "error"}` once, when the agent's framework is loaded; then
`{"job", "status", "error", "answer", "iterations", "tokens", "wall_seconds", "cpu_seconds"}` for each.
On SIGTERM the tracer sends the spans so far before the process ends.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TextIO

from synth.agents import Job, Outcome, OutOfIterations, Settings, is_external, load, load_replay, tracer
from synth.case import case_from_json
from synth.errors import SynthError
from synth.tools import ToolLog, mock_tools

CASE_ID = "pdoctor.case.id"
"""Baggage key of the case id (wire contract)."""
REPLAY = "replay"
"""Agent name of recorded runs."""

RunRequest = Callable[[Mapping[str, Any], ToolLog], Outcome]


def main(agent: str) -> None:
    """Serve jobs until stdin ends."""
    requests, answers = _own_streams()
    try:
        run = load_any(agent)
    except SynthError as error:
        _say(answers, {"ready": False, "error": str(error)})
        return
    _say(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        _say(answers, {"job": request["job"], **run_job(agent, run, request)})


def load_any(agent: str) -> RunRequest:
    """What to do with a request: run an agent on a case, or make a recorded run again."""
    if agent == REPLAY:
        replay = load_replay()
        return lambda request, log: replay(request["record"], Settings(**request["settings"]), log)
    run = load(agent)

    def run_case(request: Mapping[str, Any], log: ToolLog) -> Outcome:
        case = case_from_json(request["case"])
        return run(Job(case.query, mock_tools(case, log), Settings(**request["settings"])))

    return run_case


def _own_streams() -> tuple[TextIO, TextIO]:
    """The real stdin and stdout, for us alone: agents read nothing, and what they print goes to stderr."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return requests, answers


def _say(answers: TextIO, message: Mapping[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def run_job(agent: str, run: RunRequest, request: Mapping[str, Any]) -> dict[str, Any]:
    """Run one case; whatever the agent does, an answer comes back."""
    log = ToolLog(request.get("tool_log"))
    began, cpu = time.perf_counter(), time.process_time()
    with traced(request["trace_id"], request.get("case_id")), _announced(agent, request):
        told = _told(run, request, log)
    spent = {"wall_seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    log.close()
    # Spans must have left before the answer does.
    tracer.flush()
    return {**told, **spent}


def _told(run: RunRequest, request: Mapping[str, Any], log: ToolLog) -> dict[str, Any]:
    """Status and outcome of the agent."""
    try:
        outcome = run(request, log)
    except OutOfIterations as error:
        return _answer("timeout", str(error), Outcome("", error.iterations))
    except Exception as error:
        # An agent may fail in any way; that is a result, not our failure.
        shown = "".join(traceback.format_exception_only(error)).strip()
        return _answer("crash", shown, Outcome("", 0))
    return _answer("ok", None, outcome)


def _answer(status: str, error: str | None, outcome: Outcome) -> dict[str, Any]:
    said = {"answer": outcome.answer, "iterations": outcome.iterations, "tokens": outcome.tokens}
    return {"status": status, "error": error, **said}


@contextmanager
def traced(trace_id: str, case_id: str | None) -> Iterator[None]:
    """Work inside the trace that the harness chose: a remote parent, and the case id as baggage."""
    from opentelemetry import baggage, context, trace

    parent = trace.SpanContext(
        trace_id=int(trace_id, 16),
        span_id=int(secrets.token_hex(8), 16) or 1,
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    here = trace.set_span_in_context(trace.NonRecordingSpan(parent))
    if case_id is not None:
        here = baggage.set_baggage(CASE_ID, case_id, here)
    token = context.attach(here)
    try:
        yield
    finally:
        context.detach(token)


def _announced(agent: str, request: Mapping[str, Any]) -> AbstractContextManager[Any]:
    if is_external(agent):
        return nullcontext()
    query = (request.get("case") or request["record"])["query"]
    # Without a case the run chooses its own id; then the harness finds it by its conversation.
    conversation = None if request.get("case_id") else request["trace_id"]
    return tracer.announced(agent, query, conversation)


if __name__ == "__main__":
    main(sys.argv[1])
