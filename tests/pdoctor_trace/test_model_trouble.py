"""Whether the model's endpoint, and not the agent, ended a run: real clients against a server that fails."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

import pdoctor_trace
from pdoctor_trace import trouble
from pdoctor_trace.raw_loops.messages import Outgoing
from pdoctor_trace.raw_loops.tracker import TRACKER
from pdoctor_trace.wrappers import Watcher, watch_async_generator, watch_generator
from tests.support.sick_models import TOOLS, SickModels, Step, sick_models, words
from tests.support.sink import OtlpSink, Span

ASK = [{"role": "user", "content": "add"}]
Told = tuple[str | None, int | None, str | None]


def told(span: Span) -> Told:
    return (
        span["pdoctor.run.trouble.kind"],
        span["pdoctor.run.trouble.status"],
        span["pdoctor.run.trouble.message"],
    )


NOTHING: Told = (None, None, None)


def of_the_run(sink: OtlpSink) -> Told:
    """What the span of the only root run says."""
    assert pdoctor_trace.flush(60)
    (root,) = [span for span in sink.runs if span["pdoctor.run.calls"] is not None]
    return told(root)


def chat(client: openai.OpenAI, messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(model="m", messages=messages, tools=TOOLS, **more)  # type: ignore[call-overload]


def client_of(models: SickModels, **more: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=f"{models.url}/v1", **{"max_retries": 0, **more})


def agent(models: SickModels, tool: Callable[[], str] = lambda: "3", **more: Any) -> str:
    """A loop on the OpenAI SDK, as users write them."""
    add = pdoctor_trace.tool(name="add")(tool)
    messages: list[Any] = list(ASK)
    with client_of(models, **more) as client:
        while True:
            message = chat(client, messages).choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": add()})


async def async_agent(models: SickModels) -> None:
    url = f"{models.url}/v1"
    async with openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0) as client:
        await client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)  # type: ignore[call-overload]


def run_of(work: Callable[[], Any]) -> None:
    """The whole agent inside one announced run, as the harness drives it; how it ends is not our business."""
    try:
        with pdoctor_trace.run(query="add", agent="me"):
            work()
    except (Exception, ExceptionGroup):
        pass


REFUSED = [401, 403, 404, 408, 409, 429, 500, 503, 529]


@pytest.mark.parametrize("scope", ["announced", "bare"])
@pytest.mark.parametrize("status", [*REFUSED, 400, 422])
def test_an_endpoint_that_refuses_the_first_request_is_trouble(
    sink: OtlpSink, status: int, scope: str
) -> None:
    with sick_models(status) as models:
        if scope == "announced":
            run_of(lambda: agent(models))
        else:
            with pytest.raises(openai.APIStatusError):
                agent(models)
    assert of_the_run(sink) == ("endpoint", status, words(status))


@pytest.mark.parametrize("status", REFUSED)
def test_so_is_one_that_fails_later_where_that_ends_the_run(sink: OtlpSink, status: int) -> None:
    with sick_models("ask", status) as models:
        run_of(lambda: agent(models))
    assert of_the_run(sink) == ("endpoint", status, words(status))


@pytest.mark.parametrize("scope", ["announced", "bare"])
@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_the_agent_spoilt_after_an_answer_is_its_own(
    sink: OtlpSink, status: int, scope: str
) -> None:
    with sick_models("ask", status) as models:
        if scope == "announced":
            run_of(lambda: agent(models))
        else:
            with pytest.raises(openai.APIStatusError):
                agent(models)
    assert of_the_run(sink) == NOTHING


def test_an_unknown_status_is_no_trouble(sink: OtlpSink) -> None:
    with sick_models(418) as models:
        run_of(lambda: agent(models))
    assert of_the_run(sink) == NOTHING


def test_a_server_that_closes_the_connection_is_trouble_without_a_status(sink: OtlpSink) -> None:
    with sick_models("ask", "close") as models:
        run_of(lambda: agent(models))
    assert of_the_run(sink) == ("endpoint", None, "Connection error.")


def test_so_is_a_port_where_nobody_listens(sink: OtlpSink) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with openai.OpenAI(api_key="k", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0) as client:
            run_of(lambda: chat(client, ASK))
    assert of_the_run(sink) == ("endpoint", None, "Connection error.")


def test_so_is_one_that_does_not_answer_in_the_clients_time(sink: OtlpSink) -> None:
    with sick_models("hang") as models:
        run_of(lambda: agent(models, timeout=0.05))
    assert of_the_run(sink) == ("endpoint", None, "Request timed out.")


def test_what_the_sdk_tried_again_with_success_is_no_trouble(sink: OtlpSink) -> None:
    with sick_models("ask", 500, "done") as models:
        assert agent(models, max_retries=1) == "well"
    assert of_the_run(sink) == NOTHING


def test_nor_what_the_agent_itself_tried_again(sink: OtlpSink) -> None:
    def again() -> None:
        with client_of(models) as client:
            try:
                chat(client, ASK)
            except openai.RateLimitError:
                chat(client, ASK)
                raise KeyError("a bug of the agent, in the handler of the first failure") from None

    with sick_models(429, "ask") as models:
        run_of(again)
    assert of_the_run(sink) == NOTHING


def test_a_failure_that_every_request_had_needs_no_exception(sink: OtlpSink) -> None:
    def patient() -> None:
        with client_of(models) as client:
            for _ in range(2):
                with pytest.raises(openai.APIStatusError):
                    chat(client, ASK)

    with sick_models(500, 429) as models:
        run_of(patient)
    assert of_the_run(sink) == ("endpoint", 429, words(429))


def test_a_failure_beside_one_that_says_nothing_is_not_all(sink: OtlpSink) -> None:
    def patient() -> None:
        with client_of(models) as client:
            for _ in range(2):
                with pytest.raises(openai.APIStatusError):
                    chat(client, ASK)

    with sick_models(418, 429) as models:
        run_of(patient)
    assert of_the_run(sink) == NOTHING


def test_a_request_that_was_on_its_way_already_does_not_mend_a_failure() -> None:
    requests = trouble.Requests()
    first, second = trouble.Asking(requests), trouble.Asking(requests)
    first.failed(ConnectionError("gone"))
    second.came()
    assert requests.failure is not None
    trouble.Asking(requests).came()
    assert requests.failure is None


def test_a_bare_loop_that_had_its_last_answer_is_whole(sink: OtlpSink) -> None:
    """Two requests of one conversation at a time: one fails, the other brings the final reply."""
    conversation = TRACKER.request(Outgoing("openai", tools=[("add", None)], user_last=True, key="held"))
    assert conversation is not None
    assert conversation.run is not None
    asking = trouble.Asking(conversation.run.requests)
    trouble.Asking(conversation.run.requests).failed(ConnectionError("gone"))
    asking.came()
    TRACKER.reply(conversation, [], has_text=True, final=True)
    assert of_the_run(sink) == NOTHING


def test_an_agent_that_lives_with_a_failure_ends_in_peace(sink: OtlpSink) -> None:
    def content_with_it() -> None:
        with client_of(models) as client:
            chat(client, ASK)
            with pytest.raises(openai.APIStatusError):
                chat(client, ASK)

    with sick_models("ask", 429) as models:
        run_of(content_with_it)
    assert of_the_run(sink) == NOTHING


@pytest.mark.parametrize("wrap", ["cause", "context", "hidden", "group"])
def test_the_failure_may_come_wrapped(sink: OtlpSink, wrap: str) -> None:
    def wrapped() -> None:
        try:
            agent(models)
        except openai.APIStatusError as error:
            if wrap == "cause":
                raise RuntimeError("no answer") from error
            if wrap == "group":
                raise ExceptionGroup("several", [ValueError("another"), error]) from None
            if wrap == "hidden":
                raise RuntimeError("no answer") from None
            raise RuntimeError("no answer")  # noqa: B904

    with sick_models("ask", 429) as models:
        run_of(wrapped)
    assert of_the_run(sink) == ("endpoint", 429, words(429))


def test_a_bug_after_an_answer_is_the_agents_even_where_it_looks_like_a_failed_connection(
    sink: OtlpSink,
) -> None:
    def buggy() -> None:
        with client_of(models) as client:
            chat(client, ASK)
        raise ConnectionError("of its own database")

    with sick_models("ask") as models:
        run_of(buggy)
    assert of_the_run(sink) == NOTHING


@pytest.mark.parametrize("status", [429, 401, 500])
def test_what_a_tool_raises_is_the_tools_whatever_its_status(sink: OtlpSink, status: int) -> None:
    """The tool asks another model, or an endpoint of its own, and fails."""

    def tool() -> str:
        with sick_models(status) as others, client_of(others) as client:
            chat(client, [{"role": "user", "content": "of the tool"}])
        raise AssertionError

    with sick_models("ask") as models:
        run_of(lambda: agent(models, tool))
    assert of_the_run(sink) == NOTHING
    (call,) = sink.calls
    assert call.failed


def test_so_is_what_an_agent_in_a_tool_meets(sink: OtlpSink) -> None:
    def tool() -> str:
        with sick_models(429) as others, pdoctor_trace.run(agent="helper"):
            agent(others)
        raise AssertionError

    with sick_models("ask") as models:
        run_of(lambda: agent(models, tool))
    assert of_the_run(sink) == NOTHING


def test_an_exception_that_a_tool_hands_on_is_still_the_tools(sink: OtlpSink) -> None:
    class QuotaError(Exception):
        status_code = 429

    def tool() -> str:
        raise QuotaError("the weather service")

    with sick_models("ask") as models:
        run_of(lambda: agent(models, tool))
    assert of_the_run(sink) == NOTHING


@pytest.mark.parametrize("error", [KeyError("OPENAI_API_KEY"), SystemExit("no key"), SystemExit(3)])
def test_a_crash_before_anything_tested_nobody(sink: OtlpSink, error: BaseException) -> None:
    with pytest.raises(type(error)), pdoctor_trace.run(query="add"):
        raise error
    assert of_the_run(sink)[:2] == ("crash_before_start", None)


def test_it_says_what_was_raised(sink: OtlpSink) -> None:
    def without_key() -> None:
        raise RuntimeError("the key is missing")

    run_of(without_key)
    assert of_the_run(sink) == ("crash_before_start", None, "the key is missing")


@pytest.mark.parametrize(
    "error", [SystemExit(0), SystemExit(), KeyboardInterrupt(), asyncio.CancelledError()]
)
def test_an_orderly_end_and_the_users_wish_are_no_crash(sink: OtlpSink, error: BaseException) -> None:
    with pytest.raises(type(error)), pdoctor_trace.run(query="add"):
        raise error
    assert of_the_run(sink) == NOTHING


def test_an_agent_that_ends_in_peace_without_a_call_was_tested(sink: OtlpSink) -> None:
    with pdoctor_trace.run(query="add"):
        pass
    assert of_the_run(sink) == NOTHING


def test_a_crash_after_a_call_is_the_agents(sink: OtlpSink) -> None:
    def crashes() -> None:
        pdoctor_trace.tool(name="add")(lambda: "3")()
        raise RuntimeError("a bug")

    run_of(crashes)
    assert of_the_run(sink) == NOTHING


def test_async_clients_and_task_groups_are_watched_alike(sink: OtlpSink) -> None:
    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(async_agent(models))
            tasks.create_task(asyncio.sleep(0))

    with sick_models(503) as models:
        run_of(lambda: asyncio.run(group()))
    assert of_the_run(sink) == ("endpoint", 503, words(503))


pieces_read: list[str] = []


def read_stream(models: SickModels) -> None:
    with client_of(models) as client, chat(client, ASK, stream=True) as pieces:
        pieces_read.clear()
        for piece in pieces:
            pieces_read.extend(filter(None, [piece.choices[0].delta.content]))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("overload", ("endpoint", 500, words(500))),
        (429, ("endpoint", 429, words(429))),
        ("done", NOTHING),
    ],
)
def test_streams_are_watched_to_their_end(sink: OtlpSink, step: Step, expected: Told) -> None:
    with sick_models(step) as models:
        run_of(lambda: read_stream(models))
    assert of_the_run(sink) == expected


def test_a_stream_that_never_began_is_no_answer(sink: OtlpSink) -> None:
    """So all requests failed, although the agent ends in peace; and the next try is no other conversation."""

    def patient() -> None:
        for _ in range(2):
            with pytest.raises(openai.APIError):
                read_stream(models)

    with sick_models("overload at once", "overload at once") as models:
        run_of(patient)
    assert of_the_run(sink) == ("endpoint", 500, words(500))
    sink.clear()
    with sick_models("overload at once", "done") as models:
        with pytest.raises(openai.APIError):
            read_stream(models)
        read_stream(models)
    assert of_the_run(sink) == NOTHING


def test_while_a_stream_is_read_it_is_waited_for(sink: OtlpSink) -> None:
    seen: list[str] = []

    class Recorder(Watcher):
        def waits(self) -> None:
            seen.append("waits")

        def item(self, item: Any) -> None:
            seen.append(item)

        def raised(self, error: BaseException) -> None:
            seen.append(str(error))

        def ended(self) -> None:
            seen.append("ended")

    def breaking() -> Any:
        yield "a"
        raise ValueError("broke")

    async def breaking_too() -> Any:
        yield "a"
        raise ValueError("broke")

    async def read() -> None:
        async for _ in watch_async_generator(lambda _: Recorder())(breaking_too, None, (), {}):
            seen.append("read")

    def read_plainly() -> None:
        for _ in watch_generator(lambda _: Recorder())(breaking, None, (), {}):
            seen.append("read")

    expected = ["waits", "a", "read", "waits", "broke", "ended"]
    with pytest.raises(ValueError, match="broke"):
        read_plainly()
    assert seen == expected
    seen.clear()
    with pytest.raises(ValueError, match="broke"):
        asyncio.run(read())
    assert seen == expected


def test_a_stream_that_breaks_is_a_failed_connection(sink: OtlpSink) -> None:
    with sick_models("break") as models:
        run_of(lambda: read_stream(models))
    assert of_the_run(sink)[:2] == ("endpoint", None)
    assert pieces_read == ["we"]


def test_a_stream_that_the_host_leaves_waits_for_nothing(sink: OtlpSink) -> None:
    def leaves() -> None:
        with client_of(models) as client, chat(client, ASK, stream=True) as pieces:
            next(iter(pieces))
            assert waiting_now() is None
            raise RuntimeError("a bug")

    with sick_models("done") as models:
        run_of(leaves)
    assert of_the_run(sink) == NOTHING


def waiting_now() -> int | None:
    frame = pdoctor_trace.runs.current()
    assert frame is not None
    assert frame.run is not None
    return frame.run.requests.wait_ms()


@pytest.mark.parametrize("content", ["shape", "none"])
def test_where_no_content_is_kept_only_class_and_status_are_told(sink: OtlpSink, content: str) -> None:
    pdoctor_trace.install(content=content)
    with sick_models(429) as models:
        run_of(lambda: agent(models))
    assert of_the_run(sink) == ("endpoint", 429, "openai.RateLimitError")
    assert words(429).encode() not in b"".join(sink.bodies)


def test_a_redactor_sees_the_message_and_long_ones_are_cut(sink: OtlpSink) -> None:
    pdoctor_trace.install(redactor=lambda kind, text: text.replace("own", "***"))
    try:
        with sick_models(429) as models:
            run_of(lambda: agent(models))
        assert of_the_run(sink)[2] == words(429).replace("own", "***")
    finally:
        pdoctor_trace.install(redactor=None)
    sink.clear()

    def talkative() -> None:
        raise RuntimeError("x" * 100_000)

    run_of(talkative)
    assert len(str(of_the_run(sink)[2])) < 5_000


def test_only_the_span_of_the_root_run_says_so(sink: OtlpSink) -> None:
    with sick_models(429) as models:
        run_of(lambda: agent(models))
    assert pdoctor_trace.flush(60)
    assert sorted(map(told, sink.runs), key=str) == sorted([("endpoint", 429, words(429)), NOTHING], key=str)


def test_nothing_of_the_hosts_exception_is_kept_alive(sink: OtlpSink) -> None:
    import gc
    import weakref

    class Big:
        pass

    kept: list[weakref.ref[Big]] = []

    def fails(models: SickModels) -> None:
        big = Big()
        kept.append(weakref.ref(big))
        with client_of(models) as client:
            chat(client, ASK)

    with sick_models(429) as models, pdoctor_trace.run():
        with pytest.raises(openai.RateLimitError):
            fails(models)
        gc.collect()
        assert kept[0]() is None


def test_hostile_exceptions_and_endless_chains_harm_nobody(sink: OtlpSink) -> None:
    class Hostile(Exception):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    first: BaseException = Hostile("first")
    error = first
    for _ in range(1_000):
        error, before = Hostile("next"), error
        BaseException.__dict__["__context__"].__set__(error, before)
    with pytest.raises(Hostile), pdoctor_trace.run():
        raise error
    assert of_the_run(sink)[0] == "crash_before_start"


def test_classes_are_not_asked_for_their_names(sink: OtlpSink) -> None:
    class Hostile(type):
        def __getattribute__(cls, name: str) -> Any:
            if name in {"__mro__", "__name__", "__qualname__", "__module__"}:
                raise SystemExit(name)
            return type.__getattribute__(cls, name)

    class Odd(Exception, metaclass=Hostile): ...

    @pdoctor_trace.tool
    def add() -> None:
        raise error

    def agent() -> None:
        raise error

    error = Odd("odd")
    for fails in (add, agent):
        with pytest.raises(BaseException) as raised, pdoctor_trace.run():  # noqa: PT011
            fails()
        assert raised.value is error
    assert pdoctor_trace.flush(60)
    assert [span["error.type"] for span in sink.runs] == ["Odd", "Odd"]
    assert [told(span)[0] for span in sink.runs] == [None, "crash_before_start"]
    asking = trouble.Asking(trouble.Requests())
    asking.failed(error)


def test_exceptions_of_the_http_client_are_known_too() -> None:
    requests = trouble.Requests()
    requests.fail(httpx.ConnectTimeout("slow"))
    assert requests.failure is not None
    assert requests.failure.status is None
    other = trouble.Requests()
    other.fail(ValueError("unreadable"))
    assert (other.failure, other.unclear) == (None, True)


class OfGemini(Exception):
    """As another SDK for models raises it, whose requests are not seen."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{code} RESOURCE_EXHAUSTED")
        self.code = code


