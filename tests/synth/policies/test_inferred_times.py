"""Policies on calls of which only bounds of their times are known."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synth.observed.run import ToolCall
from tests.support.building import call, ns
from tests.support.policing import brief


def spread(name: str, start: tuple[float, float], end: tuple[float, float]) -> ToolCall:
    made = call(name)
    times = {"start": (ns(start[0]), ns(start[1])), "end": (ns(end[0]), ns(end[1]))}
    return type(made)(None, made.tool, {}, **times)  # type: ignore[arg-type]


def test_a_call_that_cannot_be_directly_before_does_not_hide_earlier_ones() -> None:
    calls = [spread("a", (0, 8.5), (9.5, 10)), call("a", 1, 2), call("c", 5.5, 11), call("b", 11.5, 12)]
    assert brief("A must happen immediately before B.", calls) == ("undecided", ())


def clock(text: str, day: int = 14) -> float:
    return datetime.fromisoformat(f"2026-07-{day:02}T{text}:00").replace(tzinfo=UTC).timestamp()


NIGHT = "A must happen after 22:00, and A must happen before 06:00."
OFFICE = "A must happen after 09:00, and A must happen before 17:00."


@pytest.mark.parametrize(
    ("rule", "since", "until", "verdict"),
    [
        ("A must happen after 22:00.", clock("23:50"), clock("00:10", 15), "undecided"),
        ("A must happen before 06:00.", clock("23:50"), clock("00:10", 15), "undecided"),
        (NIGHT, clock("23:50"), clock("00:10", 15), "ok"),
        (NIGHT, clock("21:50"), clock("00:10", 15), "undecided"),
        (NIGHT, clock("05:00"), clock("23:00"), "undecided"),
        (NIGHT, clock("07:00"), clock("21:00"), "violated"),
        (OFFICE, clock("17:10"), clock("08:50", 15), "violated"),
        (OFFICE, clock("17:10"), clock("09:10", 15), "undecided"),
        ("A must happen after 22:00.", clock("22:10"), clock("23:59"), "ok"),
        ("A must happen after 22:00.", clock("00:10"), clock("21:50"), "violated"),
        ("A must happen after 22:00.", clock("21:00"), clock("23:00"), "undecided"),
        ("A must happen after 00:00.", clock("21:00"), clock("23:00", 20), "ok"),
        ("A must happen after 22:00.", 0, clock("21:00"), "undecided"),
        ("A must happen before 06:00.", 0, clock("07:00"), "undecided"),
        (OFFICE, clock("18:00", 1), clock("08:00", 28), "undecided"),
    ],
)
def test_a_start_that_may_lie_on_either_side_of_midnight(
    rule: str, since: float, until: float, verdict: str
) -> None:
    made = spread("a", (since, until), (since + 1, until + 1))
    assert brief(rule, [made])[0] == verdict
