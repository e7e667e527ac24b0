"""What models asked for, beside the tool calls that were seen.

Many vocabularies leave the call id, or the arguments, to the spans of the model calls; and a request
that no tool ever took (its tool does not exist) is to be seen nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from collector.dialects.reading import Failure, Request, SeenCall, SeenModel
from collector.model import LAST_NS, ToolCall
from synth.observed import ANY_TIME, Interval, is_left_out

HANDOFF = "transfer_to_"
"""The OpenAI Agents SDK offers other agents as tools of such names; no tool runs for them."""


def with_requests(calls: Sequence[SeenCall], models: Sequence[SeenModel]) -> list[SeenCall]:
    """Calls completed by what the models asked for, and the requests that no span tells of.

    A tool span that lacks id or arguments takes them from the request for the same tool. Where nothing
    recorded the tools themselves (raw SDK loops), a request becomes a call: its times are bounded by
    the model calls around it, and of one that was never answered it is not known whether it ran. Where tools
    were recorded, only an answered request can be a call that was missed. One for a tool that was not
    offered, or that the answer says was denied, never ran.
    """
    models = _with_answered_ids(models)
    result = sorted(calls, key=lambda seen: seen.span.start_ns)
    free = list(range(len(result)))
    recorded = any(seen.layer is None for seen in result)
    for turn, model in enumerate(models):
        for request in model.requests:
            answer = _answer(request, turn, models)
            if recorded and answer is not None and _is_old(request, model, answer):
                answer = None
            taken = [i for i in free if _answers_request(result[i], request, model, answer)]
            if taken:
                at = min(taken, key=lambda i: (_differ(result[i], request), i))
                free.remove(at)
                result[at] = _completed(result[at], request, turn, model, answer)
            elif (missed := _requested(request, turn, model, answer, recorded)) is not None:
                result.append(missed)
    return result


def _with_answered_ids(models: Sequence[SeenModel]) -> Sequence[SeenModel]:
    """OpenAI's Responses have two ids per call; where only the item's was recorded, the answers to the
    whole message, in order, tell the call's own.
    """
    known = {request.id for model in models for request in model.requests}
    if not known:
        return models
    fixed = list(models)
    for at, (model, later) in enumerate(pairwise(models)):
        unknown = [call_id for call_id in later.answers if call_id not in known]
        if model.requests and len(unknown) == len(later.answers) == len(model.requests):
            requests = zip(model.requests, unknown, strict=True)
            fixed[at] = replace(model, requests=tuple(replace(r, id=call_id) for r, call_id in requests))
    return fixed


def _answer(request: Request, turn: int, models: Sequence[SeenModel]) -> SeenModel | None:
    """The model call that was given the result, in the same conversation (another agent may reuse ids)."""
    if request.id is None:
        return None
    query = models[turn].query
    return next(
        (
            later
            for later in models[turn + 1 :]
            if request.id in later.answers and (query is None or later.query is None or later.query == query)
        ),
        None,
    )


def _is_old(request: Request, model: SeenModel, answer: SeenModel) -> bool:
    """Whether that answers an earlier call of this id: the model had it before it asked."""
    before = model.answers.get(request.id or "")
    return before is not None and before == answer.answers.get(request.id or "")


def _answers_request(seen: SeenCall, request: Request, model: SeenModel, answer: SeenModel | None) -> bool:
    call = seen.call
    if call.tool != request.tool or (call.id and request.id and call.id != request.id):
        return False
    if answer is not None and seen.span.start_ns > answer.span.start_ns:
        return False
    return seen.span.start_ns >= model.span.start_ns


def _differ(seen: SeenCall, request: Request) -> bool:
    """Parallel calls of one tool are told apart by their arguments."""
    return isinstance(seen.call.arguments, Mapping) and seen.call.arguments != request.arguments


def _completed(
    seen: SeenCall, request: Request, turn: int, model: SeenModel, answer: SeenModel | None
) -> SeenCall:
    call = seen.call
    spelled = isinstance(call.arguments, Mapping)
    untold = call.arguments is None and call.result is None and call.error is None
    arguments = call.arguments if spelled or request.arguments is None else request.arguments
    said = answer.answers[request.id] if untold and answer and request.id else call.result
    result, error = (None, said.text) if isinstance(said, Failure) else (said, call.error)
    kept = (("arguments", arguments is call.arguments), ("result", result is call.result))
    between = _between(model, answer)
    return seen._replace(
        call=replace(
            call,
            id=call.id or request.id,
            arguments=arguments,
            result=result,
            error=error,
            start=between if call.start == ANY_TIME else call.start,
            end=between if call.end == ANY_TIME else call.end,
            partly={name: call.partly[name] for name, same in kept if same and name in call.partly},
            step=turn if call.step is None else call.step,
            with_text=model.with_text if call.with_text is None else call.with_text,
        ),
    )


def _between(model: SeenModel, answer: SeenModel | None) -> Interval:
    """When a call was made that one message asked for and another had the answer of."""
    first = model.span.end_ns
    return first, max(first, answer.span.start_ns) if answer else LAST_NS


def _requested(
    request: Request, turn: int, model: SeenModel, answer: SeenModel | None, recorded: bool
) -> SeenCall | None:
    """A request that no span answers, as a call whose times are only bounded; None: not to be told."""
    unoffered = model.tools is not None and request.tool not in model.tools
    refused = unoffered and (recorded or answer is None)
    told = not recorded or refused or (answer is not None and not request.tool.startswith(HANDOFF))
    if request.id is None or not told:
        return None
    said = answer.answers[request.id] if answer else None
    failure = said if isinstance(said, Failure) else None
    if failure is not None:
        refused, said = refused or failure.denied, failure.text
    ran = answer is not None and not (recorded and failure is not None and failure.unseen)
    first = model.span.end_ns
    last = max(first, answer.span.start_ns) if answer else first
    call = ToolCall(
        id=request.id,
        tool=request.tool,
        arguments=request.arguments,
        result=None if refused or failure else said,
        error=str(said) if (refused or failure) and said is not None else None,
        start=(first, last),
        end=(first, last),
        step=turn,
        with_text=model.with_text,
        executed=False if refused else ran or None,
        partly=dict.fromkeys(_left_out(arguments=request.arguments, result=said), "cut"),
    )
    return SeenCall(call, model.span)


def _left_out(**values: Any) -> list[str]:
    """Which of the values in a message have parts that were hidden or redacted."""
    return [name for name, value in values.items() if is_left_out(value)]
