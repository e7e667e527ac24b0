"""Several senders are served in turn, and work on the event loop is done in slices."""

from __future__ import annotations

import asyncio
import random
import time
from itertools import pairwise

import pytest

from collector import fair
from collector.fair import SLICE_SECONDS, Flow, Pace, Slices, Turns


def test_senders_take_turns() -> None:
    line: Turns[str] = Turns()
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        line.put(Flow(item[0]), item)
    assert (len(line), line.of("a"), line.of("d")) == (6, 3, 0)
    assert [line.take() for _ in range(6)] == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert not line
    with pytest.raises(IndexError):
        line.take()
    with pytest.raises(IndexError):
        line.first()


def test_who_passes_on_keeps_its_place_among_its_own() -> None:
    line: Turns[str] = Turns()
    for item in ("a1", "a2", "b1"):
        line.put(Flow(item[0]), item)
    line.pass_on()
    assert line.first() == "b1"
    assert [line.take() for _ in range(3)] == ["b1", "a1", "a2"]


def test_what_is_small_does_not_wait_for_what_is_big_on_another_connection() -> None:
    line: Turns[str] = Turns()
    for number in range(3):
        line.put(Flow("a", "big"), f"big{number}", 100)
    for number in range(3):
        line.put(Flow("a", "small"), f"small{number}", 1)
    line.put(Flow("b"), "b", 1_000)
    assert [line.take() for _ in range(7)] == ["small0", "b", "small1", "small2", "big0", "big1", "big2"]


def test_new_connections_have_no_more_than_those_that_are_there() -> None:
    """A sender that comes again and again, beside one that opens another connection for each body."""
    line: Turns[str] = Turns()
    for number in range(50):
        line.put(Flow("a", f"new {number}"), "dear", 10)
    line.put(Flow("a", "good"), "good", 1)
    served = []
    for number in range(50, 100):
        served.append(line.take())
        line.put(Flow("a", f"new {number}"), "dear", 10)
        if served[-1] == "good":
            line.put(Flow("a", "good"), "good", 1)
    assert served.count("good") > 5
    assert served.count("dear") > 5


def test_what_is_big_has_its_turn_all_the_same() -> None:
    line: Turns[str] = Turns()
    line.put(Flow("a", "big"), "big", 20)
    served: list[str] = []
    while "big" not in served and len(served) < 99:
        line.put(Flow("a", "small"), "small", 1)
        served.append(line.take())
    assert served == ["small"] * 19 + ["big"]


def test_each_connection_has_as_much_while_others_have_portions_of_theirs() -> None:
    line: Turns[str] = Turns()
    left = {"many": 6, "more": 6}
    for name in left:
        line.put(Flow("a", name), name, 2)
    line.put(Flow("a", "few"), "few", 3)
    served = []
    while line:
        served.append(name := line.first())
        left[name] = left.get(name, 1) - 1
        if left[name]:
            line.pass_on(2)
        else:
            line.take()
    assert served[:6] == ["many", "more", "few", "many", "more", "many"]
    assert len(served) == 13


def test_what_a_connection_has_had_counts_for_what_it_asks_for_next() -> None:
    line: Turns[str] = Turns()
    line.put(Flow("a", "many"), "many", 2)
    line.put(Flow("a", "other"), "other", 3)
    line.pass_on(2)
    line.put(Flow("a", "many"), "more", 1)
    line.put(Flow("a", "new"), "new", 2)
    assert [line.take() for _ in range(4)] == ["other", "many", "new", "more"]


def test_a_connection_that_is_forgotten_while_it_waits_has_its_portions_all_the_same() -> None:
    line: Turns[str] = Turns()
    for number in range(40):
        line.put(Flow("a", str(number)), "done", 1)
    line.put(Flow("a", "waits"), "waits", 1)
    assert {line.take() for _ in range(40)} == {"done"}
    line.put(Flow("a", "new"), "new", 1)
    line.pass_on(1)
    assert [line.take(), line.take()] == ["waits", "new"]


