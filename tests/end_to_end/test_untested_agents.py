"""Runs that say nothing about their agent, from endpoint and process to result, and those that do."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from collector.server import running
from synth.cases.generate import Options as CaseOptions
from synth.cases.generate import generate
from synth.errors import BadInput
from synth.experiments.harness import Harness, Options
from synth.experiments.trial import Result, Trial
from tests.support.provider import Failure, Provider, Refusal
from tests.support.traces import Client, settings

pytestmark = pytest.mark.heavy

(CASE,) = generate(1, 11, CaseOptions(actions=(3, 3)))
BAD_KEY = Refusal(401, "Incorrect API key provided: any.")
BUSY = Refusal(429, "Rate limit reached for requests.", {"Retry-After": "0"})
PARAMETER = Refusal(400, "Unsupported value: 'temperature' does not support 0.0 with this model.")
BROKEN = Refusal(500, "The server had an error while processing your request.")
TOO_LONG = Refusal(400, "This model's maximum context length is 8192 tokens.")
NO_PAUSES = (0.0, 0.0)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(settings(tmp_path_factory.mktemp("collector"), grace_seconds=0.5)) as url:
        yield url


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as started:
        yield started


def run(collector: str, provider: Provider, agent: str, folder: Path | None = None, **more: Any) -> Result:
    environment = {} if folder is None else {"PDOCTOR_AGENT_PATH": str(folder)}
    options = {"base_url": provider.base_url, "api_key": "any", "pauses": NO_PAUSES, **more}
    with Harness(collector, Options(environment=environment, **options)) as harness:
        return harness.run_one(Trial(agent, "simulated-perfect", case=CASE))


def asked_after(turn: int, failure: Failure) -> Any:
    """Fails every request that shows at least so many of the model's own messages."""

    def fails(body: Mapping[str, Any]) -> Failure | None:
        said = sum(message["role"] == "assistant" for message in body["messages"])
        return failure if said >= turn else None

    return fails


def first(count: int, failure: Failure) -> Any:
    """Fails the first requests."""
    left = [failure] * count
    return lambda body: left.pop() if left else None


# ---------------------------------------------------------------- the endpoint of the model


@pytest.mark.parametrize("agent", ["raw-loop", "openai-tools"])
@pytest.mark.parametrize("refusal", [BAD_KEY, BUSY, PARAMETER, BROKEN], ids=lambda one: str(one.status))
def test_a_model_that_refuses_from_the_start_tests_no_agent(
    agent: str, refusal: Refusal, collector: str, provider: Provider
) -> None:
    provider.fails = lambda body: refusal
    found = run(collector, provider, agent, pauses=())
    assert found.outcome == "error"
    assert found.error_type is None
    assert found.trouble is not None
    assert (found.trouble.kind, found.trouble.status) == ("endpoint", refusal.status)
    assert found.trouble.message.startswith(refusal.message)


@pytest.mark.parametrize("refusal", [BAD_KEY, BUSY, BROKEN], ids=lambda one: str(one.status))
def test_nor_does_one_that_refuses_in_the_middle(
    refusal: Refusal, collector: str, provider: Provider
) -> None:
    provider.fails = asked_after(1, refusal)
    found = run(collector, provider, "raw-loop", pauses=())
    assert found.outcome == "error"
    assert found.trouble is not None
    assert (found.trouble.status, found.trouble.message) == (refusal.status, refusal.message)
    assert len(found.tool_log) == 1


def test_nor_one_that_closes_the_connection_or_does_not_listen(collector: str, provider: Provider) -> None:
    provider.fails = lambda body: "close"
    closed = run(collector, provider, "raw-loop", pauses=())
    provider.go_down()
    refused = run(collector, provider, "raw-loop", pauses=())
    provider.come_back()
    for found in (closed, refused):
        assert found.outcome == "error"
        assert found.trouble is not None
        assert (found.trouble.kind, found.trouble.status) == ("endpoint", None)


