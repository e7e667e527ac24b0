"""Programs and collectors are updated on different days: each reads what the other's older releases write.

`bodies_2026-11-20.txt` is what the client of that day (commit 8d295b3, the last one before calls could be
`unknown`) sent for `story`, a body a line in base64. `as_read_then` is what the collector of the same commit
read of the spans of its own tracer, and with which types; its own code was run on bodies of 2026-11-27 and
read the same.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import openai
import pytest

import pdoctor_trace
from collector.model import Run
from collector.otlp.segments import from_protobuf
from collector.otlp.spans import spans_of
from collector.rebuild import rebuild
from collector.settings import Limits
from pdoctor_trace import raw_loops
from synth.policies import judge_policies, load_policies
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink, Span, decode

BODIES = Path(__file__).with_name("bodies_2026-11-20.txt")
NAMES = ("add", "slow_echo", "boom")
Told = tuple[str | None, str, Any, Any, str | None, bool]
"""Id, tool, arguments, result, error, whether it ran."""
CLERK: list[Told] = [
    (None, "search", {"query": "a chair"}, {"items": [1, 2]}, None, True),
    (None, "pay", {"amount": 500}, None, "too much", True),
    (None, "pay", {"amount": 50}, "paid", None, True),
]
CASE: list[Told] = [(None, "pay", {"amount": 7}, "paid", None, True)]
LOOP: list[Told] = [
    ("call_0_0", "add", {"a": 1, "b": 2}, "result of add", None, True),
    ("call_0_1", "slow_echo", {"text": "hi"}, "result of slow_echo", None, True),
    ("call_1_0", "no_such_tool", {"q": 1}, None, "result of no_such_tool", False),
    ("call_2_0", "add", '{"a": 1, "b": ', None, "result of add", False),
    ("call_3_0", "add", {"a": 40, "b": 2}, "result of add", None, True),
]
RUNS = [
    ("clerk", None, "Find it and pay.", CLERK),
    (None, "case-1", None, CASE),
    (None, None, "Add them.", LOOP),
]
ACTIONS = ("search", "pay", "slow echo", "no such tool", "add")
SENTENCES = (
    "Search must happen before pay.",
    "Pay must happen at most 1 time.",
    "Slow echo must happen after add.",
    "No such tool must never happen.",
    "Add must happen at least 2 times.",
)
VERDICTS = [
    ["ok", "violated", "not_applicable", "not_applicable", "undecided"],
    ["violated", "ok", "not_applicable", "not_applicable", "undecided"],
    ["not_applicable", "not_applicable", "undecided", "not_applicable", "ok"],
]
"""The last two are of runs that may go on; what was refused did not happen."""


@pdoctor_trace.tool
def search(query: str) -> dict[str, Any]:
    return {"items": [1, 2]}


@pdoctor_trace.tool
def pay(amount: int) -> str:
    if amount > 100:
        raise ValueError("too much")
    return "paid"


def story(models: FakeModels) -> None:
    """A run of the host's own, a case, a loop on the OpenAI SDK; the older client was asked for the same."""
    with pdoctor_trace.run(agent="clerk", query="Find it and pay."):
        search(query="a chair")
        with contextlib.suppress(ValueError):
            pay(amount=500)
        pay(amount=50)
    with pdoctor_trace.case("case-1"):
        pay(amount=7)
    shape = {"type": "object", "properties": {}}
    tools: Any = [{"type": "function", "function": {"name": one, "parameters": shape}} for one in NAMES]
    messages: list[Any] = [{"role": "user", "content": "Add them."}]
    with openai.OpenAI(base_url=models.openai, api_key="x") as sdk:
        while True:
            asked: Any = {"model": "fake.par.unknown.badjson.one", "messages": messages, "tools": tools}
            reply = sdk.chat.completions.create(**asked).choices[0].message
            messages.append(reply)
            if not reply.tool_calls:
                break
            messages += [
                {"role": "tool", "tool_call_id": one.id, "content": f"result of {one.function.name}"}
                for one in reply.tool_calls
            ]
    pdoctor_trace.flush()


def as_read_today(bodies: Iterable[bytes]) -> list[Run]:
    """The runs in the order in which they were sent."""
    payloads: dict[str, list[bytes]] = defaultdict(list)
    for body in bodies:
        for segment in from_protobuf(body, Limits()).segments:
            payloads[segment.run_id].append(segment.payload)
    return [rebuild(run_id, list(spans_of(found))).run for run_id, found in payloads.items()]


def told(run: Run) -> tuple[Any, ...]:
    calls = [(c.id, c.tool, c.arguments, c.result, c.error, c.executed) for c in run.calls]
    return run.agent, run.case_id, run.query, calls


