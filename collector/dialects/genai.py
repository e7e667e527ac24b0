"""OpenTelemetry's GenAI semantic conventions, with the `pdoctor.*` attributes of our own tracer on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from collector.dialects import names
from collector.dialects.deferred import deferred_call, deferred_model
from collector.dialects.reading import (
    Dialect,
    SeenAgent,
    SeenCall,
    SeenModel,
    count,
    error_text,
    json_value,
    last_user_text,
    loaded,
    nothing,
    plain_content,
    text,
    tool_names,
    whole,
    with_losses,
    without_end,
)
from collector.model import Events, Span
from synth.formal import TROUBLES, Trouble
from synth.observed import ANY_TIME

ANTHROPIC_RESULT = "anthropic.tool_result.content"
"""Anthropic's SDK has content blocks here, for a failed call the reason."""
ALL_MESSAGES = "pydantic_ai.all_messages"
"""PydanticAI puts the messages of a whole run here instead of the input messages."""
STATES = ("paused", "unanswered")
"""How a part of a run ends that may go on."""
INPUT_TOKENS = (*names.INPUT_TOKENS, "llm.usage.prompt_tokens")
OUTPUT_TOKENS = (*names.OUTPUT_TOKENS, "llm.usage.completion_tokens")
"""The last are OpenLLMetry's, whose model calls are read here."""

ALLOWED = "allowed"


def read_call(span: Span) -> SeenCall | None:
    """A span of `execute_tool`; with inferred timing its ends bound both instants."""
    if span.attributes.get(names.OPERATION_NAME) != "execute_tool":
        return None
    said = loaded(span)
    get = said.get
    failure = get(names.ERROR_TYPE) or get(names.ERROR_KIND)
    error = error_text(span, failure) if failure or span.status == "error" else None
    first, last = span.start_ns, max(span.start_ns, span.end_ns)
    start = end = (first, last)
    if 0 < span.end_ns < first:
        start = end = ANY_TIME
    elif get(names.TIMING) != "inferred":
        start, end = (first, first), (last, last)
    executed: bool | None = get(names.EXECUTED) is not False
    if get(names.EXECUTION) == "unknown":  # from then on it may have run, or not
        executed, error, start, end = None, None, (first, first), (first, first)
    call = deferred_call(
        text(get(names.TOOL_CALL_ID)),
        text(get(names.TOOL_NAME)) or span.name.removeprefix("execute_tool").strip() or "unknown",
        error,
        start,
        end,
        executed,
        said,
    )
    decided = _decision(said, span.events)
    if names.TOOL_STATE in said or decided:
        more = {**_state_in(get(names.TOOL_STATE)), **decided}
        call = call.moved(call.step, start, end, more)
    if not span.end_ns and executed is not None:
        call = without_end(call)
    if ANTHROPIC_RESULT in said:
        result, error = _result_in_blocks(said[ANTHROPIC_RESULT], call.result, error)
        call = replace(call, result=result, error=error)
    if span.dropped:
        call = with_losses(call, span)
    return SeenCall(call, span, whole(get(names.STEP_INDEX)))


def _decision(said: Mapping[str, Any], events: Events) -> Mapping[str, Any]:
    """What a guard said about the call, as a field of its record; nothing where it had nothing to say.

    The attributes of the span tell; its event does where a limit of the sender has left those out.
    """
    if names.GUARD_DECISION not in said:
        said = next((told for name, told in events if name == names.GUARD_DECISION), {})
    decision = said.get(names.GUARD_DECISION, ALLOWED)
    if decision == ALLOWED or not isinstance(decision, str):
        return {}
    rules, reason = text(said.get(names.GUARD_RULES)) or "", text(said.get(names.GUARD_REASON)) or ""
    told = {"decision": decision, "rules": [*filter(None, rules.split(","))], "reason": reason}
    mode = text(said.get(names.GUARD_MODE))
    return {"guard": {**told, "mode": mode} if mode else told}


def _state_in(said: Any) -> Mapping[str, Any]:
    """The state of what a call acts on, as a field of its record."""
    told = json_value(said)
    return {"state": told["state"]} if isinstance(told, Mapping) and "state" in told else {}


def _result_in_blocks(blocks: Any, result: Any, error: str | None) -> tuple[Any, str | None]:
    """(result, error) where there are content blocks, which for a failed call hold the reason."""
    said = plain_content(json_value(blocks))
    if said is None:
        return result, error
    return (result, str(said)) if error is not None else (said, None)


def read_agent(span: Span) -> SeenAgent | None:
    """A span of `invoke_agent`, or of `invoke_workflow`, which may be around others or be all there is.

    Our own tracer writes both for a workflow, and all that it knows of the run on the inner one.
    """
    operation = span.attributes.get(names.OPERATION_NAME)
    is_workflow = operation == "invoke_workflow" and span.scope != names.SCOPE_NAME
    if operation != "invoke_agent" and not is_workflow:
        return None
    attributes = loaded(span)
    waited = count(attributes, (names.RUN_MODEL_WAIT,))
    state = attributes.get(names.RUN_STATE)
    return SeenAgent(
        span=span,
        agent=text(attributes.get(names.AGENT_NAME))
        or text(attributes.get(names.WORKFLOW_NAME))
        or text(span.name.removeprefix(str(operation)).strip()),
        is_workflow=is_workflow,
        query=last_user_text(attributes.get(names.INPUT_MESSAGES) or attributes.get(ALL_MESSAGES)),
        tools=tool_names(attributes.get(names.TOOL_DEFINITIONS)),
        model=text(attributes.get(names.REQUEST_MODEL)),
        announced_calls=whole(attributes.get(names.RUN_CALLS)),
        source=text(attributes.get(names.SOURCE)),
        session=text(attributes.get(names.CONVERSATION_ID)),
        trouble=_trouble(attributes),
        model_wait=None if waited is None else waited / 1e3,
        state=state if state in STATES else None,
        token=text(attributes.get(names.RUN_TOKEN)),
        pause_reason=text(attributes.get(names.RUN_PAUSE_REASON)),
        resumed=text(attributes.get(names.RUN_RESUMED)),
    )


def _trouble(attributes: Mapping[str, Any]) -> Trouble | None:
    """What our own tracer says; no other vocabulary tells such trouble from the agent's own."""
    kind = attributes.get(names.TROUBLE_KIND)
    if kind not in TROUBLES:
        return None
    status, message = attributes.get(names.TROUBLE_STATUS), attributes.get(names.TROUBLE_MESSAGE)
    return Trouble(kind, whole(status), text(message) or "")


def read_model(span: Span) -> SeenModel | None:
    """A span of a chat or completion, with the messages as JSON."""
    if span.attributes.get(names.OPERATION_NAME) not in ("chat", "generate_content", "text_completion"):
        return None
    attributes = loaded(span)
    return deferred_model(
        span,
        tools=tool_names(attributes.get(names.TOOL_DEFINITIONS)),
        model=text(attributes.get(names.REQUEST_MODEL)),
        session=text(attributes.get(names.CONVERSATION_ID)),
        input_tokens=count(attributes, INPUT_TOKENS),
        output_tokens=count(attributes, OUTPUT_TOKENS),
    )


DIALECT = Dialect("genai", read_call, read_agent, read_model)
CALLS = Dialect("genai", read_call, nothing)
MODELS = Dialect("genai", nothing, nothing, read_model)
