"""One call seen by several instrumentations counts once.

Two spans are one call only if call id and tool agree, their layers differ and their times overlap; ids
alone do not identify a call (real runs reuse them), and some libraries know none. A layer is an
instrumentation scope, or a part of one that sees each call once (client and server of MCP). Parallel
calls of one tool are told apart by parentage, then arguments, then how well the times agree.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from collector.dialects.names import RUN_ID, SCOPE_NAME
from collector.dialects.reading import SeenCall, SeenModel, loaded
from collector.model import Span, ToolCall
from synth.observed import Why

NEAR = 64
"""A second sighting is looked for among so many calls of the tool before and after it."""


@dataclass(slots=True)
class _Sighted:
    """One call and the layers that have seen it."""

    seen: SeenCall
    layers: set[str]


def first_copies(calls: Sequence[SeenCall]) -> list[SeenCall]:
    """The calls without those of our own tracer that came again under another span id.

    Its run id, step index and tool say which call a span is; one that knows whether it ran knows more.
    """
    known: dict[object, int] = {}
    found: list[SeenCall] = []
    for seen in calls:
        own = seen.span.scope == SCOPE_NAME and seen.number is not None
        key: object = (loaded(seen.span).get(RUN_ID), seen.number, seen.call.tool) if own else id(seen)
        at = known.setdefault(key, len(found))
        if at == len(found):
            found.append(seen)
        elif found[at].call.executed is None:
            found[at] = seen
    return found


def once_each(calls: Sequence[SeenCall]) -> list[SeenCall]:
    """The calls without second sightings.

    Our own tracer's sighting is kept, else the one that knows most; what it lacks comes from the others.
    """
    if len({seen.layer or seen.span.scope for seen in calls}) < 2:
        return list(calls)
    by_tool: dict[str, list[_Sighted]] = {}
    order: list[_Sighted] = []
    for seen in sorted(calls, key=_rank):
        known = by_tool.setdefault(seen.call.tool, [])
        at = bisect_left(known, seen.span.start_ns, key=_start)
        twins = [other for other in known[max(0, at - NEAR) : at + NEAR] if _same_call(other, seen)]
        if twins:
            best = min(twins, key=lambda other: _unlikeness(other.seen, seen))
            best.layers.add(_layer(seen))
            best.seen = _completed(best.seen, seen)
        else:
            order.append(_Sighted(seen, {_layer(seen)}))
            insort(known, order[-1], key=_start)
    return [sighted.seen for sighted in order]


def once_each_model(models: Sequence[SeenModel]) -> list[SeenModel]:
    """Model calls in order of `models`, which is by start; one seen by several layers counts once."""
    kept: list[tuple[SeenModel, set[str]]] = []
    latest = -1
    for seen in models:  # nearly all begin when those before have ended
        apart = latest < seen.span.start_ns <= seen.span.end_ns
        latest = max(latest, seen.span.end_ns)
        twins = [] if apart else _twins(kept, seen)
        if not twins:
            kept.append((seen, {seen.span.scope}))
            continue
        at = min(twins, key=lambda one: _distance(kept[one][0].span, seen.span))
        known, scopes = kept[at]
        scopes.add(seen.span.scope)
        if _told(seen) > _told(known):
            kept[at] = (seen, scopes)
    return [seen for seen, _ in kept]


def _twins(kept: Sequence[tuple[SeenModel, set[str]]], seen: SeenModel) -> list[int]:
    """Places of those, with the scopes that have seen each, that may be the same."""
    return [
        at
        for at in range(max(0, len(kept) - NEAR), len(kept))
        if _same_model(kept[at][0], seen, another=seen.span.scope not in kept[at][1])
    ]


def _told(seen: SeenModel) -> tuple[bool, bool, bool]:
    return bool(seen.requests), bool(seen.answers), seen.tools is not None


def _same_model(known: SeenModel, seen: SeenModel, *, another: bool) -> bool:
    """Scopes differ and times overlap; within one scope, one span lies in the other and asks the same."""
    asked, also = ([request.tool for request in one.requests] for one in (known, seen))
    if another:
        return _overlap(known.span, seen.span) and (not asked or not also or asked == also)
    inside = known.span.start_ns <= seen.span.start_ns and seen.span.end_ns <= known.span.end_ns
    return inside and (
        _parent_and_child(known.span, seen.span) or (bool(asked) and known.requests == seen.requests)
    )


def _layer(seen: SeenCall) -> str:
    return seen.layer or seen.span.scope


def _rank(seen: SeenCall) -> tuple[bool, bool, bool, bool]:
    """Ours first, then frameworks before the protocols below them, then who knows the id."""
    return (
        seen.span.scope != SCOPE_NAME,
        seen.layer is not None,
        seen.call.id is None,
        seen.call.arguments is None,
    )


def _start(sighted: _Sighted) -> int:
    return sighted.seen.span.start_ns


def _same_call(known: _Sighted, seen: SeenCall) -> bool:
    """Ids agree (an unknown one with any), layers differ, times overlap; the tool is the same already."""
    ids = {known.seen.call.id, seen.call.id} - {None}
    return (
        len(ids) < 2
        and _layer(seen) not in known.layers
        and (_overlap(known.seen.span, seen.span) or _parent_and_child(known.seen.span, seen.span))
    )


def _overlap(a: Span, b: Span) -> bool:
    return a.start_ns <= b.end_ns and b.start_ns <= a.end_ns


def _parent_and_child(a: Span, b: Span) -> bool:
    """One was opened within the other, maybe on another machine, whose clock may differ."""
    return a.trace_id == b.trace_id and (a.span_id == b.parent_id or b.span_id == a.parent_id)


def _unlikeness(known: SeenCall, seen: SeenCall) -> tuple[bool, bool, int]:
    a, b = known.call.arguments, seen.call.arguments
    differ = isinstance(a, Mapping) and isinstance(b, Mapping) and a != b
    return not _parent_and_child(known.span, seen.span), differ, _distance(known.span, seen.span)


def _distance(a: Span, b: Span) -> int:
    return abs(a.start_ns - b.start_ns) + abs(a.end_ns - b.end_ns)


def _completed(kept: SeenCall, other: SeenCall) -> SeenCall:
    """What `kept` lacks, from another sighting; whether the call failed is our own tracer's to say."""
    if kept.span.scope == SCOPE_NAME:
        return kept
    call, more = kept.call, other.call
    return kept._replace(
        call=replace(
            call,
            id=call.id or more.id,
            arguments=more.arguments if call.arguments is None else call.arguments,
            result=more.result if call.result is None else call.result,
            error=call.error or more.error,
            partly=dict(_partly(call, more)),
            hash_key=call.hash_key or more.hash_key,
        ),
    )


def _partly(call: ToolCall, more: ToolCall) -> Iterator[tuple[str, Why]]:
    """What is partly known of the values that `_completed` takes from the two."""
    for name in ("arguments", "result"):
        kept = more if getattr(call, name) is None and getattr(more, name) is not None else call
        if name in kept.partly:
            yield name, kept.partly[name]
