from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait

from synth.experiments.source import Gate, Source
from synth.experiments.trial import Trial
from tests.support.bench_results import trials

NOT_YET = 0.1
"""Seconds in which what must wait has not gone on."""


def test_each_trial_is_handed_out_once_to_whoever_asks() -> None:
    wanted = trials(50)
    source = Source(wanted, Gate(), ahead=99)
    with ThreadPoolExecutor(4) as pool:
        shares = pool.map(lambda _: [trial.key for trial in source], range(4))
    assert sorted(key for share in shares for key in share) == sorted(trial.key for trial in wanted)


def test_only_so_many_are_out_without_a_result() -> None:
    source = Source(trials(5), Gate(), ahead=2)
    taken = iter(source)
    for _ in range(2):
        next(taken)
    with ThreadPoolExecutor(1) as pool:
        third = pool.submit(next, taken)
        assert not done_soon(third)
        source.done()
        assert third.result(10).case_id == "case-2"


def done_soon(future: Future[Trial]) -> bool:
    return bool(wait([future], NOT_YET).done)


def test_nothing_begins_while_somebody_holds_the_gate_closed() -> None:
    gate = Gate()
    taken = iter(Source(trials(2), gate, ahead=9))
    with ThreadPoolExecutor(1) as pool:
        with gate.closed(), gate.closed():
            first = pool.submit(next, taken)
            assert not done_soon(first)
        assert first.result(10).case_id == "case-0"


def test_stopping_ends_every_wait() -> None:
    gate = Gate()
    source = Source(trials(2), gate, ahead=1)
    next(iter(source))
    with ThreadPoolExecutor(2) as pool, gate.closed():
        share, pause = pool.submit(list, source), pool.submit(source.pause, 600.0)
        source.stop()
        assert share.result(10) == []
        assert pause.result(10) is False


def test_a_pause_that_nobody_ends_was_one() -> None:
    assert Source((), Gate(), ahead=1).pause(0.0)
