"""Spans to the run they tell of: calls in observed order, with every gap in the evidence named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from collector.dialects import SeenAgent, SeenCall, SeenModel, readers
from collector.dialects.deferred import in_turn
from collector.dialects.names import (
    CASE_ID,
    ERROR_KIND,
    ERROR_TYPE,
    RUN_ID,
    SCOPE_NAME,
    SERVICE_NAME,
)
from collector.dialects.reading import loaded, text
from collector.model import ModelCall, Rebuilt, Run, Span
from collector.rebuild.clocks import proven_difference, with_clocks
from collector.rebuild.conversations import person_of, piece_of, session_of
from collector.rebuild.facts import facts_of
from collector.rebuild.gaps import announced_calls, arrived_calls, cut_messages, gaps, is_topped, tail
from collector.rebuild.limits import with_limit
from collector.rebuild.messages import Talk, talk_of
from collector.rebuild.parts import Parts, one_call_each, piece_of_part, with_own_turns
from collector.rebuild.places import in_order
from collector.rebuild.recorded import recorded, told_apart
from collector.rebuild.requested import with_requests
from collector.rebuild.sightings import first_copies, once_each, once_each_model
from collector.rebuild.survey import survey
from collector.rebuild.versions import environment_of, versions_of, with_agents
from synth.observed import CLOCKS_DIFFER, SESSION_FIELDS, USAGE

MOST_TOKENS = 2**53 - 1
"""Of one run; a store and JSON can tell them exactly."""
MOST_REPLIES = 2_000
"""Of one run whose usage its record tells; that of the others is not known there."""


class Told(NamedTuple):
    """A run, and the spans of it that tell of no call of a tool."""

    run: Rebuilt
    agents: Sequence[SeenAgent] = ()
    models: Sequence[SeenModel] = ()


def rebuild(run_id: str, spans: Sequence[Span], *, details: bool = True) -> Rebuilt:
    """The run that `spans` tell of, see `told`."""
    return told(run_id, spans, details=details).run


def told(run_id: str, spans: Sequence[Span], *, details: bool = True) -> Told:
    """The run that `spans` tell of; its status is `running`, since spans alone cannot say it has ended.

    A run record that was handed in says so itself; it counts where there are no other spans of the run.
    Without `details`, model calls count only where a sender may have left requests to them: what else they
    tell (messages) needs their long attributes, and most verdicts do without. Their tokens are always read.
    """
    records, spans = told_apart(spans)
    if records and not spans:
        return Told(recorded(run_id, records[-1]))
    calls, agents, others = read(spans)
    whole = survey(spans)
    announced = announced_calls(agents)
    expected = sum(announced.values()) if announced else None
    ours = any(seen.span.scope == SCOPE_NAME for seen in calls)
    bare = not agents and not ours and _is_bare(spans, calls)
    calls = first_copies(calls) if ours else calls
    all_told = ours or (expected is not None and len(calls) >= expected)
    asked = read_models(others)
    models = asked if details or bare or not all_told else []
    piece = piece_of(run_id, spans, calls, models) if bare else piece_of_part(run_id, spans, agents)
    parts = Parts.of(agents, calls)
    calls = with_own_turns(with_agents(calls, agents, spans), parts.ids)
    foreign = [model for model in models if model.span.scope != SCOPE_NAME]  # our calls have their own spans
    once = one_call_each(
        once_each(calls) if all_told else with_requests(once_each(calls), foreign), parts.ids
    )
    calls = list(with_limit(with_clocks(in_order(once.calls), whole)))
    numbers = once.numbers(calls)
    arrived = arrived_calls(calls, agents) + len(once.absorbed)
    last = parts.last
    talk = talk_of(calls, agents, models if details else [])
    everything_came = expected is not None and arrived >= expected
    missing = (
        *parts.unheard(calls),
        *gaps(calls, spans, numbers, whole, everything_came=everything_came),
    )
    if not all_told:
        missing += tuple(cut_messages(foreign))
    session = _session(agents, calls, models)
    run = Run(
        id=run_id,
        calls=tuple([seen.call for seen in calls]),
        case_id=_case_id(agents, calls),
        query=_first(agent.query for agent in agents) or _first(model.query for model in models),
        tools=_offered(agents) or _first_tools(models),
        agent=_first(agent.agent for agent in sorted(agents, key=attrgetter("is_workflow"))),
        source=_first(agent.source for agent in agents) or _first(seen.span.scope for seen in calls),
        model=_first(agent.model for agent in agents) or _first(model.model for model in models),
        versions=versions_of(spans, agents, models),
        environment=environment_of(spans, agents),
        status="running",
        trouble=None if last is None else last.trouble,
        problems=tuple(dict.fromkeys(gap.problem for gap in missing)),
        unseen=missing,
        extra=facts_of(spans, agents)
        | dict(_extra(talk, session, proven_difference(spans, whole)))
        | _usage(models if details else []),
    )
    rebuilt = Rebuilt(
        run=run,
        span_ids=tuple([seen.span.span_id for seen in calls]),
        has_root=parts.all_ended if announced else whole.has_root,
        is_topped=not ours and is_topped(calls, agents),
        expected_calls=expected,
        arrived_calls=arrived,
        tail=tail(numbers, announced),
        started_ns=whole.started_ns,
        ended_ns=whole.ended_ns,
        spans=len(spans),
        is_agent=bool(calls or agents),
        service=_first(text(span.resource.get(SERVICE_NAME)) for span in spans[:1]),
        session=session,
        person=_first(person_of(span) for span in _told_first(agents, calls, spans)),
        piece=piece,
        pending=(not models or bool(models[-1].requests)) if bare and piece is not None else None,
        whole_talk=talk.whole,
        models=tuple(map(_model_call, models)),
        tokens=_tokens(asked),
        is_ours=ours,
        parts=tuple(parts.told()),
        waits=parts.waits,
        error_kinds=dict(_error_kinds(calls)),
        model_wait=max((agent.model_wait for agent in agents if agent.model_wait is not None), default=None),
    )
    return Told(rebuilt, agents, models)


def _session(
    agents: Sequence[SeenAgent], calls: Sequence[SeenCall], models: Sequence[SeenModel]
) -> str | None:
    """The conversation that the run is a part of."""
    found = _first([*(seen.session for seen in agents), *(seen.session for seen in models)])
    return found or _first(session_of(span) for span in _telling(agents, calls))


def _extra(talk: Talk, session: str | None, differ: float) -> Iterable[tuple[str, Any]]:
    """More fields of the run's record; `differ` is how far its clocks are known to."""
    if session is not None:
        yield SESSION_FIELDS[0], session
    if differ:
        yield CLOCKS_DIFFER, differ
    if talk.messages:
        yield "messages", list(talk.messages)


