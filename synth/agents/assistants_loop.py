"""Agent `assistants`: the deprecated Assistants API, while the SDK still has it."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from openai import OpenAI, OpenAIError

from synth.agents.mock_tools import as_openai_chat, run_tool
from synth.agents.model import Job, Outcome, OutOfIterations, Settings
from synth.agents.openai_client import client_of

POLL_MS = 100
"""How often a real server's run is looked at."""
DELETE_LIMIT = 1.0
"""Seconds for each deletion: a process that is told to end has two in all."""


def run(job: Job) -> Outcome:
    with warnings.catch_warnings():
        # The SDK warns of the deprecation at every call; the table of agents in docs/testing.md says it once.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            state, iteration = _run(job, client_of(job.settings))
        except BaseException:
            job.answers.told(None)  # what it took until then nobody says
            raise
    job.answers.told(state)
    return Outcome(state.status, iteration)


def _run(job: Job, client: OpenAI) -> tuple[Any, int]:
    """The run in its last state, and how many answers it took."""
    specs: Any = [as_openai_chat(tool) for tool in job.tools]
    with _left_clean(job.settings) as made:
        # The paper's Assistant ran at the service's own temperature.
        sampling = replace(job.settings, temperature=None).sampling()
        system = job.settings.system
        told: Any = {} if system is None else {"instructions": system}
        assistant = client.beta.assistants.create(model=job.settings.model, tools=specs, **told, **sampling)
        made.assistants.append(assistant.id)
        thread = client.beta.threads.create(messages=[{"role": "user", "content": job.query}])
        made.threads.append(thread.id)
        return _until_it_ends(job, client, assistant.id, thread.id)


def _until_it_ends(job: Job, client: OpenAI, assistant: str, thread: str) -> tuple[Any, int]:
    runs = client.beta.threads.runs
    state = runs.create_and_poll(thread_id=thread, assistant_id=assistant, poll_interval_ms=POLL_MS)
    for iteration in range(1, job.settings.max_iterations + 1):
        if state.status != "requires_action" or state.required_action is None:
            return state, iteration
        calls = state.required_action.submit_tool_outputs.tool_calls
        state = runs.submit_tool_outputs_and_poll(
            run_id=state.id,
            thread_id=thread,
            tool_outputs=[_output(job, call) for call in calls],
            poll_interval_ms=POLL_MS,
        )
    runs.cancel(run_id=state.id, thread_id=thread)
    raise OutOfIterations(job.settings.max_iterations)


@dataclass(slots=True)
class _Made:
    """What a run made at the service, by its id."""

    assistants: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)

    def delete(self, by: OpenAI) -> None:
        """Nothing of a run is left with the service, where it can be reached."""
        client = by.with_options(timeout=DELETE_LIMIT, max_retries=0)
        for one in self.threads:
            with suppress(OpenAIError):
                client.beta.threads.delete(one)
        for one in self.assistants:
            with suppress(OpenAIError):
                client.beta.assistants.delete(one)


@contextmanager
def _left_clean(settings: Settings) -> Iterator[_Made]:
    """What is made inside is deleted at the end, also where SIGTERM is the end."""
    made = _Made()
    before = signal.getsignal(signal.SIGTERM)
    handles = before is not None and threading.current_thread() is threading.main_thread()

    def ended(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, before)
        # By connections of its own: whoever is interrupted may be in the middle of a request.
        with OpenAI(base_url=settings.base_url, api_key=settings.api_key) as client:
            made.delete(client)
        os.kill(os.getpid(), signal.SIGTERM)

    if handles:
        signal.signal(signal.SIGTERM, ended)
    try:
        yield made
    finally:
        if handles:
            signal.signal(signal.SIGTERM, before)
        made.delete(client_of(settings))


def _output(job: Job, call: Any) -> Any:
    output = run_tool(job.tools, call.function.name, call.function.arguments)
    return {"tool_call_id": call.id, "output": output}
