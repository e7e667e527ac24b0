"""The run follows into threads and pools, and a thread is what it would be without us."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace import export
from tests.support.sink import OtlpSink


@pdoctor_trace.tool
def work(number: int) -> int:
    return number


def add(first: int, second: int) -> int:
    return work(first + second)


POOL_WAYS: dict[str, Callable[[ThreadPool], object]] = {
    "map": lambda pool: pool.map(work, range(3)),
    "starmap": lambda pool: pool.starmap(add, [(0, 0), (1, 0), (2, 0)]),
    "imap": lambda pool: list(pool.imap(work, range(3))),
    "imap_unordered": lambda pool: list(pool.imap_unordered(work, range(3), chunksize=2)),
    "apply": lambda pool: [pool.apply(work, (number,)) for number in range(3)],
    "apply_async": lambda pool: [pool.apply_async(func=work, args=(n,)).get(5) for n in range(3)],
}


@pytest.mark.parametrize("way", POOL_WAYS)
def test_work_given_to_a_thread_pool_belongs_to_the_run_that_gave_it(sink: OtlpSink, way: str) -> None:
    with ThreadPool(2) as pool:
        with pdoctor_trace.run(query="first"):
            POOL_WAYS[way](pool)
        with pdoctor_trace.run(query="second"):
            POOL_WAYS[way](pool)
        pool.close()
        pool.join()
    pdoctor_trace.flush()
    ids = [run.run_id for run in sink.runs]
    assert sorted(call.run_id for call in sink.calls) == sorted(ids * 3)
    assert [run["pdoctor.run.calls"] for run in sink.runs] == [3, 3]


def test_a_pool_gives_what_it_would_without_us(sink: OtlpSink) -> None:
    with ThreadPool(2) as pool, pdoctor_trace.run():
        with pytest.raises(ZeroDivisionError):
            pool.map(lambda number: 1 / number, [0])
        assert pool.map_async(str, [1, 2], callback=None).get(5) == ["1", "2"]
        assert pool.starmap_async(pow, [(2, 3)]).get(5) == [8]
        with pytest.raises(TypeError):
            pool.apply_async()  # type: ignore[call-arg]


def test_a_thread_that_could_not_start_may_be_started_again(sink: OtlpSink) -> None:
    """A program that waits for a free thread tries the same object once more."""
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(work(1)))
    name = "_start_joinable_thread" if sys.version_info >= (3, 13) else "_start_new_thread"
    real = getattr(threading, name)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("can't start new thread")

    with pdoctor_trace.run():
        setattr(threading, name, refuse)
        try:
            with pytest.raises(RuntimeError, match="can't start"):
                thread.start()
        finally:
            setattr(threading, name, real)
        assert "run" not in vars(thread)
        thread.start()
        thread.join(60)
    pdoctor_trace.flush()
    assert done == [1]
    assert sink.calls[0].run_id == sink.runs[0].run_id


def test_a_thread_class_that_guards_its_attributes_still_runs(sink: OtlpSink) -> None:
    done: list[str] = []

    class Guarded(threading.Thread):
        @property
        def run(self) -> Any:  # type: ignore[override]
            return lambda: done.append("ran")

    from pdoctor_trace.harmless import FAILURES

    with pdoctor_trace.run():
        thread = Guarded()
        thread.start()
        thread.join(60)
    assert done == ["ran"]
    FAILURES.clear()


def test_starting_a_thread_twice_is_the_hosts_error_and_changes_nothing(sink: OtlpSink) -> None:
    with pdoctor_trace.run():
        thread = threading.Thread(target=work, args=(1,))
        thread.start()
        thread.join(60)
        with pytest.raises(RuntimeError, match="once"):
            thread.start()
    assert "run" not in vars(thread)


def test_our_own_thread_has_no_run_even_below_another_vendors_layer(
    sink: OtlpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wrapt

    started: list[str] = []

    def theirs(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        started.append(instance.name)
        return wrapped(*args, **kwargs)

    monkeypatch.setattr(threading.Thread, "start", wrapt.FunctionWrapper(threading.Thread.start, theirs))
    with pdoctor_trace.run():
        thread = threading.Thread(target=lambda: None, name="ours")
        export.start_untraced(thread)
        assert "run" not in vars(thread)
        thread.join(60)
        other = threading.Thread(target=work, args=(1,), name="host's")
        other.start()
        other.join(60)
    assert "ours" not in started
    assert "host's" in started


def test_a_pool_made_inside_a_run_does_not_keep_it(sink: OtlpSink) -> None:
    with pdoctor_trace.run(query="first"):
        pool = ThreadPool(1)
        executor = ThreadPoolExecutor(1)
        pool.apply(work, (1,))
        executor.submit(work, 2).result(5)
    pool.apply(work, (3,))
    executor.submit(work, 4).result(5)
    pool.close()
    pool.join()
    executor.shutdown()
    pdoctor_trace.flush()
    inside = {call.result for call in sink.calls if call.run_id == sink.runs[0].run_id}
    assert inside == {1, 2}


def test_after_uninstall_threads_and_pools_are_the_hosts_alone(sink: OtlpSink) -> None:
    with pdoctor_trace.run():
        pdoctor_trace.uninstall()
        thread = threading.Thread(target=work, args=(1,))
        thread.start()
        thread.join(60)
        with ThreadPool(1) as pool:
            assert pool.map(work, [2]) == [2]
    pdoctor_trace.flush()
    assert sink.calls == []


def test_work_that_brings_its_own_context_has_the_run_of_that(sink: OtlpSink) -> None:
    """What `asyncio.to_thread` gives away; any other partial function has the run of who gives it."""
    with ThreadPoolExecutor(1) as pool, pdoctor_trace.run(query="first"):
        taken = contextvars.copy_context()
        with pdoctor_trace.run(query="inner"):
            pool.submit(partial(taken.run, work, 1)).result()
        pool.submit(partial(work, 2)).result()
        pool.submit(partial(threading.Thread.run, threading.Thread(target=work, args=(3,)))).result()
    pdoctor_trace.flush()
    first, inner = sink.runs
    assert [call.parent_id for call in sink.calls] == [first.span_id] * 3
    assert inner.parent_id == first.span_id
