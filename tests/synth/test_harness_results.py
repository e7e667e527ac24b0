from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
from bench_cases import order_case
from bench_results import result, running, trials

from synth.agents.process import command
from synth.harness import Collector, Result, Trial, calls_agree, result_from_json, settled


def call(name: str, executed: bool = True, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "executed": executed}


def run(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"calls": list(calls)}


def test_calls_agree_when_each_arrived_exactly_once() -> None:
    log = [call("a"), call("b", start_time="09:00"), call("a")]
    assert calls_agree(run(*log), log) == []
    assert calls_agree(run(), []) == []


def test_a_call_that_was_never_executed_needs_no_entry_in_the_log() -> None:
    assert calls_agree(run(call("invented", executed=False), call("a")), [call("a")]) == []


def test_a_call_that_failed_may_be_in_the_log_or_not() -> None:
    failed = {**call("a"), "error": "refused"}
    assert calls_agree(run(failed, call("a"), call("b")), [call("a"), call("b")]) == []
    assert calls_agree(run(failed, call("a")), [call("a"), call("a")]) == []
    assert calls_agree(run(failed), [call("b")]) == ["not traced: b({})"]


@pytest.mark.parametrize(
    ("traced", "logged", "said"),
    [
        ([call("a")], [call("a"), call("b")], ["not traced: b({})"]),
        ([call("a"), call("a")], [call("a")], ["traced without execution: a({})"]),
        (
            [call("a", x=1)],
            [call("a", x=2)],
            ['not traced: a({"x": 2})', 'traced without execution: a({"x": 1})'],
        ),
    ],
)
def test_whatever_was_lost_doubled_or_changed_is_named(traced: Any, logged: Any, said: list[str]) -> None:
    assert calls_agree(run(*traced), logged) == said


def test_calls_of_one_message_may_run_in_any_order() -> None:
    traced = run({**call("a"), "step": 0}, {**call("b"), "step": 0}, {**call("c"), "step": 1})
    assert calls_agree(traced, [call("b"), call("a"), call("c")]) == []
    assert calls_agree(traced, [call("b"), call("c"), call("a")]) != []


def test_another_order_is_a_difference_too() -> None:
    (said,) = calls_agree(run(call("a"), call("b")), [call("b"), call("a")])
    assert said.startswith("the order differs")


def test_waiting_ends_only_with_a_judgement_of_the_run_as_it_ended() -> None:
    judged = {"judged": True, "status": "timeout", "outcome": "fail"}
    assert settled(judged, "timeout")
    assert not settled(None, "ok")
    assert not settled({**judged, "judged": False}, "timeout")
    assert not settled(judged, "ok")
    assert not settled({**judged, "outcome": "open"}, "timeout")


def test_a_connection_that_breaks_is_tried_again() -> None:
    """As when the collector closes an idle connection just when we use it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            server.accept()[0].close()
            connection = server.accept()[0]
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        collector = Collector(f"http://127.0.0.1:{server.getsockname()[1]}")
        collector.bind("ab" * 16, "case-1")
        collector.close()
        thread.join(10)
        assert not thread.is_alive()


def test_trials_differ_in_agent_model_case_and_repeat() -> None:
    case = order_case()
    keys = [
        Trial("a", "m", case=case).key,
        Trial("b", "m", case=case).key,
        Trial("a", "n", case=case).key,
        Trial("a", "m", case=order_case(id="other")).key,
        Trial("a", "m", case=case, repeat=1).key,
        Trial("a", "m", record={"run_id": "case-1x"}).key,
    ]
    assert len(set(keys)) == len(keys)


def test_a_result_reads_back_from_json() -> None:
    for made in running()(trials(1)):
        assert result_from_json(made.to_json()) == made


def test_a_run_that_never_arrived_is_undecided() -> None:
    lost = Result(**{**{name: getattr(result(), name) for name in Result.__slots__}, "run": None})
    assert (lost.outcome, lost.error_type, lost.verdict) == ("undecided", None, None)


def test_workers_are_instrumented_only_when_spans_have_somewhere_to_go() -> None:
    assert command("raw-loop", None)[1:] == ["-P", "-m", "synth.agents.worker", "raw-loop"]
    traced = command("raw-loop", "http://127.0.0.1:4318")
    assert traced[1:4] == ["run", "--endpoint", "http://127.0.0.1:4318"]
    assert traced[-1] == "raw-loop"
