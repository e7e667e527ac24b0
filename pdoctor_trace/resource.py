"""Who sends: the attributes of this process that stand on every batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from . import semconv
from .wire import AttributeValue


def resource_attributes(environ: Mapping[str, str] = os.environ) -> dict[str, AttributeValue]:
    """Who sends: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES as every OpenTelemetry SDK reads them."""
    from urllib.parse import unquote

    found: dict[str, AttributeValue] = {
        "service.name": f"unknown_service:{_program()}",
        "telemetry.sdk.name": semconv.SCOPE_NAME,
        "telemetry.sdk.language": "python",
        "process.pid": os.getpid(),
    }
    for pair in environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","):
        key, equals, value = pair.partition("=")
        if equals and key.strip():
            found[key.strip()] = unquote(value.strip())
    if environ.get("OTEL_SERVICE_NAME"):
        found["service.name"] = environ["OTEL_SERVICE_NAME"]
    return found


def _program() -> str:
    """Its file name; an embedded interpreter has no arguments."""
    arguments = getattr(sys, "argv", None)
    return os.path.basename(arguments[0]) if arguments and arguments[0] else "python"
