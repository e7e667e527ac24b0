"""Real spans in the host's own TracerProvider, beside the records and with the same ids.

So that the host's parents, processors and exporters keep working: spans that its tools open become
children of ours. Only where the host has set a provider; ids are then the provider's, and the records
take them over. Content goes there only if somebody asks for it. Sampling is the provider's as well, it does
not touch the records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import runtime, semconv
from .harmless import guarded
from .sameplace import records_suffice, stand_in
from .version import version
from .wire import AttributeValue
from .withheld import Attributes, without_content

_trace: Any = None
"""The module `opentelemetry.trace`, once the host has imported it."""
_tracer: tuple[Any, Any] = (None, None)
"""A provider, and our tracer there."""
_chosen: Callable[[], Any] | None = None
"""Gives the provider that all spans go through, where that is the only way out."""


def go_through(provider: Callable[[], Any] | None) -> None:
    """From now on every span goes through the provider that this gives; None = the host's, if it has one."""
    global _chosen, _trace
    if provider is not None:
        import opentelemetry.trace as _trace
    _chosen = provider


def wanted() -> bool:
    """Whether the host has a provider of its own and nobody switched this path off.

    OpenTelemetry's own function is not asked for the provider: it could create one.
    """
    global _trace
    if _chosen is not None:
        return True
    if _trace is None:
        _trace = sys.modules.get("opentelemetry.trace")
        if _trace is None:
            return False
    return getattr(_trace, "_TRACER_PROVIDER", None) is not None and runtime.ACTIVE.settings.sdk_spans


def start(name: str, above: Any, start_ns: int, known: Attributes, *, client: bool = False) -> Any:
    """A started span below `above` (one of ours) or the ambient one; None where there is no provider.

    `known` are the attributes that samplers and processors are to see at its beginning.
    `above` False = there is a run of ours without such a span: then none is made below it.
    A provider that fails, or makes no spans of its own, costs the host its span, not us the record.
    """
    if above is False or not wanted():
        return None
    return guarded(_started, name, above, start_ns, known, client)


def _started(name: str, above: Any, start_ns: int, known: Attributes, client: bool) -> Any:
    trace: Any = _trace
    context = None if above is None else trace.set_span_in_context(above)
    provider = trace._TRACER_PROVIDER if _chosen is None else _chosen()
    if provider is None:
        return None
    if _chosen is None and records_suffice(provider):
        return stand_in(trace, context)
    tracer = _tracer_of(provider)
    kind = trace.SpanKind.CLIENT if client else trace.SpanKind.INTERNAL
    span = tracer.start_span(name, context, kind, _kept(known), start_time=start_ns)
    made, parent = span.get_span_context(), trace.get_current_span(context).get_span_context()
    return span if made.is_valid and made.span_id != parent.span_id else None


def _tracer_of(provider: Any) -> Any:
    global _tracer
    known, tracer = _tracer
    if known is not provider:
        tracer = provider.get_tracer(semconv.SCOPE_NAME, version(), semconv.SCHEMA_URL)
        _tracer = provider, tracer
    return tracer


def ids(span: Any) -> tuple[int, int]:
    """(trace id, span id)."""
    context = span.get_span_context()
    return context.trace_id, context.span_id


def name_of(span: Any) -> Any:
    """A span that only says which one it was, to be kept instead of it; None where there is none."""
    if span is None:
        return None
    return sys.modules["opentelemetry.trace"].NonRecordingSpan(span.get_span_context())


def happened(span: Any, event: str, told: Attributes, time_ns: int) -> None:
    """Add an event to the span; its content stays here where that of the span does."""
    if span.is_recording():
        span.add_event(event, _kept(told), timestamp=time_ns)


def finish(
    span: Any,
    attributes: Attributes,
    error: str | None,
    end_ns: int,
) -> None:
    """End the span with the attributes of the record, and its content if that may leave this way, too."""
    if span.is_recording():
        span.set_attributes(_kept(attributes))
        if error is not None:
            status = sys.modules["opentelemetry.trace"]
            told = None if _withheld() else error
            span.set_status(status.Status(status.StatusCode.ERROR, told))
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


def _withheld() -> bool:
    """Whether content goes with the records only: who runs the host's back ends was not asked for it."""
    settings = runtime.ACTIVE.settings
    return _chosen is None and settings.records and not settings.sdk_content


def _kept(attributes: Attributes) -> dict[str, Any]:
    if _withheld():
        attributes = without_content(attributes)
    return {key: _plain(value) for key, value in attributes.items() if value is not None}


def _plain(value: AttributeValue) -> str | bool | int | tuple[str, ...]:
    return value.decode() if isinstance(value, bytes) else value
