"""Questions and refusals by the dozen, while spans are sent from another address, or from the same."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from collector.app import is_refused
from collector.fair import REFUSED_SECONDS, TIMES, Flow, Pace
from tests.support.traces import PROTOBUF, Client, agent_request, new_id

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.77"
AT_ONCE, EACH = 8, 5
LEAST_SECONDS = (AT_ONCE * EACH - 2) * TIMES * REFUSED_SECONDS
"""Between so many refusals, where each waits for the one before."""


@contextmanager
def somebody_sends(client: Client) -> Iterator[None]:
    """One run after the other, from the usual address."""
    end = threading.Event()

    def send() -> None:
        while not end.wait(0.1):
            assert client.send(agent_request(new_id(), ["a"])).status_code == 200

    assert client.send(agent_request(new_id(), ["a"])).status_code == 200
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def connected(url: str, address: str) -> httpx.Client:
    transport = httpx.HTTPTransport(local_address=address)
    return httpx.Client(base_url=url, trust_env=False, timeout=30, transport=transport)


def nothing_there(url: str, address: str) -> None:
    with connected(url, address) as client:
        assert [client.get("/api/v1/nothing").status_code for _ in range(EACH)] == [404] * EACH


def no_spans(url: str, address: str, body: bytes = b"\xff", status: int = 400) -> None:
    with connected(url, address) as client:
        sent = [client.post("/v1/traces", content=body, headers=PROTOBUF) for _ in range(EACH)]
    assert [one.status_code for one in sent] == [status] * EACH


def nothing_in_it(url: str, address: str) -> None:
    """Which is taken, and brings nothing."""
    no_spans(url, address, b"", 200)


def no_traces(url: str, address: str) -> None:
    with connected(url, address) as client:
        sent = [client.post("/v1/metrics", content=b"", headers=PROTOBUF) for _ in range(EACH)]
    assert [one.status_code for one in sent] == [200] * EACH


def no_http(url: str, address: str) -> None:
    there = urlsplit(url)
    for _ in range(EACH):
        with socket.create_connection((there.hostname, there.port), 30, (address, 0)) as one:
            one.sendall(b"nothing of that kind\r\n\r\n" * 3)
            assert one.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("address", [HERE, ELSEWHERE])
@pytest.mark.parametrize("flood", [nothing_there, no_spans, nothing_in_it, no_traces, no_http])
def test_refusals_come_one_after_the_other(
    flood: Callable[[str, str], None], address: str, fresh: Client
) -> None:
    with somebody_sends(fresh), ThreadPoolExecutor(AT_ONCE) as threads:
        began = time.monotonic()
        assert list(threads.map(flood, [fresh.url] * AT_ONCE, [address] * AT_ONCE)) == [None] * AT_ONCE
        assert time.monotonic() - began >= LEAST_SECONDS
        assert fresh.http.get("/runs").status_code == 200


def test_who_probes_and_who_guards_does_not_wait(fresh: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    waiting = Pace.wait

    def wait(pace: Pace, flow: Flow) -> float:
        waited.append(flow.who)
        return waiting(pace, flow)

    monkeypatch.setattr(Pace, "wait", wait)
    with connected(fresh.url, ELSEWHERE) as client:
        for path in ("/healthz", "/readyz"):
            client.get(path)
        client.post("/api/v1/guard", json={})
        assert waited == []
        client.get("/runs")
    assert waited == [ELSEWHERE]


def test_who_is_to_come_again_is_not_refused() -> None:
    said = (200, 302, 400, 401, 404, 408, 413, 429, 500, 503)
    assert [status for status in said if is_refused(status)] == [400, 401, 404, 413]
