"""Connections: how many there may be, which go for a new one, and which are waited for at the end."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from collector import doors as doors_
from collector.doors import Doors
from collector.server import running
from tests.support.traces import Client, agent_request, eventually, metrics_of, new_id, settings


class Visitor:
    def __init__(self) -> None:
        self.left = False

    def leave(self) -> None:
        self.left = True


@pytest.fixture
def doors() -> Doors:
    return Doors(3)


def test_the_longest_silent_goes_for_a_new_one(doors: Doors) -> None:
    first, second, third, fourth, fifth = (Visitor() for _ in range(5))
    assert all(doors.enter(one) for one in (first, second, third))
    doors.reading(first)
    doors.answering(first)
    doors.silent(first)  # it had an answer: the others have been silent for longer
    assert doors.enter(fourth)
    assert doors.enter(fifth)
    assert [one.left for one in (first, second, third, fourth)] == [False, True, True, False]
    assert (doors.open, doors.dropped, doors.refused) == (3, 2, 0)
    doors.silent(second)  # it has gone
    assert doors.enter(Visitor())
    assert first.left


def test_who_is_being_answered_stays_and_the_new_one_is_refused(doors: Doors) -> None:
    for one in (visitors := [Visitor() for _ in range(3)]):
        doors.enter(one)
        doors.reading(one)
    doors.answering(visitors[0])
    assert not doors.enter(Visitor())
    doors.gone(visitors[1])
    assert doors.enter(Visitor())
    assert (doors.open, doors.dropped, doors.refused) == (3, 0, 1)


def test_a_body_that_takes_long_goes_for_a_new_one(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Visitor()
    for one in (slow, Visitor(), Visitor()):
        doors.enter(one)
        doors.reading(one)
    monkeypatch.setattr(doors_, "YOUNG_SECONDS", -1.0)
    assert doors.enter(Visitor())
    assert slow.left


def test_full_doors_are_told_now_and_then(doors: Doors, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(9):
        doors.enter(Visitor())
    assert [record.getMessage() for record in caplog.records] == [
        "all 3 connections are in use: silent ones are closed, others refused"
    ]


def test_there_are_fewer_where_the_process_may_not_open_so_many_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doors_.resource, "getrlimit", lambda _what: (1024, 1024))
    assert Doors(1000).most == 1024 - doors_.SPARE_FILES
    assert Doors(100).most == 100


def connect(url: str, said: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=60)
    connection.sendall(said)
    return connection


DRIP = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
DRIP += b"content-length: 9999\r\n\r\n{"


def test_silent_connections_keep_nobody_out_and_are_counted(tmp_path: Path) -> None:
    with running(settings(tmp_path, checkers=0, max_connections=10)) as url, ExitStack() as attack:
        silent = [attack.enter_context(connect(url)) for _ in range(30)]
        for _ in range(5):
            with Client(url) as client:
                assert client.send(agent_request(new_id(), ["a"])).status_code == 200
                values = metrics_of(client)
        assert values["connections"] == 10
        assert values["connections_dropped_total"] >= 20
        assert silent[0].recv(10) == b""


def test_a_connection_that_is_too_many_is_told_so(tmp_path: Path) -> None:
    with running(settings(tmp_path, checkers=0, max_connections=10)) as url, ExitStack() as attack:
        for _ in range(10):
            attack.enter_context(connect(url, DRIP))
        with connect(url, DRIP) as late:
            said = late.recv(1000)
    assert said.startswith(b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n")


def test_the_end_does_not_wait_for_who_says_nothing(tmp_path: Path) -> None:
    """Silent connections, half heads and bodies that never come; who has sent all of it is answered."""
    with ExitStack() as attack:
        with running(settings(tmp_path)) as url, httpx.Client() as idle:
            idle.get(f"{url}/healthz")
            for said in (b"", b"GET / HTTP/1.1\r\n", DRIP, DRIP):
                attack.enter_context(connect(url, said))
            with Client(url) as client:
                eventually(lambda: metrics_of(client)["connections"] >= 5)
            began = time.monotonic()
        assert time.monotonic() - began < 5
