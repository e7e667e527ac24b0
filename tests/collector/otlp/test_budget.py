"""Bodies in flight have one budget of bytes: attackers' unfinished ones give way, senders go on."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from collector import budget as budget_
from collector.budget import Budget, Full
from collector.model import Batch
from collector.otlp import intake
from collector.server import running
from collector.settings import Limits
from tests.support.traces import (
    Client,
    agent_request,
    eventually,
    free_port,
    metrics_of,
    new_id,
    settings,
)

MIB = 1024 * 1024
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def test_what_is_held_is_given_back() -> None:
    budget = Budget(100)
    with budget.open("a") as one, budget.open("b") as other:
        one.resize(40)
        other.resize(50)
        one.resize(10)
        assert budget.used == 60
    assert (budget.used, budget.refused, budget._by) == (0, 0, {})


def test_one_sender_has_a_share_and_all_have_the_budget() -> None:
    budget = Budget(100)
    with budget.open("a") as mine, budget.open("a") as more, budget.open("b") as theirs:
        mine.resize(40)
        with pytest.raises(Full):
            more.resize(11)
        more.resize(10)
        theirs.resize(50)
        with budget.open("c") as late, pytest.raises(Full):
            late.resize(1)
    assert budget.refused == 2


def reading(budget: Budget, who: str, size: int, gone: list[str], name: str) -> Any:
    held = budget.open(who)
    held.resize(size)
    held.evict = lambda: gone.append(name)
    return held


def test_a_small_body_is_taken_for_the_biggest_that_is_not_complete() -> None:
    budget, gone = Budget(100), []
    big, bigger = reading(budget, "a", 20, gone, "big"), reading(budget, "a", 25, gone, "bigger")
    with budget.open("a") as small:
        small.resize(10)
        assert (gone, bigger.gave_way, big.gave_way, budget.used) == (["bigger"], True, False, 30)
        bigger.resize(0)
        with pytest.raises(Full):
            bigger.resize(30)
        assert budget.used == 30
    complete = budget.open("b")
    complete.resize(50)
    with budget.open("b") as late, pytest.raises(Full):
        late.resize(1)
    assert gone == ["bigger"]


def test_the_share_of_one_makes_no_room_for_itself_from_others() -> None:
    budget, gone = Budget(100), []
    reading(budget, "b", 45, gone, "b")
    with budget.open("a") as mine, budget.open("a") as more:
        mine.resize(45)
        with pytest.raises(Full):
            more.resize(6)
    assert gone == []


def test_over_its_own_share_one_takes_from_itself_only() -> None:
    budget, gone = Budget(100), []
    reading(budget, "b", 45, gone, "theirs")
    reading(budget, "a", 30, gone, "mine")
    with budget.open("a") as more:
        more.resize(25)
    assert gone == ["mine"]


def test_what_others_give_up_does_not_count_for_ones_own_share() -> None:
    budget, gone = Budget(100), []
    reading(budget, "b", 48, gone, "theirs")
    reading(budget, "a", 30, gone, "mine")
    with budget.open("a") as more:
        more.resize(25)
        assert (sorted(gone), budget.used) == (["mine", "theirs"], 25)


def test_a_request_holds_what_its_spans_take_until_they_are_stored() -> None:
    seen: list[tuple[int, int]] = []

    async def store(_project: str, batch: Batch, _who: str) -> None:
        seen.append((budget.used, batch.size))

    async def nobody(_headers: object) -> str:
        return "default"

    async def send() -> None:
        with budget.open("a") as held:
            body = agent_request(new_id(), ["a"])
            held.resize(len(body))
            await intake.Intake(store, nobody, Limits(), budget).take("default", held, body, "", "protobuf")

    budget = Budget(MIB)
    asyncio.run(send())
    ((used, size),) = seen
    assert used == size
    assert budget.used == 0


def test_of_equal_bodies_one_that_took_long_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    budget, gone = Budget(100), []
    first, second = (reading(budget, "a", 25, gone, name) for name in ("first", "second"))
    with budget.open("a") as new:
        with pytest.raises(Full):
            new.resize(25)
        first.since -= 2
        second.since -= 3
        new.resize(25)
    assert gone == ["second"]


# ---------------------------------------------------------------- over the wire


@contextmanager
def unfinished(url: str, size: int) -> Iterator[socket.socket]:
    """A connection with a body of so many bytes, the last of which does not come."""
    with socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=60) as connection:
        head = f"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size + 1}\r\n"
        connection.sendall(head.encode() + b"content-type: application/x-protobuf\r\n\r\n")
        threading.Thread(target=send_all, args=(connection, bytes(size)), daemon=True).start()
        yield connection


def send_all(connection: socket.socket, body: bytes) -> None:
    try:
        connection.sendall(body)
    except OSError:
        return


def test_unfinished_bodies_are_bounded_and_a_sender_goes_on(tmp_path: Path) -> None:
    with running(settings(tmp_path, checkers=0, in_flight_mib=8)) as url, Client(url) as client:
        with ExitStack() as attack:
            for _ in range(6):
                attack.enter_context(unfinished(url, 3 * MIB))
            eventually(lambda: metrics_of(client)["bodies_refused_total"] >= 5)
            for _ in range(5):
                assert client.send(agent_request(new_id(), ["a"] * 20)).status_code == 200
            assert metrics_of(client)["in_flight_bytes"] <= 4 * MIB
        eventually(lambda: metrics_of(client)["in_flight_bytes"] == 0)


def test_who_gives_way_is_told_so(tmp_path: Path) -> None:
    collector = running(settings(tmp_path, checkers=0, in_flight_mib=8))
    with collector as url, Client(url) as client, unfinished(url, 3 * MIB) as big:
        eventually(lambda: metrics_of(client)["in_flight_bytes"] > 2.9 * MIB)
        answer = client.send(bytes(2 * MIB))
        assert answer.status_code == 413  # it was read, and is no request
        said = big.recv(1000).lower()
    assert said.startswith(b"http/1.1 503")
    assert b"retry-after: 1" in said
    assert b"connection: close" in said


def test_a_body_of_the_api_counts_too(tmp_path: Path) -> None:
    with running(settings(tmp_path, checkers=0, in_flight_mib=8)) as url, Client(url) as client:
        answer = client.http.put("/api/v1/policies/x", content=bytes(9 * MIB))
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


# ---------------------------------------------------------------- over gRPC


def test_over_grpc_calls_without_the_end_of_their_message_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, port = threading.Event(), free_port()

    def some() -> Iterator[bytes]:
        yield bytes(MIB - 5)
        end.wait(20)

    with (
        running(settings(tmp_path, checkers=0, in_flight_mib=8, grpc_port=port)) as url,
        Client(url) as client,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        calls = [channel.stream_unary(EXPORT).future(some(), timeout=20) for _ in range(4)]
        eventually(lambda: metrics_of(client)["in_flight_bytes"] == 4 * MIB)
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(EXPORT)(bytes(2 * MIB), timeout=60)
        monkeypatch.setattr(budget_, "YOUNG_SECONDS", 0.0)
        body = agent_request(new_id(), ["a"])
        assert channel.unary_unary(EXPORT)(body, timeout=60) == b""
        eventually(lambda: any(call.done() for call in calls))
        gone = [call for call in calls if call.done()]
        assert [call.code() for call in gone] == [grpc.StatusCode.RESOURCE_EXHAUSTED]
        end.set()
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    (said,) = [v for k, v in refused.value.trailing_metadata() if k == "grpc-status-details-bin"]
    retry = RetryInfo()
    assert Status.FromString(said).details[0].Unpack(retry)
    assert retry.retry_delay.seconds == 1


def test_who_gave_way_gets_nothing_back() -> None:
    budget = Budget(10)
    big, small, new = (budget.open(who) for who in "abc")
    for one, size in ((big, 5), (small, 3)):
        one.evict = lambda: None
        one.resize(size)
    new.resize(4)
    assert (big.gave_way, budget.used) == (True, 7)
    with pytest.raises(Full):
        big.resize(1)
    assert budget.used == 7
