"""Check this installation: what would be traced, with which settings, and whether the collector answers."""

from __future__ import annotations

import sys
from typing import Any

from . import outside, runtime, settings
from .frameworks import FRAMEWORKS
from .guard import FAILURES

SECRET = ("api_key", "hash_key")
"""Settings whose values are not shown."""


def report() -> dict[str, Any]:
    """A JSON-ready description of the installation."""
    chosen = settings.from_environment()
    return {
        "python": sys.version.split()[0],
        "installed": runtime.ACTIVE.on,
        "collector": _collector(chosen.endpoint),
        "settings": {name: _shown(name, getattr(chosen, name)) for name, *_ in settings.table()},
        "frameworks": [_framework(entry) for entry in (*FRAMEWORKS, *outside.adapters())],
        "internal_errors": dict(FAILURES),
    }


def text(found: dict[str, Any]) -> str:
    """The report for a person."""
    collector = found["collector"]
    answer = "answers" if collector["reachable"] else f"does not answer: {collector['problem']}"
    lines = [f"collector   {collector['endpoint']} {answer}"]
    if not collector["reachable"]:
        lines.append("            start one with `pdoctor serve`, or set PDOCTOR_ENDPOINT")
    lines.append(f"tracing     {'on' if found['installed'] else 'off (PDOCTOR_TRACE_DISABLED is set)'}")
    lines.append(f"content     {found['settings']['content']}")
    for framework in found["frameworks"]:
        version = framework["version"]
        broken = framework.get("problem")
        lines.append(f"{framework['name']:<15} {broken or version or 'not installed here'}")
    return "\n".join(lines)


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


def _collector(endpoint: str) -> dict[str, Any]:
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import urlsplit

    url = urlsplit(endpoint)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    try:
        connection = kind(url.hostname or "", url.port, timeout=2)
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
        connection.close()
    except (OSError, HTTPException, ValueError) as error:
        return {"endpoint": endpoint, "reachable": False, "problem": str(error)}
    problem = None if status < 500 else f"HTTP {status}"
    return {"endpoint": endpoint, "reachable": problem is None, "problem": problem}
