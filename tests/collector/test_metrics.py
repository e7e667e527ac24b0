"""What Prometheus reads of a collector: all of it for who runs it, a project for who reads that."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from collector.pipeline import watch
from collector.pipeline.board import Board
from collector.pipeline.checker import Checker
from collector.server import running
from collector.store import open_store
from collector.telemetry import BOUNDS, Exposition, Histogram, Telemetry
from synth.client import Collector
from tests.support.traces import PROTOBUF, Client, agent_request, new_id, settings, until

OPERATORS = {
    "pdoctor_spans_stored": 3.0, "pdoctor_batches_stored": 1.0, "pdoctor_commits": 1.0,
    "pdoctor_requests_refused": 0.0, "pdoctor_store_failures": 0.0, "pdoctor_queue_bytes": 0.0,
    "pdoctor_bodies_refused": 0.0, "pdoctor_in_flight_bytes": 0.0, "pdoctor_connections_refused": 0.0,
    "pdoctor_connections_dropped": 0.0, "pdoctor_checker_restarts": 0.0, "pdoctor_database_up": 1.0,
    "pdoctor_runs_due": 0.0,
}  # fmt: skip
"""Of a collector that has stored one run of three spans, and judged it."""


def read(answer: httpx.Response) -> dict[str, Metric]:
    """Family -> what is told of it, by Prometheus' own parser."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert all(name.startswith("pdoctor_") and one.documentation for name, one in found.items())
    assert all(one.type != "unknown" for one in found.values())
    return found


def values(family: Metric) -> dict[tuple[str, ...], float]:
    """Values of the labels, in order of their names -> value."""
    return {tuple(one.labels[k] for k in sorted(one.labels)): one.value for one in family.samples}


