from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from synth.client import Backlog
from synth.experiments.patience import IDLE_LOOKS, LONGEST_PAUSE, Patience, may_pass, pause_after
from synth.experiments.trial import Result
from synth.formal import Trouble
from tests.support.bench_results import result, untested

LIMIT = 10.0


class Waiting:
    """Somebody who looks once each time the limit has passed, at a collector whose backlog is told."""

    def __init__(self, *found: Backlog) -> None:
        self.said: list[str] = []
        left: Iterator[Backlog] = iter(found)
        self._now = 1_000.0
        self.patience = Patience(LIMIT, lambda: next(left), self.said.append, lambda: self._now)

    def looks(self) -> int:
        """How often, until it is over."""
        for number in range(1, 100):
            self._now += LIMIT
            if self.patience.is_over:
                return number
        raise AssertionError("never over")


def test_where_nothing_waits_the_limit_is_the_limit() -> None:
    waiting = Waiting(Backlog(0, 0.0, 9), Backlog(0, 0.0, 9))
    assert waiting.looks() == 2
    assert waiting.patience.why == "no verdict within 20 s; nothing waits at the collector"


def test_a_collector_that_works_off_what_came_before_is_waited_for() -> None:
    """Until whatever waits came after this run: then this one has been passed over."""
    behind = [Backlog(100 - k, 25.0 + k, 10 * k) for k in range(5)]
    waiting = Waiting(*behind)
    assert waiting.looks() == 4
    assert waiting.said[0] == "waiting for verdicts: 100 to judge (the first for 25 s) at the collector"
    assert waiting.patience.why.startswith("no verdict within 40 s; 97 to judge")


def test_a_collector_that_judges_nothing_is_not_waited_for() -> None:
    stuck = [Backlog(7, 500.0 + k, 42) for k in range(9)]
    waiting = Waiting(*stuck)
    assert waiting.looks() == 1 + IDLE_LOOKS
    assert waiting.patience.why.endswith("at the collector, which judges none of them")


def test_progress_starts_the_count_of_idle_looks_again() -> None:
    judged = [1, 1, 1, 2, 2, 2, 2]
    waiting = Waiting(*(Backlog(7, 500.0, many) for many in judged))
    assert waiting.looks() == len(judged)


def test_nobody_asks_before_the_limit_has_passed() -> None:
    waiting = Waiting()
    assert not waiting.patience.is_over


# ---------------------------------------------------------------- made again at once


def of(kind: str, status: int | None = None, agent: str = "raw-loop") -> Result:
    return untested(trouble=Trouble(kind, status, "why"), agent=agent)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "again"),
    [
        (of("endpoint"), True),
        (of("endpoint", 429), True),
        (of("endpoint", 500), True),
        (of("endpoint", 529), True),
        (of("endpoint", 400), False),
        (of("endpoint", 401), False),
        (of("endpoint", 404), False),
        (replace(of("endpoint"), status="timeout"), False),
        (of("unreachable", agent="http://127.0.0.1:9"), True),
        (of("unreachable", agent="exec:no-such-program"), False),
        (of("unreachable", agent="no_such:agent"), False),
        (of("crash_before_start"), False),
        (of("worker"), False),
        (of("collector"), False),
        (of("no_verdict"), False),
        (result("fail", "order_error"), False),
    ],
)
def test_only_what_may_be_over_soon_is_tried_again_at_once(found: Result, again: bool) -> None:
    assert may_pass(found) is again


def test_the_server_says_how_long_to_wait_within_reason() -> None:
    assert pause_after({"retry_after": None}, 1.0) == 1.0
    assert pause_after({"retry_after": 0.2}, 1.0) == 1.0
    assert pause_after({"retry_after": 7.0}, 1.0) == 7.0
    assert pause_after({"retry_after": 86_400.0}, 1.0) == LONGEST_PAUSE