def test_nor_one_that_hangs_until_the_time_limit(collector: str, provider: Provider) -> None:
    provider.fails = lambda body: "hang"
    found = run(collector, provider, "raw-loop", timeout=3.0)
    assert (found.status, found.outcome) == ("timeout", "error")
    assert found.trouble is not None
    assert found.trouble.kind == "endpoint"
    assert len(provider.asked) == 1, "whoever hung until the limit is not asked again at once"


PROGRAM = """
import json, os, sys
import pdoctor_trace
import openai
from opentelemetry import context, propagate

context.attach(propagate.extract({name: os.environ[name.upper()] for name in ("traceparent", "baggage")}))
task = json.load(sys.stdin)
with pdoctor_trace.run(query=task["query"], agent="a program"):
    openai.OpenAI(base_url=task["base_url"], api_key="any", max_retries=0).chat.completions.create(
        model=task["model"], messages=[{"role": "user", "content": task["query"]}], tools=task["tools"]
    )
"""


@pytest.mark.parametrize("failure", [BAD_KEY, "hang"], ids=["401", "hang"])
def test_nor_one_that_fails_the_program_that_is_the_agent(
    failure: Failure, collector: str, provider: Provider, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    provider.fails = lambda body: failure
    found = run(collector, provider, f"exec:{sys.executable} {tmp_path / 'program.py'}", timeout=8.0)
    assert found.outcome == "error"
    assert found.trouble is not None
    assert found.trouble.kind == "endpoint"


@pytest.mark.parametrize("refusal", [BUSY, BROKEN], ids=lambda one: str(one.status))
def test_what_may_pass_is_tried_again_at_once(refusal: Refusal, collector: str, provider: Provider) -> None:
    """OpenAI's SDK asks three times itself."""
    provider.fails = first(3, refusal)
    assert run(collector, provider, "raw-loop").outcome == "pass"


def test_no_other_run_begins_while_one_is_tried_again(collector: str, provider: Provider) -> None:
    """One worker: the runs that began before the first verdict, then nothing but the second try."""
    (refused, *others) = generate(12, 11, CaseOptions(actions=(3, 3)))
    begun: list[str] = []

    def fails(body: Mapping[str, Any]) -> Failure | None:
        query = str(body["messages"][0]["content"])
        begun.extend([] if query in begun[-1:] else [query])
        return BROKEN if query == refused.query and begun.count(query) < 2 else None

    provider.fails = fails
    options = Options(base_url=provider.base_url, api_key="any", pauses=(2.0,))
    with Harness(collector, options) as harness:
        results = list(
            harness.run(Trial("raw-loop", "simulated-perfect", case=c) for c in (refused, *others))
        )
    assert [result.outcome for result in results] == ["pass"] * 12
    assert begun.count(refused.query) == 2
    assert begun.index(refused.query, 1) <= 4, "whatever had begun"


def test_what_lasts_is_not_tried_again(collector: str, provider: Provider) -> None:
    provider.fails = lambda body: BAD_KEY
    assert run(collector, provider, "raw-loop").outcome == "error"
    assert len(provider.asked) == 1


# ---------------------------------------------------------------- the agent's own


AGENTS = """
import time

import httpx
import openai

def client(base_url):
    return openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)

def ask(base_url, messages, tools):
    return client(base_url).chat.completions.create(
        model="simulated-perfect", messages=messages, tools=tools
    ).choices[0].message

def limited(query, openai_tools, base_url):
    "Asks, and then runs into the limits of a tool."
    ask(base_url, [{"role": "user", "content": query}], openai_tools)
    request = httpx.Request("POST", "http://tools.example")
    raise openai.RateLimitError("tool", response=httpx.Response(429, request=request), body=None)

def loops(query, openai_tools, call_tool, base_url):
    messages = [{"role": "user", "content": query}]
    while True:
        message = ask(base_url, messages, openai_tools)
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            said = call_tool(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})

def polite(query, openai_tools, base_url):
    return ask(base_url, [{"role": "user", "content": query}], openai_tools).content

def silent(query, tools):
    return "I would rather not."

def sleeps(query, tools):
    time.sleep(600)

def waits_in_a_tool(query, tools):
    tools[0]()
    time.sleep(600)

def crashes_first(query, tools):
    raise RuntimeError("no configuration")

def dies_first(query, tools):
    import os
    os._exit(3)

def crashes_later(query, tools):
    tools[0]()
    raise RuntimeError("no more flour")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_agents.py").write_text(AGENTS)
    return tmp_path


@pytest.mark.parametrize(
    ("agent", "fails", "error_type"),
    [
        ("limited", lambda body: None, "act_error"),
        ("loops", asked_after(2, TOO_LONG), "act_error"),
        ("polite", lambda body: None, "action_lost"),
        ("silent", lambda body: None, "action_lost"),
        ("crashes_later", lambda body: None, "act_error"),
    ],
)
def test_what_the_agent_did_itself_is_its_failure(
    agent: str, fails: Any, error_type: str, collector: str, provider: Provider, folder: Path
) -> None:
    provider.fails = fails
    found = run(collector, provider, f"own_agents:{agent}", folder)
    assert (found.outcome, found.error_type, found.trouble) == ("fail", error_type, None)


@pytest.mark.parametrize("agent", ["sleeps", "waits_in_a_tool"])
def test_an_agent_that_itself_takes_too_long_is_a_timeout(
    agent: str, collector: str, provider: Provider, folder: Path
) -> None:
    found = run(collector, provider, f"own_agents:{agent}", folder, timeout=1.5)
    assert (found.outcome, found.error_type) == ("fail", "timeout")


# ---------------------------------------------------------------- the agent's program


@pytest.mark.parametrize(
    ("agent", "said"), [("crashes_first", "no configuration"), ("dies_first", "the agent's process died")]
)
def test_a_crash_before_anything_was_asked_or_called_tests_nothing(
    agent: str, said: str, collector: str, provider: Provider, folder: Path
) -> None:
    found = run(collector, provider, f"own_agents:{agent}", folder)
    assert found.outcome == "error"
    assert found.trouble is not None
    assert found.trouble.kind == "crash_before_start"
    assert said in found.trouble.message
    with Client(collector) as client:
        assert client.judged(found.trace_id)["outcome"] == "error"


def test_an_agent_that_nobody_knows_is_bad_input(collector: str, provider: Provider) -> None:
    with pytest.raises(BadInput, match="unknown agent 'nobody'"):
        run(collector, provider, "nobody")


def test_the_collector_shows_why_an_agent_was_not_tested(collector: str, provider: Provider) -> None:
    found = run(collector, provider, "no_such_module:agent")
    with Client(collector) as client:
        shown = client.judged(found.trace_id)
    assert shown["outcome"] == "error"
    assert shown["verdict"]["trouble"]["kind"] == "unreachable"


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("no_such_module:agent", "cannot import 'no_such_module'"),
        ("own_agents:nobody", "has no 'nobody'"),
        ("exec:no-such-program --now", "No such file or directory: 'no-such-program' cannot be run"),
        ("http://127.0.0.1:9/agent", "no agent answers at http://127.0.0.1:9/agent"),
    ],
)
def test_an_agent_that_is_not_there_is_unreachable(
    agent: str, said: str, collector: str, provider: Provider, folder: Path
) -> None:
    found = run(collector, provider, agent, folder)
    assert (found.outcome, found.status) == ("error", "crash")
    assert found.trouble is not None
    assert found.trouble.kind == "unreachable"
    assert said in found.trouble.message


def test_a_program_that_fails_before_it_did_anything_tests_nothing(
    collector: str, provider: Provider, folder: Path
) -> None:
    found = run(collector, provider, f"exec:{sys.executable} {folder / 'no_such_file.py'}")
    assert found.trouble is not None
    assert found.trouble.kind == "crash_before_start"
