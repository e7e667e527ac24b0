"""Metrics over time: the API and its page."""

from __future__ import annotations

from typing import Any

import pytest

from collector import room
from collector.api import numbers
from tests.support.traces import Client, agent_spans, case_json, eventually, new_id, request

HOSTILE = "<img src=x onerror=alert(1)>"


def sent(client: Client, *calls: str, version: str, case: str | None = None) -> str:
    run = new_id()
    about = {"service.name": "shop", "service.version": version}
    spans = agent_spans(run, list(calls), agent="desk", case=case)
    client.send(request(*spans, resource=about).SerializeToString())
    client.judged(run)
    return run


def means(said: dict[str, Any]) -> dict[str | None, tuple[int, float]]:
    return {one["value"]: (one["runs"], one["mean"]) for one in said["series"]}


@pytest.mark.both_engines
def test_a_metric_is_told_by_version_and_over_time(fresh: Client) -> None:
    fresh.post("/cases", case_json("c", "a < b"))
    sent(fresh, "do_a", "do_b", version="1.0", case="c")
    sent(fresh, "do_b", "do_a", version=HOSTILE, case="c")
    sent(fresh, "do_a", "do_a", "do_a", "do_a", version=HOSTILE)

    def complete() -> bool:
        return bool(fresh.get("/metrics", metric="calls")["runs"] == 3)

    eventually(complete, 60)
    said = fresh.get("/metrics", metric="calls", by="version")
    assert means(said) == {"1.0": (1, 2.0), HOSTILE: (2, 3.0)}
    assert (said["runs"], said["measured"], said["more"]) == (3, 3, 0)
    assert sum(point["runs"] for one in said["series"] for point in one["points"]) == 3
    assert means(fresh.get("/metrics", metric="failed", by="version")) == {"1.0": (1, 0.0), HOSTILE: (1, 1.0)}
    assert means(fresh.get("/metrics", metric="repeated_calls")) == {None: (3, 1.0)}
    assert means(fresh.get("/metrics", metric="calls", q="version:1.0")) == {None: (1, 2.0)}
    assert fresh.get("/metrics", metric="repeated_calls")["series"][0]["interval"][0] == 0, (
        "it cannot be less"
    )
    assert fresh.get("/metrics", metric="input_tokens")["series"] == []
    assert fresh.get("/metrics", metric="calls", q="agent:nobody")["runs"] == 0
    page = fresh.http.get("/metrics-explorer", params={"metric": "repeated_calls", "by": "version"}).text
    assert HOSTILE not in page
    assert "&lt;img src=x" in page
    assert "3 of 3 complete runs have a value" in page
    assert "None of 3 runs" in fresh.http.get("/metrics-explorer?metric=input_tokens").text
    assert "No complete run matches" in fresh.http.get("/metrics-explorer?q=agent:nobody").text


@pytest.mark.parametrize(
    "asked", [{"metric": "errors"}, {"metric": "calls", "by": "case"}, {"metric": "calls", "last": "x"}]
)
def test_what_cannot_be_measured_is_refused_with_what_can(shared: Client, asked: dict[str, str]) -> None:
    answer = shared.http.get("/api/v1/metrics", params=asked)
    assert (answer.status_code, "expected" in answer.text) == (400, True)
    page = shared.http.get("/metrics-explorer", params=asked, headers={"accept": "text/html"})
    assert (page.status_code, "expected" in page.text) == (400, True)


def test_what_spans_say_is_read_once_and_anew_once_the_run_has_grown(
    fresh: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()
    rebuild = numbers.rebuild
    monkeypatch.setattr(numbers, "rebuild", lambda run, spans: (read.append(run), rebuild(run, spans))[1])
    run = sent(fresh, "do_a", "do_a", version="1.0")

    def repeated() -> list[float]:
        return [one["mean"] for one in fresh.get("/metrics", metric="repeated_calls")["series"]]

    eventually(lambda: repeated() == [1.0], 60)
    before = len(read)
    assert repeated() == [1.0]
    assert len(read) == before
    fresh.send(request(*agent_spans(run, ["do_a"] * 4, agent="desk")).SerializeToString())
    eventually(lambda: repeated() == [3.0], 60)
    assert set(read) == {run}
    assert len(read) > before


def test_big_runs_are_read_for_their_numbers_one_at_a_time(
    fresh: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are asked for; who would need memory that others have is told to come again."""
    monkeypatch.setattr(numbers, "TOGETHER_BYTES", 1)
    monkeypatch.setattr(room, "PATIENCE", 0.01)
    runs = {sent(fresh, "do_a", "do_a", version=version) for version in ("1", "2", "3")}
    read, beside, really = list[str](), list[int](), numbers.reads.spans_of_several
    asked = {"metric": "repeated_calls"}

    def reading(connection: Any, project: int, rows: Any) -> Any:
        (row,) = rows
        read.append(row.key)
        if len(read) == 1:
            beside.append(fresh.http.get("/api/v1/metrics", params=asked).status_code)
        return really(connection, project, rows)

    monkeypatch.setattr(numbers.reads, "spans_of_several", reading)
    assert fresh.get("/metrics", **asked)["measured"] == 3
    assert (set(read), beside) == (runs, [503])
