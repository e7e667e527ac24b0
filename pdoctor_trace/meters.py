"""Durations and tokens in the host's MeterProvider, where it has one, by the GenAI conventions.

The instruments are made once for each provider. What cannot be known is not measured: of a tool that was
not seen running only bounds are known, and no duration.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from . import runtime, semconv
from .harmless import guarded
from .version import version

if TYPE_CHECKING:
    from .wire import AttributeValue

OPERATION_DURATION = "gen_ai.client.operation.duration"
TOKEN_USAGE = "gen_ai.client.token.usage"
TOOL_DURATION = "gen_ai.execute_tool.duration"
TOKEN_TYPE = "gen_ai.token.type"
_SECONDS = tuple(0.01 * 2**power for power in range(14))
_TOKENS = tuple(4**power for power in range(14))
"""Boundaries of the histograms that the conventions advise."""

_instruments: tuple[Any, dict[str, Any]] = (None, {})
"""A provider, and ours there by name."""


def wanted() -> bool:
    """Whether the host has a MeterProvider, and spans and metrics may be made in the host's SDK."""
    return provider() is not None and runtime.ACTIVE.settings.sdk_spans


def _first_provider() -> Any:
    """Nothing until the host has imported the module that holds it; then that is read directly."""
    global provider
    module = sys.modules.get("opentelemetry.metrics._internal")
    if module is None:
        return None
    provider = functools.partial(getattr, module, "_METER_PROVIDER", None)
    return provider()


provider: Any = _first_provider
"""Gives the host's MeterProvider, or None. Read it here: it is replaced."""


def tool_ran(tool: str, agent: str | None, nanoseconds: int, error_type: str | None) -> None:
    """A tool was seen running for so long."""
    said = {semconv.OPERATION_NAME: "execute_tool", semconv.TOOL_NAME: tool, semconv.AGENT_NAME: agent}
    guarded(_record, TOOL_DURATION, nanoseconds / 1e9, {**said, semconv.ERROR_TYPE: error_type})


def model_answered(
    said: dict[str, AttributeValue | None],
    nanoseconds: int,
    given: int | None,
    written: int | None,
) -> None:
    """A model answered, or failed to, within this time; tokens given to it and written by it, if known."""
    guarded(_record, OPERATION_DURATION, nanoseconds / 1e9, said)
    for kind, tokens in (("input", given), ("output", written)):
        if tokens is not None:
            guarded(_record, TOKEN_USAGE, tokens, {**said, TOKEN_TYPE: kind})


def _record(name: str, value: float, said: dict[str, Any]) -> None:
    global _instruments
    here = provider()
    if _instruments[0] is not here:
        _instruments = here, _made(here)
    kept = {key: attribute for key, attribute in said.items() if attribute is not None}
    _instruments[1][name].record(value, kept)


def _made(provider: Any) -> dict[str, Any]:
    meter = provider.get_meter(semconv.SCOPE_NAME, version(), semconv.SCHEMA_URL)
    return {
        name: _histogram(meter, name, unit, description, bounds)
        for name, unit, description, bounds in (
            (OPERATION_DURATION, "s", "Time that a request to a model took.", _SECONDS),
            (TOKEN_USAGE, "{token}", "Tokens that a model was given, or wrote.", _TOKENS),
            (TOOL_DURATION, "s", "Time that a tool ran.", _SECONDS),
        )
    }


def _histogram(meter: Any, name: str, unit: str, description: str, bounds: tuple[float, ...]) -> Any:
    try:
        return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=bounds)
    except TypeError:  # releases before 1.30 take no advice
        return meter.create_histogram(name, unit, description)
