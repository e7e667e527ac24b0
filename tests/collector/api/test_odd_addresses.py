"""Addresses that no client of ours would ask for: encoded slashes, NULs, broken UTF-8, texts without end."""

from __future__ import annotations

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.support.traces import Client

ODD = (
    "%00", "a%00b", "a%2Fb", "%2F", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "%ff%fe", "%ED%A0%80", "%0d%0aX:y",
    "'%22;--", "%F0%9F%92%A9", "%E2%80%AE", "%25s%25n", "9" * 400, "-1", "x" * 4_000, "%5C", "*", "{}",
)  # fmt: skip
PAGES = (
    "/", "/runs", "/runs/{id}", "/policies", "/policies/{name}", "/findings", "/campaigns", "/campaigns/{id}",
    "/compare", "/cases", "/metrics-of-runs", "/alerts", "/help/{name}", "/static/{name}", "/settings",
)  # fmt: skip


pytestmark = [pytest.mark.heavy, pytest.mark.both_engines]


def status(client: Client, address: str) -> int:
    """Of a GET whose address is sent as it is written here."""
    place = urlsplit(client.url)
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        head = f"GET {address} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        with connection.makefile("rb") as answer:
            said = answer.readline()
            answer.read()
    return int(said.split()[1])


def asked(client: Client) -> list[str]:
    """Every address of the API and of the pages, with each odd text in each of its places."""
    described = client.http.get("/openapi.json").json()["paths"]
    found: list[str] = []
    for path, methods in described.items():
        if "get" not in methods:
            continue
        found += [re.sub(r"\{[^}]+\}", odd, path) for odd in ODD if "{" in path]
        plain = re.sub(r"\{[^}]+\}", "x", path)
        names = [one["name"] for one in methods["get"].get("parameters", []) if one["in"] == "query"]
        found += [f"{plain}?{name}={odd}" for name in names for odd in ODD]
    for path in PAGES:
        found += [re.sub(r"\{[^}]+\}", odd, path) for odd in ODD if "{" in path]
        plain = re.sub(r"\{[^}]+\}", "x", path)
        found += [f"{plain}?q={odd}&cursor={odd}&since={odd}&agent={odd}&range={odd}" for odd in ODD]
    return found


def test_no_address_is_a_failure_of_ours(shared: Client) -> None:
    addresses = asked(shared)
    assert len(addresses) > 500
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda address: status(shared, address), addresses))
    assert {c: a[:200] for c, a in zip(codes, addresses, strict=True) if c >= 500} == {}
    assert 200 in codes
    assert 400 in codes
    assert 404 in codes


def test_of_a_pipeline_each_is_answered_and_one_too_long_is_refused(shared: Client) -> None:
    place = urlsplit(shared.url)
    one, last = (
        f"GET /api/v1/runs HTTP/1.1\r\nhost: localhost\r\n{more}\r\n".encode()
        for more in ("", "connection: close\r\n")
    )
    for count, expected in ((10, [200] * 10), (64, [400])):
        with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
            connection.sendall(one * (count - 1) + last)
            with connection.makefile("rb") as answers:
                said = answers.read()
        assert [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+) ", said)] == expected
