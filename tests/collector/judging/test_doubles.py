"""A loop that our tracer and an instrumentation of the SDK below it both tell of is one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from collector.server import running
from tests.support.traces import MS, T0, Client, agent_spans, new_id, request, settings, until

pytestmark = pytest.mark.both_engines(heavy="postgresql")

THEIRS = "openinference.instrumentation.openai"
TEXT = """
actions: {verify: verify, pay: pay}
policies:
  - {id: first, rule: Verify must happen before pay.}
"""


def model_call(turn: int, *asked: tuple[str, str], answered: tuple[str, ...] = ()) -> dict[str, Any]:
    """What OpenInference says of one model call, in a trace of its own."""
    said: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Pay.",
        "llm.output_messages.0.message.role": "assistant",
    }
    for at, call_id in enumerate(answered, 1):
        said[f"llm.input_messages.{at}.message.role"] = "tool"
        said[f"llm.input_messages.{at}.message.tool_call_id"] = call_id
        said[f"llm.input_messages.{at}.message.content"] = "done"
    for at, (call_id, tool) in enumerate(asked):
        inner = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        said[f"{inner}.id"] = call_id
        said[f"{inner}.function.name"] = tool
        said[f"{inner}.function.arguments"] = orjson.dumps({}).decode()
    start = T0 + turn * 10 * MS - MS
    return {"trace": new_id(), "id": turn + 1, "name": "ChatCompletion", "start": start, "at": said}


def loop(ids: tuple[str, str]) -> list[dict[str, Any]]:
    first, then = ids
    return [
        model_call(0, (first, "pay")),
        model_call(1, (then, "verify"), answered=(first,)),
        model_call(2, answered=(first, then)),
    ]


def ours(run: str, ids: tuple[str, str]) -> list[dict[str, Any]]:
    return agent_spans(run, [{"name": "pay", "id": ids[0]}, {"name": "verify", "id": ids[1]}])


def listed(client: Client) -> set[str]:
    return {item["id"] for item in client.get("/runs")["items"]}


@pytest.mark.parametrize("first", ["ours", "theirs", "together"])
def test_it_is_listed_and_judged_once(store_url: str, tmp_path: Path, first: str) -> None:
    run, ids = new_id(), (new_id(), new_id())
    own, others = [request(*ours(run, ids))], [request(one, scope=THEIRS) for one in loop(ids)]
    with running(settings(tmp_path, store_url=store_url)) as url, Client(url) as client:
        assert client.post("/policies", {"name": "shop", "text": TEXT}).status_code == 201
        order = [own, others] if first != "theirs" else [others, own]
        for bodies in order:
            for body in bodies:
                assert client.send(body.SerializeToString()).status_code == 200
            if first != "together":
                client.judged(
                    run
                    if bodies is own
                    else others[0].resource_spans[0].scope_spans[0].spans[0].trace_id.hex()
                )
        for _ in until():
            if client.get("/stats")["unchecked"] == 0 and listed(client) == {run}:
                break
        assert listed(client) == {run}
        assert [one["run_id"] for one in client.get("/findings")["items"]] == [run]


def test_a_loop_that_only_they_tell_of_stays_a_run(store_url: str, tmp_path: Path) -> None:
    run, ids, other = new_id(), (new_id(), new_id()), (new_id(), new_id())
    with running(settings(tmp_path, store_url=store_url)) as url, Client(url) as client:
        client.send(request(*ours(run, ids)).SerializeToString())
        for one in loop(other):
            client.send(request(one, scope=THEIRS).SerializeToString())
        for _ in until():
            found = listed(client)
            if len(found) == 2 and all(client.run(one)["judged"] for one in found):
                break
        (theirs,) = found - {run}
        assert [call["name"] for call in client.judged(theirs)["calls"]] == ["pay", "verify"]
