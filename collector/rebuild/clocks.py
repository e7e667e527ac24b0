"""Which clock a call's times were read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from collector.dialects import SeenCall
from collector.dialects.reading import text
from collector.model import IS_REMOTE, Span
from collector.rebuild.survey import Survey

HOST = ("host.id", "host.name")
INSTANCE = "service.instance.id"
"""Attributes of the resource that say which clock it is, the best first."""


def with_clocks(calls: Sequence[SeenCall], run: Survey) -> Sequence[SeenCall]:
    """The calls, each with the name of its clock (`clock` of its record) where the run has several."""
    if run.one_sender and not run.from_afar:
        return calls
    known = _clocks(seen.span for seen in calls)
    if len(set(known.values())) < 2 and not any(seen.span.flags & IS_REMOTE for seen in calls):
        return calls
    clocks = [_called_from_afar(seen.span) or known[id(seen.span.resource)] for seen in calls]
    if len(set(clocks)) < 2:
        return calls
    return [
        seen._replace(call=replace(seen.call, extra={**seen.call.extra, "clock": clock}))
        for seen, clock in zip(calls, clocks, strict=True)
    ]


def proven_difference(spans: Sequence[Span], run: Survey) -> float:
    """Ms by which two clocks of a run differ at least: what asked for a span began before it."""
    if run.one_sender:
        return 0.0
    clocks = _clocks(spans)
    if len(set(clocks.values())) < 2:
        return 0.0
    known = {span.span_id: span for span in spans}
    early = (
        parent.start_ns - span.start_ns
        for span in spans
        if (parent := known.get(span.parent_id or ""))
        and clocks[id(parent.resource)] != clocks[id(span.resource)]
    )
    return max(0, max(early, default=0)) / 1e6


def _clocks(spans: Iterable[Span]) -> dict[int, str]:
    """Identity of a resource -> its clock; the spans of one sender share the resource."""
    resources = {id(span.resource): span.resource for span in spans}
    return {at: _clock(resource) for at, resource in resources.items()}


def _clock(resource: Mapping[str, Any]) -> str:
    """A host, else a process."""
    said = (text(resource.get(name)) for name in (*HOST, INSTANCE))
    return next((name for name in said if name), None) or repr(sorted(resource.items(), key=repr))


def _called_from_afar(span: Span) -> str | None:
    """A clock of its own for a call that another program asked for: that may run on any machine."""
    if not span.flags & IS_REMOTE or any(text(span.resource.get(name)) for name in HOST):
        return None
    return f"of span {span.span_id}"
