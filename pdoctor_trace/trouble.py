"""Trouble that is not the agent's: did the endpoint of its model, and not the agent, end a run?

Two things say so. Every request to a model that was seen failed; or one failed and that very exception, or
one that came of it, ended the run. What counts is how the SDK itself describes the failure: a status code, or
that there was no connection. What a tool's body raises, or asks of a model, is the tool's own business.

A run that an exception ended before any model request and any call was not tested either.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import runtime, semconv
from .reading import class_names, field, type_name
from .wire import Pairs

ENDPOINT, CRASH_BEFORE_START = "endpoint", "crash_before_start"
REFUSALS = frozenset({401, 403, 404, 408, 409, 429})
"""Status codes of an endpoint that does not serve us, beside all from 500 on."""
REFUSED_PARAMETER = frozenset({400, 422})
"""Those of a request that cannot be served; after an answer it may be the agent that spoilt it."""
ERROR_WORDS = {
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What providers call a failure in the midst of a stream, where no status code can come any more."""
NO_CONNECTION = frozenset({"APIConnectionError", "TransportError", "ClientConnectionError", "gaierror"})
"""Classes of SDKs and HTTP clients for a connection that failed, or on which nothing came in time."""
MODEL_SDKS = (
    "cerebras.",
    "cohere.",
    "google.genai.",
    "groq.",
    "huggingface_hub.",
    "mistralai.",
    "ollama.",
    "pydantic_ai.exceptions.ModelHTTPError",
    "together.",
)
"""Beginnings of the classes' names of exceptions that only a request to a model raises."""
MOST_CAUSES = 64
MOST_OF_TOOLS = 32
"""Exceptions of tools that are known again, the newest."""
_CAUSE: Any = BaseException.__dict__["__cause__"]
_CONTEXT: Any = BaseException.__dict__["__context__"]
_CODE: Any = SystemExit.__dict__["code"]
_MEMBERS: Any = BaseExceptionGroup.__dict__["exceptions"]

Match = Callable[[BaseException], bool]


class Failure(NamedTuple):
    """A request that the endpoint failed."""

    at_ns: int
    is_this: Match
    status: int | None
    message: str


class Requests:
    """What became of the model requests of one run, as far as they were seen."""

    __slots__ = ("_of_tools", "_waiting", "answered", "asked", "failure", "unclear")

    def __init__(self) -> None:
        self.asked = self.answered = False
        self.unclear = False
        """One ended in a way that says nothing about its endpoint."""
        self.failure: Failure | None = None
        """The newest, while no later request was answered."""
        self._waiting: dict[int, int] = {}
        self._of_tools: deque[Match] = deque(maxlen=MOST_OF_TOOLS)

    def of_a_tool(self, error: BaseException) -> None:
        """A tool raised this."""
        self._of_tools.append(_match(error))

    def is_of_a_tool(self, error: BaseException) -> bool:
        return any(is_this(error) for is_this in self._of_tools)

    def wait_ms(self) -> int | None:
        """How long the request that waits longest has been without an answer; None where none waits."""
        since = min(list(self._waiting.values()), default=None)
        return None if since is None else max(0, time.time_ns() - since) // 1_000_000

    def answer(self, since_ns: int) -> None:
        """A request that left at `since_ns` was answered."""
        self.answered = True
        if self.failure is not None and self.failure.at_ns <= since_ns:
            self.failure = None

    def fail(self, error: BaseException) -> None:
        """A request ended in an exception."""
        found = (
            _failure(error, refusals_count=not self.answered) if issubclass(type(error), Exception) else None
        )
        if found is None:
            self.unclear = True
        else:
            self.failure = found


class Asking:
    """One request that was seen, from the moment it left."""

    __slots__ = ("_requests", "_since_ns")

    def __init__(self, requests: Requests) -> None:
        self._requests, self._since_ns = requests, time.time_ns()
        requests.asked = True
        self.wait()

    def wait(self) -> None:
        """The host waits for the answer, or for more of it."""
        self._requests._waiting[id(self)] = time.time_ns()

    def rest(self) -> None:
        """Nobody waits."""
        self._requests._waiting.pop(id(self), None)

    def came(self) -> None:
        """An answer came, or a part of it."""
        self.rest()
        self._requests.answer(self._since_ns)

    def failed(self, error: BaseException) -> None:
        """No answer comes."""
        self.rest()
        self._requests.fail(error)


