"""A project that sends more than it may is told when to come back; the others do not notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from collector.quota import BURST_SECONDS, LONGEST_WAIT, OverQuota, Quota
from collector.server import running
from tests.collector.test_metrics import make, read, values
from tests.support.traces import (
    JSON,
    PROTOBUF,
    Client,
    agent_request,
    eventually,
    free_port,
    new_id,
    settings,
)

BURST = int(BURST_SECONDS)


class Watch:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


def refused(quota: Quota, project: str = "p") -> int | None:
    """Seconds until the project may come again; None where it may send now."""
    try:
        quota.look(project)
    except OverQuota as over:
        return over.retry_after
    return None


def test_a_second_has_its_spans_and_a_pause_ten_seconds_of_them(watch: Watch) -> None:
    quota = Quota(100.0, watch)
    quota.took("p", 100 * BURST)
    assert refused(quota) == 1
    watch.now += 0.5
    assert refused(quota) is None
    quota.took("p", 50)
    assert refused(quota) == 1
    watch.now += 3_600
    quota.took("p", 100 * BURST - 1)
    assert refused(quota) is None
    quota.took("p", 1)
    assert refused(quota) == 1


def test_a_request_of_more_than_is_left_is_taken_and_paid_for_afterwards(watch: Watch) -> None:
    quota = Quota(10.0, watch)
    quota.took("p", 10 * BURST + 70)
    assert refused(quota) == 7
    watch.now += 6.9
    assert refused(quota) == 1
    watch.now += 0.2
    assert refused(quota) is None
    quota.took("p", 1_000_000)
    assert refused(quota) == LONGEST_WAIT
    assert refused(quota, "another") is None


def test_what_was_not_stored_is_given_back(watch: Watch) -> None:
    quota = Quota(10.0, watch)
    quota.took("p", 10 * BURST)
    quota.took("p", -10 * BURST)
    assert refused(quota) is None


def test_what_other_workers_took_counts_once(watch: Watch) -> None:
    quota = Quota(10.0, watch)
    quota.elsewhere({"p": 5_000})  # before this worker began
    assert refused(quota) is None
    quota.elsewhere({"p": 5_000 + 10 * BURST, "q": 3})
    assert (refused(quota), refused(quota, "q")) == (1, None)
    watch.now += BURST
    quota.elsewhere({"p": 5_000 + 10 * BURST, "q": 3})
    assert refused(quota) is None
    quota.elsewhere({"p": 0})  # what is told may be less: a worker with too many projects leaves them out
    assert refused(quota) is None


def test_without_a_quota_nothing_is_refused(watch: Watch) -> None:
    quota = Quota(0.0, watch)
    quota.took("p", 10**9)
    quota.elsewhere({"p": 10**9})
    assert refused(quota) is None


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[tuple[Client, int]]:
    port = free_port()
    known = settings(tmp_path, checkers=0, max_spans_per_second=0.1, grpc_port=port)
    with running(known) as url, Client(url) as client:
        yield client, port


def test_a_project_is_told_and_another_goes_on(limited: tuple[Client, int]) -> None:
    client, port = limited
    root = make(client, "root", "admin")
    token = root["authorization"].split()[1]
    body = {"name": "another"}
    assert client.http.post("/api/v1/projects", json=body, headers=root).status_code in (200, 201)
    one = make(client, "one", "ingest", token=token)
    other = make(client, "two", "ingest", token=token, project="another")
    spans = agent_request(new_id(), ["a"] * 20)

    assert client.send(spans, {**PROTOBUF, **one}).status_code == 200
    told = client.send(spans, {**PROTOBUF, **one})
    assert (told.status_code, told.headers["retry-after"]) == (429, str(LONGEST_WAIT))
    assert Status.FromString(told.content).code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert "0.1 spans a second" in Status.FromString(told.content).message
    assert client.send(b"{}", {**JSON, **one}).json()["code"] == 8
    record = client.http.post("/api/v1/runs", json={"run_id": "r", "calls": []}, headers=one)
    assert (record.status_code, record.json()["error"]["code"]) == (429, "over_quota"), record.text
    assert record.headers["retry-after"] == str(LONGEST_WAIT)

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        with pytest.raises(grpc.RpcError) as failed:
            TraceServiceStub(channel).Export(
                ExportTraceServiceRequest.FromString(spans), metadata=list(one.items())
            )
        assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        (packed,) = [v for k, v in failed.value.trailing_metadata() if k == "grpc-status-details-bin"]
        retry = RetryInfo()
        assert Status.FromString(packed).details[0].Unpack(retry)
        assert retry.retry_delay.seconds == LONGEST_WAIT

    assert client.send(spans, {**PROTOBUF, **other}).status_code == 200
    found = values(read(client.http.get("/metrics", headers=root))["pdoctor_project_requests_over_quota"])
    assert found == {("default",): 4.0, ("another",): 0.0}


@pytest.mark.heavy
def test_workers_share_the_quota(tmp_path: Path) -> None:
    """Whichever worker takes a connection, the project has sent what it may."""
    with running(settings(tmp_path, checkers=0, workers=2, max_spans_per_second=0.1)) as url:

        def answer() -> int:
            with Client(url) as client:
                return client.send(agent_request(new_id(), ["a"] * 20)).status_code

        assert answer() == 200
        eventually(lambda: [answer() for _ in range(20)] == [429] * 20)
