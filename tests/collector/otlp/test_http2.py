"""Calls over HTTP/2, frame by frame: what clients may do is taken, what none does is bounded."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from collector.doors import Doors
from collector.fair import Slices
from collector.otlp import http2
from collector.otlp.http2 import STRIKES, Connection, Stream
from collector.server import running
from tests.support.drills import quiet_port
from tests.support.http2 import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    LAST,
    PADDED,
    PATH,
    PING,
    PREFACE,
    PRIORITY,
    PUSH,
    RESET,
    SETTINGS,
    WITH_PRIORITY,
    Peer,
    frame,
    head,
    literal,
    message,
    window,
)
from tests.support.traces import Client, agent_request, eventually, metrics_of, new_id, settings

PROTOCOL, FLOW, SIZE, REFUSED, COMPRESSION, CALM = 1, 3, 6, 7, 9, 11
ENDED = END_HEADERS | LAST
OK = literal(b"grpc-status", b"0")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, int]]:
    """(HTTP client, gRPC port)."""
    port = quiet_port()
    given = settings(tmp_path_factory.mktemp("http2"), grpc_port=port, checkers=0)
    with running(given) as url, Client(url) as client:
        yield client, port


@pytest.fixture
def port(both: tuple[Client, int]) -> Iterator[int]:
    """It serves others as before, whatever became of a peer."""
    yield both[1]
    assert call(both[1]) == OK


def call(port: int) -> bytes:
    with Peer(port) as peer:
        peer.say(frame(HEADERS, END_HEADERS, 1, head()) + frame(DATA, LAST, 1, message(b"")))
        return peer.answer(1)


def test_a_call_may_come_in_all_the_ways_that_the_standard_allows(both: tuple[Client, int]) -> None:
    client, port = both
    runs = [new_id(), new_id()]
    bodies = [message(agent_request(run, ["a"] * 40)) for run in runs]
    said, body = head(), bodies[0]
    with Peer(port) as peer:
        peer.say(
            frame(PRIORITY, 0, 7, bytes(5))
            + frame(HEADERS, PADDED | WITH_PRIORITY, 1, b"\3" + bytes(5) + said[:50] + bytes(3))
            + frame(CONTINUATION, 0, 1, said[50:90])
            + frame(CONTINUATION, END_HEADERS, 1, said[90:])
            + frame(99, 3, 0, b"of a later standard")
            + frame(HEADERS, END_HEADERS, 3, head())
            + frame(DATA, PADDED, 1, b"\2" + body[:3] + bytes(2))
            + frame(DATA, LAST, 3, bodies[1])
            + frame(DATA, 0, 1, body[3:900])
            + frame(DATA, 0, 1, body[900:])
            + frame(HEADERS, ENDED, 1, literal(b"x-trailer", b"1"))
        )
        assert peer.answers(1, 3) == [OK, OK]
    assert [len(client.get(f"/runs/{run}/spans")["items"]) for run in runs] == [41, 41]


def test_frames_may_be_cut_anywhere(port: int) -> None:
    whole = frame(HEADERS, END_HEADERS, 1, head()) + frame(DATA, LAST, 1, message(b""))
    with Peer(port) as peer:
        for byte in whole:
            peer.say(bytes([byte]))
        assert peer.answer(1) == OK


def goes_on(number: int = 50, size: int = 16_000) -> bytes:
    return frame(CONTINUATION, 0, 1, literal(b"x", b"y" * 100) * (size // 105)) * number


BOMB = b"\x40\x01a\x7f\xd1\x1e" + b"x" * 4048 + b"\xbe" * 100
BRIEF = b"\x83"
"""Headers that say POST."""
AGAIN = bytes(range(0xC3, 0xBD, -1))
"""Those of the call before, which were kept."""
FLOODS: dict[str, tuple[bytes, int]] = {
    "heads without end": (frame(HEADERS, 0, 1, head()) + goes_on(), CALM),
    "heads of many small pieces": (frame(HEADERS, 0, 1, head()) + goes_on(50, 110), CALM),
    "empty pieces": (frame(HEADERS, 0, 1) + frame(CONTINUATION, 0, 1) * 50, CALM),
    "heads between which others come": (frame(HEADERS, 0, 1) + frame(PING, 0, 0, bytes(8)), PROTOCOL),
    "pieces of another head": (frame(HEADERS, 0, 1) + frame(CONTINUATION, 4, 3), PROTOCOL),
    "a piece of no head": (frame(CONTINUATION, 0, 1), PROTOCOL),
    "a table that is referred to": (frame(HEADERS, ENDED, 1, BOMB), COMPRESSION),
    "calls taken back": (
        b"".join(frame(HEADERS, 4, at, BRIEF) + frame(RESET, 0, at, bytes(4)) for at in range(1, 1_300, 2)),
        CALM,
    ),
    "more calls than may be": (
        frame(HEADERS, 4, 1, head(kept=True))
        + b"".join(frame(HEADERS, 4, at, AGAIN) for at in range(3, 1_300, 2)),
        CALM,
    ),
    "pings": (frame(PING, 0, 0, bytes(8)) * 600, CALM),
    "settings": (frame(SETTINGS, 0, 0) * 600, CALM),
    "priorities": (frame(PRIORITY, 0, 1, bytes(5)) * 600, CALM),
    "windows": (window(0, 1) * 600, CALM),
    "frames of no kind": (frame(77, 0, 0) * 600, CALM),
    "empty data": (frame(HEADERS, 4, 1, head()) + frame(DATA, 0, 1) * 600, CALM),
    "data byte by byte": (frame(HEADERS, 4, 1, head()) + frame(DATA, 0, 1, b"\0") * 600, CALM),
    "a frame that is too long": ((2**24 - 1).to_bytes(3, "big") + b"\0\0\0\0\0\1", SIZE),
    "data of no call": (frame(DATA, 0, 1, b"x"), PROTOCOL),
    "a call of the server's": (frame(HEADERS, ENDED, 2, head()), PROTOCOL),
    "a push": (frame(PUSH, 4, 1, bytes(4)), PROTOCOL),
    "no window": (window(0, 0), PROTOCOL),
    "a window too big": (window(0, 2**31 - 1), FLOW),
    "settings of a window too big": (frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 2**31)), FLOW),
    "settings cut short": (frame(SETTINGS, 0, 0, b"abc"), SIZE),
    "padding without end": (frame(HEADERS, 4 | PADDED, 1, b"\xff" + head()), PROTOCOL),
    "a reset of nothing": (frame(RESET, 0, 1, bytes(4)), PROTOCOL),
    "a second head": (frame(HEADERS, 4, 1, head()) + frame(HEADERS, 4, 1, head()), PROTOCOL),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOODS)
def test_who_floods_loses_the_connection_and_is_told_why(name: str, port: int) -> None:
    frames, code = FLOODS[name]
    with Peer(port) as peer:
        threading.Thread(target=say, args=(peer, frames), daemon=True).start()
        assert peer.told_to_leave() in (code, -1)  # closed with bytes unread, TCP may drop what was said
        if len(frames) < 20_000:
            return
    with Peer(port) as peer:  # what is read in one go is answered
        peer.say(frames[:60_000])
        assert peer.told_to_leave() == code


def say(peer: Peer, frames: bytes) -> None:
    with suppress(OSError):
        peer.say(frames)


def test_calls_beyond_those_at_once_are_refused_and_may_be_sent_again(port: int) -> None:
    with Peer(port) as peer:
        peer.say(b"".join(frame(HEADERS, 4, at, head()) for at in range(1, 203, 2)))
        refused = peer.until(RESET)
        assert (refused.stream, refused.code) == (201, REFUSED)
        peer.say(b"".join(frame(DATA, LAST, at, message(b"")) for at in range(1, 201, 2)))
        assert peer.answer(199) == OK
        peer.say(frame(HEADERS, 4, 203, head()) + frame(DATA, LAST, 203, message(b"")))
        assert peer.answer(203) == OK


def test_a_connection_that_is_used_well_never_has_too_many_small_frames(port: int) -> None:
    """Clients measure the way with pings, and open windows, about once a call."""
    with Peer(port) as peer:
        for at in range(1, 4 * STRIKES, 2):
            peer.say(frame(HEADERS, 4, at, head()) + frame(DATA, LAST, at, message(b"")))
            assert peer.answer(at) == OK
            peer.say(frame(PING, 0, 0, bytes(8)) + window(0, 7) + window(at, 7))


def test_a_ping_is_answered(port: int) -> None:
    with Peer(port) as peer:
        peer.say(frame(PING, 0, 0, b"12345678"))
        assert peer.until(PING)[1:] == (ACK, 0, b"12345678")


def test_an_answer_waits_for_the_window_of_its_reader(port: int) -> None:
    with Peer(port, settings=struct.pack(">HI", 4, 0)) as peer:
        peer.say(frame(HEADERS, 4, 1, head()) + frame(DATA, LAST, 1, message(b"")))
        peer.say(frame(PING, 0, 0, bytes(8)))
        peer.until(PING)
        peer.say(window(1, 5))
        assert peer.answer(1) == OK
        peer.say(frame(HEADERS, 4, 3, head()) + frame(DATA, LAST, 3, message(b"")))
        peer.say(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 100)))
        assert peer.answer(3) == OK


def test_an_answer_that_nobody_takes_is_given_up(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(http2, "STUCK_SECONDS", 0.3)
    with Peer(port, settings=struct.pack(">HI", 4, 0)) as peer:
        peer.say(frame(HEADERS, 4, 1, head()) + frame(DATA, LAST, 1, message(b"")))
        assert peer.until(RESET).stream == 1


@pytest.mark.parametrize("said", [b"", frame(HEADERS, 0, 1, head())], ids=["no call", "half a head"])
def test_who_says_nothing_is_not_waited_for(said: bytes, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(http2, "SILENT_SECONDS" if said else "IDLE_SECONDS", 0.3)
    with Peer(port) as peer:
        peer.say(said)
        assert peer.told_to_leave() == 0


def test_a_connection_that_begins_with_nothing_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(http2, "SILENT_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", port), 30) as silent:
        assert silent.recv(100)[3] == GOAWAY


class Line(asyncio.Transport):
    """The border of the process: what is asked of a connection."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.asked: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.asked.append("write")

    def pause_reading(self) -> None:
        self.asked.append("pause")

    def resume_reading(self) -> None:
        self.asked.append("resume")

    def abort(self) -> None:
        self.asked.append("abort")

    def close(self) -> None:
        self.asked.append("close")


