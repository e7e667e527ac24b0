"""What made a run, and whose call is whose, by the words of several vocabularies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from collector.model import Span
from collector.rebuild import rebuild
from collector.rebuild.versions import digest_of
from pdoctor_trace.capture import Capture
from pdoctor_trace.raw_loops.messages import Outgoing
from pdoctor_trace.raw_loops.tracker import Tracker

T = 1_790_000_000_000_000_000
SHOP = {"service.name": "shop", "service.version": "2.0", "deployment.environment.name": "production"}


def span(
    number: int, parent: int | None, attributes: Mapping[str, Any], resource: Mapping[str, Any] = SHOP
) -> Span:
    above = None if parent is None else f"{parent:016x}"
    return Span(
        "1" * 32, f"{number:016x}", above, "s", T + number, T + 100 - number, "unset", "", attributes, (),
        resource, "test",
    )  # fmt: skip


def agent(number: int, parent: int | None = None, name: str = "desk", **more: Any) -> Span:
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    return span(number, parent, {**said, **{key.replace("__", "."): value for key, value in more.items()}})


def call(number: int, parent: int | None, **more: Any) -> Span:
    return span(number, parent, {"openinference.span.kind": "TOOL", "tool.name": "pay", **more})


def test_versions_and_the_environment_stand_where_the_conventions_have_them() -> None:
    run = rebuild("r", [agent(1, gen_ai__agent__version="7")]).run
    assert (run.versions, run.version) == ({"agent": "7", "service": "2.0"}, "7")
    assert run.environment == "production"


def test_what_the_host_calls_its_version_comes_first() -> None:
    made = agent(1, gen_ai__agent__version="7")._replace(resource={**SHOP, "pdoctor.version": "1.5"})
    assert rebuild("r", [made]).run.version == "1.5"


def test_the_environment_has_an_older_name() -> None:
    made = agent(1)._replace(resource={"deployment.environment": "staging"})
    run = rebuild("r", [made]).run
    assert (run.environment, run.versions, run.version) == ("staging", {}, None)


@pytest.mark.parametrize("value", ["", "x" * 201, 7, None])
def test_what_is_no_name_of_a_version_is_none(value: Any) -> None:
    made = agent(1)._replace(resource={"service.version": value, "deployment.environment.name": value})
    run = rebuild("r", [made]).run
    assert (run.versions, run.environment) == ({}, None)


PROMPTS: dict[str, dict[str, Any]] = {
    "genai": {
        "gen_ai.operation.name": "chat",
        "gen_ai.system_instructions": '[{"type": "text", "content": "Be kind."}]',
    },
    "genai_messages": {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}]',
    },
    "openinference": {
        "openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be kind.",
    },
    "openllmetry": {
        "gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be kind.",
    },
}  # fmt: skip


@pytest.mark.parametrize("vocabulary", PROMPTS)
def test_the_prompt_is_known_by_its_digest_in_every_vocabulary(vocabulary: str) -> None:
    run = rebuild("r", [agent(1), span(2, 1, PROMPTS[vocabulary])]).run
    assert run.versions["prompt"] == digest_of("Be kind.")
    assert run.version == "2.0"  # a prompt is no version


def test_without_a_system_message_there_is_no_digest() -> None:
    user = '[{"role": "user", "parts": [{"type": "text", "content": "Be kind."}]}]'
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": user}
    assert "prompt" not in rebuild("r", [agent(1), span(2, 1, chat)]).run.versions


def test_a_call_belongs_to_the_agent_around_it_where_there_are_several() -> None:
    spans = [agent(1), agent(2, 1, "booker"), span(3, 2, {}), call(4, 3), call(5, 1)]
    assert [one.agent for one in rebuild("r", spans).run.calls] == ["booker", "desk"]
    assert [one.agent for one in rebuild("r", [agent(1), call(2, 1)]).run.calls] == [None]


def test_a_call_that_names_its_agent_is_that_ones() -> None:
    named = span(
        3, 2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "gen_ai.agent.name": "x"}
    )
    [found] = rebuild("r", [agent(1), agent(2, 1, "booker"), named]).run.calls
    assert (found.agent, found.to_json()["agent"]) == ("x", "x")


def test_our_tracer_makes_the_same_digest_and_obeys_the_content_mode() -> None:
    full = Capture("full", 65_536, "", None)
    assert full.prompt_digest(" Be kind.\n") == digest_of("Be kind.")
    assert Capture("none", 65_536, "", None).prompt_digest("Be kind.") is None
    keyed = [Capture("shape", 65_536, key, None).prompt_digest("Be kind.") for key in ("a", "a", "b")]
    assert keyed[0] == keyed[1]
    assert len({*keyed, digest_of("Be kind.")}) == 3
    assert Capture("full", 65_536, "", lambda kind, text: kind).prompt_digest("x") == digest_of("prompt")


@pytest.mark.usefixtures("sink")
def test_a_raw_loop_tells_of_its_first_system_message() -> None:
    tracker = Tracker()
    asking = Outgoing(
        "openai", history=[1], query="go", user_last=True, tools=[("add", None)], system="Be kind."
    )
    conversation = tracker.request(asking)
    assert conversation is not None
    assert conversation.run is not None
    conversation.run.instructed("Be quick.")
    assert conversation.run.prompt == digest_of("Be kind.")
    tracker.end()
