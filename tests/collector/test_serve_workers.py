"""Several workers on one port: every one of them tells how all are, and any may end without harm."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from collector import workers
from collector.access import Gate, new_key
from collector.budget import Budget, Full
from collector.doors import Doors
from collector.errors import Unauthorized
from collector.server import running
from collector.service import share_of
from collector.store import keys, open_store
from collector.telemetry import Figures
from collector.workers import Crew
from tests.support.traces import (
    PROTOBUF,
    Client,
    agent_request,
    eventually,
    free_port,
    metrics_of,
    new_id,
    settings,
)

SECONDS = 120.0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(settings(tmp_path_factory.mktemp("workers"), workers=2)) as address:
        yield address


def visitors(url: str, number: int) -> list[Client]:
    """Clients with a connection each."""
    found = [Client(url) for _ in range(number)]
    for client in found:
        assert client.http.get("/healthz").status_code == 200
    return found


def others(pid: int | None = None) -> list[int]:
    """The processes of the other workers of a collector in the process `pid`."""
    parent = os.getpid() if pid is None else pid
    found = []
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            with contextlib.suppress(OSError):
                if b"collector.beside" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
    return found


def connections(pid: int, port: int) -> int:
    """TCP connections of a process to its own port."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(link))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(
        int(row[1].partition(":")[2], 16) == port and row[3] == "01" and f"socket:[{row[9]}]" in inodes
        for row in rows
    )


@contextlib.contextmanager
def all_closed(clients: list[Client]) -> Iterator[list[Client]]:
    try:
        yield clients
    finally:
        for client in clients:
            client.http.close()


def test_connections_are_shared_evenly_and_counts_are_those_of_all(url: str) -> None:
    (other,) = others()
    with all_closed(visitors(url, 6)) as clients, all_closed([]) as more:

        def shared() -> bool:
            more.extend(visitors(url, 1))
            return connections(other, httpx.URL(url).port or 0) > 1

        eventually(shared, SECONDS)
        runs = [new_id() for _ in range(18)]
        for k, run in enumerate(runs):
            body = agent_request(run, ["a", "b"], announce=k % 2 == 0)
            assert clients[k % 6].send(body).status_code == 200
        for run in runs:
            clients[0].judged(run, seconds=SECONDS)
        expected = {
            "spans_stored_total": 3 * 18,
            "runs_judged_total": 18,
            'project_spans_received_total{project="default"}': 3 * 18,
        }

        def told(client: Client) -> bool:
            counted = metrics_of(client)
            return {name: counted.get(name) for name in expected} == expected

        for client in clients:
            eventually(partial(told, client), SECONDS)
        eventually(lambda: clients[0].http.get("/readyz").status_code == 200, SECONDS)


@pytest.mark.heavy
def test_a_worker_that_is_killed_is_started_again_and_what_it_counted_stays(url: str) -> None:
    (other,) = others()
    with all_closed(visitors(url, 4)) as clients:
        for client in clients:
            assert client.send(agent_request(new_id(), ["a"])).status_code == 200
        eventually(lambda: metrics_of(clients[0])["in_flight_bytes"] == 0, SECONDS)
        before = metrics_of(clients[0])
    time.sleep(2 * workers.TELL_SECONDS)
    os.kill(other, signal.SIGKILL)
    with Client(url) as client:
        told = []

        def ready() -> bool:
            answer = httpx.get(f"{url}/readyz", timeout=30)
            told.append(answer.text)
            counted = metrics_of(client)
            assert counted["spans_stored_total"] >= before["spans_stored_total"]
            return (
                answer.status_code == 200
                and counted["worker_restarts_total"] > before["worker_restarts_total"]
            )

        eventually(ready, SECONDS)
        assert any("worker 1 is not running" in said for said in told)
    assert others() != [other]
    with all_closed(visitors(url, 4)) as clients:
        for client in clients:
            run = new_id()
            assert client.send(agent_request(run, ["a"])).status_code == 200
            client.judged(run, seconds=SECONDS)