def make(client: Client, name: str, *scopes: str, token: str | None = None, **more: Any) -> dict[str, str]:
    """The header of a new key."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    body = {"name": name, "scopes": list(scopes), **more}
    made = client.http.post("/api/v1/keys", json=body, headers=headers).json()
    return {"authorization": f"Bearer {made['key']}"}


def test_who_runs_a_collector_sees_all_of_it(fresh: Client) -> None:
    run = new_id()
    fresh.send(agent_request(run, ["a", "b"]))
    fresh.judged(run)
    assert fresh.http.get("/nowhere").status_code == 404
    assert fresh.http.request("BREW", "/healthz").status_code in (400, 405)
    found = read(fresh.http.get("/metrics"))
    assert {name: values(found[name])[()] for name in OPERATORS} == OPERATORS
    assert values(found["pdoctor_project_runs"]) == {("unbound", "default"): 1.0}
    assert values(found["pdoctor_project_spans"]) == {("default",): 3.0}
    assert values(found["pdoctor_project_spans_received"]) == {("default",): 3.0}
    assert values(found["pdoctor_project_runs_waiting"]) == {("default",): 0.0}
    assert values(found["pdoctor_connections"])[()] >= 1
    assert values(found["pdoctor_check_lag_seconds"])[()] >= 0
    assert values(found["pdoctor_runs_judged"])[()] >= 1
    assert values(found["pdoctor_disk_free_bytes"])[()] > 0
    assert values(found["pdoctor_checker_heartbeat_age_seconds"])[("0",)] < 60
    assert abs(values(found["pdoctor_clock_jump_seconds"])[()]) < 60
    requests = values(found["pdoctor_http_requests"])
    assert requests["POST", "/v1/traces", "200"] == 1.0
    assert requests["GET", "/api/v1/runs/{run_id}", "200"] >= 1.0
    assert requests["GET", "other", "404"] == 1.0
    assert {method for method, _, _ in requests} <= {"GET", "POST", "other"}
    for name in ("http_request_seconds", "commit_seconds", "database_seconds", "event_loop_lag_seconds"):
        family = found[f"pdoctor_{name}"]
        assert family.type == "histogram"
        bounds = {one.labels["le"] for one in family.samples if one.name.endswith("_bucket")}
        assert bounds == {*map(str, BOUNDS), "+Inf"}
    counted = [one.value for one in found["pdoctor_commit_seconds"].samples if one.name.endswith("_count")]
    assert counted == [1.0]


def test_who_reads_a_project_sees_that_one_and_nothing_of_the_collector(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    token = root["authorization"].split()[1]
    shop = make(fresh, "shop", "admin", "ingest", token=token, project="shop")
    for headers, calls in ((root, ["a"]), (shop, ["a", "b"])):
        assert fresh.send(agent_request(new_id(), calls), {**PROTOBUF, **headers}).status_code == 200
    alone = [
        shop,
        make(fresh, "r", "read", token=token),
        make(fresh, "m", "metrics", token=token, project="shop"),
    ]
    for headers, project in zip(alone, ("shop", "default", "shop"), strict=True):
        found = read(fresh.http.get("/metrics", headers=headers))
        assert all(name.startswith("pdoctor_project_") for name in found)
        assert {one.labels["project"] for family in found.values() for one in family.samples} == {project}
    received = values(read(fresh.http.get("/metrics", headers=root))["pdoctor_project_spans_received"])
    assert received == {("default",): 2.0, ("shop",): 3.0}
    scraper = make(fresh, "scraper", "metrics", token=token)
    assert "pdoctor_uptime_seconds" in read(fresh.http.get("/metrics", headers=scraper))
    assert fresh.http.get("/api/v1/runs", headers=scraper).status_code == 403
    assert fresh.http.get("/metrics", headers=make(fresh, "i", "ingest", token=token)).status_code == 403


def test_who_waits_for_verdicts_needs_no_key_for_the_metrics_of_the_collector(
    tmp_path: Path,
) -> None:
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        token = make(client, "root", "admin", "ingest")["authorization"].split()[1]
        reader = make(client, "r", "read", token=token)["authorization"].split()[1]
        sent = {**PROTOBUF, "authorization": f"Bearer {token}"}
        assert client.send(agent_request(new_id(), ["a"]), sent).status_code == 200
        for key in (token, reader):
            with closing(Collector(url, api_key=key)) as collector:
                found = collector.backlog()
            assert (found.due, found.lag > 0, found.judged) == (1, True, 0)


def test_the_description_of_the_api_is_for_those_who_have_a_key(fresh: Client) -> None:
    for path in ("/openapi.json", "/docs"):
        assert fresh.http.get(path).status_code == 200
    root = make(fresh, "root", "admin")
    sender = make(fresh, "sender", "ingest", token=root["authorization"].split()[1])
    for path in ("/openapi.json", "/docs"):
        assert fresh.http.get(path).status_code == 401
        assert fresh.http.get(path, headers=sender).status_code == 200
    assert fresh.http.get("/openapi.json").json()["error"]["code"] == "unauthorized"


def test_spans_are_refused_while_judging_is_too_far_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.01)
    known = settings(tmp_path, checkers=0, max_lag_seconds=1.0)
    with running(known) as url, Client(url) as client:
        assert client.send(agent_request(new_id(), ["a"])).status_code == 200
        for _ in until():
            refused = client.send(agent_request(new_id(), ["a"]))
            if refused.status_code == 503:
                break
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "for their verdicts" in client.http.get("/").text
        assert "for their verdicts" in client.http.get("/readyz").json()["problems"][0]
        assert (
            values(read(client.http.get("/metrics"))["pdoctor_project_requests_refused"])[("default",)] >= 1
        )
        store, board = open_store(known.store_url), Board()
        checker = Checker(store, known, "w", board)
        while checker.round(time.time() + 60):
            pass
        for _ in until():
            if client.send(agent_request(new_id(), ["a"])).status_code == 200:
                break
        else:
            pytest.fail("spans are refused for ever")
        assert "are refused" not in client.http.get("/").text
        store.close()
        board.close()


def test_a_collector_with_names_answers_to_no_other(tmp_path: Path) -> None:
    known = settings(tmp_path, host="0.0.0.0", insecure=True, checkers=0, host_names=("Traces.example",))
    with running(known) as url, Client(url.replace("0.0.0.0", "127.0.0.1")) as client:
        names = {"traces.example": 200, "traces.EXAMPLE:4318": 200, "127.0.0.1": 200, "evil.example": 403,
                 "10.0.0.7:4318": 200, "[2001:db8::1]": 200, "10.0.0.7.evil.example": 403}  # fmt: skip
        assert {name: client.http.get("/", headers={"host": name}).status_code for name in names} == names
        assert (
            client.http.post("/login", data={"key": "x"}, headers={"host": "evil.example"}).status_code == 403
        )
        assert client.http.get("/readyz", headers={"host": "10.0.0.7"}).status_code == 200


def test_a_histogram_counts_what_is_below_each_bound() -> None:
    one = Histogram()
    for seconds in (0.0, 0.001, 0.0011, 99.0):
        one.took(seconds)
    said = Exposition()
    said.histogram("x_seconds", "X.", [({"a": "b"}, one)])
    (family,) = text_string_to_metric_families(str(said))
    found = {s.labels.get("le", s.name): s.value for s in family.samples}
    assert (found["0.001"], found["0.0025"], found["10.0"], found["+Inf"]) == (2.0, 3.0, 3.0, 4.0)
    assert found["pdoctor_x_seconds_count"] == 4.0
    assert found["pdoctor_x_seconds_sum"] == pytest.approx(99.0021)


def test_no_digit_of_a_number_is_lost() -> None:
    said = Exposition()
    for at, value in enumerate((12_345_678_901, 2**53 - 1, 1_790_000_000.123456, 0.1, 3)):
        said.add(f"x{at}", "gauge", "X.", value)
    found = [one.samples[0].value for one in text_string_to_metric_families(str(said))]
    assert found == [12_345_678_901.0, 2.0**53 - 1, 1_790_000_000.123456, 0.1, 3.0]
    assert "pdoctor_x0 12345678901\n" in str(said)


def test_names_of_projects_are_read_as_they_are() -> None:
    odd = 'a "b" \\ c\nd'
    said = Exposition()
    said.add("x", "gauge", "X.", [({"project": odd}, 1)])
    said.add("none", "gauge", "Without a value it is left out.", [])
    (family,) = text_string_to_metric_families(str(said))
    assert [one.labels["project"] for one in family.samples] == [odd]


def test_a_loop_that_is_held_up_is_felt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collector.telemetry.FEEL_SECONDS", 0.001)
    felt = Telemetry()

    async def main() -> None:
        feeling = asyncio.create_task(felt.feel_loop())
        await asyncio.sleep(0)
        time.sleep(0.06)
        await asyncio.sleep(0.01)
        feeling.cancel()

    asyncio.run(main())
    over = sum(felt.loop._counts[-(len(BOUNDS) - 4) :])
    assert over >= 1
