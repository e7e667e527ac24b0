"""Hours of certain days in which an action may, or must not, begin; the runs here are on a Friday."""

from __future__ import annotations

import pytest

from tests.synth.policies.test_rules_page import verdict

OPEN = "Pay must happen on weekdays between 09:00 and 17:00."
LATE = "Pay must never happen on Fridays after 15:00."


@pytest.mark.parametrize(
    ("rule", "calls", "said"),
    [
        (OPEN, "pay@09:00", "ok"),
        (OPEN, "pay@08:59", "violated"),
        (OPEN, "pay@16:59-17:05", "ok"),
        (OPEN, "pay@17:00", "violated"),
        (OPEN, "refund@20:00", "not_applicable"),
        ("Pay must happen on Saturdays and Sundays between 09:00 and 17:00.", "pay@10:00", "violated"),
        (LATE, "pay@14:59", "ok"),
        (LATE, "pay@15:00", "violated"),
        ("Pay must never happen on Mondays after 15:00.", "pay@15:00", "ok"),
        ("Pay must not happen on weekdays before 08:00.", "pay@07:00", "violated"),
        ("Pay must not happen on weekdays before 08:00.", "pay@08:00", "ok"),
        ("Pay must only happen on weekdays after 08:00.", "pay@07:00", "violated"),
    ],
)
def test_hours_of_days(rule: str, calls: str, said: str) -> None:
    assert verdict(rule, calls) == said