def pairs(requests: Requests, error: BaseException | None, idle: bool, cut_short: bool) -> Pairs:
    """Attributes of a root run that ends, by `error` if any.

    `idle`: no tool was called, no reply of a model seen. `cut_short`: nothing followed its last request.
    """
    said = _told(requests, error, idle, cut_short)
    if said is None:
        return waiting(requests)
    kind, status, message = said
    named = (semconv.TROUBLE_KIND, kind, semconv.TROUBLE_STATUS, status, semconv.TROUBLE_MESSAGE, message)
    return (*named, *waiting(requests))


def waiting(requests: Requests) -> Pairs:
    """Attributes of a run of which a request waits."""
    return (semconv.RUN_MODEL_WAIT, requests.wait_ms())


def _told(
    requests: Requests, error: BaseException | None, idle: bool, cut_short: bool
) -> tuple[str, int | None, str] | None:
    failure = requests.failure
    if failure is not None and (
        cut_short
        or not (requests.answered or requests.unclear)
        or (error is not None and any(map(failure.is_this, _causes(error))))
    ):
        return ENDPOINT, failure.status, failure.message
    if error is None or requests.asked:
        return None
    unseen = _failure_elsewhere(requests, error, refusals_count=idle)
    if unseen is not None:
        return ENDPOINT, unseen.status, unseen.message
    if idle and _is_crash(error):
        return CRASH_BEFORE_START, _status(error), _words(error)
    return None


def _failure_elsewhere(requests: Requests, error: BaseException, *, refusals_count: bool) -> Failure | None:
    """What ended the run, if that is a failed request of an SDK for models whose requests are not seen."""
    for one in _causes(error):
        if requests.is_of_a_tool(one):
            return None
        if type_name(one).startswith(MODEL_SDKS):
            return _failure(one, refusals_count=refusals_count)
    return None


def _is_crash(error: BaseException) -> bool:
    """Neither the user's wish nor an orderly end."""
    if issubclass(type(error), SystemExit):
        return bool(_CODE.__get__(error))
    return issubclass(type(error), Exception)


def _failure(error: BaseException, *, refusals_count: bool) -> Failure | None:
    for one in _causes(error):
        status = _status(one)
        if status is None and not _is_connection(one):
            continue
        refused = REFUSALS | REFUSED_PARAMETER if refusals_count else REFUSALS
        if status is None or status >= 500 or status in refused:
            return Failure(time.time_ns(), _match(error), status, _words(error))
        return None
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what it came of, and the members of groups; none of their own code is run.

    Nor anywhere here: `isinstance` would ask them for their class.
    """
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left and len(seen) < MOST_CAUSES:
        one = left.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        left += [_CAUSE.__get__(one), _CONTEXT.__get__(one)]
        left += _MEMBERS.__get__(one)[:MOST_CAUSES] if issubclass(type(one), BaseExceptionGroup) else ()


def _match(error: BaseException) -> Match:
    """Is an exception this one? It is not kept: its traceback would keep the host's objects alive."""
    try:
        same = weakref.ref(error)
    except TypeError:  # built-in ones
        number, cls = id(error), type(error)
        return lambda other: id(other) == number and type(other) is cls
    return lambda other: same() is other


def _status(error: BaseException) -> int | None:
    """The status code that an SDK gives its exception; a failed connection has none, whatever it says."""
    if _is_connection(error) or _is_litellms_guess(error):
        return None
    answer = field(error, "response")
    for found in (field(error, "status_code"), field(answer, "status_code"), field(error, "code")):
        if type(found) is int and 400 <= found < 600:
            return found
    for said in _body(error):
        for word in (field(said, "type"), field(said, "code")):
            if type(word) is str and word in ERROR_WORDS:
                return ERROR_WORDS[word]
    return None


def _is_connection(error: BaseException) -> bool:
    if issubclass(type(error), ConnectionError | TimeoutError):
        return True
    names = class_names(type(error))
    return not NO_CONNECTION.isdisjoint(names) and not _is_litellms_guess(error)


def _is_litellms_guess(error: BaseException) -> bool:
    """LiteLLM calls whatever it does not know a failed connection, status 500; its cause tells the truth."""
    return type_name(error) == "litellm.exceptions.APIConnectionError"


def _words(error: BaseException) -> str:
    """The provider's own words, else the exception's, where content is kept; else the exception's class."""
    capture = runtime.ACTIVE.capture
    if capture.mode != "full":
        return type_name(error)
    messages = (field(said, "message") for one in _causes(error) for said in _body(one))
    told = next((message for message in messages if type(message) is str and message), error)
    return capture.message(told) or type_name(error)


def _body(error: BaseException) -> tuple[Any, Any]:
    """What the provider sent, its inner part first."""
    body = field(error, "body")
    return field(body, "error"), body
