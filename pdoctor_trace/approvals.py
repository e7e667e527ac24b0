"""Mode `ask` without a function of the host: the collector's page asks somebody, and the call waits."""

from __future__ import annotations

import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import orjson

from .runtime import ACTIVE
from .settings import LOG

WAIT = 20.0
"""Seconds that one request waits for a decision; the collector takes 25 at most."""
PATH = "/api/v1/approvals"


def approved(
    text: str, call: Any, rules: tuple[str, ...], changeable: bool = False, at: str | None = None
) -> Any:
    """Whether somebody let the call run in time, or the arguments with which.

    Asked is the collector `at` that address, else the one that the spans go to. Arguments go there as the
    content mode keeps them; others come back only where they are `changeable`.
    """
    settings = ACTIVE.settings
    address = at or settings.endpoint
    until = time.monotonic() + settings.approval_timeout
    said: dict[str, Any] = {
        "tool": call.tool,
        "text": text,
        "rules": list(rules),
        "run_id": call.state.run_id,
        "seconds": settings.approval_timeout,
        "changeable": changeable,
    }
    if call.agent:
        said["agent"] = call.agent
    if call.arguments is not None:
        said["arguments"] = _value(call.arguments)
    try:
        while (left := until - time.monotonic()) > 0:
            found = _asked({**said, "wait": min(left, WAIT)}, address, settings)
            if found.get("state") != "open":
                changed = found.get("run_arguments")
                return found.get("state") == "approved" and (True if changed is None else changed)
            said = {"id": found["id"]}
    except (OSError, HTTPException, ValueError, KeyError) as error:
        LOG.warning("guard: nobody could be asked at %s: %s", address, error)
    return False


def _asked(said: dict[str, Any], address: str, settings: Any) -> dict[str, Any]:
    url = urlsplit(address)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    headers = {"content-type": "application/json"}
    if settings.api_key:
        headers["authorization"] = f"Bearer {settings.api_key}"
    connection = kind(url.hostname or "", url.port, timeout=WAIT + settings.timeout)
    try:
        connection.request("POST", url.path.rstrip("/") + PATH, orjson.dumps(said), headers)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise ValueError(f"HTTP {answer.status} {body[:200].decode(errors='replace')}")
    found: dict[str, Any] = orjson.loads(body)
    return found


def _value(text: bytes) -> Any:
    """What is kept of the arguments; a text where it was cut."""
    try:
        return orjson.loads(text)
    except ValueError:
        return bytes(text).decode(errors="replace")
