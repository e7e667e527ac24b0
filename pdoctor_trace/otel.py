"""What the host's own OpenTelemetry says here and now: ambient parent, case in the baggage, suppression.

OpenTelemetry is read only where the host has imported it already: a program without it has no ambient
span, no baggage and no suppression, and importing it would cost more than importing all of us.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import Any, NamedTuple

from . import semconv

_PLAIN_SUPPRESS_KEY = "suppress_instrumentation"
"""Used by instrumentation packages; the API has a second, generated key."""


class Ambient(NamedTuple):
    """The current OpenTelemetry context as far as it concerns a run."""

    trace_id: int
    """0 = no valid span is current."""
    span_id: int
    case_id: str | None


NOTHING = Ambient(0, 0, None)


def ambient() -> Ambient:
    """Parent span and case of the current context; all empty where there is none."""
    context = current()
    if not context:
        return NOTHING
    trace_id, span_id = _parent(context)
    return Ambient(trace_id, span_id, _case(context))


def asks_for_silence(context: Any) -> bool:
    """Whether this context of the host asks instrumentation to be silent (either of the two keys)."""
    if context.get(_PLAIN_SUPPRESS_KEY):
        return True
    key = getattr(sys.modules["opentelemetry.context"], "_SUPPRESS_INSTRUMENTATION_KEY", None)
    return key is not None and bool(context.get(key))


def suppress_for_this_thread() -> None:
    """Keep other vendors' HTTP instrumentation quiet about our own thread."""
    module = sys.modules.get("opentelemetry.context")
    if module is not None:
        context = module.set_value(_PLAIN_SUPPRESS_KEY, True)
        key = getattr(module, "_SUPPRESS_INSTRUMENTATION_KEY", None)
        module.attach(context if key is None else module.set_value(key, True, context))


def _first_current() -> Any:
    """Nothing until the host has imported OpenTelemetry completely; then its own way is kept."""
    global current
    module = sys.modules.get("opentelemetry.context")
    get_current = getattr(module, "get_current", None)
    if get_current is None:
        return None
    # Behind two functions of OpenTelemetry stands a context variable; every call of every tool asks it.
    variable = getattr(getattr(module, "_RUNTIME_CONTEXT", None), "_current_context", None)
    current = variable.get if type(variable) is ContextVar else get_current
    return current()


current: Any = _first_current
"""Gives the host's current OpenTelemetry context, or something false. Read it here: it is replaced."""


def _parent(context: Any) -> tuple[int, int]:
    module = sys.modules.get("opentelemetry.trace")
    get_current_span = getattr(module, "get_current_span", None)
    if get_current_span is None:
        return 0, 0
    parent = get_current_span(context).get_span_context()
    return (parent.trace_id, parent.span_id) if parent.is_valid else (0, 0)


def _case(context: Any) -> str | None:
    module = sys.modules.get("opentelemetry.baggage")
    get_baggage = getattr(module, "get_baggage", None)
    case = get_baggage(semconv.CASE_ID, context) if get_baggage is not None else None
    return case if type(case) is str and case else None
