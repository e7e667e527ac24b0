"""Check this installation: what would be traced, with which settings, and whether the collector answers."""

from __future__ import annotations

import http.client
import os
import sys
from typing import Any
from urllib.parse import urlsplit

DEFAULT_ENDPOINT = "http://127.0.0.1:4318"


def report() -> dict[str, Any]:
    """A JSON-ready description of the installation."""
    endpoint = os.environ.get("PDOCTOR_ENDPOINT", DEFAULT_ENDPOINT)
    return {"python": sys.version.split()[0], "collector": _collector(endpoint)}


def text(found: dict[str, Any]) -> str:
    """The report for a person."""
    collector = found["collector"]
    answer = "answers" if collector["reachable"] else f"does not answer ({collector['problem']})"
    return f"collector {collector['endpoint']} {answer}"


def _collector(endpoint: str) -> dict[str, Any]:
    url = urlsplit(endpoint)
    connection = http.client.HTTPConnection(url.hostname or "", url.port or 80, timeout=2)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return {"endpoint": endpoint, "reachable": False, "problem": str(error)}
    finally:
        connection.close()
    problem = None if status < 500 else f"HTTP {status}"
    return {"endpoint": endpoint, "reachable": problem is None, "problem": problem}