def _usage(models: Sequence[SeenModel]) -> dict[str, Any]:
    """What the models used, as a field of the run's record, where a reply tells any of it."""
    if not any(seen.input_tokens is not None or seen.output_tokens is not None for seen in models):
        return {}
    said: list[dict[str, Any]] = [
        {
            "model": seen.model,
            "input_tokens": seen.input_tokens,
            "output_tokens": seen.output_tokens,
            "end_ns": max(seen.span.start_ns, seen.span.end_ns),
        }
        for seen in models[:MOST_REPLIES]
    ]
    if len(models) > MOST_REPLIES:
        said.append(
            {"model": None, "input_tokens": None, "output_tokens": None, "end_ns": said[-1]["end_ns"]}
        )
    return {USAGE: said}


def _tokens(models: Sequence[SeenModel]) -> int | None:
    """What all of them were given and wrote, as far as they say."""
    told = [
        count for seen in models for count in (seen.input_tokens, seen.output_tokens) if count is not None
    ]
    return min(sum(told), MOST_TOKENS) if told else None


def _model_call(seen: SeenModel) -> ModelCall:
    first, last = seen.span.start_ns, max(seen.span.start_ns, seen.span.end_ns)
    return ModelCall(first, last, seen.input_tokens, seen.output_tokens)