@pytest.mark.heavy
def test_a_worker_that_hangs_is_told_and_killed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SILENT_SECONDS", 3.0)
    (other,) = others()
    told: list[str] = []
    with Client(url) as client:
        eventually(lambda: client.http.get("/readyz").status_code == 200, SECONDS)
        before = metrics_of(client)["worker_restarts_total"]
        os.kill(other, signal.SIGSTOP)

        def again() -> bool:
            with contextlib.suppress(httpx.HTTPError):  # the kernel may have given it the connection
                told.append(httpx.get(f"{url}/readyz", timeout=1).text)
            return other not in others() and bool(others())

        eventually(again, SECONDS)
        assert any("worker 1 has given no sign of life" in said for said in told)
        eventually(lambda: metrics_of(client)["worker_restarts_total"] == before + 1, SECONDS)
        eventually(lambda: httpx.get(f"{url}/readyz", timeout=30).status_code == 200, SECONDS)


def test_a_key_that_is_revoked_in_one_worker_ends_in_all(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    first = Crew.of(2)
    second = Crew.joined(1, [os.dup(one) for one in first.descriptors])
    gates = [
        Gate(store, changed=crew.change_keys, elsewhere=lambda crew=crew: crew.key_changes)  # type: ignore[misc]
        for crew in (first, second)
    ]
    token = new_key(store, project="default", name="k", scopes=["ingest"])
    for gate in gates:
        assert gate.grant(token, "ingest").actor
    keys.revoke_key(store, 1, token.split("_")[1], now=1.0)
    gates[1].forget()
    assert not gates[0].remembers(token)
    with pytest.raises(Unauthorized):
        gates[0].grant(token, "ingest")
    for crew in (first, second):
        crew.close()
    store.close()


def test_limits_are_divided() -> None:
    assert [share_of(64, size) for size in (1, 2, 3, 8)] == [64, 32, 32, 32]
    assert share_of(400, 4) == 100
    told: list[int] = []
    doors = Doors(3, told=told.append)
    visitor = Visitor()
    doors.enter(visitor, "10.0.0.1")
    doors.gone(visitor)
    assert told == [1, 0]


class Visitor:
    def leave(self) -> None: ...


def test_one_body_alone_may_be_bigger_than_the_share_of_its_sender() -> None:
    """A part of the budget is small where there are several workers, and the biggest body has to fit."""
    budget = Budget(100)
    with budget.open("key") as big:
        big.resize(90)
        with budget.open("key") as other, pytest.raises(Full):
            other.resize(5)
    with budget.open("key") as one, budget.open("key") as other:
        one.resize(30)
        with pytest.raises(Full):
            other.resize(25)


def test_whoever_has_the_fewest_connections_takes_the_next() -> None:
    first = Crew.of(3)
    crews = [first, *(Crew.joined(number, [os.dup(one) for one in first.descriptors]) for number in (1, 2))]
    for crew, number in zip(crews, (2, 1, 1), strict=True):
        crew.count(number)
        crew.pages[crew.number].write(Figures())
    assert [crew.has_fewest for crew in crews] == [False, True, True]
    first.lose(1)
    crews[2].count(2)
    assert [crew.has_fewest for crew in crews] == [True, False, True]
    crews[2].count(1)
    assert not first.has_fewest
    crews[2].pages[2].write(Figures(), lives=False)  # it hangs: nobody waits for it
    assert first.has_fewest
    for crew in crews:
        crew.close()


def test_what_a_worker_counted_outlives_it_and_what_it_held_does_not() -> None:
    crew = Crew.of(2)
    assert [age for _, age, _ in crew.others] == [math.inf]
    told = Figures(problems=("hm",))
    told.sums.update({"spans_stored_total": 5, "connections": 3})
    told.telemetry.answered("/x", "GET", 200, 0.1)
    crew.pages[1].write(told)
    ((number, age, seen),) = crew.others
    assert (number, age < 60, seen.sums["connections"]) == (1, True, 3)
    assert crew.problems == ["hm"]
    lasting = crew.lose(1)
    ((_, age, seen),) = crew.others
    assert (age, seen.sums["spans_stored_total"], seen.sums["connections"]) == (math.inf, 5, 0)
    assert crew.problems == ["worker 1 is not running; it is being started"]
    both = Figures()
    both.add(lasting)
    both.add(told)
    assert (both.sums["spans_stored_total"], both.telemetry.answers["/x", "GET", 200]) == (10, 2)
    assert 'le="0.1"} 2' in "\n".join(both.telemetry.requests["/x", "GET"].samples("s", {}))
    crew.close()


def test_a_page_that_is_being_written_is_not_believed() -> None:
    crew = Crew.of(1)
    whole = Figures()
    whole.sums["spans_stored_total"] = 7
    page = crew.pages[0]
    page.write(whole)
    assert page.read()[1].sums["spans_stored_total"] == 7
    page._page[20:24] = b"????"
    assert page.read()[1].sums["spans_stored_total"] == 7
    whole.telemetry.spans["p" * workers.PAGE_BYTES] = 1
    whole.sums["spans_stored_total"] = 8
    page.write(whole)
    assert (page.read()[1].sums["spans_stored_total"], page.read()[1].telemetry.spans.total()) == (8, 0)
    crew.close()


class Served:
    """`pdoctor serve --workers 2` in a process of its own."""

    def __init__(self, store: Path, *options: str) -> None:
        words = ["--http-port", "0", "--grpc-port", "off", "--store", f"sqlite:///{store}", "--workers", "2"]
        run = "from collector.cli.serve import command; command.main(prog_name='pdoctor serve')"
        command = [sys.executable, "-c", run, *words, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    made: list[Served] = []

    def serve(*options: str) -> Served:
        made.append(Served(tmp_path / "store.db", *options))
        return made[-1]

    yield serve
    for one in made:
        one.end()


@pytest.mark.heavy
def test_a_stop_in_the_middle_loses_nothing_that_was_acknowledged(
    served: Callable[..., Served], tmp_path: Path
) -> None:
    one = served()
    children = others(one.process.pid)
    assert len(children) == 1
    acknowledged: list[str] = []
    stop = threading.Event()

    def send() -> None:
        with Client(one.url) as client, contextlib.suppress(httpx.HTTPError):
            while not stop.is_set():
                run = new_id()
                if client.send(agent_request(run, ["a", "b"])).status_code == 200:
                    acknowledged.append(run)

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(acknowledged) > 60, SECONDS)
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(SECONDS) == 0
    stop.set()
    for thread in threads:
        thread.join()
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    again = served()
    with Client(again.url) as client:
        for run in acknowledged:
            client.judged(run, seconds=SECONDS)
        assert client.get("/stats")["spans"] >= 3 * len(acknowledged)


@pytest.mark.heavy
def test_workers_end_with_the_first_one(served: Callable[..., Served]) -> None:
    one = served()
    (child,) = others(one.process.pid)
    one.process.kill()
    one.process.wait(SECONDS)
    eventually(lambda: not Path(f"/proc/{child}/exe").exists(), SECONDS)
    eventually(lambda: is_free(httpx.URL(one.url).port or 0), SECONDS)


def is_free(port: int) -> bool:
    with socket.socket() as taken, contextlib.suppress(OSError):
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        return True
    return False


@pytest.mark.heavy
@pytest.mark.both_engines
def test_each_run_is_judged_once_by_whatever_worker_it_came(store_url: str, tmp_path: Path) -> None:
    port = free_port()
    with running(settings(tmp_path, store_url=store_url, workers=2, grpc_port=port)) as url:
        with Client(url) as client:
            warm = new_id()
            client.send(agent_request(warm, ["a", "b"]))
            client.judged(warm, seconds=SECONDS)
            before = metrics_of(client)["runs_judged_total"]
        with all_closed(visitors(url, 4)) as clients:
            runs = [new_id() for _ in range(80)]
            threads = [
                threading.Thread(
                    target=lambda k=k: [  # type: ignore[misc]
                        clients[k].send(agent_request(run, ["a", "b"], announce=False), PROTOBUF)
                        for run in runs[k::4]
                    ]
                )
                for k in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            found = [clients[0].judged(run, seconds=SECONDS) for run in runs]
            assert {one["complete"] for one in found} == {True}
            assert metrics_of(clients[0])["runs_judged_total"] - before == 80
            stored = metrics_of(clients[0])["spans_stored_total"]
            for _ in range(8):  # over gRPC, each on a connection of its own
                provider = TracerProvider()
                exporter = OTLPSpanExporter(f"http://127.0.0.1:{port}", insecure=True)
                provider.add_span_processor(SimpleSpanProcessor(exporter))
                with provider.get_tracer("t").start_as_current_span("s"):
                    pass
                provider.shutdown()
            eventually(lambda: metrics_of(clients[0])["spans_stored_total"] == stored + 8, SECONDS)
