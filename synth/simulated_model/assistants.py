"""OpenAI Assistants (deprecated, still in the SDK): assistants, threads, messages, runs, tool outputs.

Only what a function-calling agent needs; the newest of each kind are held in memory.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synth.simulated_model.chat import usage
from synth.simulated_model.dialogue import Answer, Asked, Dialogue, attempt_of, offered, text_of
from synth.simulated_model.newest import Newest

REMEMBERED = 2_000
"""Assistants, threads and runs."""
Think = Callable[[Dialogue], Answer]


class NotFound(Exception):
    """No such assistant, thread or run: the HTTP answer is 404."""


@dataclass(slots=True)
class _Run:
    """One run on a thread: the turns so far and the state the client sees."""

    id: str
    thread: str
    assistant: Mapping[str, Any]
    key: str
    turns: list[tuple[Asked, ...]] = field(default_factory=list)
    answer: Answer = field(default_factory=lambda: Answer(None))


class Assistants:
    """The beta routes below `/v1/assistants` and `/v1/threads`."""

    def __init__(self, think: Think) -> None:
        self._think = think
        self._numbers = itertools.count(1)
        self._assistants: Newest[dict[str, Any]] = Newest(REMEMBERED)
        self._threads: Newest[list[dict[str, Any]]] = Newest(REMEMBERED)
        self._runs: Newest[_Run] = Newest(REMEMBERED)

    def post(self, parts: list[str], body: Mapping[str, Any], key: str) -> dict[str, Any]:
        """`parts` is the path after `/v1`, split."""
        match parts:
            case ["assistants"]:
                return self._create_assistant(body)
            case ["threads"]:
                return self._create_thread(body)
            case ["threads", thread, "messages"]:
                return self._add_message(thread, body)
            case ["threads", thread, "runs"]:
                return self._start_run(thread, body, key)
            case ["threads", _, "runs", run, "submit_tool_outputs"]:
                return self._submit(run, body)
            case ["threads", _, "runs", run, "cancel"]:
                return self._view(self._run(run)) | {"status": "cancelled", "required_action": None}
        raise NotFound("/".join(parts))

    def get(self, parts: list[str]) -> dict[str, Any]:
        match parts:
            case ["threads", _, "runs", run]:
                return self._view(self._run(run))
            case ["threads", thread, "messages"]:
                newest_first = self._thread(thread)[::-1]
                return {"object": "list", "data": newest_first, "has_more": False}
        raise NotFound("/".join(parts))

    def delete(self, parts: list[str]) -> dict[str, Any]:
        match parts:
            case ["assistants", assistant] if assistant in self._assistants:
                del self._assistants[assistant]
                return {"id": assistant, "object": "assistant.deleted", "deleted": True}
            case ["threads", thread] if thread in self._threads:
                del self._threads[thread]
                for run in [run.id for run in self._runs.values() if run.thread == thread]:
                    del self._runs[run]
                return {"id": thread, "object": "thread.deleted", "deleted": True}
        raise NotFound("/".join(parts))

    @property
    def held(self) -> tuple[str, ...]:
        """Assistants, threads and their runs that nobody has deleted."""
        return (*self._assistants, *self._threads, *self._runs)

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers)}"

    def _create_assistant(self, body: Mapping[str, Any]) -> dict[str, Any]:
        made = {
            "id": self._id("asst"),
            "object": "assistant",
            "created_at": int(time.time()),
            "model": body["model"],
            "tools": body.get("tools") or [],
            "instructions": body.get("instructions"),
            "name": body.get("name"),
            "description": None,
            "metadata": {},
        }
        self._assistants[made["id"]] = made
        return made

    def _create_thread(self, body: Mapping[str, Any]) -> dict[str, Any]:
        thread = self._id("thread")
        self._threads[thread] = []
        for message in body.get("messages") or ():
            self._add_message(thread, message)
        return {"id": thread, "object": "thread", "created_at": int(time.time()), "metadata": {}}

    def _thread(self, thread: str) -> list[dict[str, Any]]:
        try:
            return self._threads[thread]
        except KeyError:
            raise NotFound(thread) from None

    def _run(self, run: str) -> _Run:
        try:
            return self._runs[run]
        except KeyError:
            raise NotFound(run) from None

    def _add_message(self, thread: str, body: Mapping[str, Any]) -> dict[str, Any]:
        text = {"type": "text", "text": {"value": text_of(body["content"]), "annotations": []}}
        made = {
            "id": self._id("msg"),
            "object": "thread.message",
            "created_at": int(time.time()),
            "thread_id": thread,
            "role": body["role"],
            "status": "completed",
            "content": [text],
            "attachments": [],
            "metadata": {},
        }
        self._thread(thread).append(made)
        return made

    def _start_run(self, thread: str, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        self._thread(thread)
        if body["assistant_id"] not in self._assistants:
            raise NotFound(body["assistant_id"])
        overrides = {name: body[name] for name in ("model", "tools", "instructions") if body.get(name)}
        run = _Run(self._id("run"), thread, {**self._assistants[body["assistant_id"]], **overrides}, key)
        self._runs[run.id] = run
        return self._advance(run)

    def _submit(self, id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        run = self._run(id)
        outputs = {o["tool_call_id"]: text_of(o.get("output")) for o in body["tool_outputs"]}
        asks = run.answer.asks
        run.turns.append(tuple(Asked(a.id, a.tool, a.arguments, outputs.get(a.id)) for a in asks))
        return self._advance(run)

    def _advance(self, run: _Run) -> dict[str, Any]:
        run.answer = self._think(self._dialogue(run))
        if run.answer.text is not None:
            self._add_message(run.thread, {"role": "assistant", "content": run.answer.text})
        return self._view(run)

    def _dialogue(self, run: _Run) -> Dialogue:
        said = [text_of(m["content"]) for m in self._thread(run.thread) if m["role"] == "user"]
        functions = [tool["function"] for tool in run.assistant["tools"] if tool["type"] == "function"]
        return Dialogue(
            model=run.assistant["model"],
            text="\n\n".join([*filter(None, [run.assistant["instructions"]]), *said]),
            tools=tuple(offered(function) for function in functions),
            turns=tuple(run.turns),
            key=run.key,
            attempt=attempt_of(tuple(call.id for turn in run.turns for call in turn)),
        )

    def _view(self, run: _Run) -> dict[str, Any]:
        """The run as the client sees it."""
        calls = [
            {"id": ask.id, "type": "function", "function": {"name": ask.tool, "arguments": ask.arguments}}
            for ask in run.answer.asks
        ]
        required = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": calls}}
        now = int(time.time())
        return {
            "id": run.id,
            "object": "thread.run",
            "created_at": now,
            "started_at": now,
            "expires_at": now + 600,
            "completed_at": None,
            "cancelled_at": None,
            "failed_at": None,
            "thread_id": run.thread,
            "assistant_id": run.assistant["id"],
            "model": run.assistant["model"],
            "instructions": run.assistant["instructions"] or "",
            "tools": run.assistant["tools"],
            "status": "requires_action" if calls else "completed",
            "required_action": required if calls else None,
            "last_error": None,
            "incomplete_details": None,
            "usage": None if calls else usage(run.answer),
            "metadata": {},
            "max_completion_tokens": None,
            "max_prompt_tokens": None,
            "parallel_tool_calls": True,
            "response_format": "auto",
            "tool_choice": "auto",
            "truncation_strategy": None,
        }
