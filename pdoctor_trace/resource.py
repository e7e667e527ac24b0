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
        **_host(),
    }
    for pair in environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","):
        key, equals, value = pair.partition("=")
        if equals and key.strip():
            found[key.strip()] = unquote(value.strip())
    if environ.get("OTEL_SERVICE_NAME"):
        found["service.name"] = environ["OTEL_SERVICE_NAME"]
    return found


def _host() -> dict[str, AttributeValue]:
    """Whose clock it is: calls of programs on one machine can be told apart however close they are."""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME")
    return {"host.name": name} if name else {}


def _program() -> str:
    """Its file name; an embedded interpreter has no arguments."""
    arguments = getattr(sys, "argv", None)
    return os.path.basename(arguments[0]) if arguments and arguments[0] else "python"