OfGemini.__module__ = "google.genai.errors"


@pytest.mark.parametrize(
    ("calls", "code", "expected"),
    [
        (1, 429, ("endpoint", 429, "429 RESOURCE_EXHAUSTED")),
        (0, 400, ("endpoint", 400, "400 RESOURCE_EXHAUSTED")),
        (1, 400, NOTHING),
        (0, 418, ("crash_before_start", None, "no answer")),
    ],
)
def test_the_word_of_an_sdk_that_is_not_watched_counts_where_it_ended_the_run(
    sink: OtlpSink, calls: int, code: int, expected: Told
) -> None:
    def works() -> None:
        for _ in range(calls):
            pdoctor_trace.tool(name="add")(lambda: "3")()
        raise RuntimeError("no answer") from OfGemini(code)

    run_of(works)
    assert of_the_run(sink) == expected


@pytest.mark.parametrize("wrapped", [False, True])
def test_but_not_where_a_tool_raised_it(sink: OtlpSink, wrapped: bool) -> None:
    @pdoctor_trace.tool(name="add")
    def tool() -> str:
        raise OfGemini(429)

    def works() -> None:
        try:
            tool()
        except OfGemini as error:
            if wrapped:
                raise RuntimeError("the tool failed") from error
            raise

    run_of(works)
    assert of_the_run(sink) == NOTHING


