"""The worker process: runs one case at a time, told by JSON lines on stdin, answers on stdout.

Started as `pdoctor run --endpoint URL -- python -m synth.agents.worker AGENT`, so the tracer is
installed without this package importing it. Trace id and case id are attached as OpenTelemetry context,
exactly as a caller in another process would hand them over.

In: `{"agent", "trace_id", "case_id", "case" | "record" | "task" | "game" | "question", "settings",
"tool_log"}` a line; the mock tools write their own log into the file `tool_log`, which so survives a killed
process. With a `case`, `guard` may be the mode of a guard of its constraints. A `task` is that of
`tasks.Task`, and what its user says goes to the file `heard` of it. A `game` is
`{"variant", "seed", "data", "judge", "log"}`; its moves go to the file `log`, and its trouble to
`log` + `.trouble`. A `question` is `{"text", "tools", "corpus", "data", "examples"}`.

Out: `{"ready": true}` or `{"ready": false, "error"}` once, when the agent is loaded. Then for each job
`{"trace_id", "begun": true}` (or `{"trace_id", "refused": why}` where its agent cannot be loaded);
`{"trace_id", "status", "error", "answer", "iterations", "usage", "trouble", "retry_after", "refused_calls",
"wall_seconds", "cpu_seconds"}` as soon as the agent has ended, `trouble` where it could not be reached,
`retry_after` in seconds where a server that refused it said so, `refused_calls` by the guard, `usage` null
where the agent is none of ours; and `{"trace_id", "flushed": whether}` once its spans are with the collector,
while the next job may already run.

On SIGTERM the tracer sends the spans so far before the process ends. When stdin ends, whoever started this
process is gone, so it ends too, in the middle of a job if need be, with all its child processes.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from synth.agents import is_external, is_ours, load, load_replay, tracer
from synth.agents.game_tool import game_tool, sitting_of, task_of
from synth.agents.mock_tools import ToolLog, asked_about, mock_tools
from synth.agents.model import (
    CASE_ID,
    RECORDED,
    REPLAY,
    Job,
    Outcome,
    OutOfIterations,
    Run,
    Settings,
    Unreachable,
)
from synth.agents.question_tools import question_tools
from synth.agents.retry_after import endpoint_trouble, retry_after
from synth.agents.tasks import job_of, played
from synth.agents.usage import Answers
from synth.cases.case import case_from_json
from synth.errors import SynthError
from synth.formal.trouble import Trouble
from synth.games import variant_named
from synth.games.sitting import sendable
from synth.questions import EXAMPLES

AGENT_PATH = "PDOCTOR_AGENT_PATH"
"""Environment variable: folders in which agents of the user are looked for, like PYTHONPATH. They come onto
the path when our own packages, whose names are not rare, are loaded."""
LONGEST_ANSWER = 20_000
"""Characters kept of what an agent answers, or of why it failed."""

RunRequest = Callable[[Mapping[str, Any], ToolLog, Answers], Outcome]
Say = Callable[[Mapping[str, Any]], None]


def main(agent: str) -> None:
    """Serve jobs until stdin ends."""
    requests, answers = _own_streams()
    sys.path[:0] = [os.getcwd(), *filter(None, os.environ.get(AGENT_PATH, "").split(os.pathsep))]
    say = _speaker(answers)
    agents = _Agents()
    try:
        agents.named(agent)
    except SynthError as error:
        say({"ready": False, "error": str(error)})
        return
    say({"ready": True})
    flushing = _Flushing(say)
    for request in _jobs(requests):
        serve(request, agents, say, flushing)


def serve(request: Mapping[str, Any], agents: _Agents, say: Say, flushing: _Flushing) -> None:
    """One job, from its line to the report of its end."""
    job = {"trace_id": request["trace_id"]}
    try:
        run = agents.named(request["agent"])
    except SynthError as error:
        say({**job, "refused": str(error)})
        return
    say({**job, "begun": True})
    say({**job, **run_job(request["agent"], run, request)})
    # Here, where the agent's conversations ran, they end; that they are sent is waited for elsewhere.
    tracer.flush(0.0)
    flushing.start(request["trace_id"])


class _Agents:
    """Agents by name, each loaded once."""

    def __init__(self) -> None:
        self._loaded: dict[str, RunRequest] = {}

    def named(self, agent: str) -> RunRequest:
        """Raises SynthError, whatever goes wrong while the agent's code is loaded."""
        if agent not in self._loaded:
            try:
                self._loaded[agent] = load_any(agent)
            except SynthError:
                raise
            except BaseException as error:
                # A user's module may do anything while it is imported, calling sys.exit included.
                raise SynthError(f"loading {agent!r} failed: {_in_words(error)}") from error
        return self._loaded[agent]


