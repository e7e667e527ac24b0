"""Connections: how many there may be, which go for a new one, and which are waited for at the end."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from collector import doors as doors_
from collector.doors import Doors, network_of
from collector.fair import Flow, Slices
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


def test_the_longest_silent_goes_for_a_new_one(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, fourth, fifth = (Visitor() for _ in range(5))
    assert all(doors.enter(one, "a") for one in (first, second, third))
    doors.reading(first)
    doors.answering(first)
    doors.silent(first)  # it had an answer: the others have been silent for longer
    assert doors.enter(fourth, "a")
    assert doors.enter(fifth, "a")
    assert [one.left for one in (first, second, third, fourth)] == [False, True, True, False]
    assert (doors.open, doors.dropped, doors.refused) == (3, 2, 0)
    doors.silent(second)  # it has gone
    monkeypatch.setattr(doors_, "YOUNG_SECONDS", -1.0)
    assert doors.enter(Visitor(), "a")
    assert first.left


def test_who_was_answered_within_a_second_does_not_go_for_a_new_one(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = [Visitor() for _ in range(3)]
    for one in answered:
        doors.enter(one, "a")
        doors.reading(one)
        doors.answering(one)
        doors.silent(one)
    assert not doors.enter(Visitor(), "a")
    assert (doors.refused, doors.dropped) == (1, 0)
    monkeypatch.setattr(doors_, "YOUNG_SECONDS", -1.0)
    assert doors.enter(Visitor(), "a")
    assert [one.left for one in answered] == [True, False, False]


def test_who_is_being_answered_stays_and_the_new_one_is_refused(doors: Doors) -> None:
    for one in (visitors := [Visitor() for _ in range(3)]):
        doors.enter(one, "a")
        doors.reading(one)
    doors.answering(visitors[0])
    assert not doors.enter(Visitor(), "a")
    doors.gone(visitors[1])
    assert doors.enter(Visitor(), "a")
    assert (doors.open, doors.dropped, doors.refused) == (3, 0, 1)


def test_a_body_that_takes_long_goes_for_a_new_one(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Visitor()
    for one in (slow, Visitor(), Visitor()):
        doors.enter(one, "a")
        doors.reading(one)
    monkeypatch.setattr(doors_, "YOUNG_SECONDS", -1.0)
    assert doors.enter(Visitor(), "a")
    assert slow.left


def test_who_was_just_answered_stays_beside_bodies_that_drip(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    drips, more, answered = (Visitor() for _ in range(3))
    for one in (drips, more, answered):
        doors.enter(one, "a")
        doors.reading(one)
    doors.answering(answered)
    doors.silent(answered)
    monkeypatch.setattr(doors_, "YOUNG_SECONDS", -1.0)
    assert doors.enter(Visitor(), "a")
    assert [one.left for one in (drips, more, answered)] == [True, False, False]
    doors.gone(more)
    assert doors.enter(Visitor(), "a")
    assert doors.enter(Visitor(), "a")
    assert answered.left, "it is the one that is waited for longest now"


def test_whose_body_took_long_and_is_complete_stays(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    complete, slow = Visitor(), Visitor()
    for one in (complete, slow, Visitor()):
        doors.enter(one, "a")
        doors.reading(one)
    doors.answering(complete)
    monkeypatch.setattr(doors_, "YOUNG_SECONDS", -1.0)
    assert doors.enter(Visitor(), "a")
    assert (complete.left, slow.left) == (False, True)


def test_full_doors_are_told_now_and_then(doors: Doors, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(9):
        doors.enter(Visitor(), "a")
    assert [record.getMessage() for record in caplog.records] == [
        "too many connections (3, 3 from one address): silent ones are closed, others refused"
    ]


def test_an_address_that_has_its_share_gives_up_one_of_its_own() -> None:
    doors = Doors(9, 2)
    first, second, third, other = (Visitor() for _ in range(4))
    for one in (first, second):
        assert doors.enter(one, "a")
    assert doors.enter(other, "b")
    assert doors.enter(third, "a")
    assert [one.left for one in (first, second, third, other)] == [True, False, False, False]
    for one in (second, third):
        doors.reading(one)
        doors.answering(one)
    assert not doors.enter(Visitor(), "a")
    assert doors.enter(Visitor(), "b")
    assert (doors.open, doors.dropped, doors.refused) == (4, 1, 1)


def test_a_share_of_nought_is_all() -> None:
    doors = Doors(3, 0)
    assert all(doors.enter(Visitor(), "a") for _ in range(3))
    assert doors.dropped == 0


def test_where_all_are_in_use_the_address_with_the_most_gives_way() -> None:
    doors = Doors(4)
    theirs, mine = Visitor(), [Visitor() for _ in range(3)]
    assert doors.enter(theirs, "b")
    for one in mine:
        assert doors.enter(one, "a")
    assert doors.enter(Visitor(), "c")
    assert [one.left for one in (theirs, *mine)] == [False, True, False, False]


def test_slow_bodies_of_many_connections_give_way_to_a_new_address(monkeypatch: pytest.MonkeyPatch) -> None:
    doors = Doors(3)
    theirs, mine = Visitor(), [Visitor() for _ in range(2)]
    assert doors.enter(theirs, "b")
    for one in mine:
        assert doors.enter(one, "a")
        doors.reading(one)
    monkeypatch.setattr(doors_, "YOUNG_SECONDS", -1.0)
    assert doors.enter(Visitor(), "c")
    assert [one.left for one in (theirs, *mine)] == [False, True, False]


def test_a_front_may_have_all_and_gives_way_last() -> None:
    doors = Doors(5, 2, lambda address: address == "10.0.0.7")
    through, direct = [Visitor() for _ in range(3)], [Visitor() for _ in range(2)]
    for one in through:
        assert doors.enter(one, "::ffff:10.0.0.7")
    for one in direct:
        assert doors.enter(one, "a")
    assert doors.enter(Visitor(), "b")
    assert [one.left for one in (*through, *direct)] == [False, False, False, True, False]


def test_an_address_that_has_left_is_forgotten() -> None:
    doors = Doors(3, 1)
    visitor = Visitor()
    doors.enter(visitor, "a")
    doors.gone(visitor)
    doors.gone(visitor)
    doors.silent(visitor)
    assert (doors.open, doors._addresses) == (0, {})


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("no:address", "no:address"),
        ("", ""),
    ],
)
def test_who_has_one_address_of_a_network_has_the_others(address: str, network: str) -> None:
    assert network_of(address) == network


def test_there_are_fewer_where_the_process_may_not_open_so_many_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doors_.resource, "getrlimit", lambda _what: (1024, 1024))
    assert Doors(1000).most == 1024 - doors_.SPARE_FILES
    assert Doors(100).most == 100


def connect(url: str, said: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
    place = ("127.0.0.1", urlsplit(url).port)
    connection = socket.create_connection(place, timeout=60, source_address=(source, 0))
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


def test_one_address_leaves_room_for_others(tmp_path: Path) -> None:
    known = settings(tmp_path, checkers=0, max_connections=10, max_connections_per_address=6)
    with running(known) as url, ExitStack() as attack:
        for _ in range(30):
            attack.enter_context(connect(url, source="127.0.0.66"))
        with Client(url) as client:
            eventually(lambda: metrics_of(client)["connections_dropped_total"] == 24)
            assert metrics_of(client)["connections"] == 7


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
        assert time.monotonic() - began < 9, "not the ten seconds that an end waits at most"


def test_who_asks_for_much_in_one_go_and_leaves_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ask = b"GET /runs HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        for _ in range(12):
            with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), 30) as hasty:
                hasty.sendall(ask * 8)
                hasty.recv(12)
                hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert client.http.get("/healthz").status_code == 200
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_probes_are_answered_while_others_wait_for_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who floods pages waits in line; whether the collector is alive is told at once."""
    waiting: list[str] = []

    async def begin(_self: Slices, flow: Flow, _seconds: float) -> None:
        waiting.append(flow.who)
        await asyncio.Event().wait()

    monkeypatch.setattr(Slices, "begin", begin)
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        assert client.http.get("/healthz").status_code == 200
        assert client.send(agent_request(new_id(), ["a"])).status_code == 200
        with pytest.raises(httpx.TimeoutException):
            client.http.get("/api/v1/runs", timeout=0.3)
    assert waiting == ["127.0.0.1 asks"]
