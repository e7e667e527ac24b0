"""What made a run: versions of the program, the agent and the prompt, where it ran, whose call is whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from collector.dialects import SeenAgent, SeenCall, SeenModel
from collector.dialects.names import (
    AGENT_VERSION,
    ENVIRONMENT,
    INPUT_MESSAGES,
    PROMPT_HASH,
    SERVICE_VERSION,
    SYSTEM_INSTRUCTIONS,
    VERSION,
)
from collector.dialects.reading import json_value, loaded, text, unwrapped_message
from collector.model import Span

OF_AGENT = (AGENT_VERSION, "langfuse.version", "langsmith.metadata.revision_id")
OF_PROGRAM = "langfuse.release"
WHERE = "langfuse.environment"
"""Where other vocabularies have on a span what the conventions have on the resource."""
LONGEST = 200
"""Code points of a version or an environment; whatever has more is none."""
DIGEST_BYTES = 8
FLAT_MESSAGES = (
    ("llm.input_messages.0.message.role", "llm.input_messages.0.message.content"),  # OpenInference
    ("gen_ai.prompt.0.role", "gen_ai.prompt.0.content"),  # OpenLLMetry
)
"""Names of the role and the content of the first message, where each has an attribute of its own."""
INSTRUCTIONS = ("system", "developer")
"""Roles of what the host says."""


def versions_of(
    spans: Sequence[Span], agents: Sequence[SeenAgent], models: Sequence[SeenModel]
) -> dict[str, str]:
    """The versions that the spans of a run name, see `Run.versions`."""
    resource = spans[0].resource if spans else {}
    top = loaded(agents[0].span) if agents else {}
    said: dict[str, Any] = {
        "pdoctor": top.get(VERSION) or resource.get(VERSION),
        "agent": next((v for seen in agents for key in OF_AGENT if (v := loaded(seen.span).get(key))), None),
        "service": resource.get(SERVICE_VERSION) or top.get(OF_PROGRAM),
        "prompt": top.get(PROMPT_HASH) or _prompt(agents, models),
    }
    return {name: value for name, value in said.items() if _is_name(value)}


def environment_of(spans: Sequence[Span], agents: Sequence[SeenAgent]) -> str | None:
    """Where the run was made, as its resource says, or its agent's span."""
    found = [spans[0].resource.get(name) for name in ENVIRONMENT] if spans else []
    found += [loaded(seen.span).get(WHERE) for seen in agents[:1]]
    return next((value for value in found if _is_name(value)), None)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST


def _prompt(agents: Sequence[SeenAgent], models: Sequence[SeenModel]) -> str | None:
    """A digest of the first system message, wherever a vocabulary has it."""
    for span in (*(seen.span for seen in agents[:1]), *(seen.span for seen in models[:1])):
        said = system_message(loaded(span))
        if said is not None:
            return digest_of(said)
    return None


def digest_of(prompt: str) -> str:
    """As our own tracer makes it."""
    return blake2b(prompt.strip().encode("utf-8", "replace"), digest_size=DIGEST_BYTES).hexdigest()


def system_message(attributes: Mapping[str, Any]) -> str | None:
    """What the model was told before all messages."""
    parts = json_value(attributes.get(SYSTEM_INSTRUCTIONS))
    if parts:
        return _text(parts)
    for name in (INPUT_MESSAGES, "langfuse.observation.input", "gen_ai.prompt"):
        if name in attributes and (said := _first_of(json_value(attributes[name]))) is not None:
            return said
    for role, content in FLAT_MESSAGES:
        if attributes.get(role) in INSTRUCTIONS:
            return text(attributes.get(content))
    return None


def _first_of(messages: Any) -> str | None:
    """The text of the first message, where the host says it."""
    if isinstance(messages, Mapping):
        messages = messages.get("messages")
    while isinstance(messages, list) and messages:
        messages = messages[0]  # some have a list of messages for each prompt
    if not isinstance(messages, Mapping):
        return None
    first = unwrapped_message(messages)
    if not {str(first.get("role")), str(first.get("type"))} & {*INSTRUCTIONS}:
        return None
    return _text(first.get("parts") or first.get("content"))


def _text(parts: Any) -> str | None:
    if isinstance(parts, str):
        return parts or None
    found = (
        [
            part if isinstance(part, str) else part.get("content") or part.get("text")
            for part in parts
            if isinstance(part, str | Mapping)
        ]
        if isinstance(parts, list)
        else []
    )
    return "\n".join(said for said in found if isinstance(said, str)) or None


def with_agents(
    calls: Sequence[SeenCall], agents: Sequence[SeenAgent], spans: Sequence[Span]
) -> Sequence[SeenCall]:
    """The calls with the agent that each is inside of, where several ran and the call does not say."""
    named = {seen.span.span_id: seen.agent for seen in agents if seen.agent and not seen.is_workflow}
    if len(set(named.values())) < 2:
        return calls
    parents = {span.span_id: span.parent_id for span in spans}
    return [
        seen
        if seen.call.agent is not None or (agent := _above(seen.span, named, parents)) is None
        else seen._replace(call=replace(seen.call, agent=agent))
        for seen in calls
    ]


def _above(span: Span, named: Mapping[str, str], parents: Mapping[str, str | None]) -> str | None:
    """The name of the nearest agent around a span."""
    at = span.parent_id
    for _ in range(len(parents)):
        if at is None or at in named:
            break
        at = parents.get(at)
    return None if at is None else named.get(at)
