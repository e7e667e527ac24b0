"""Clients of the OpenAI SDK whose connections are shared by all runs of a process.

A client with connections of its own reads every certificate of the machine, 30 ms of a core, and lies in
reference cycles with them: what a long campaign's worker holds grows by 15 kB a run.
"""

from __future__ import annotations

import atexit
from functools import cache

from openai import DefaultHttpxClient, OpenAI

from synth.agents.model import Settings


def client_of(settings: Settings) -> OpenAI:
    """A client for one run; it is not closed, since others use its connections."""
    return OpenAI(base_url=settings.base_url, api_key=settings.api_key, http_client=_connections())


@cache
def _connections() -> DefaultHttpxClient:
    connections = DefaultHttpxClient()
    atexit.register(connections.close)
    return connections
