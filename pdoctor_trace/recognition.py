"""Who answers at the address that nobody named: a collector of ours, or another back end?

4318 is the port of every OTLP back end. Where the address is a default of ours and not somebody's word,
records leave only once what listens there has said that it is ours.
"""

from __future__ import annotations

import time
from typing import Any

import orjson

from . import settings
from .sender import Answer

OURS = "pdoctor"
ASK_AGAIN = 60.0
"""Seconds after which what was another back end is asked again."""
LONGEST_ANSWER = 65_536
NAME_ONE = "what listens there is no collector of PDoctor (PDOCTOR_ENDPOINT names the one to send to)"


class Recognition:
    """What is known of the one who listens at an endpoint; asks on its own, in the thread that sends."""

    def __init__(self, chosen: settings.Settings) -> None:
        self.certain = chosen.endpoint_named or chosen.endpoint != settings.DEFAULT_ENDPOINT
        """Whether what listens there is to have the records."""
        self._named = self.certain
        self._endpoint, self._timeout = chosen.endpoint, min(chosen.timeout, 2.0)
        self._refused_until = 0.0

    def objection(self) -> Answer | None:
        """Why nothing may be sent there now, as if it had said so; None where it may."""
        if self.certain:
            return None
        if time.monotonic() < self._refused_until:
            return Answer(404, problem=NAME_ONE)
        try:
            status, said = _asked(self._endpoint, "/healthz", self._timeout)
            ours = status == 200 and (said.get("service") == OURS or self._is_an_older_one(said))
        except Exception as error:  # whatever there is instead of HTTP
            return Answer(0, problem=f"{type(error).__name__}: {error}")
        if not ours and (status >= 500 or status == 429):
            return Answer(0, problem=f"HTTP {status}")
        if not ours:
            self._refused_until = time.monotonic() + ASK_AGAIN
            return Answer(404, problem=NAME_ONE)
        self.certain = True
        return None

    def lost(self) -> None:
        """Nothing answers any more; whoever does next is asked."""
        self.certain = self._named

    def _is_an_older_one(self, said: dict[str, Any]) -> bool:
        """A collector from before that answer had a name; what it says of its readiness is its own."""
        if said != {"status": "ok"}:
            return False
        _, ready = _asked(self._endpoint, "/readyz", self._timeout)
        return ready.keys() == {"status", "problems"}


def _asked(endpoint: str, path: str, timeout: float) -> tuple[int, dict[str, Any]]:
    """(HTTP status, the JSON object that came, or an empty one)."""
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    url = urlsplit(endpoint)
    connection = HTTPConnection(url.hostname or "", url.port, timeout=timeout)
    try:
        connection.request("GET", path, headers={"User-Agent": "pdoctor-trace", "Connection": "close"})
        response = connection.getresponse()
        text = response.read(LONGEST_ANSWER)
    finally:
        connection.close()
    try:
        said = orjson.loads(text)
    except ValueError:
        said = None
    return response.status, said if isinstance(said, dict) else {}
