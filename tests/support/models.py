"""A scripted model server on loopback: OpenAI Chat Completions and Responses, Anthropic Messages, Assistants.

The model's *name* is the script: `fake.par.boom` asks for the calls of step `par`, then those of `boom`,
then answers with text. The turn is read off the conversation that the request holds (or, where the server
keeps it, off the id it continues), so one server serves any number of loops at once.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FINAL = "all done"

STEPS: dict[str, list[tuple[str, str]]] = {
    "par": [("add", '{"a": 1, "b": 2}'), ("slow_echo", '{"text": "hi"}')],
    "one": [("add", '{"a": 40, "b": 2}')],
    "same": [("add", '{"a": 5, "b": 5}'), ("add", '{"a": 5, "b": 5}')],
    "sleepy": [("slow_echo", '{"text": "x"}'), ("slow_echo", '{"text": "y"}')],
    "boom": [("boom", '{"x": "kaput"}')],
    "unknown": [("no_such_tool", '{"q": 1}')],
    "mixed": [("add", '{"a": 7, "b": 8}'), ("no_such_tool", '{"q": 2}')],
    "badtype": [("add", '{"a": "not-a-number", "b": 2}')],
    "missing": [("add", '{"a": 1}')],
    "badjson": [("add", '{"a": 1, "b": ')],
    "structured": [("Answer", '{"text": "ok"}')],
    "nest": [("ask_sub", '{"text": "go"}')],
    "hostile": [("hostile", "{}")],
    "served": [("mcp_math__add", '{"a": 40, "b": 2}')],
    "custom": [("sql", "select 1")],
    "pause": [],
}
"""Step -> (tool, argument text) of the calls in one model message; without any, Anthropic's pauses."""

CUSTOM = ("sql",)
"""Tools that take text as it stands, which only OpenAI has."""
TALKING = "talk"
"""A step of this name makes the following message hold text beside its calls."""
REUSED_IDS = "reuse"
"""A step of this name makes every message use the same call ids (real servers do)."""
VERBATIM = "*verbatim*"
"""Around the text of a value that nests too deep to be read and written here."""


Message = tuple[list[tuple[str, str, str]], str | None]
"""(calls as (id, tool, arguments), text) of a model's message."""


def script(model: str) -> tuple[list[list[tuple[str, str, str]]], set[int]]:
    """Messages as lists of (call id, tool, arguments), and the turns that also hold text."""
    words = model.split(".")[1:]
    messages: list[list[tuple[str, str, str]]] = []
    talking = set()
    for word in words:
        if word == TALKING:
            talking.add(len(messages))
        elif word in STEPS:
            turn = 0 if REUSED_IDS in words else len(messages)
            messages.append([(f"call_{turn}_{i}", tool, args) for i, (tool, args) in enumerate(STEPS[word])])
    return messages, talking


def message_at(model: str, turn: int) -> Message:
    """(calls, text) of the model's message number `turn`."""
    messages, talking = script(model)
    if turn >= len(messages):
        return [], FINAL
    return messages[turn], "let me see" if turn in talking else None


