"""Check this installation: what would be traced, with which settings, and whether the collector takes it."""

from __future__ import annotations

import sys
from typing import Any

from . import plugins, runtime, settings
from .frameworks import FRAMEWORKS
from .harmless import FAILURES
from .recognition import Recognition
from .sender import Sender

SECRET = ("api_key", "hash_key")
"""Settings whose values are not shown."""
TIMEOUT = 2.0
"""Seconds that the collector has for each answer."""


def report() -> dict[str, Any]:
    """A JSON-ready description of the installation."""
    chosen, problems = settings.read()
    return {
        "python": sys.version.split()[0],
        "installed": runtime.ACTIVE.on,
        "collector": _collector(chosen),
        "problems": list(problems),
        "settings": {name: _shown(name, getattr(chosen, name)) for name, *_ in settings.table()},
        "frameworks": [_framework(entry) for entry in (*FRAMEWORKS, *plugins.adapters())],
        "internal_errors": dict(FAILURES),
    }


def text(found: dict[str, Any]) -> str:
    """The report for a person."""
    lines = _collector_lines(found["collector"])
    lines += [f"settings    {problem}" for problem in found["problems"]]
    lines.append(f"tracing     {'on' if found['installed'] else 'off (PDOCTOR_TRACE_DISABLED is set)'}")
    lines.append(f"content     {found['settings']['content']}")
    for framework in found["frameworks"]:
        version = framework["version"]
        broken = framework.get("problem")
        lines.append(f"{framework['name']:<15} {broken or version or 'not installed here'}")
    return "\n".join(lines)


def _collector_lines(collector: dict[str, Any]) -> list[str]:
    begin = f"collector   {collector['endpoint']}"
    if not collector["reachable"]:
        return [
            f"{begin} does not answer: {collector['problem']}",
            "            start one with `pdoctor serve`, or set PDOCTOR_ENDPOINT",
        ]
    if collector["problem"]:
        return [f"{begin} answers, but refuses spans:", f"            {collector['problem']}"]
    key = [f"API key     {collector['key']}"] if collector["key"] else []
    return [f"{begin} answers", *key]


def _framework(entry: Any) -> dict[str, Any]:
    try:
        framework = entry.load()
    except Exception as error:  # an adapter of somebody else
        problem = f"{type(error).__name__}: {error}"
        return {
            "name": entry.name,
            "distribution": None,
            "version": None,
            "supported": None,
            "problem": problem,
        }
    return {
        "name": entry.name,
        "distribution": framework.distribution,
        "version": _version(framework.distribution),
        "supported": framework.versions,
    }


def _version(distribution: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _shown(name: str, value: Any) -> Any:
    return "(set)" if name in SECRET and value else value


def _collector(chosen: settings.Settings) -> dict[str, Any]:
    """Whether it answers, and what it says to an export without spans from this installation.

    `key` is `taken`, `not needed`, `refused` or `missing`; None where the answer does not tell, as that of
    another vendor's endpoint. `problem` is None where spans can arrive.
    """
    problem = _silence(chosen.endpoint)
    found: dict[str, Any] = {"endpoint": chosen.endpoint, "reachable": problem is None, "problem": problem}
    found["key"] = None
    if problem is not None:
        return found
    if (objection := Recognition(chosen).objection()) is not None:
        found["problem"] = objection.problem
        return found
    sender = Sender(chosen.endpoint, chosen.api_key, TIMEOUT)
    answer = sender.send(b"")
    sender.close()
    if answer.delivered:
        found["key"] = "taken" if chosen.api_key else "not needed"
    elif answer.status in (401, 403):
        found["problem"] = answer.problem
        if answer.key_refused:
            found["key"] = "refused" if chosen.api_key else "missing"
    return found


def _silence(endpoint: str) -> str | None:
    """Why nothing answers there, None where something does."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import urlsplit

    url = urlsplit(endpoint)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    try:
        connection = kind(url.hostname or "", url.port, timeout=TIMEOUT)
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
        connection.close()
    except (OSError, HTTPException, ValueError) as error:
        return str(error)
    return None if status < 500 else f"HTTP {status}"