KILLED = """
    import openai, sys, pdoctor_trace
    pdoctor_trace.install(endpoint=sys.argv[1], announce_after=float(sys.argv[3]))
    with pdoctor_trace.run(query="add", agent="me"):
        client = openai.OpenAI(api_key="k", base_url=sys.argv[2] + "/v1", max_retries=0)
        tools = [{"type": "function", "function": {"name": "add"}}]
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], tools=tools)
"""


@pytest.mark.parametrize("announce_after", ["0.01", "60"])
def test_a_program_that_is_ended_while_a_model_hangs_says_for_how_long(
    sink: OtlpSink, announce_after: str
) -> None:
    with sick_models("hang") as models:
        program = [sys.executable, "-c", textwrap.dedent(KILLED), sink.url, models.url, announce_after]
        with subprocess.Popen(program) as agent_process:
            assert models.hanging.wait(30)
            agent_process.send_signal(signal.SIGTERM)
            assert agent_process.wait(20) == -signal.SIGTERM
    waits = [span["pdoctor.run.model_wait_ms"] for span in sink.announcements]
    assert waits[-1] is not None
    assert told(sink.announcements[-1]) == NOTHING


def test_while_a_program_works_no_model_is_waited_for(sink: OtlpSink) -> None:
    with sick_models("ask") as models, pdoctor_trace.run(), client_of(models) as client:
        chat(client, ASK)
        assert waiting_now() is None