def _case_id(agents: Sequence[SeenAgent], calls: Sequence[SeenCall]) -> str | None:
    for span in (*(seen.span for seen in agents), *(seen.span for seen in calls)):
        attributes = loaded(span)
        if CASE_ID in attributes and (found := text(attributes[CASE_ID])):
            return found
    return None


def _error_kinds(calls: Sequence[SeenCall]) -> Iterable[tuple[int, str]]:
    for index, seen in enumerate(calls):
        if seen.call.error is not None:
            attributes = loaded(seen.span)
            kind = text(attributes.get(ERROR_KIND)) or text(attributes.get(ERROR_TYPE))
            yield index, kind or _raised(seen.span) or "error"


def _raised(span: Span) -> str | None:
    return _first(text(said.get("exception.type")) for name, said in span.events if name == "exception")


def _telling(agents: Sequence[SeenAgent], calls: Sequence[SeenCall]) -> list[Span]:
    """The outermost agent's span and the first call's: where a conversation's id stands if anywhere."""
    return [*(seen.span for seen in agents[:1]), *(seen.span for seen in calls[:1])]


def _told_first(agents: Sequence[SeenAgent], calls: Sequence[SeenCall], spans: Sequence[Span]) -> list[Span]:
    """The same, and the roots: a program that works for somebody says so where its request begins."""
    return [*_telling(agents, calls), *(span for span in spans if span.parent_id is None)]


def _is_bare(spans: Sequence[Span], calls: Sequence[SeenCall]) -> bool:
    """Every root is itself a model or tool call, without a run id: one trace of a conversation."""
    roots = [span for span in spans if span.parent_id is None]
    own = {id(seen.span) for seen in calls}
    return bool(roots) and all(
        RUN_ID not in loaded(span) and (id(span) in own or _model(span) is not None) for span in roots
    )


def inside(own: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Those of `others` that ran within the time of a run, by its own spans; never a root."""
    if not own or not others:
        return []
    first, last = min(span.start_ns for span in own), max(span.end_ns for span in own)
    return [
        span
        for span in others
        if span.parent_id is not None and first <= span.start_ns and span.end_ns <= last
    ]


def read(spans: Iterable[Span]) -> tuple[list[SeenCall], list[SeenAgent], list[Span]]:
    """Calls, agents (outermost first) and the rest; each span through the first dialect that knows it."""
    calls: list[SeenCall] = []
    agents: list[SeenAgent] = []
    others: list[Span] = []
    for span in spans:
        for dialect in readers(span):
            if call := dialect.call(span):
                calls.append(call)
                break
            if agent := dialect.agent(span):
                agents.append(agent)
                break
        else:
            others.append(span)
    agents.sort(key=lambda seen: (seen.announced_calls is None, seen.span.start_ns, -seen.span.end_ns))
    return calls, agents, others


def read_models(spans: Iterable[Span]) -> list[SeenModel]:
    """Model calls in order, each once (a framework and the SDK below it may both tell of one)."""
    found = [model for span in spans if (model := _model(span)) is not None]
    found.sort(key=lambda seen: (seen.span.start_ns, -seen.span.end_ns))
    in_turn(found)
    return once_each_model(found)


def _model(span: Span) -> SeenModel | None:
    for dialect in readers(span):
        if (model := dialect.model(span)) is not None:
            return model
    return None


def _offered(agents: Sequence[SeenAgent]) -> tuple[str, ...] | None:
    """Every tool offered to an agent of the run; None where one of them did not say."""
    telling = [agent for agent in agents if agent.tools is not None or not agent.is_workflow]
    own = [agent for agent in telling if agent.span.scope == SCOPE_NAME] or telling
    lists = [agent.tools for agent in own]
    if not lists or any(tools is None for tools in lists):
        return None
    return tuple(dict.fromkeys(name for tools in lists if tools for name in tools))


def _first_tools(models: Sequence[SeenModel]) -> tuple[str, ...] | None:
    """The tools of the first model call that names any; every call of an agent offers the same."""
    return next((model.tools for model in models if model.tools), None)


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value), None)
