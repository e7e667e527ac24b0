"""Spans to the run they tell of: calls in observed order, with every gap in the evidence named.

Two spans are one call only if call id and tool agree, their instrumentation scopes differ and their
times overlap; ids alone do not identify a call (real runs reuse them).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from collector.dialects import DIALECTS, SeenAgent, SeenCall
from collector.dialects.names import CASE_ID, DROPPED_SPANS, SCOPE_NAME, SERVICE_NAME
from collector.dialects.reading import text, whole
from collector.model import Rebuilt, Run, Span


def rebuild(run_id: str, spans: Sequence[Span]) -> Rebuilt:
    """The run that `spans` tell of; its status is `running`, since spans alone cannot say it has ended."""
    calls, agents = read(spans)
    calls = sorted(once_each(calls), key=_order)
    root = _root_agent(agents)
    has_root = any(span.parent_id is None for span in spans) or any(
        agent.announced_calls is not None for agent in agents
    )
    announced = [agent.announced_calls for agent in agents if agent.announced_calls is not None]
    expected = max(announced, default=None)
    run = Run(
        id=run_id,
        calls=tuple(seen.call for seen in calls),
        case_id=_first(
            text(span.attributes.get(CASE_ID))
            for span in (*(agent.span for agent in agents), *(seen.span for seen in calls))
        ),
        query=_first(agent.query for agent in agents),
        tools=_offered(agents),
        agent=(root.agent if root else None) or _first(agent.agent for agent in agents),
        source=_first(agent.source for agent in agents) or _first(seen.span.scope for seen in calls),
        model=_first(agent.model for agent in agents),
        status="running",
        problems=tuple(_gaps(calls, spans, expected)),
    )
    return Rebuilt(
        run=run,
        span_ids=tuple(seen.span.span_id for seen in calls),
        has_root=has_root,
        expected_calls=expected,
        started_ns=min((span.start_ns for span in spans), default=None),
        ended_ns=max((span.end_ns for span in spans), default=None),
        spans=len(spans),
        is_agent=bool(calls or agents),
        service=_first(text(span.resource.get(SERVICE_NAME)) for span in spans[:1]),
        session=_first(agent.session for agent in agents),
    )


def read(spans: Iterable[Span]) -> tuple[list[SeenCall], list[SeenAgent]]:
    """Every span through the first dialect that knows it; agent spans by start, outermost first."""
    calls: list[SeenCall] = []
    agents: list[SeenAgent] = []
    for span in spans:
        for dialect in DIALECTS:
            if call := dialect.call(span):
                calls.append(call)
                break
            if agent := dialect.agent(span):
                agents.append(agent)
                break
    agents.sort(key=lambda seen: (seen.announced_calls is None, seen.span.start_ns, -seen.span.end_ns))
    return calls, agents


def once_each(calls: Sequence[SeenCall]) -> list[SeenCall]:
    """The calls without second sightings; of two, our own tracer's is kept, else the one seen first."""
    kept: list[SeenCall] = []
    by_name: dict[tuple[str, str], list[int]] = {}
    for seen in calls:
        if seen.call.id is None:
            kept.append(seen)
            continue
        same = by_name.setdefault((seen.call.id, seen.call.tool), [])
        twin = next((at for at in same if _same_call(kept[at], seen)), None)
        if twin is None:
            same.append(len(kept))
            kept.append(seen)
        elif seen.span.scope == SCOPE_NAME:
            kept[twin] = seen
    return kept


def _same_call(one: SeenCall, other: SeenCall) -> bool:
    a, b = one.span, other.span
    return a.scope != b.scope and a.start_ns <= b.end_ns and b.start_ns <= a.end_ns


def _order(seen: SeenCall) -> tuple[int, int, int]:
    start = seen.call.start
    return (start[0] if start else 0, -1 if seen.index is None else seen.index, seen.span.end_ns)


def _root_agent(agents: Sequence[SeenAgent]) -> SeenAgent | None:
    return agents[0] if agents else None


def _offered(agents: Sequence[SeenAgent]) -> tuple[str, ...] | None:
    """Every tool offered to an agent of the run; None where one of them did not say."""
    own = [agent for agent in agents if agent.span.scope == SCOPE_NAME] or agents
    lists = [agent.tools for agent in own]
    if not lists or any(tools is None for tools in lists):
        return None
    return tuple(dict.fromkeys(name for tools in lists if tools for name in tools))


def _gaps(calls: Sequence[SeenCall], spans: Sequence[Span], expected: int | None) -> Iterable[str]:
    indices = {seen.index for seen in calls if seen.index is not None}
    missing = sorted(set(range(max(indices, default=-1) + 1)) - indices)
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        yield f"{len(missing)} calls are missing: no span has step index {shown}"
    dropped = max((whole(span.resource.get(DROPPED_SPANS)) or 0 for span in spans), default=0)
    everything_came = expected is not None and len(calls) >= expected and not missing
    if dropped and not everything_came:
        yield f"the sender has dropped {dropped} records because its queue was full"


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value), None)