def verdicts(run: Run) -> list[str]:
    rules = "".join(f"  - {{id: P{i}, rule: {text!r}}}\n" for i, text in enumerate(SENTENCES))
    actions = "".join(f"  {name}: {name.replace(' ', '_')}\n" for name in ACTIONS)
    file = f"actions:\n{actions}policies:\n{rules}"
    return [result.verdict for result in judge_policies(load_policies(file), run)]


def test_bodies_of_an_older_client_are_read_and_judged_as_those_of_today(
    models: FakeModels, sink: OtlpSink
) -> None:
    raw_loops.forget_everything()
    story(models)
    old = as_read_today(base64.b64decode(line) for line in BODIES.read_text().splitlines())
    new = as_read_today(sink.bodies)
    assert [told(run) for run in old] == [told(run) for run in new] == RUNS
    assert [verdicts(run) for run in old] == [verdicts(run) for run in new] == VERDICTS
    assert [run.problems for run in old] == [()] * 3


def typed(span: Span, name: str, kind: type) -> Any:
    """An attribute, which was read where it was of that type only."""
    value = span[name]
    assert value is None or type(value) is kind, f"{name} is {value!r}"
    return value


def loaded(text: str | None) -> Any:
    """JSON, or the text as it stands."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


def call_as_read_then(span: Span) -> Told:
    failed = typed(span, "error.type", str) or typed(span, "pdoctor.error.kind", str) or span.failed
    return (
        typed(span, "gen_ai.tool.call.id", str),
        typed(span, "gen_ai.tool.name", str),
        loaded(typed(span, "gen_ai.tool.call.arguments", str)),
        loaded(typed(span, "gen_ai.tool.call.result", str)),
        span.message if failed else None,
        typed(span, "pdoctor.tool.executed", bool) is not False,
    )


def query_as_read_then(text: str | None) -> str | None:
    """The parts of the latest message of the user."""
    for message in reversed(json.loads(text or "[]")):
        if message["role"] == "user":
            return "".join(part["content"] for part in message["parts"] if part["type"] == "text")
    return None


def as_read_then(spans: Iterable[Span]) -> list[tuple[Any, ...]]:
    """The runs in the order in which they came: spans of one run id, calls by their steps."""
    runs: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        assert span.scope == "pdoctor_trace"
        runs[typed(span, "pdoctor.run.id", str)].append(span)
    found = []
    for own in runs.values():
        calls = [span for span in own if span["gen_ai.operation.name"] == "execute_tool"]
        agents = [span for span in own if span["gen_ai.operation.name"] == "invoke_agent"]
        calls.sort(key=lambda span: typed(span, "pdoctor.step.index", int))
        for span in calls:
            assert span["pdoctor.tool.timing"] in ("exact", "inferred")
            typed(span, "pdoctor.turn.index", int)
            typed(span, "pdoctor.turn.has_text", bool)
        announced = [typed(span, "pdoctor.run.calls", int) for span in agents]
        assert not agents or announced == [len(calls)]
        cases = [case for span in own if (case := typed(span, "pdoctor.case.id", str))]
        found.append(
            (
                next((typed(span, "gen_ai.agent.name", str) for span in agents), None),
                cases[0] if cases else None,
                next((query_as_read_then(span["gen_ai.input.messages"]) for span in agents), None),
                [call_as_read_then(span) for span in calls],
            )
        )
    return found


def test_bodies_of_today_are_read_by_an_older_collector_as_those_of_its_day(
    models: FakeModels, sink: OtlpSink
) -> None:
    raw_loops.forget_everything()
    story(models)
    old = [span for line in BODIES.read_text().splitlines() for span in decode(base64.b64decode(line))]
    new = [span for body in sink.bodies for span in decode(body)]
    assert as_read_then(old) == as_read_then(new) == RUNS


@pytest.mark.parametrize(("script", "today"), [("fake.one", None), ("fake.unknown", False)])
def test_what_may_have_run_did_not_run_for_an_older_collector(
    models: FakeModels, sink: OtlpSink, script: str, today: bool | None
) -> None:
    """Three values came later: a boolean still says the rest."""
    raw_loops.forget_everything()
    shape = {"type": "object", "properties": {}}
    tools: Any = [{"type": "function", "function": {"name": "add", "parameters": shape}}]
    with openai.OpenAI(base_url=models.openai, api_key="x") as sdk:
        sdk.chat.completions.create(
            model=script, messages=[{"role": "user", "content": "Add them."}], tools=tools
        )
    raw_loops.end()
    pdoctor_trace.flush()
    ((*_, ((*_, ran),)),) = as_read_then(span for body in sink.bodies for span in decode(body))
    (run,) = as_read_today(sink.bodies)
    assert (ran, run.calls[0].executed) == (False, today)
