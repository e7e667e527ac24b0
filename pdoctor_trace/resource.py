"""Who sends: the attributes of this process that stand on every batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from . import semconv
from .harmless import guarded
from .values import json_text
from .wire import AttributeValue


def resource_attributes(
    environ: Mapping[str, str] = os.environ, provider: Any = None, version: str = ""
) -> dict[str, AttributeValue]:
    """What the host's provider says in code, and what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say.

    With the `version` of the settings, where there is one.
    """
    own: dict[str, AttributeValue] = {semconv.VERSION: version} if version else {}
    return {**_from(environ), **(guarded(_of, provider) or {}), **own}


def host_provider() -> Any:
    """The host's own TracerProvider, None where it has set none yet."""
    return getattr(sys.modules.get("opentelemetry.trace"), "_TRACER_PROVIDER", None)


def _of(provider: Any) -> dict[str, AttributeValue]:
    """Its resource's attributes but those of the SDK and the process, and a service without a name."""
    said = getattr(getattr(provider, "resource", None), "attributes", {})
    return {
        key: value if type(value) in (str, bool, int) else json_text(value)
        for key, value in said.items()
        if not key.startswith(("telemetry.", "process.pid")) and not str(value).startswith("unknown_service")
    }


def _from(environ: Mapping[str, str]) -> dict[str, AttributeValue]:
    """As every OpenTelemetry SDK reads them."""
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