class FakeModels:
    """The server; `openai` and `anthropic` are base addresses for the SDKs."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.turns: dict[str, int] = {}
        self.conversations: dict[str, int] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.held: dict[str, list[Any]] = {}
        """Response -> items of its conversation."""
        self.ids = itertools.count(1)
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.openai, self.anthropic = f"{self.root}/v1", self.root
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> FakeModels:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def message(self, kind: str, body: dict[str, Any], turn: int, items: Sequence[Any] = ()) -> Message:
        """What the model says: by its script, or as the planner that it is (see `planners`)."""
        if not body["model"].startswith("simulated-"):
            return message_at(body["model"], turn)
        from tests.support import planners

        return planners.answer(kind, body, items)

    # -- one method per surface; each returns either a JSON value or a list of (event name, data)

    def chat(self, body: dict[str, Any]) -> Any:
        calls, text = self.message("chat", body, _chat_turn(body["messages"]))
        head = {"id": f"chatcmpl-{next(self.ids)}", "created": int(time.time()), "model": body["model"]}
        if body.get("stream"):
            return chat_events(head, calls, text, body)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls and "functions" in body:
            message["function_call"] = _named(*calls[0][1:])["function"]
        elif calls:
            message["tool_calls"] = [{"id": i, **_named(n, a)} for i, n, a in calls]
        reason = "stop" if not calls else "function_call" if "functions" in body else "tool_calls"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {**head, "object": "chat.completion", "usage": _USAGE, "choices": [choice]}

    def responses(self, body: dict[str, Any]) -> Any:
        previous, given = body.get("previous_response_id"), body.get("input")
        turn = self.turns.get(previous, 0) if previous else _responses_turn(given)
        held = body.get("conversation")
        if held:
            asked_anew = isinstance(given, list) and any(item.get("role") == "user" for item in given)
            turn = 0 if asked_anew else self.conversations.get(held, 0)
            self.conversations[held] = turn + 1
        begun = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
        items = [*self.held.get(previous or "", ()), *begun]
        calls, text = self.message("responses", body, turn, items)
        response_id = f"resp_{next(self.ids)}"
        self.turns[response_id] = turn + 1
        output: list[dict[str, Any]] = []
        if text is not None:
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            message = {"type": "message", "id": f"msg_{response_id}", "role": "assistant"}
            output.append({**message, "status": "completed", "content": [part]})
        for i, n, a in calls:
            kind, said = _KINDS[n in CUSTOM]
            call = {"type": f"{kind}_call", "id": f"fc_{response_id}_{i}", "call_id": i, "name": n}
            output.append({**call, said: a, "status": "completed"})
        self.held[response_id] = [*items, *output]
        response = _response(response_id, body, output, previous)
        return _response_events(response) if body.get("stream") else response

    def messages(self, body: dict[str, Any]) -> Any:
        calls, text = self.message("messages", body, _chat_turn(body["messages"]))
        thread = body.get("thread") or {}
        if thread.get("type") == "continue":
            calls, text = message_at(body["model"], self.turns.get(thread["previous_message_id"], 0))
        message_id = f"msg_{next(self.ids)}"
        self.turns[message_id] = _chat_turn(body["messages"]) + 1
        if thread.get("type") == "continue":
            self.turns[message_id] = self.turns[thread["previous_message_id"]] + 1
        paused = not calls and text is None
        text = "searching" if paused else text
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text is not None else []
        blocks += [{"type": "tool_use", "id": i, "name": n, "input": _object(a)} for i, n, a in calls]
        head = {"id": message_id, "type": "message", "role": "assistant", "model": body["model"]}
        usage = {"input_tokens": 5, "output_tokens": 5}
        reason = "tool_use" if calls else "pause_turn" if paused else "end_turn"
        message = {**head, "content": blocks, "stop_reason": reason, "stop_sequence": None, "usage": usage}
        raw = {i: a for i, _, a in calls}
        return _message_events(message, raw) if body.get("stream") else message

    def assistants(self, path: str, body: dict[str, Any]) -> Any:
        parts = path.split("/")
        now = int(time.time())
        if path.endswith("/assistants"):
            head = {"id": f"asst_{next(self.ids)}", "object": "assistant", "created_at": now}
            return {**head, "model": body["model"], "tools": body.get("tools") or [], "metadata": {}}
        if path.endswith("/threads"):
            return {"id": f"thread_{next(self.ids)}", "object": "thread", "created_at": now, "metadata": {}}
        thread = parts[parts.index("threads") + 1]
        if path.endswith("/runs"):
            run_id = f"run_{next(self.ids)}"
            run = _assistant_run(run_id, thread, body["assistant_id"], body["model"], 0, body.get("tools"))
        else:
            run_id = parts[parts.index("runs") + 1]
            old = self.runs[run_id]
            turn = int(old["metadata"]["turn"]) + 1
            run = _assistant_run(run_id, thread, old["assistant_id"], old["model"], turn, old["tools"])
        self.runs[run_id] = run
        return run


_KINDS = (("function", "arguments"), ("custom_tool", "input"))


def _named(tool: str, arguments: str, **more: Any) -> dict[str, Any]:
    """A call of Chat Completions: of a function, or of a custom tool."""
    if tool in CUSTOM:
        return {**more, "type": "custom", "custom": {"name": tool, "input": arguments}}
    return {**more, "type": "function", "function": {"name": tool, "arguments": arguments}}


_USAGE = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}


def _chat_turn(messages: list[dict[str, Any]]) -> int:
    """Assistant messages since the last message of the user."""
    turns = 0
    for message in reversed(messages):
        if message.get("role") == "user" and not _holds_tool_results(message):
            break
        turns += message.get("role") == "assistant"
    return turns


def _holds_tool_results(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def _responses_turn(given: Any) -> int:
    """Groups of calls before their outputs since the last message of the user."""
    turns, in_group = 0, False
    for item in given if isinstance(given, list) else []:
        calling = item.get("type") in ("function_call", "custom_tool_call")
        turns = 0 if item.get("role") == "user" else turns + (calling and not in_group)
        in_group = calling
    return turns


def pieces(text: str) -> list[str]:
    """The text as it is streamed: seven characters at a time, long ones in a hundred pieces."""
    size = max(7, len(text) // 100)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _object(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except RecursionError:
        return f"{VERBATIM}{arguments}{VERBATIM}"
    except ValueError:
        return {}


def _body(value: Any) -> str:
    """JSON text, with what nests too deep for Python as it was written."""
    quoted = f'"{re.escape(VERBATIM)}(.*?){re.escape(VERBATIM)}"'
    return re.sub(quoted, lambda found: str(json.loads(f'"{found[1]}"')), json.dumps(value))


def chat_events(
    head: dict[str, Any], calls: list[tuple[str, str, str]], text: str | None, body: dict[str, Any]
) -> list[tuple[str | None, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> tuple[None, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return None, {**head, "object": "chat.completion.chunk", "choices": [choice]}

    reason = "tool_calls" if calls else "stop"
    events: list[tuple[str | None, Any]] = [chunk({"role": "assistant", "content": "" if text else None})]
    events += [chunk({"content": word}) for word in re.findall(r"\S+\s*", text or "")]
    if calls and "functions" in body:
        (_, tool, arguments), *calls = calls[:1]
        events.append(chunk({"function_call": {"name": tool, "arguments": ""}}))
        events += [chunk({"function_call": {"arguments": part}}) for part in pieces(arguments)]
        reason = "function_call"
    for index, (call_id, tool, arguments) in enumerate(calls):
        events.append(chunk({"tool_calls": [{"index": index, "id": call_id, **_named(tool, "")}]}))
        kind, text_of = ("custom", "input") if tool in CUSTOM else ("function", "arguments")
        for part in pieces(arguments):
            events.append(chunk({"tool_calls": [{"index": index, kind: {text_of: part}}]}))
    events.append(chunk({}, reason))
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append((None, {**head, "object": "chat.completion.chunk", "choices": [], "usage": _USAGE}))
    return [*events, (None, "[DONE]")]


def _response(
    response_id: str, body: dict[str, Any], output: list[dict[str, Any]], previous: str | None
) -> dict[str, Any]:
    details = {"cached_tokens": 0, "cache_write_tokens": 0}
    usage = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10, "input_tokens_details": details}
    return {
        "id": response_id,
        "object": "response",
        "created_at": time.time(),
        "model": body["model"],
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": 1.0,
        "top_p": 1.0,
        "previous_response_id": previous,
        "usage": {**usage, "output_tokens_details": {"reasoning_tokens": 0}},
    }


def _response_events(response: dict[str, Any]) -> list[tuple[str | None, Any]]:
    sequence = itertools.count()
    events: list[tuple[str | None, Any]] = []

    def emit(kind: str, **fields: Any) -> None:
        events.append((kind, {"type": kind, "sequence_number": next(sequence), **fields}))

    emit("response.created", response={**response, "status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(response["output"]):
        at = {"output_index": index}
        if item["type"] == "custom_tool_call":
            emit("response.output_item.added", **at, item={**item, "input": "", "status": "in_progress"})
            for delta in pieces(item["input"]):
                emit("response.custom_tool_call_input.delta", **at, item_id=item["id"], delta=delta)
            emit("response.custom_tool_call_input.done", **at, item_id=item["id"], input=item["input"])
        elif item["type"] == "function_call":
            emit("response.output_item.added", **at, item={**item, "arguments": "", "status": "in_progress"})
            done = {"item_id": item["id"], "name": item["name"], "arguments": item["arguments"]}
            for delta in pieces(item["arguments"]):
                emit("response.function_call_arguments.delta", **at, item_id=item["id"], delta=delta)
            emit("response.function_call_arguments.done", **at, **done)
        else:
            part, place = item["content"][0], {**at, "item_id": item["id"], "content_index": 0}
            opened = {**item, "content": [], "status": "in_progress"}
            emit("response.output_item.added", **at, item=opened)
            emit("response.content_part.added", **place, part={**part, "text": ""})
            emit("response.output_text.delta", **place, delta=part["text"], logprobs=[])
            emit("response.output_text.done", **place, text=part["text"], logprobs=[])
            emit("response.content_part.done", **place, part=part)
        emit("response.output_item.done", **at, item=item)
    emit("response.completed", response=response)
    return events


def _message_events(message: dict[str, Any], raw: dict[str, str]) -> list[tuple[str | None, Any]]:
    opened = {**message, "content": [], "stop_reason": None}
    events: list[tuple[str | None, Any]] = [("message_start", {"type": "message_start", "message": opened})]

    def emit(kind: str, index: int, **fields: Any) -> None:
        events.append((kind, {"type": kind, "index": index, **fields}))

    for index, block in enumerate(message["content"]):
        if block["type"] == "tool_use":
            emit("content_block_start", index, content_block={**block, "input": {}})
            for part in pieces(raw[block["id"]]):
                delta = {"type": "input_json_delta", "partial_json": part}
                emit("content_block_delta", index, delta=delta)
        else:
            emit("content_block_start", index, content_block={"type": "text", "text": ""})
            emit("content_block_delta", index, delta={"type": "text_delta", "text": block["text"]})
        emit("content_block_stop", index)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": 5}
    events.append(("message_delta", {"type": "message_delta", "delta": delta, "usage": usage}))
    return [*events, ("message_stop", {"type": "message_stop"})]


def _assistant_run(
    run_id: str, thread: str, assistant: str, model: str, turn: int, tools: Any
) -> dict[str, Any]:
    calls, _ = message_at(model, turn)
    asked = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    action = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": asked}}
    return {
        "id": run_id,
        "object": "thread.run",
        "created_at": int(time.time()),
        "thread_id": thread,
        "assistant_id": assistant,
        "status": "requires_action" if calls else "completed",
        "required_action": action if calls else None,
        "model": model,
        "instructions": "",
        "tools": tools or [],
        "metadata": {"turn": str(turn)},
        "parallel_tool_calls": True,
        "response_format": "auto",
        "tool_choice": "auto",
    }


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that stop reading are part of the tests."""


def _handler(models: FakeModels) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = self.path.split("?")[0].split("/")
            self._answer(models.runs[parts[parts.index("runs") + 1]])

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw else {}
            path = self.path.split("?")[0].rstrip("/")
            models.requests.append((path, body))
            if path.endswith("/chat/completions"):
                self._answer(models.chat(body))
            elif path.endswith("/responses"):
                self._answer(models.responses(body))
            elif path.endswith("/messages"):
                self._answer(models.messages(body))
            else:
                self._answer(models.assistants(path, body))

        def _answer(self, value: Any) -> None:
            self.send_response(200)
            if isinstance(value, list):
                self._stream(value)
                return
            content = _body(value).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, events: list[tuple[str | None, Any]]) -> None:
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for kind, data in events:
                head = f"event: {kind}\n" if kind else ""
                text = data if isinstance(data, str) else json.dumps(data)
                self.wfile.write(f"{head}data: {text}\n\n".encode())
            self.wfile.flush()
            self.close_connection = True

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
