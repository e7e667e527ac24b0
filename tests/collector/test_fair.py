"""Several senders are served in turn, and work on the event loop is done in slices."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from collector import fair
from collector.fair import SLICE_SECONDS, Slices, Turns


def test_senders_take_turns() -> None:
    line: Turns[str] = Turns()
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        line.put(item[0], item)
    assert (len(line), line.of("a"), line.of("d")) == (6, 3, 0)
    assert [line.take() for _ in range(6)] == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert not line
    with pytest.raises(IndexError):
        line.take()


def test_who_passes_on_keeps_its_place_among_its_own() -> None:
    line: Turns[str] = Turns()
    for item in ("a1", "a2", "b1"):
        line.put(item[0], item)
    line.pass_on()
    assert line.first() == ("b", "b1")
    assert [line.take() for _ in range(3)] == ["b1", "a1", "a2"]


async def work(slices: Slices, who: str, name: str, done: list[str]) -> None:
    await slices.turn(who)
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


def test_what_is_begun_is_begun_in_turns() -> None:
    """As pages are: however many one sender asks for, another begins after one of them."""
    done: list[str] = []

    async def begin(slices: Slices, who: str) -> None:
        await slices.begin(who, SLICE_SECONDS)
        done.append(who)

    async def main() -> None:
        slices = Slices()
        await asyncio.gather(*(begin(slices, "a") for _ in range(5)), begin(slices, "b"))

    asyncio.run(main())
    assert done == ["a", "a", "b", "a", "a", "a"]


def test_short_work_is_done_at_once() -> None:
    async def main() -> None:
        slices = Slices()
        turn = slices.turn("a")
        with pytest.raises(StopIteration):  # it did not have to wait
            turn.send(None)
        with slices.work():
            pass
        turn = slices.turn("a")
        with pytest.raises(StopIteration):
            turn.send(None)

    asyncio.run(main())


def test_who_leaves_the_line_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "SLICE_SECONDS", -1.0)

    async def main() -> None:
        slices = Slices()
        first, second = (asyncio.ensure_future(slices.turn(who)) for who in "ab")
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
