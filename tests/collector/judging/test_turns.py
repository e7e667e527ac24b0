"""What a run of a conversation is judged by, and when it is looked at again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from collector.judging.turns import (
    KEPT_CALLS,
    LONGEST_WAIT,
    MOST_CALLS,
    MOST_VALUES,
    Conversation,
    KeptRuns,
    Wanted,
    around,
    as_turn,
    left_out,
    packed,
)
from collector.model import Rebuilt
from collector.settings import Settings
from collector.store.turns import Member
from collector.store.work import Claim, Conclusion
from synth.observed.run import run_from_json
from synth.policies import PolicyResult, needs_of
from tests.support.building import call, run
from tests.support.policing import policy

SECOND = 10**9


def member(row: int, **fields: Any) -> Member:
    return replace(Member(row, f"run {row}", row, 0.0, "needs", "stamp", 1), **fields)


def conversation(**fields: Any) -> Conversation:
    settings = Settings(session_idle_seconds=100.0, grace_seconds=2.0)
    return replace(Conversation([], [], 1000.0, 990.0, 50 * SECOND, settings), **fields)


def due(result: PolicyResult, now: float, due: float | None = None, **fields: Any) -> float | None:
    """When to look again at a run with this result."""
    claim = Claim(1, 1, "run", 1, 0.0, 0.0, None, 0, None, None)
    found = conversation(**fields).concluded(Conclusion(claim, {}, "", "", due), [result], now)
    assert found.awaits is result.awaits
    return found.next_due


def waits(until: int | None = None) -> PolicyResult:
    return PolicyResult("run", "p", "undecided", pending=True, awaits=True, until=until)


def test_a_run_that_waits_is_looked_at_again_when_the_conversation_is_silent() -> None:
    assert due(waits(), 1001.0) == 1100.0
    assert due(waits(), 1099.0) == 1100.0
    assert due(waits(), 1100.0) is None
    assert due(replace(waits(), awaits=False), 1001.0) is None
    assert due(waits(), 1001.0, due=1005.0) == 1005.0  # an open run is looked at sooner
    assert due(waits(), 1101.0, due=1105.0) == 1105.0


def test_no_duty_is_waited_for_longer_than_a_day() -> None:
    busy = {"last_seen": 990.0 + LONGEST_WAIT}
    assert due(waits(), 1001.0, **busy) == 990.0 + LONGEST_WAIT
    assert conversation(**busy).at(989.0 + LONGEST_WAIT, run("a")).goes_on
    assert not conversation(**busy).at(990.0 + LONGEST_WAIT, run("a")).goes_on


def test_a_window_is_counted_from_the_arrival_of_the_run() -> None:
    """Its spans came at 990 and end at 50 s on their clock: 80 s there is 30 s and the grace later here."""
    assert due(waits(80 * SECOND), 1001.0) == 990.0 + 2.0 + 30.0
    assert due(waits(800 * SECOND), 1001.0) == 1100.0
    assert due(waits(80 * SECOND), 1001.0, ended_ns=None) == 1100.0
    talk = conversation().at(1022.0, run("a"))
    assert (talk.goes_on, talk.until) == (True, 80 * SECOND)
    assert conversation(ended_ns=None).at(1022.0, run("a")).until is None


def test_the_run_stands_between_those_before_and_after_it() -> None:
    talk = conversation(before=[run("a"), run("b")], after=[run("c")]).at(1001.0, run("d"))
    assert ([one.calls[0].tool for one in talk.runs], talk.turn) == (["do_a", "do_b", "do_d", "do_c"], 2)


def test_values_are_those_of_the_nearest_runs() -> None:
    half = MOST_VALUES // 2
    before = [member(1, size=half), member(2, size=half), member(3), member(4, size=half)]
    earlier, later, cut = around(before, [member(5, size=half), member(6)], cut=False)
    assert [(one.member.run, one.whole) for one in earlier] == [(1, False), (2, True), (3, False), (4, True)]
    assert [(one.member.run, one.whole) for one in later] == [(5, False), (6, False)]
    assert not cut
    assert [one.whole for one in around([], [member(5, size=half)], cut=False)[1]] == [True]


def test_the_oldest_runs_are_left_out_where_there_are_too_many_calls() -> None:
    before = [member(1, calls=1), member(2, calls=MOST_CALLS - 1), member(3, calls=1)]
    assert [one.member.run for one in around(before, [], cut=False)[0]] == [2, 3]
    assert around(before, [], cut=False)[2]
    assert not around(before[1:], [], cut=False)[2]
    assert around(before[1:], [], cut=True)[2]
    (gap,) = left_out([run("a")]).gaps
    assert (gap.before, gap.calls) == (0, None)
    assert "more than 10000 runs or 100000 calls: what they did is not known" in gap.problem


def test_what_is_kept_in_memory_is_bounded() -> None:
    kept = KeptRuns()
    body = orjson.dumps(run("a b").to_json())
    big = [Wanted(member(row, calls=KEPT_CALLS // 2), whole=False) for row in range(3)]
    for one in big:
        kept.put(one, body)
    assert [kept.get(one) is not None for one in big] == [False, False, True]
    assert kept.get(Wanted(member(2, calls=KEPT_CALLS // 2, stamp="new"), whole=False)) is None
    assert kept.get(Wanted(member(2, calls=KEPT_CALLS // 2), whole=True)) is None
    assert Wanted(member(1, size=MOST_VALUES), whole=True).weight > 1000


def rebuilt(*names: str, **fields: Any) -> Rebuilt:
    made = run([call(name, 0, 1, arguments={"id": name * 10}, result={"id": 1}) for name in names])
    return Rebuilt(made, (), True, True, len(names), len(names), None, 0, 1, 3, is_agent=True, **fields)


def test_a_run_is_kept_without_values_and_with_those_that_are_read() -> None:
    reads = needs_of([policy("provenance: {calls: A, argument: id, from: B}", head="scope: session\n")])
    turn = packed(1, 1, rebuilt("a", "b"), as_turn(rebuilt("a", "b")), reads)
    bare, whole = (run_from_json(orjson.loads(body or b"")) for body in (turn.body, turn.whole))
    assert [one.result for one in whole.calls] == [None, {"id": 1}]
    assert [one.result for one in bare.calls] == [None, None]
    assert [dict(one.partly) for one in bare.calls] == [{}, {"result": "absent"}]
    assert (turn.calls, turn.size > 0) == (2, True)
    named = needs_of([policy("rule: A must happen before B.", head="scope: session\n")])
    plain = packed(1, 1, rebuilt("a"), as_turn(rebuilt("a")), named)
    assert (plain.whole, plain.size) == (None, 0)
    huge = rebuilt("b")
    result = {"id": "x" * MOST_VALUES}
    huge = replace(huge, run=replace(huge.run, calls=(replace(huge.run.calls[0], result=result),)))
    assert packed(1, 1, huge, as_turn(huge), reads).whole is None


@pytest.mark.parametrize("missing", [0, 1])
def test_calls_that_never_came_are_a_gap_for_the_others(missing: int) -> None:
    lost = replace(rebuilt("a"), expected_calls=1 + missing)
    assert len(as_turn(lost).gaps) == missing
