"""How much one transaction stores, so that no sender waits long for another's."""

from __future__ import annotations

import pytest

from collector.fair import Flow
from collector.pipeline import writer
from collector.pipeline.writer import FEWEST_SEGMENTS, GROUP_SECONDS, GROUP_SEGMENTS, SEVERAL_SECONDS, Pace


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [1_000.0]
    monkeypatch.setattr(writer.time, "monotonic", lambda: clock[0])
    return clock


def test_one_sender_has_all_that_fits(now: list[float]) -> None:
    pace = Pace()
    for _ in range(3):
        pace.came(Flow("a"))
        pace.took(1_000, 1.0)
    assert pace.segments() == GROUP_SEGMENTS


def test_several_have_what_is_quickly_stored_until_only_one_is_left(now: list[float]) -> None:
    pace = Pace()
    pace.came(Flow("a"))
    pace.came(Flow("b"))
    assert pace.segments() == GROUP_SEGMENTS, "nothing is known yet"
    pace.took(1_000, 0.2)
    assert pace.segments() == int(GROUP_SECONDS / 0.0002)
    now[0] += SEVERAL_SECONDS + 0.1
    pace.came(Flow("b"))
    assert pace.segments() == GROUP_SEGMENTS


def test_connections_of_one_sender_are_several(now: list[float]) -> None:
    pace = Pace()
    pace.came(Flow("a", "1"))
    pace.came(Flow("a", "2"))
    pace.took(1_000, 0.2)
    assert pace.segments() == int(GROUP_SECONDS / 0.0002)


@pytest.mark.parametrize(("seconds", "expected"), [(60.0, FEWEST_SEGMENTS), (0.0001, GROUP_SEGMENTS)])
def test_there_are_bounds(now: list[float], seconds: float, expected: int) -> None:
    pace = Pace()
    pace.came(Flow("a"))
    pace.came(Flow("b"))
    pace.took(1_000, seconds)
    assert pace.segments() == expected


def test_what_a_commit_costs_is_not_taken_for_the_price_of_a_segment(now: list[float]) -> None:
    pace = Pace()
    pace.came(Flow("a"))
    pace.came(Flow("b"))
    pace.took(1_000, 0.2)
    before = pace.segments()
    pace.took(FEWEST_SEGMENTS - 1, 5.0)
    assert pace.segments() == before
    pace.took(FEWEST_SEGMENTS, 5.0)
    assert pace.segments() < before
