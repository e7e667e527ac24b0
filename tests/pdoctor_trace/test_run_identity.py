"""Which run a call belongs to: user runs, cases, ambient OpenTelemetry, threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

import pdoctor_trace
from pdoctor_trace.run_state import RunState
from pdoctor_trace.runs import CURRENT, MAX_TAKEN_EARLY, OpenRun
from tests.support.sink import OtlpSink

TRACE, PARENT = 0xABCDEF, 0x1234


@pdoctor_trace.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.fixture
def remote() -> Iterator[None]:
    """The context that a harness attaches: a remote parent and the case in the baggage."""
    span = NonRecordingSpan(SpanContext(TRACE, PARENT, is_remote=True, trace_flags=TraceFlags(1)))
    token = context.attach(baggage.set_baggage("pdoctor.case.id", "c9", trace.set_span_in_context(span)))
    yield
    context.detach(token)


def test_a_user_run_holds_its_calls(sink: OtlpSink) -> None:
    with pdoctor_trace.run(query="q", agent="me", conversation="talk-1"):
        add(1, 2)
        add(3, b=4)
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert run.name == "invoke_agent me"
    assert (run["gen_ai.conversation.id"], run["pdoctor.run.calls"]) == ("talk-1", 2)
    assert [(c.arguments, c.result, c.parent_id, c.run_id) for c in sink.calls] == [
        ({"a": 1, "b": 2}, 3, run.span_id, run.run_id),
        ({"a": 3, "b": 4}, 7, run.span_id, run.run_id),
    ]
    assert CURRENT.get() is None


def test_two_runs_have_two_traces(sink: OtlpSink) -> None:
    for _ in range(2):
        with pdoctor_trace.run():
            add(1, 2)
    pdoctor_trace.flush()
    assert len({run.trace_id for run in sink.runs}) == len({run.run_id for run in sink.runs}) == 2


def test_the_hosts_seed_does_not_repeat_ids(sink: OtlpSink) -> None:
    import random

    for _ in range(2):
        random.seed(7)
        expected = random.random()
        random.seed(7)
        with pdoctor_trace.run():
            add(1, 2)
        assert random.random() == expected, "nor do we disturb the host's numbers"
    pdoctor_trace.flush()
    assert len({span.span_id for span in sink.spans}) == 4


def test_a_failing_run_says_so_and_the_exception_passes(sink: OtlpSink) -> None:
    error = ValueError("broken")
    with pytest.raises(ValueError, match="broken") as caught, pdoctor_trace.run():
        raise error
    assert caught.value is error
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert (run.failed, run.message, run["error.type"]) == (True, "broken", "ValueError")


def test_the_case_in_the_baggage_makes_the_trace_id_the_run_id(sink: OtlpSink, remote: None) -> None:
    for number in range(2):
        with pdoctor_trace.run(query=f"q{number}"):
            add(number, 0)
    pdoctor_trace.flush()
    expected = f"{TRACE:032x}"
    assert {(s.trace_id, s.run_id, s["pdoctor.case.id"]) for s in sink.spans} == {(expected, expected, "c9")}
    assert {run.parent_id for run in sink.runs} == {f"{PARENT:016x}"}
    assert [call["pdoctor.step.index"] for call in sink.calls] == [0, 1]
    assert [run["pdoctor.run.calls"] for run in sink.runs] == [1, 2]


def test_a_call_outside_any_run_joins_the_hosts_trace(sink: OtlpSink) -> None:
    span = NonRecordingSpan(SpanContext(TRACE + 1, PARENT, is_remote=False, trace_flags=TraceFlags(1)))
    token = context.attach(trace.set_span_in_context(span))
    add(1, 2)
    add(3, 4)
    context.detach(token)
    pdoctor_trace.flush()
    assert {(c.trace_id, c.run_id, c.parent_id) for c in sink.calls} == {
        (f"{TRACE + 1:032x}", f"{TRACE + 1:032x}", f"{PARENT:016x}")
    }


def test_a_run_in_the_hosts_trace_keeps_a_run_id_of_its_own(sink: OtlpSink) -> None:
    span = NonRecordingSpan(SpanContext(TRACE + 2, PARENT, is_remote=False, trace_flags=TraceFlags(1)))
    token = context.attach(trace.set_span_in_context(span))
    for _ in range(2):
        with pdoctor_trace.run():
            add(1, 2)
    context.detach(token)
    pdoctor_trace.flush()
    assert {span.trace_id for span in sink.spans} == {f"{TRACE + 2:032x}"}
    assert len({run.run_id for run in sink.runs}) == 2


@pytest.mark.parametrize(
    "key", ["suppress_instrumentation", context._SUPPRESS_INSTRUMENTATION_KEY], ids=["plain", "api"]
)
def test_suppression_is_honoured(sink: OtlpSink, key: str) -> None:
    token = context.attach(context.set_value(key, True))
    with pdoctor_trace.run():
        assert add(1, 2) == 3
    context.detach(token)
    pdoctor_trace.flush()
    assert sink.spans == []


def test_threads_and_executors_started_inside_a_run_belong_to_it(sink: OtlpSink) -> None:
    class Own(threading.Thread):
        def run(self) -> None:
            add(2, 2)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(add, 0, 0).result()
        with pdoctor_trace.run():
            threads = [threading.Thread(target=add, args=(1, 1)), Own()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert pool.submit(add, 3, 3).result() == 6
            assert list(pool.map(add, [4], [4])) == [8]
        pool.submit(add, 5, 5).result()
    pdoctor_trace.flush()
    (run,) = sink.runs
    inside = {call.result for call in sink.calls if call.run_id == run.run_id}
    assert inside == {2, 4, 6, 8}
    assert {call.result for call in sink.calls} - inside == {0, 10}


def test_a_worker_thread_started_inside_a_run_does_not_keep_the_run(sink: OtlpSink) -> None:
    pool = ThreadPoolExecutor(1)
    with pdoctor_trace.run():
        pool.submit(add, 1, 1).result()
    pool.submit(add, 2, 2).result()
    pool.shutdown()
    pdoctor_trace.flush()
    (run,) = sink.runs
    assert [call.result for call in sink.calls if call.run_id == run.run_id] == [2]


def test_tasks_keep_their_runs_apart(sink: OtlpSink) -> None:
    async def one(number: int) -> None:
        with pdoctor_trace.run(agent=f"a{number}"):
            await asyncio.sleep(0.01 * (3 - number))
            add(number, 0)

    async def main() -> None:
        await asyncio.gather(*(one(number) for number in range(3)))

    asyncio.run(main())
    pdoctor_trace.flush()
    of_run = {run.run_id: run["gen_ai.agent.name"] for run in sink.runs}
    assert {(of_run[call.run_id], call.result) for call in sink.calls} == {("a0", 0), ("a1", 1), ("a2", 2)}


def test_calls_after_uninstall_inside_an_open_run_pass_through(sink: OtlpSink) -> None:
    with pdoctor_trace.run():
        add(1, 2)
        pdoctor_trace.uninstall()
        assert add(3, 4) == 7
    pdoctor_trace.flush()
    assert [call.result for call in sink.calls] == [3]


def test_calls_whose_request_never_comes_do_not_pile_up() -> None:
    run = OpenRun("test")
    for number in range(10_000):
        assert run.take_request(f"call {number}", "search") is None
    assert len(run._taken_early) == MAX_TAKEN_EARLY


def test_threads_get_each_step_number_once() -> None:
    state, taken = RunState(1, "r"), []
    workers = [
        threading.Thread(target=lambda: taken.extend([next(state.steps) for _ in range(1_000)]))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(taken) == list(range(8_000))
    assert state.calls == 8_000
    assert [state.next_turn(), state.next_turn(), state.turns] == [0, 1, 2]
