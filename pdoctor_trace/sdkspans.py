"""Real spans in the host's own TracerProvider, beside the records and with the same ids.

So that the host's parents, processors and exporters keep working: spans that its tools open become
children of ours. Only where the host has set a provider; ids are then the provider's, and the records
take them over. Sampling is the provider's as well, it does not touch the records.
"""

from __future__ import annotations

import sys
from typing import Any

from . import runtime, semconv
from .harmless import guarded
from .wire import AttributeValue

_trace: Any = None
"""The module `opentelemetry.trace`, once the host has imported it."""


def wanted() -> bool:
    """Whether the host has a provider of its own and nobody switched this path off.

    OpenTelemetry's own function is not asked for the provider: it could create one.
    """
    global _trace
    if _trace is None:
        _trace = sys.modules.get("opentelemetry.trace")
        if _trace is None:
            return False
    return getattr(_trace, "_TRACER_PROVIDER", None) is not None and runtime.ACTIVE.settings.sdk_spans


def start(name: str, above: Any, start_ns: int) -> Any:
    """A started span below `above` (one of ours) or the ambient one; None where there is no provider.

    `above` False = there is a run of ours without such a span: then none is made below it.
    A provider that fails, or makes no spans of its own, costs the host its span, not us the record.
    """
    if above is False or not wanted():
        return None
    return guarded(_started, name, above, start_ns)


def _started(name: str, above: Any, start_ns: int) -> Any:
    trace: Any = _trace
    context = None if above is None else trace.set_span_in_context(above)
    tracer = trace._TRACER_PROVIDER.get_tracer(semconv.SCOPE_NAME)
    span = tracer.start_span(name, context=context, start_time=start_ns)
    made, parent = span.get_span_context(), trace.get_current_span(context).get_span_context()
    return span if made.is_valid and made.span_id != parent.span_id else None


def ids(span: Any) -> tuple[int, int]:
    """(trace id, span id)."""
    context = span.get_span_context()
    return context.trace_id, context.span_id


def finish(
    span: Any,
    attributes: dict[str, AttributeValue | None],
    error: str | None,
    end_ns: int,
) -> None:
    """End the span with the same attributes as the record."""
    if span.is_recording():
        kept = {key: _plain(value) for key, value in attributes.items() if value is not None}
        span.set_attributes(kept)
        if error is not None:
            status = sys.modules["opentelemetry.trace"]
            span.set_status(status.Status(status.StatusCode.ERROR, error))
    span.end(end_time=end_ns)


def attach(span: Any) -> Any:
    """Make the span current; gives the token for `detach`."""
    trace, context = sys.modules["opentelemetry.trace"], sys.modules["opentelemetry.context"]
    return context.attach(trace.set_span_in_context(span))


def detach(token: Any) -> None:
    """Undo `attach` without the noise that OpenTelemetry's own detach makes in another context."""
    context: Any = sys.modules["opentelemetry.context"]
    try:
        context._RUNTIME_CONTEXT.detach(token)
    except ValueError:
        return


def _plain(value: AttributeValue) -> str | bool | int:
    return value.decode() if isinstance(value, bytes) else value