class _Flushing:
    """Sends the spans of ended jobs while the next one runs."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="pdoctor flush", daemon=True).start()

    def start(self, trace_id: str) -> None:
        self._ended.put(trace_id)

    def _work(self) -> None:
        while True:
            trace_id = self._ended.get()
            self._say({"trace_id": trace_id, "flushed": tracer.flush()})


def load_any(agent: str) -> RunRequest:
    """What to do with a request: run an agent on a case, or make a recorded run again."""
    if agent == REPLAY:
        replay = load_replay()
        return lambda request, log, told: replay(
            request["record"], Settings(**request["settings"]), log, told
        )
    if agent == RECORDED:
        return lambda request, log, told: played(request["task"], log)
    run = load(agent)

    def run_case(request: Mapping[str, Any], log: ToolLog, told: Answers) -> Outcome:
        if "game" in request:
            return run_game(agent, run, request, log, told)
        if "question" in request:
            asked = request["question"]
            tools = question_tools(asked["tools"], asked["corpus"], log)
            examples = EXAMPLES[asked["data"]][: asked["examples"]]
            settings = Settings(**request["settings"])
            return run(Job(asked["text"], tools, settings, answers=told, examples=examples))
        if "task" in request:
            settings = Settings(**request["settings"]).told(request["task"]["query"])
            return run(replace(job_of(request["task"], settings, log), answers=told))
        case = case_from_json(request["case"])
        settings = Settings(**request["settings"]).told(case.query)
        tools = mock_tools(case, log)
        tools = asked_about(tools) if request.get("guard") else tools
        return run(Job(case.query, tools, settings, answers=told))

    return run_case


def run_game(agent: str, run: Run, request: Mapping[str, Any], log: ToolLog, told: Answers) -> Outcome:
    """Let an agent play a game through the proxy tool."""
    said = request["game"]
    file = Path(said["log"])
    sitting = sitting_of(said, file)
    settings = Settings(**request["settings"])
    query = task_of(sitting, variant_named(said["variant"]).steps)
    try:
        with _announced(agent, query, request["trace_id"]):
            return run(Job(query, (game_tool(sitting, log),), settings, answers=told))
    finally:
        if sitting.trouble is not None:
            file.with_name(f"{file.name}.trouble").write_text(sendable(sitting.trouble), encoding="utf-8")


# ---------------------------------------------------------------- the pipe to whoever started us


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


def _speaker(answers: TextIO) -> Say:
    """A function that writes one message a line, for several threads."""
    lock = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        with lock:
            answers.write(json.dumps(message) + "\n")
            answers.flush()

    return say


def _jobs(requests: TextIO) -> Iterator[dict[str, Any]]:
    """Requests as they come, read by a thread, which notices when whoever asks is gone."""
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        for line in requests:
            waiting.put(json.loads(line))
        tracer.flush()
        _end()

    threading.Thread(target=read, name="pdoctor requests", daemon=True).start()
    while True:
        yield waiting.get()


def _end() -> None:
    """End this process and, where it leads a group of its own, everything that it started."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


# ---------------------------------------------------------------- one job


def run_job(agent: str, run: RunRequest, request: Mapping[str, Any]) -> dict[str, Any]:
    """Run one case; whatever the agent does, an answer comes back."""
    log, answers = ToolLog(request.get("tool_log")), Answers()
    began, cpu = time.perf_counter(), time.process_time()
    with traced(request["trace_id"], request.get("case_id")), _guarded(request) as refused:
        told = _told(agent, run, request, log, answers)
        told["refused_calls"] = refused()
    spent = {"wall_seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    log.close()
    return {**told, "usage": answers.usage.to_json() if is_ours(agent) else None, **spent}


@contextmanager
def _guarded(request: Mapping[str, Any]) -> Iterator[Callable[[], int | None]]:
    """A guard of the case's own constraints, if one is asked for; it tells how many calls it refused."""
    if not request.get("guard"):
        yield lambda: None
        return
    with tracer.guarded(case_from_json(request["case"]), request["guard"]) as refused:
        yield refused


def _told(
    agent: str, run: RunRequest, request: Mapping[str, Any], log: ToolLog, answers: Answers
) -> dict[str, Any]:
    """Status and outcome of the agent. What it raises ends its run for the tracer too."""
    try:
        with _announced_run(agent, request):
            outcome = run(request, log, answers)
    except OutOfIterations as error:
        return _answer("timeout", str(error), Outcome("", error.iterations))
    except Unreachable as error:
        trouble = Trouble("unreachable", message=str(error)[:LONGEST_ANSWER])
        return _answer("crash", str(error)[:LONGEST_ANSWER], Outcome("", 0), trouble)
    except BaseException as error:
        # An agent may fail in any way, sys.exit included; that is a result, not our failure.
        # Of a question no verdict of a collector tells whether the model's endpoint failed.
        failed = endpoint_trouble(error) if "question" in request else None
        crashed = _answer("crash", _in_words(error), Outcome("", 0), failed)
        return {**crashed, "retry_after": retry_after(error)}
    return _answer("ok", None, outcome)


def _in_words(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()[:LONGEST_ANSWER]


def _answer(
    status: str, error: str | None, outcome: Outcome, trouble: Trouble | None = None
) -> dict[str, Any]:
    answer = outcome.answer[:LONGEST_ANSWER]
    said = {"answer": answer, "iterations": outcome.iterations}
    known = None if trouble is None else trouble.to_json()
    return {"status": status, "error": error, **said, "trouble": known, "retry_after": None}


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


def _announced_run(agent: str, request: Mapping[str, Any]) -> AbstractContextManager[Any]:
    if "game" in request:
        return nullcontext()  # `run_game` announces it, once the game has said what it is about
    query = request["question"]["text"] if "question" in request else _case_of(request)["query"]
    # Without a case the run chooses its own id; then the harness finds it by its conversation.
    conversation = None if request.get("case_id") else request["trace_id"]
    return _announced(agent, query, conversation)


def _case_of(request: Mapping[str, Any]) -> Mapping[str, Any]:
    case: Mapping[str, Any] = request.get("case") or request.get("record") or request["task"]
    return case


def _announced(agent: str, query: str, conversation: str | None) -> AbstractContextManager[Any]:
    if is_external(agent):
        return nullcontext()
    return tracer.announced(agent, query, conversation)


if __name__ == "__main__":
    main(sys.argv[1])