async def nothing(_call: Stream) -> None:
    await asyncio.sleep(60)


def test_who_does_not_read_is_not_read_from_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(http2, "STUCK_SECONDS", 0.1)

    async def scene() -> list[str]:
        line, one = Line(), Connection(nothing, 100, Doors(10), Slices(), set())
        one.connection_made(line)
        one.pause_writing()
        one.resume_writing()
        one.pause_writing()
        await asyncio.sleep(0.3)
        one.connection_lost(None)
        return line.asked

    assert asyncio.run(scene())[:4] == ["pause", "resume", "pause", "abort"]


def test_a_flood_of_heads_is_read_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long for one connection does not hold up what else there is to do."""

    async def scene() -> int:
        one, beside = Connection(nothing, 100, Doors(10), Slices(), set()), 0
        one.connection_made(Line())
        calls = (frame(HEADERS, ENDED, at, head()) for at in range(1, 190, 2))
        one.data_received(PREFACE + b"".join(calls))
        while one._in_turn:
            beside += 1
            await asyncio.sleep(0)
        one.connection_lost(None)
        return beside

    monkeypatch.setattr(http2, "PART_SECONDS", 0.0)
    assert asyncio.run(scene()) > 50


def test_calls_of_who_has_left_end_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> list[int]:
        one, left = Connection(nothing, 100, Doors(10), Slices(), set()), []
        one.connection_made(Line())
        calls = (frame(HEADERS, 4, at, head()) for at in range(1, 190, 2))
        one.data_received(PREFACE + b"".join(calls))
        while one._in_turn:
            await asyncio.sleep(0)
        tasks = [stream.task for stream in one.streams.values()]
        one.connection_lost(None)
        while one.streams:
            left.append(len(one.streams))
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(tasks) == 95
        assert all(task is not None and task.cancelled() for task in tasks)
        return left

    monkeypatch.setattr(http2, "CALL_SECONDS", http2.PART_SECONDS / 10)
    left = asyncio.run(scene())
    assert left[0] == 85
    assert sorted(set(left), reverse=True) == [85, 75, 65, 55, 45, 35, 25, 15, 5]


def test_calls_that_are_taken_back_at_once_leave_nothing_to_search_for() -> None:
    """Each was a circle of three; to find thousands held up the event loop for 160 ms."""

    async def scene() -> None:
        one = Connection(nothing, 100, Doors(10), Slices(), set())
        one.connection_made(Line())
        one.data_received(PREFACE + frame(HEADERS, 4, 1, head()) + frame(RESET, 0, 1, bytes(4)))
        await asyncio.sleep(0.05)
        assert streams() == before
        one.connection_lost(None)

    def streams() -> set[int]:
        return {id(held) for held in gc.get_objects() if isinstance(held, Stream)}

    before = streams()
    gc.disable()
    try:
        asyncio.run(scene())
    finally:
        gc.enable()


def test_a_message_whose_length_is_too_big_is_refused_before_it_comes(port: int) -> None:
    with Peer(port) as peer:
        peer.say(
            frame(HEADERS, 4, 1, head()) + frame(DATA, 0, 1, b"\0" + struct.pack(">I", 5 * 2**20) + b"x")
        )
        assert b"grpc-status\x018" in peer.answer(1)
        assert peer.until(RESET)[2:] == (1, bytes(4))


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (frame(HEADERS, ENDED, 1, head()), b"3"),
        (frame(HEADERS, 4, 1, head()) + frame(DATA, LAST, 1, message(b"")[:4]), b"3"),
        (frame(HEADERS, 4, 1, head()) + frame(DATA, LAST, 1, message(b"") * 2), b"3"),
        (frame(HEADERS, ENDED, 1, head(b"/grpc.health.v1.Health/Check")), b"12"),
        (
            frame(HEADERS, 4, 1, head(PATH, (b"grpc-encoding", b"snappy")))
            + frame(DATA, LAST, 1, b"\1" + message(b"x")[1:]),
            b"12",
        ),
        (frame(HEADERS, 4, 1, head()) + frame(DATA, LAST, 1, b"\1" + message(b"x")[1:]), b"13"),
    ],
    ids=["no message", "half a prefix", "two messages", "another method", "another coding", "no coding"],
)  # fmt: skip
def test_what_is_no_call_of_ours_is_answered(said: bytes, status: bytes, port: int) -> None:
    with Peer(port) as peer:
        peer.say(said)
        assert literal(b"grpc-status", status) in peer.answer(1)


def test_what_is_no_grpc_is_told_so(port: int) -> None:
    with Peer(port) as peer:
        other = b"".join(literal(*one) for one in ((b":method", b"GET"), (b":path", b"/")))
        peer.say(frame(HEADERS, ENDED, 1, other))
        assert peer.answer(1).endswith(b"\x03415")
    with socket.create_connection(("127.0.0.1", port), 30) as plain:
        plain.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = b"".join(iter(lambda: plain.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"--http-port" in answer


@pytest.mark.parametrize(
    ("named", "is_ours"),
    [
        (b"application/grpc+proto", True),
        (b"Application/gRPC; charset=utf-8", True),
        (b"application/grpc-web+proto", False),
        (b"application/grpc+json", False),
    ],
)
def test_other_protocols_with_names_like_grpc_are_told_apart(named: bytes, is_ours: bool, port: int) -> None:
    with Peer(port) as peer:
        said = ((b":method", b"POST"), (b":path", PATH), (b"content-type", named))
        heads = b"".join(literal(*one) for one in said)
        peer.say(frame(HEADERS, END_HEADERS, 1, heads) + frame(DATA, LAST, 1, message(b"")))
        answer = peer.answer(1)
    assert answer == OK if is_ours else answer.endswith(b"\x03415")


def test_frames_at_random_change_nothing_for_others(port: int, caplog: pytest.LogCaptureFixture) -> None:
    for seed in range(150):
        dice = random.Random(seed)
        frames = b"".join(
            frame(
                dice.randint(0, 10),
                dice.choice((0, 1, 4, 5, 8, 12, 32, 255)),
                dice.choice((0, 1, 1, 3, 2)),
                dice.choice((head(), message(b""), dice.randbytes(dice.randint(0, 40)))),
            )
            for _ in range(dice.randint(1, 12))
        )  # fmt: skip
        with Peer(port) as peer:
            say(peer, frames + dice.randbytes(dice.randint(0, 8)))
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_a_call_that_is_under_way_is_answered_when_the_collector_ends(tmp_path: Path) -> None:
    number = quiet_port()
    with ExitStack() as opened:
        with running(settings(tmp_path, grpc_port=number, checkers=0)):
            peer = opened.enter_context(Peer(number))
            peer.say(frame(HEADERS, 4, 1, head()) + frame(PING, 0, 0, bytes(8)))
            peer.until(PING)
            late = threading.Timer(0.2, peer.say, (frame(DATA, LAST, 1, message(b"")),))
            late.start()
        late.join()
        assert peer.answer(1) == OK


def test_a_crowd_over_grpc_leaves_room_for_others(tmp_path: Path) -> None:
    number, crowd_of = quiet_port(), "127.0.0.66"
    bounded = settings(
        tmp_path, grpc_port=number, checkers=0, max_connections=40, max_connections_per_address=20
    )
    with ExitStack() as opened, running(bounded) as url, Client(url) as client:
        crowd = [opened.enter_context(Peer(number, address=crowd_of)) for _ in range(60)]
        ended = [peer for peer in crowd[:40] if peer.told_to_leave() == 0]
        assert len(ended) == 40
        assert metrics_of(client)["connections"] <= 22
        assert call(number) == OK


def test_who_takes_a_call_back_is_not_worked_for(both: tuple[Client, int]) -> None:
    client, port = both
    counted = 'grpc_calls_total{service="Trace",code="CANCELLED"}'
    before = metrics_of(client).get(counted, 0)
    with Peer(port) as peer:
        peer.say(frame(HEADERS, 4, 1, head()) + frame(PING, 0, 0, bytes(8)))
        peer.until(PING)
        peer.say(frame(RESET, 0, 1, bytes(4)))
        eventually(lambda: metrics_of(client)[counted] == before + 1)
    eventually(lambda: metrics_of(client)["in_flight_bytes"] == 0)
