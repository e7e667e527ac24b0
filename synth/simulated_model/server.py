"""The simulated model as an OpenAI-compatible HTTP server on loopback."""

from __future__ import annotations

import itertools
import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from synth.errors import BadInput
from synth.questions import Question
from synth.simulated_model import assistants, brackets, chat, completions, responses
from synth.simulated_model.brain import Brain, Planted
from synth.simulated_model.chat import Event
from synth.simulated_model.dialogue import Answer, Dialogue
from synth.simulated_model.newest import Newest
from synth.simulated_model.replay import Record

REMEMBERED = 5_000
"""Responses that a conversation can go on from."""
LARGEST_BODY = 16 * 1024 * 1024


class Refused(Exception):
    """An error answer in OpenAI's shape."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class SimulatedModel:
    """Starts with `with`; `base_url` is what an OpenAI client wants.

    >>> with SimulatedModel() as model:
    ...     OpenAI(base_url=model.base_url, api_key="any").models.list()
    """

    def __init__(
        self,
        records: Sequence[Record] = (),
        host: str = "127.0.0.1",
        port: int = 0,
        thinking: float = 0.0,
        questions: Sequence[Question] = (),
    ) -> None:
        """`records` are run records to serve as `replay:<run_id>`; port 0 takes a free one; every answer
        takes `thinking` seconds, as a real model's would; `questions` are those that it knows about."""
        self.thinking = thinking
        self.brain = Brain(records, questions)
        self.stopping = threading.Event()
        self.assistants = assistants.Assistants(self.think_in_time)
        self._numbers = itertools.count(1)
        self._held: Newest[responses.Items] = Newest(REMEMBERED)
        self._http = _Server((host, port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    @property
    def planted(self) -> tuple[Planted, ...]:
        return self.brain.planted

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    # ------------------------------------------------------------ routes

    def chat(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any] | Iterable[Event]:
        answer = self.think_in_time(chat.read(body, key))
        id = self._id("chatcmpl")
        if not body.get("stream"):
            return chat.write(answer, body["model"], id)
        options = body.get("stream_options") or {}
        return chat.stream(answer, body["model"], id, bool(options.get("include_usage")))

    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        prompt, logprobs = body["prompt"], None
        dialogue = completions.read(body, key)
        prompt = prompt[0] if isinstance(prompt, list) else prompt
        if beside := brackets.aside(prompt):
            answer, logprobs = Answer(None), brackets.scores(body)
            text = prompt if body.get("echo") else f" {self.brain.aside(beside, body['model'])}"
        elif brackets.begins(prompt):
            answer, text = brackets.written(dialogue, self._thinking, prompt)
        else:
            answer, attempt = self._thinking(dialogue)
            text = completions.text_of_answer(answer, attempt)
        for one in body.get("stop") or ():
            text = text.partition(one)[0]
        return completions.write(answer, text, body["model"], self._id("cmpl"), logprobs)

    def _thinking(self, dialogue: Dialogue) -> tuple[Answer, int]:
        return self._wait(*self.brain.think(dialogue))

    def respond(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any] | Iterable[Event]:
        items = responses.items_of(body, self._conversation(body.get("previous_response_id")))
        answer = self.think_in_time(responses.read(body, items, key))
        response = responses.write(answer, body, self._id("resp"))
        self._held[response["id"]] = (*items, *response["output"])
        return responses.stream(response) if body.get("stream") else response

    def models(self) -> Mapping[str, Any]:
        made = [
            {"id": name, "object": "model", "created": 0, "owned_by": "pdoctor"}
            for name in self.brain.models()
        ]
        return {"object": "list", "data": made}

    def think_in_time(self, dialogue: Dialogue) -> Answer:
        return self._thinking(dialogue)[0]

    def _wait(self, answer: Answer, attempt: int) -> tuple[Answer, int]:
        """Let the answer take as long as its planner wants, but not longer than the server lives."""
        delay = answer.delay + self.thinking
        if delay and self.stopping.wait(None if math.isinf(delay) else delay):
            raise Refused(503, "the simulated model is stopping", "stopping")
        return answer, attempt

    def _conversation(self, previous: str | None) -> responses.Items:
        if previous is None:
            return ()
        if previous not in self._held:
            raise Refused(404, f"no response {previous!r} is held", "not_found")
        return self._held[previous]

    def _id(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers)}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], model: SimulatedModel) -> None:
        super().__init__(address, _Handler)
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    """HTTP in, one route, HTTP out."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Agents under test own the terminal."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_DELETE(self) -> None:
        self._answer(lambda: self.server.model.assistants.delete(self._parts()))

    def _get(self) -> Any:
        match self._parts():
            case ["models"]:
                return self.server.model.models()
            case ["planted"]:
                return [planted.to_json() for planted in self.server.model.planted]
            case parts:
                return self.server.model.assistants.get(parts)

    def _post(self) -> Any:
        body, key, model = self._body(), self._key(), self.server.model
        match self._parts():
            case ["chat", "completions"]:
                return model.chat(body, key)
            case ["completions"]:
                return model.complete(body, key)
            case ["responses"]:
                return model.respond(body, key)
            case parts:
                return model.assistants.post(parts, body, key)

    def _answer(self, route: Callable[[], Any]) -> None:
        """Run a route and send what it made, if anybody still listens."""
        try:
            self._send(*_made_by(route))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _send(self, status: int, made: Any) -> None:
        if isinstance(made, dict | list):
            self._json(status, made)
        else:
            self._events(made)

    def _json(self, status: int, made: Any) -> None:
        data = json.dumps(made).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events: Iterable[Event]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, data in events:
            head = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{head}data: {text}\n\n".encode())
        self.close_connection = True

    def _parts(self) -> list[str]:
        parts = self.path.partition("?")[0].strip("/").split("/")
        return parts[1:] if parts[:1] == ["v1"] else parts

    def _key(self) -> str:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ").strip()

    def _body(self) -> Mapping[str, Any]:
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            raise Refused(413, f"the body has {length} bytes, at most {LARGEST_BODY} are read", "too_large")
        try:
            body = json.loads(self.rfile.read(length) or b"{}")
        except ValueError as error:
            raise Refused(400, f"the body is not JSON: {error}", "invalid_json") from error
        if not isinstance(body, dict):
            raise Refused(400, "the body is not a JSON object", "invalid_json")
        return body


def _made_by(route: Callable[[], Any]) -> tuple[int, Any]:
    """Status and body; every failure has a reason."""
    try:
        return 200, route()
    except Refused as error:
        return error.status, _error(str(error), error.code)
    except assistants.NotFound as error:
        return 404, _error(f"nothing here: {error}", "not_found")
    except BadInput as error:
        return 404 if error.field == "model" else 400, _error(str(error), "invalid_request_error")
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        return 400, _error(f"malformed request: {error!r}", "invalid_request_error")


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
