"""Which clock a call's times were read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from collector.dialects import SeenCall
from collector.dialects.reading import text
from collector.model import IS_REMOTE, Span

HOST = ("host.id", "host.name")
INSTANCE = "service.instance.id"
"""Attributes of the resource that say which clock it is, the best first."""


def with_clocks(calls: Sequence[SeenCall]) -> list[SeenCall]:
    """The calls, each with the name of its clock (`clock` of its record) where the run has several."""
    resources = {id(seen.span.resource): seen.span.resource for seen in calls}
    known = {at: _clock(resource) for at, resource in resources.items()}
    if len(set(known.values())) < 2 and not any(seen.span.flags & IS_REMOTE for seen in calls):
        return list(calls)
    clocks = [_called_from_afar(seen.span) or known[id(seen.span.resource)] for seen in calls]
    if len(set(clocks)) < 2:
        return list(calls)
    return [
        seen._replace(call=replace(seen.call, extra={**seen.call.extra, "clock": clock}))
        for seen, clock in zip(calls, clocks, strict=True)
    ]


def _clock(resource: Mapping[str, Any]) -> str:
    """A host, else a process."""
    said = (text(resource.get(name)) for name in (*HOST, INSTANCE))
    return next((name for name in said if name), None) or repr(sorted(resource.items(), key=repr))


def _called_from_afar(span: Span) -> str | None:
    """A clock of its own for a call that another program asked for: that may run on any machine."""
    if not span.flags & IS_REMOTE or any(text(span.resource.get(name)) for name in HOST):
        return None
    return f"of span {span.span_id}"
