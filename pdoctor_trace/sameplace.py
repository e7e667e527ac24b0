"""Does the host's own exporter send to where our records go? Then one of the two is enough.

The records stay: they are whole and not sampled. In place of our span in the host's provider stands one that
is never exported and has its ids, so that spans of the host below it still have it as their parent.
"""

from __future__ import annotations

import os
from typing import Any

from . import runtime

_known: tuple[Any, str, bool] = ((), "", False)
"""Processors of the host, our endpoint, and what was found of the two."""


def records_suffice(provider: Any) -> bool:
    """Whether records are taken at an address that the host exports to over HTTP, too."""
    global _known
    way = runtime.ACTIVE.exporter
    if way is None or not way.is_taken:
        return False
    endpoint = runtime.ACTIVE.settings.endpoint
    processors = getattr(getattr(provider, "_active_span_processor", None), "_span_processors", ())
    if _known[0] is not processors or _known[1] != endpoint:
        ours = _place(endpoint)
        _known = processors, endpoint, any(_place(_endpoint_of(one)) == ours for one in processors)
    return _known[2]


def _endpoint_of(processor: Any) -> str:
    endpoint = getattr(getattr(processor, "span_exporter", None), "_endpoint", None)
    return endpoint if type(endpoint) is str and endpoint.startswith("http") else ""


def _place(endpoint: str) -> tuple[str, int | None] | None:
    """Host and port; one name for this machine. Of what is no address None, and of one no address is that."""
    from urllib.parse import urlsplit  # late: only hosts with a provider need it

    try:
        url = urlsplit(endpoint)
        host, port = url.hostname or "", url.port
    except ValueError:
        return None
    if not host:
        return None
    here = host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")
    return "localhost" if here else host, port or (443 if url.scheme == "https" else 80)


def stand_in(trace: Any, context: Any) -> Any:
    """A span that is not recorded, below the one of that context."""
    above = trace.get_current_span(context).get_span_context()
    trace_id = above.trace_id if above.is_valid else int.from_bytes(os.urandom(16)) or 1
    flags = above.trace_flags if above.is_valid else trace.TraceFlags(trace.TraceFlags.SAMPLED)
    own = int.from_bytes(os.urandom(8)) or 1
    state = above.trace_state if above.is_valid else None
    return trace.NonRecordingSpan(trace.SpanContext(trace_id, own, False, flags, state))
