"""Connections over gRPC are bounded, those of one address and all."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from collector import grpc_doors
from collector.grpc_doors import GrpcDoors
from collector.server import running
from tests.support.drills import quiet_port
from tests.support.traces import Client, agent_spans, eventually, new_id, request, settings

HOME, CROWD, FRONT = "127.0.0.1", "127.0.0.66", "127.0.0.99"


class Port:
    """A port whose connections are taken, as the library takes all of them."""

    def __init__(self, opened: ExitStack) -> None:
        self.listening = opened.enter_context(socket.create_server((HOME, 0), backlog=200))
        self.number = int(self.listening.getsockname()[1])
        self._opened = opened
        self.taken: list[tuple[str, socket.socket]] = []

    def connect(self, address: str, times: int) -> None:
        for _ in range(times):
            there = socket.create_connection((HOME, self.number), timeout=30, source_address=(address, 0))
            self._opened.enter_context(there)
            self.taken.append((address, self._opened.enter_context(self.listening.accept()[0])))

    def left(self, address: str) -> int:
        """Connections of an address that were not shut down; those that were are closed."""
        for one in [(of, here) for of, here in self.taken if not is_open(here)]:
            self.taken.remove(one)
            one[1].close()
        return sum(of == address for of, _ in self.taken)


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True


@pytest.fixture
def port() -> Iterator[Port]:
    with ExitStack() as opened:
        yield Port(opened)


def doors(port: Port, most: int, most_of_one: int) -> GrpcDoors:
    return GrpcDoors(port.number, most, most_of_one, 100, lambda address: address == FRONT)


def test_an_address_keeps_its_share(port: Port) -> None:
    port.connect(CROWD, 9)
    port.connect(HOME, 3)
    assert doors(port, 100, 5).look() == 4
    assert (port.left(CROWD), port.left(HOME)) == (5, 3)
    assert doors(port, 100, 5).look() == 0


def test_of_all_those_go_whose_address_has_the_most_and_fronts_last(port: Port) -> None:
    for address, times in ((CROWD, 6), (HOME, 4), (FRONT, 9)):
        port.connect(address, times)
    assert doors(port, 13, 0).look() == 6
    assert (port.left(CROWD), port.left(HOME), port.left(FRONT)) == (2, 2, 9)


def test_a_front_may_have_more_than_one_address(port: Port) -> None:
    port.connect(FRONT, 9)
    assert doors(port, 100, 5).look() == 0


def test_other_ports_and_files_are_left_alone(port: Port, tmp_path: Path) -> None:
    with ExitStack() as opened:
        other = Port(opened)
        other.connect(CROWD, 9)
        port.connect(CROWD, 1)
        files = [opened.enter_context((tmp_path / str(number)).open("w")) for number in range(9)]
        assert doors(port, 2, 2).look() == 0
        assert other.left(CROWD) == 9
        assert [file.write("x") for file in files] == [1] * 9


def test_they_are_found_where_no_file_is_left_to_look_with(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(_: object) -> list[str]:
        raise OSError(24, "Too many open files")

    port.connect(CROWD, 9)
    monkeypatch.setattr(grpc_doors.os, "listdir", none_left)
    assert doors(port, 100, 5).look() == 4


def test_a_file_that_has_become_another_ones_is_left_alone(port: Port) -> None:
    port.connect(HOME, 1)
    assert not doors(port, 2, 2)._shut(port.taken[0][1].fileno(), CROWD)
    assert port.left(HOME) == 1


def test_few_files_leave_room_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_doors, "most_files", lambda: 1024)
    assert GrpcDoors(1, 1000, 0, 624, lambda _: False).most == grpc_doors.LEAST
    assert GrpcDoors(1, 1000, 0, 300, lambda _: False).most == 1024 - 400 - 300
    assert GrpcDoors(1, 50, 80, 300, lambda _: False).most_of_one == 50


def test_a_crowd_over_grpc_leaves_room_for_others(tmp_path: Path) -> None:
    number = quiet_port()
    bounded = settings(tmp_path, grpc_port=number, max_connections=40, max_connections_per_address=20)
    with ExitStack() as opened, running(bounded) as url, Client(url) as client:
        crowd = []
        for _ in range(60):
            there = socket.create_connection((HOME, number), timeout=30, source_address=(CROWD, 0))
            crowd.append(opened.enter_context(there))
            there.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        eventually(lambda: sum(map(stays, crowd)) == 20)
        run = new_id()
        with grpc.insecure_channel(f"{HOME}:{number}") as channel:
            TraceServiceStub(channel).Export(request(*agent_spans(run, ["a"])), timeout=60)
        assert len(client.get(f"/runs/{run}/spans")["items"]) == 2


def stays(connection: socket.socket) -> bool:
    """Whether the other side has not closed it, whatever it said."""
    connection.setblocking(False)
    try:
        while connection.recv(4096):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
