"""From spans to judged runs: completeness, late spans, duplicates, bindings."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from collector.server import running
from tests.support.traces import (
    MS,
    T0,
    Client,
    agent_request,
    agent_spans,
    case_json,
    new_id,
    request,
    settings,
    until,
)

pytestmark = pytest.mark.both_engines


def test_a_run_in_the_right_order_passes_and_z3_agrees(shared: Client) -> None:
    case, run = new_id(), new_id()
    assert shared.post("/cases", case_json(case, "a < b")).status_code == 201
    shared.send(agent_request(run, ["do_a", "do_b"], case=case))
    verdict = shared.judged(run)["verdict"]
    assert (verdict["outcome"], verdict["findings"], verdict["decided_by"]) == ("pass", [], "both")


def test_a_run_in_the_wrong_order_names_sentence_words_and_calls(shared: Client) -> None:
    case, run = new_id(), new_id()
    shared.post("/cases", case_json(case, "a < b", "b < c", actions=("a", "b", "c")))
    shared.send(agent_request(run, ["do_a", "do_c", "do_b"], case=case))
    judged = shared.judged(run)
    (finding,) = judged["verdict"]["findings"]
    assert (judged["outcome"], judged["error_type"]) == ("fail", "order_error")
    assert (finding["sentence"], finding["span"], sorted(finding["calls"])) == (1, [18, 35], [1, 2])
    assert judged["verdict"]["repair"]["order"] == ["a", "b", "c"]
    (item,) = shared.get("/runs", case=case)["items"]
    assert (item["id"], item["outcome"], item["calls_count"]) == (run, "fail", 3)
    assert [f["run_id"] for f in shared.get("/findings", run=run)["items"]] == [run]


def test_calls_arrive_once_in_order_with_arguments_results_and_errors(shared: Client) -> None:
    run = new_id()
    calls = [
        {"name": "search", "arguments": {"q": "x"}, "result": {"hits": [1]}},
        {"name": "book", "error": "no room", "at": {"pdoctor.tool.attempts": 3}},
    ]
    shared.send(agent_request(run, calls))
    found = shared.judged(run)
    search, book = found["calls"]
    assert (search["name"], search["arguments"], search["result"]) == ("search", {"q": "x"}, {"hits": [1]})
    assert (book["error"], book["attempts"]) == ("no room", 3)
    assert (found["outcome"], found["verdict"], found["agent"]) == (None, None, "planner")


def test_the_same_request_again_adds_nothing(shared: Client) -> None:
    run = new_id()
    body = agent_request(run, ["search", "book"])
    for _ in range(3):
        assert shared.send(body).status_code == 200
    assert len(shared.get(f"/runs/{run}/spans")["items"]) == 3
    assert shared.judged(run)["spans"] == 3


def test_overlapping_batches_store_each_span_once(shared: Client) -> None:
    run = new_id()
    spans = agent_spans(run, ["a", "b", "c", "d"])
    for batch in (spans[:3], spans[1:4], spans[::-1], [*spans, *spans]):
        assert shared.send(request(*batch).SerializeToString()).status_code == 200
    found = shared.judged(run)
    assert (found["spans"], [c["name"] for c in found["calls"]]) == (5, ["a", "b", "c", "d"])


def test_a_run_is_open_until_its_announced_calls_arrive(shared: Client) -> None:
    case, run = new_id(), new_id()
    shared.post("/cases", case_json(case, "a < b"))
    first, second, root = agent_spans(run, ["do_a", "do_b"], case=case)
    shared.send(request(first).SerializeToString())
    early = shared.judged(run, complete=False)
    assert (early["outcome"], early["complete"]) == ("open", False)
    shared.send(request(root).SerializeToString())
    shared.send(request(second).SerializeToString())
    late = shared.judged(run)
    assert late["outcome"] == "pass"
    assert late["history"][0]["outcome"] == "open"
    assert late["history"][-1]["outcome"] == "pass"


def test_a_late_span_reopens_the_run_and_the_old_verdict_stays_in_its_history(shared: Client) -> None:
    case, run = new_id(), new_id()
    shared.post("/cases", case_json(case, "a < b"))
    *calls, root = agent_spans(run, ["do_a", "do_b"], case=case, announce=False)
    shared.send(request(calls[0], root).SerializeToString())
    assert shared.judged(run)["error_type"] == "action_lost"
    shared.send(request(calls[1]).SerializeToString())
    for _ in range(200):
        found = shared.judged(run)
        if found["outcome"] == "pass":
            break
        time.sleep(0.02)
    outcomes = [entry["outcome"] for entry in found["history"]]
    assert outcomes[-1] == "pass"
    assert "fail" in outcomes


def test_missing_announced_calls_leave_the_run_undecided(shared: Client) -> None:
    case, run = new_id(), new_id()
    shared.post("/cases", case_json(case, "a < b"))
    first, _lost, root = agent_spans(run, ["do_a", "do_b"], case=case)
    shared.send(request(first, root).SerializeToString())
    found = shared.judged(run)
    assert found["outcome"] == "undecided"
    assert found["problems"] == ["the run announced 2 calls, 1 arrived"]


def test_a_hole_in_the_step_index_is_a_problem(shared: Client) -> None:
    run = new_id()
    first, _lost, third, root = agent_spans(run, ["a", "b", "c"], announce=False)
    shared.send(request(first, third, root).SerializeToString())
    assert shared.judged(run)["problems"] == ["1 calls are missing: no span has step index 1"]


def test_dropped_records_are_a_problem(shared: Client) -> None:
    run = new_id()
    spans = agent_spans(run, ["a"], announce=False)
    shared.send(request(*spans, resource={"pdoctor.dropped_spans": 7}).SerializeToString())
    assert shared.judged(run)["problems"] == ["the sender has dropped 7 records because its queue was full"]


def test_a_run_without_a_root_ends_when_nothing_comes_any_more(tmp_path: Path, store_url: str) -> None:
    run = new_id()
    with running(settings(tmp_path, store_url=store_url, idle_seconds=1.0)) as url, Client(url) as client:
        began = time.monotonic()
        client.send(request(*agent_spans(run, ["a", "b"], root=False)).SerializeToString())
        found = client.judged(run)
    assert time.monotonic() - began >= 1.0
    assert found["problems"] == ["the span of the run itself never arrived: the program may have been killed"]


def test_a_case_that_comes_after_the_run_judges_it_then(shared: Client) -> None:
    case, run = new_id(), new_id()
    shared.send(agent_request(run, ["do_b", "do_a"], case=case))
    found = shared.judged(run)
    assert (found["outcome"], found["problems"]) == (
        None,
        [f"case {case} is not known here; post it to /api/v1/cases"],
    )
    shared.post("/cases", case_json(case, "a < b"))
    assert shared.judged(run)["error_type"] == "order_error"


def test_a_registered_trace_binds_a_run_that_carries_no_case(shared: Client) -> None:
    case, trace = new_id(), new_id()
    shared.post("/cases", case_json(case, "a < b"))
    assert shared.post("/bindings", {"trace_id": trace, "case_id": case}).status_code == 201
    spans = agent_spans(trace, ["do_b", "do_a"])
    for span in spans:
        span["at"].pop("pdoctor.run.id")
    shared.send(request(*spans, scope="other").SerializeToString())
    found = shared.judged(trace)
    assert (found["case_id"], found["error_type"]) == (case, "order_error")


@pytest.mark.parametrize(
    ("status", "outcome", "error_type"),
    [("ok", "undecided", None), ("crash", "fail", "act_error"), ("timeout", "fail", "timeout")],
)
def test_a_status_ends_a_run_that_never_sent_a_span(
    shared: Client, status: str, outcome: str, error_type: str | None
) -> None:
    case, trace = new_id(), new_id()
    shared.post("/cases", case_json(case, "a < b"))
    shared.post("/bindings", [{"trace_id": trace, "case_id": case}])
    assert shared.http.get(f"/api/v1/runs/{trace}").status_code == 404
    shared.post("/bindings", [{"trace_id": trace, "case_id": case, "status": status, "wall_seconds": 3.5}])
    found = shared.judged(trace)
    assert (found["calls"], found["outcome"], found["error_type"]) == ([], outcome, error_type)
    assert found["record"]["wall_seconds"] == 3.5


def test_runs_of_one_trace_are_told_apart_by_run_id(shared: Client) -> None:
    trace, one, two = new_id(), new_id(), new_id()
    first = agent_spans(one, ["a"], trace=trace)
    second = [{**span, "id": span["id"] + 100} for span in agent_spans(two, ["b", "c"], trace=trace)]
    shared.send(request(*first, *second).SerializeToString())
    assert [call["name"] for call in shared.judged(one)["calls"]] == ["a"]
    assert [call["name"] for call in shared.judged(two)["calls"]] == ["b", "c"]


def test_a_second_sighting_of_a_call_by_another_instrumentation_counts_once(shared: Client) -> None:
    run = new_id()
    spans = agent_spans(run, ["search"])
    shared.send(request(*spans).SerializeToString())
    again = {**spans[0], "id": 50, "start": T0 + MS, "end": T0 + 4 * MS}
    shared.send(request(again, scope="vendor").SerializeToString())
    assert len(shared.judged(run)["calls"]) == 1


def test_a_reused_call_id_is_another_call(shared: Client) -> None:
    run = new_id()
    calls = [{"name": "search", "id": "same"}, {"name": "search", "id": "same"}]
    shared.send(agent_request(run, calls))
    assert len(shared.judged(run)["calls"]) == 2


def test_spans_of_an_ordinary_service_are_stored_but_are_no_run(shared: Client) -> None:
    trace = new_id()
    shared.send(request({"trace": trace, "id": 1, "name": "GET /"}, scope="http").SerializeToString())
    shared.judged(trace)
    assert trace not in {item["id"] for item in shared.get("/runs", limit=1000)["items"]}
    assert len(shared.get(f"/runs/{trace}/spans")["items"]) == 1


def test_work_left_by_a_stopped_collector_is_done_by_the_next(tmp_path: Path, store_url: str) -> None:
    case, run = new_id(), new_id()
    with running(settings(tmp_path, store_url=store_url, checkers=0)) as url, Client(url) as client:
        client.post("/cases", case_json(case, "a < b"))
        client.send(agent_request(run, ["do_b", "do_a"], case=case))
        assert client.run(run)["judged"] is False
    with running(settings(tmp_path, store_url=store_url)) as url, Client(url) as client:
        assert client.judged(run)["error_type"] == "order_error"


@pytest.mark.parametrize("vendor_first", [True, False])
def test_another_librarys_spans_in_the_same_trace_join_the_run(shared: Client, vendor_first: bool) -> None:
    """Ours carry a run id, theirs only the trace; one run is listed, and each call is there once."""
    trace, run = new_id(), new_id()
    ours = agent_spans(run, ["search", "book"], trace=trace)
    theirs = [
        {**span, "id": span["id"] + 50, "start": span["start"] + MS, "end": span["end"] - MS}
        for span in agent_spans(run, ["search", "book"], trace=trace, root=False)
    ]
    for span in theirs:
        span["at"] = {key: value for key, value in span["at"].items() if not key.startswith("pdoctor.")}
    extra = {**theirs[0], "id": 99, "start": theirs[1]["end"] + MS, "end": theirs[1]["end"] + 2 * MS}
    extra["at"] = {**extra["at"], "gen_ai.tool.name": "rerank", "gen_ai.tool.call.id": "x"}
    bodies = [
        request(*ours).SerializeToString(),
        request(*theirs, extra, scope="vendor").SerializeToString(),
    ]
    for body in bodies[::-1] if vendor_first else bodies:
        shared.send(body)
        shared.judged(trace if body is bodies[1] else run, complete=False)
    for _ in until():
        names = [call["name"] for call in shared.judged(run)["calls"]]
        listed = {item["id"] for item in shared.get("/runs", limit=1000)["items"]} & {trace, run}
        if (names, listed) == (["search", "book", "rerank"], {run}):
            break
    assert (names, listed) == (["search", "book", "rerank"], {run})
