"""The client of the collector's API, at a real collector and at servers that are none."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector.server import running
from synth.cases.generate import generate
from synth.client import Collector
from synth.errors import BadInput
from tests.support.traces import Client, agent_request, new_id, settings


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(settings(tmp_path_factory.mktemp("collector"))) as url:
        yield url


@contextmanager
def serving(*answers: bytes) -> Iterator[str]:
    """A server that gives each connection one of these answers, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in answers:
                connection = server.accept()[0]
                if answer:
                    connection.recv(65536)
                    connection.sendall(answer)
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(60)
        assert not thread.is_alive()


def http(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


def test_a_case_is_stored_and_a_bound_run_comes_back_judged(url: str) -> None:
    (case,) = generate(1, 7)
    trace = new_id()
    with Collector(url) as collector, Client(url) as sender:
        collector.greet()
        collector.add_cases([case])
        collector.bind(trace, case.id, status="ok", wall_seconds=None)
        assert collector.run(new_id()) is None
        sender.send(agent_request(trace, [case.actions[0].tool]))
        assert sender.judged(trace)["case_id"] == case.id
        found = collector.run(trace)
    assert found is not None
    assert (found["case_id"], found["outcome"]) == (case.id, "fail")


def test_a_list_comes_page_by_page(url: str) -> None:
    runs = {new_id() for _ in range(3)}
    with Collector(url) as collector, Client(url) as sender:
        for run in runs:
            sender.send(agent_request(run, ["search"]))
            sender.judged(run)
        assert runs <= {item["id"] for item in collector.pages("/runs", limit=1, agent=None)}


def test_what_the_collector_refuses_is_told_with_its_hint(url: str) -> None:
    with Collector(url) as collector:
        with pytest.raises(BadInput, match="no case was sent; send one object, a list, or JSON lines"):
            collector.add_cases([])
        with pytest.raises(BadInput, match="there is no case 'x'; GET /api/v1/cases lists the cases"):
            collector.get("/cases/x")


def test_a_run_id_is_no_path(url: str) -> None:
    with Collector(url) as collector:
        assert collector.run("../stats") is None
        assert collector.run("?limit=1") is None


def test_a_key_is_sent_and_where_one_is_missing_the_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(settings(tmp_path)) as url:
        with Collector(url) as collector:
            key = collector.post("/keys", {"name": "root", "scopes": ["admin"]})["key"]
        with Collector(url) as collector, pytest.raises(BadInput, match="needs a key; set PDOCTOR_API_KEY"):
            collector.get("/stats")
        with Collector(url, key) as collector:
            assert collector.get("/stats")["runs"] == 0
        monkeypatch.setenv("PDOCTOR_API_KEY", key)
        with Collector(url) as collector:
            assert collector.get("/stats")["runs"] == 0


def test_a_connection_that_breaks_is_tried_again() -> None:
    """As when the collector closes an idle connection just when we use it."""
    with serving(b"", http("200 OK", b"{}")) as url, Collector(url) as collector:
        collector.bind("ab" * 16, "case-1")


def test_what_may_be_wanted_only_once_is_sent_once() -> None:
    with serving(b"", http("201 Created", b"{}")) as url, Collector(url) as collector:
        with pytest.raises(BadInput, match="no collector answers"):
            collector.post("/keys", {"scope": "read"})
        assert collector.get("/runs") == {}  # the second answer was still to be had


@pytest.mark.parametrize("key", ["pdk_secret\nx", "pdk_s\u00e9cret"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(BadInput, match="that no HTTP header can hold") as caught:
        Collector(api_key=key)
    assert "pdk_" not in str(caught.value)


def test_where_nothing_answers_that_is_told_with_what_to_do() -> None:
    with Collector("http://127.0.0.1:9/") as collector, pytest.raises(BadInput) as caught:
        collector.greet()
    assert str(caught.value).startswith("no collector answers at http://127.0.0.1:9 (")
    assert str(caught.value).endswith("): start one with `pdoctor serve`")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (http("200 OK", b"<html>"), "/api/v1/runs answered 200 and no JSON: is that a collector?"),
        (http("404 Not Found", b'{"error": "no route"}'), '/api/v1/runs answered 404: {"error": "no route"}'),
        (http("500 Oops", b"[1]"), "/api/v1/runs answered 500: [1]"),
    ],
)
def test_what_is_no_collector_is_shown_as_it_answers(answer: bytes, said: str) -> None:
    with serving(answer) as url, Collector(url) as collector, pytest.raises(BadInput) as caught:
        collector.get("/runs")
    assert str(caught.value) == url + said


def test_the_http_library_is_loaded_by_the_first_client() -> None:
    """Verbs that ask no collector do not wait for it."""
    look = """
import sys, synth.client
assert "httpx" not in sys.modules
synth.client.Collector().close()
assert "httpx" in sys.modules
"""
    subprocess.run([sys.executable, "-P", "-c", look], check=True)