def test_a_line_goes_on_whatever_comes() -> None:
    """Very many connections, in portions and at once: each gets all it waits for, and once."""
    r = random.Random(7)
    for _ in range(200):
        line: Turns[int] = Turns()
        left: dict[int, int] = {}
        for number in range(r.randint(1, 60)):
            left[number] = r.randint(1, 4)
            line.put(Flow(r.choice("ab"), str(r.randint(0, 40))), number, r.choice((0.5, 1, 1, 1, 3)))
            for _ in range(r.randint(0, 2)):
                serve(line, left, r)
        while line:
            serve(line, left, r)
        assert left == {}


def serve(line: Turns[int], left: dict[int, int], r: random.Random) -> None:
    """One portion of what is next, of those that are left of it."""
    if not line:
        return
    left[item := line.first()] -= 1
    if left[item]:
        line.pass_on(r.choice((0.5, 1, 1, 1, 3)))
    else:
        del left[item]
        assert line.take() == item


def test_what_cost_more_than_was_said_is_charged() -> None:
    line: Turns[str] = Turns()
    line.put(Flow("a", "packed"), "packed", 1)
    line.put(Flow("a", "plain"), "plain", 3)
    assert line.take() == "packed"
    line.charge(Flow("a", "packed"), 9)
    line.put(Flow("a", "packed"), "packed again", 1)
    line.put(Flow("a", "other"), "other", 4)
    line.charge(Flow("nobody"), 9)
    assert [line.take() for _ in range(3)] == ["plain", "other", "packed again"]


def test_work_is_charged_to_who_asked_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "SLICE_SECONDS", 1e-9)
    done: list[str] = []

    async def take(slices: Slices, name: str, took: float) -> None:
        for number in range(3):
            await slices.turn(Flow("a", name), 0.0001)
            with slices.work(Flow("a", name), 0.0001):
                done.append(f"{name} {number}")
                time.sleep(took)

    async def main() -> None:
        slices = Slices()
        slices.owe(1.0)
        await asyncio.gather(take(slices, "long", 0.02), take(slices, "short", 0.0))

    asyncio.run(main())
    assert done.index("short 2") < done.index("long 1")


def test_who_leaves_a_line_is_not_in_it() -> None:
    line: Turns[str] = Turns()
    for item in ("a1", "a2", "a3", "b1"):
        line.put(Flow(item[0]), item)
    line.drop(Flow("a"), "a2")
    line.drop(Flow("a"), "a2")
    line.drop(Flow("c"), "c1")
    line.drop(Flow("b"), "b1")
    assert [line.take() for _ in range(len(line))] == ["a1", "a3"]


def test_connections_that_have_left_are_forgotten() -> None:
    line: Turns[str] = Turns()
    line.put(Flow("a", "waits"), "waits", 1e9)
    for number in range(1_000):
        line.put(Flow("a", str(number)), "done", 1)
        assert line.take() == "done"
    assert len(line._lines["a"]._last) < 30


async def work(slices: Slices, who: str, name: str, done: list[str]) -> None:
    await slices.turn(Flow(who))
    with slices.work():
        done.append(name)


