"""Runs that wait: what is kept of them, for how many, and what goes on from it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace.adapter import APPROVAL, INPUT, Call, OpenRun, Request, RunVisit, is_paused
from pdoctor_trace.pauses import MOST, Part, Pauses
from pdoctor_trace.wrappers import enter_frame, leave
from tests.support.sink import OtlpSink


def part(at: int) -> Part:
    return Part(at, at, None, None, ({}, {}, set()))


def test_the_newest_pauses_are_kept() -> None:
    kept = Pauses()
    for at in range(MOST):
        kept.keep(str(at), part(at))
    kept.keep("0", part(-1))
    kept.keep("one more", part(MOST))
    assert [str(at) in kept for at in (0, 1, 2, "one more")] == [True, False, True, True]


def test_whoever_comes_first_goes_on() -> None:
    kept = Pauses()
    kept.keep("a", part(1))
    gate, found = threading.Barrier(8), []

    def come() -> None:
        gate.wait()
        found.append(kept.take("a"))

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one for one in found if one is not None] == [part(1)]


def test_a_forked_child_knows_of_none() -> None:
    kept = Pauses()
    kept.keep("a", part(1))
    kept._lock.acquire()
    kept.forget_all()
    assert kept.take("a") is None


class Steps:
    """What an adapter does in a run."""

    def __init__(self, **options: Any) -> None:
        self.run = OpenRun("steps", agent="tester", **options)

    def ask(self, call_id: str) -> None:
        self.run.request(Request(call_id, "act", b"{}", self.run.state.next_turn(), False, 1))

    def call(self, call_id: str | None, *, waits: bool = False) -> None:
        token = enter_frame(self.run)
        call = Call("steps", "act", b"{}", call_id=call_id)
        call.take_up()
        leave(token)
        call.withdraw() if waits else call.close(b"1")

    def end(self, error: BaseException | None = None) -> None:
        RunVisit(self.run).end(error)
        pdoctor_trace.flush()


def test_a_run_that_fails_while_it_waits_is_not_paused(sink: OtlpSink) -> None:
    steps = Steps()
    steps.run.wait_for(APPROVAL, "fails")
    steps.end(RuntimeError("no"))
    (run,) = sink.runs
    assert (run.failed, run["pdoctor.run.state"], run["pdoctor.run.token"]) == (True, None, None)
    assert not is_paused("fails")


def test_calls_that_were_broken_off_leave_no_hole(sink: OtlpSink) -> None:
    """The newest are as if they had not begun; one with later calls beside it is told of, and goes on."""
    steps = Steps()
    for call_id in ("a", "b", "c", "d"):
        steps.ask(call_id)
    for call_id, waits in (("a", True), ("b", False), ("c", True), ("d", True)):
        steps.call(call_id, waits=waits)
    steps.run.wait_for(INPUT, "holes")
    steps.end()
    told = [(call.call_id, call["pdoctor.tool.execution"]) for call in sink.calls]
    assert told == [("a", "unknown"), ("b", None)]
    assert [run["pdoctor.run.calls"] for run in sink.runs] == [2]
    sink.clear()
    again = Steps(resumes="holes")
    for call_id in ("d", "a", "c"):
        again.call(call_id)
    assert again.run.state.next_turn() == 4
    again.end()
    assert [(call.call_id, call["pdoctor.step.index"]) for call in sink.calls] == [
        ("d", 2),
        ("a", 3),
        ("c", 4),
    ]
    assert [call["pdoctor.turn.index"] for call in sink.calls] == [3, 0, 2]
    assert [run["pdoctor.run.calls"] for run in sink.runs] == [5]


def test_what_was_offered_and_asked_is_known_to_the_part_that_goes_on(sink: OtlpSink) -> None:
    steps = Steps(query="do it")
    steps.run.offer([("act", "acts")])
    steps.run.pseudo_tools.add("answer")
    steps.run.wait_for(APPROVAL, "known")
    steps.end()
    again = Steps(resumes="known")
    again.run.offer([("more", None)])
    again.end()
    first, last = sink.runs
    assert first["gen_ai.input.messages"] == last["gen_ai.input.messages"] is not None
    offered = [[name in run["gen_ai.tool.definitions"] for name in ("act", "more")] for run in (first, last)]
    assert offered == [[True, False], [True, True]]
    assert again.run.pseudo_tools == {"answer"}
    assert again.run.pseudo_tools is not steps.run.pseudo_tools


def test_what_was_asked_for_and_never_decided_is_told_when_the_run_ends(sink: OtlpSink) -> None:
    steps = Steps()
    steps.ask("a")
    steps.run.wait_for(APPROVAL, "asked")
    steps.end()
    assert sink.calls == []
    Steps(resumes="asked").end()
    (call,) = sink.calls
    assert (call.call_id, call.executed) == ("a", False)


@pytest.mark.parametrize("goes_on", [False, True])
def test_an_agent_that_waits_pauses_the_runs_it_stands_in(sink: OtlpSink, goes_on: bool) -> None:
    outer = Steps()
    token = enter_frame(outer.run)
    inner = Steps()
    inner.run.wait_for(APPROVAL, "inner")
    inner.end()
    if goes_on:
        Steps(resumes="inner").end()
    leave(token)
    outer.end()
    (root,) = (run for run in sink.runs if run["pdoctor.run.calls"] is not None)
    assert root["pdoctor.run.state"] == (None if goes_on else "paused")
    assert root["pdoctor.run.token"] == (None if goes_on else "inner")
    assert root["pdoctor.run.resumed"] is None


def test_what_stands_in_a_run_that_goes_on_goes_on_with_it(sink: OtlpSink) -> None:
    steps = Steps()
    steps.run.wait_for(APPROVAL, "outer")
    steps.end()
    again = Steps(resumes="outer")
    token = enter_frame(again.run)
    Steps(resumes="a tool's own").end()
    leave(token)
    again.end()
    assert {run["pdoctor.run.resumed"] for run in sink.runs} == {None}


def test_an_announcement_says_what_the_run_goes_on_from(sink: OtlpSink) -> None:
    steps = Steps(resumes="of another process")
    assert b"of another process" in steps.run.announcement(steps.run.start_ns)
    steps.end()
    assert sink.runs[0]["pdoctor.run.resumed"] == "of another process"
