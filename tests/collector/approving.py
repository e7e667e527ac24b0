"""Hosts that ask a collector about calls, and somebody who decides."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pdoctor_trace
from pdoctor_trace.asking import DOOR
from tests.support.traces import Client


def ask(client: Client, **said: Any) -> Any:
    answer = client.post("/approvals", said)
    assert answer.status_code == 200, answer.text
    return answer.json()


def decide(client: Client, id_: str, decision: str, **more: Any) -> Any:
    return client.http.put(f"/api/v1/approvals/{id_}", json={"decision": decision, **more})


def deciding(client: Client, decision: str, **more: Any) -> threading.Thread:
    """Somebody who decides the first question that comes."""

    def look() -> None:
        until = time.monotonic() + 15
        while time.monotonic() < until:
            for one in client.get("/approvals")["items"]:
                if one["state"] == "open":
                    decide(client, one["id"], decision, **more)
                    return
            time.sleep(0.05)

    made = threading.Thread(target=look)
    made.start()
    return made


@contextmanager
def host_of(client: Client, **settings: Any) -> Iterator[Client]:
    """A host in this process whose guard asks this collector."""
    pdoctor_trace.install(endpoint=str(client.http.base_url), approval_timeout=20.0, **settings)
    try:
        yield client
    finally:
        pdoctor_trace.flush()
        pdoctor_trace.install(content="full")
        pdoctor_trace.uninstall()
        DOOR.guards = ()
