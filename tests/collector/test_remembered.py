"""What is kept of answers: for a while, and never more than there is room for."""

from __future__ import annotations

import gc
import weakref

from collector.remembered import LONGEST, TIMES, Remembered


class Answer(list[int]):
    """One that can be watched."""


class Slow:
    """A clock, and a search that takes a second."""

    def __init__(self) -> None:
        self.now, self.times = 0.0, 0
        self.made: list[weakref.ref[Answer]] = []

    def __call__(self) -> float:
        return self.now

    def find(self, parts: int = 1) -> Answer:
        self.now += 1.0
        self.times += 1
        found = Answer(range(parts))
        self.made.append(weakref.ref(found))
        return found

    @property
    def kept(self) -> int:
        gc.collect()
        return sum(one() is not None for one in self.made)


def test_an_answer_is_found_once_for_a_while() -> None:
    slow = Slow()
    kept = Remembered(slow)
    assert kept.get("a", slow.find) is kept.get("a", slow.find)
    assert slow.times == 1
    slow.now += min(TIMES, LONGEST)
    kept.get("a", slow.find)
    assert slow.times == 2


def test_what_is_out_of_date_goes_with_the_next_answer() -> None:
    slow = Slow()
    kept = Remembered(slow)
    for number in range(5):
        kept.get(number, slow.find)
    assert slow.kept == 5
    slow.now += LONGEST
    kept.get("another", slow.find)
    assert slow.kept == 1


def test_long_answers_to_ever_other_questions_are_not_all_kept() -> None:
    slow = Slow()
    kept = Remembered(slow, most_parts=1_000)
    for number in range(10):
        kept.get(number, lambda: slow.find(300))
    assert slow.kept == 3
    kept.get(9, lambda: slow.find(300))
    assert slow.times == 10
    kept.get("longer than all", lambda: slow.find(1_001))
    assert slow.kept == 0


def test_short_answers_are_counted() -> None:
    slow = Slow()
    kept = Remembered(slow, most=4)
    for number in range(20):
        slow.now -= 1.0
        kept.get(number, lambda: slow.find(0))
    assert slow.kept <= 4