def test_others_get_their_turn_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten pieces of work, each as long as a slice, and something else that is ready all the time."""
    monkeypatch.setattr(fair, "SLICE_SECONDS", 0.0)
    done: list[str] = []

    async def beside() -> None:
        while done.count("|") < 99 and len(done) - done.count("|") < 5:
            done.append("|")
            await asyncio.sleep(0)

    async def main() -> None:
        slices = Slices()
        jobs = [work(slices, "a", f"a{at}", done) for at in range(4)]
        await asyncio.gather(*jobs, work(slices, "b", "b", done), beside())

    asyncio.run(main())
    assert all("|" in pair for pair in pairwise(done))
    assert [name for name in done if name != "|"] == ["a0", "b", "a1", "a2", "a3"]


def test_short_work_goes_before_long_work_of_other_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "SLICE_SECONDS", 1e-9)
    done: list[str] = []

    async def take(slices: Slices, name: str, seconds: float) -> None:
        await slices.turn(Flow("a", name), seconds)
        with slices.work():
            done.append(name)

    async def main() -> None:
        slices = Slices()
        await asyncio.gather(
            *(take(slices, f"long {at}", 0.01) for at in range(3)), take(slices, "short", 0.001)
        )

    asyncio.run(main())
    assert done == ["long 0", "short", "long 1", "long 2"]


def test_what_is_begun_is_begun_in_turns() -> None:
    """As pages are: however many one sender asks for, another begins after one of them."""
    done: list[str] = []

    async def begin(slices: Slices, who: str) -> None:
        await slices.begin(Flow(who), SLICE_SECONDS)
        done.append(who)

    async def main() -> None:
        slices = Slices()
        await asyncio.gather(*(begin(slices, "a") for _ in range(5)), begin(slices, "b"))

    asyncio.run(main())
    assert done == ["a", "a", "b", "a", "a", "a"]


def test_short_work_is_done_at_once() -> None:
    async def main() -> None:
        slices = Slices()
        turn = slices.turn(Flow("a"))
        with pytest.raises(StopIteration):  # it did not have to wait
            turn.send(None)
        with slices.work():
            pass
        turn = slices.turn(Flow("a"))
        with pytest.raises(StopIteration):
            turn.send(None)

    asyncio.run(main())


def test_who_leaves_the_line_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "SLICE_SECONDS", -1.0)

    async def main() -> None:
        slices = Slices()
        first, second = (asyncio.ensure_future(slices.turn(Flow(who))) for who in "ab")
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait_for(second, 30)

    asyncio.run(main())


def test_who_comes_when_there_is_time_again_waits_behind_those_who_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair, "SLICE_SECONDS", 1e-9)
    done: list[str] = []

    async def main() -> None:
        slices = Slices()

        tasks = [asyncio.create_task(work(slices, who, who, done)) for who in "abc"]
        await asyncio.sleep(0)
        assert done == ["a"]  # which used up the time there was
        await asyncio.sleep(0)
        await work(slices, "d", "d", done)
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert done == ["a", "b", "c", "d"]


def test_who_leaves_when_its_turn_has_come_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "SLICE_SECONDS", 1e-9)
    done: list[str] = []

    async def main() -> None:
        slices = Slices()

        _, leaves, waits = (asyncio.create_task(work(slices, who, who, done)) for who in "abc")
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it is told of its turn
        leaves.cancel()
        await asyncio.wait_for(waits, 30)

    asyncio.run(main())
    assert done == ["a", "c"]


def test_work_that_was_only_begun_uses_up_its_slice() -> None:
    async def scene() -> tuple[bool, bool]:
        slices = Slices()
        with slices.work():
            slices.owe(SLICE_SECONDS)
        before = slices.is_free
        await asyncio.sleep(0)
        return before, slices.is_free

    assert asyncio.run(scene()) == (False, True)


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pace_where_somebody_sends() -> tuple[Pace, Time]:
    clock = Time()
    made = Pace(clock)
    made.sent("sender")
    return made, clock


def test_who_asks_one_thing_after_the_other_has_half_of_the_time() -> None:
    pace, clock = pace_where_somebody_sends()
    pace.took(Flow("asker", "asker"), 0.01)
    waits = []
    for _ in range(5):
        waits.append(pace.wait(Flow("asker", "asker")))
        clock.now += waits[-1] + 0.01
        pace.took(Flow("asker", "asker"), 0.01)
    assert waits == pytest.approx([0.0, 0.01, 0.01, 0.01, 0.01])


def test_many_questions_at_once_are_answered_one_after_the_other() -> None:
    pace, _ = pace_where_somebody_sends()
    pace.took(Flow("asker", "asker"), 0.01)
    assert [pace.wait(Flow("asker", "asker")) for _ in range(4)] == pytest.approx([0.0, 0.02, 0.04, 0.06])
    assert [pace.wait(Flow("asker", "asker")) for _ in range(99)][-1] == pytest.approx(fair.LONGEST_WAIT)
    assert pace.wait(Flow("another", "another")) == 0.0


@pytest.mark.parametrize("away", ["nobody sends", "only the asker sends", "the other one sent long ago"])
def test_nobody_waits_for_nobody(away: str) -> None:
    clock = Time()
    pace = Pace(clock)
    if away == "the other one sent long ago":
        pace.sent("sender")
        clock.now += fair.SENT_SECONDS
    if away == "only the asker sends":
        pace.sent("asker")
        pace.sent("asker")
    pace.took(Flow("asker", "asker"), 0.05)
    assert [pace.wait(Flow("asker", "asker")) for _ in range(9)] == [0.0] * 9


def test_a_sender_that_asks_waits_for_the_one_that_sent_before_it() -> None:
    pace, _ = pace_where_somebody_sends()
    pace.sent("asker")
    pace.took(Flow("asker", "asker"), 0.01)
    assert [pace.wait(Flow("asker", "asker")) for _ in range(2)] == pytest.approx([0.0, 0.02])


def test_who_asks_waits_for_another_connection_of_its_own_address() -> None:
    clock = Time()
    pace = Pace(clock)
    pace.sent("sends")
    pace.took(Flow("a", "asks"), 0.01)
    assert [pace.wait(Flow("a", "sends")) for _ in range(3)] == [0.0] * 3
    assert [pace.wait(Flow("a", "asks")) for _ in range(3)] == pytest.approx([0.0, 0.02, 0.04])
    assert pace.wait(Flow("a", "asks, too")) == pytest.approx(0.06), "connections are no way round it"


def test_who_sends_waits_for_no_refusals_of_others_until_it_is_refused_itself() -> None:
    clock = Time()
    pace = Pace(clock)
    good, attacks = Flow("a", "good"), Flow("a", "attacks")
    for _ in range(3):
        pace.took(attacks, 0.02)
        pace.sent(attacks.connection)
        pace.sent(good.connection)
        assert pace.wait(good) == 0.0
    pace.took(good, 0.02)
    assert pace.wait(good) == 0.0
    assert pace.wait(good) > 0, "now it is one of those"
    pace.sent(good.connection)
    assert pace.wait(good) == 0.0
    clock.now += fair.SENT_SECONDS
    pace.sent(attacks.connection)
    assert list(pace._sent) == [attacks.connection], "who sent long ago is forgotten"


def test_an_answer_that_waited_counts_little_and_is_forgotten_soon() -> None:
    pace, clock = pace_where_somebody_sends()
    pace.took(Flow("asker", "asker"), 30.0)
    assert [pace.wait(Flow("asker", "asker")) for _ in range(2)] == pytest.approx(
        [0.0, fair.TIMES * fair.LONGEST_COST]
    )
    clock.now += fair.LONGEST_WAIT + 0.1
    assert pace.wait(Flow("asker", "asker")) == 0.0
    for number in range(1_000):
        pace.took(Flow(f"asker {number}"), 0.001)
        clock.now += 0.01
    assert len(pace._costs) <= 1 + fair.LONGEST_WAIT / 0.01


def test_turns_are_waited_for() -> None:
    async def main() -> float:
        pace = Pace()
        pace.sent("sender")
        pace.took(Flow("asker", "asker"), 0.05)
        await pace.turn(Flow("asker", "asker"))
        began = time.monotonic()
        await pace.turn(Flow("asker", "asker"))
        return time.monotonic() - began

    assert asyncio.run(main()) >= 0.09
