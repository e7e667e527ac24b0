"""The edges that docs/rules.md states: races, ends of windows, changed clocks, amounts that are text."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import PolicyResult, judge_policies, load_policies

SECOND = 10**9
HOUR = 3600 * SECOND
NOON = 1_700_000_000 * SECOND
ZONE = "Europe/Zurich"
ONCE = "Refund must happen at most 1 time with the same order_id."
SUM = "The sum of args.amount of refund must be at most 100."
EACH = "The sum of args.amount of refund must be at most 100 with the same currency."


def judged(rule: str, *calls: ToolCall, zone: str = "UTC") -> PolicyResult:
    head = f"timezone: {zone}\nactions: {{refund: refund}}\n"
    policies = load_policies(f"{head}policies:\n  - {{id: P, rule: {rule!r}}}\n")
    return judge_policies(policies, Run("run", calls))[0]


def refund(start: int = NOON, lasts: int = SECOND, **arguments: Any) -> ToolCall:
    return ToolCall(
        None, "refund", arguments, start=(start, start), end=(start + lasts, start + lasts), step=0
    )


def local(text: str, fold: int = 0) -> int:
    """An instant that the clocks of the zone show; `fold` 1 is the second time that they do."""
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE), fold=fold).timestamp()) * SECOND


@pytest.mark.parametrize("later", [0, 1, SECOND // 2], ids=["at once", "a nanosecond later", "while it runs"])
def test_two_refunds_of_one_order_side_by_side_are_two(later: int) -> None:
    first = refund(order_id=7)
    assert judged(ONCE, first, refund(NOON + later, order_id=7)).verdict == "violated"
    assert judged(ONCE, first, refund(NOON + later, order_id=8)).verdict == "ok"


@pytest.mark.parametrize(
    "rule",
    ["Refund must happen at most 1 time within 1 hour.",
     "The sum of args.amount of refund must be at most 60 within 1 hour."],
)  # fmt: skip
def test_the_end_of_a_window_is_outside_of_it_to_the_nanosecond(rule: str) -> None:
    first = refund(amount=50)
    assert judged(rule, first, refund(NOON + HOUR - 1, amount=50)).violations == (1,)
    assert judged(rule, first, refund(NOON + HOUR, amount=50)).verdict == "ok"


@pytest.mark.parametrize(
    ("clock", "verdict"),
    [
        ("2026-03-28T09:00", "ok"), ("2026-03-28T08:59:59", "violated"),
        ("2026-03-29T09:00", "ok"), ("2026-03-29T08:59:59", "violated"),
        ("2026-10-25T09:00", "ok"), ("2026-10-25T08:59:59", "violated"),
        ("2026-10-26T09:00", "ok"), ("2026-10-26T08:59:59", "violated"),
    ],
)  # fmt: skip
def test_on_days_on_which_clocks_change_the_clock_of_the_wall_decides(clock: str, verdict: str) -> None:
    assert judged("Refund must happen after 09:00.", refund(local(clock)), zone=ZONE).verdict == verdict


def test_an_hour_that_comes_twice_is_within_its_limits_both_times() -> None:
    rule = "Refund must happen between 02:00 and 03:00."
    for fold in (0, 1):
        assert judged(rule, refund(local("2026-10-25T02:30", fold)), zone=ZONE).verdict == "ok"
    assert judged(rule, refund(local("2026-10-25T03:30")), zone=ZONE).verdict == "violated"


def test_an_hour_that_never_comes_holds_no_call() -> None:
    rule = "Refund must happen between 02:00 and 03:00."
    before, after = local("2026-03-29T01:59:59"), local("2026-03-29T03:00:01")
    assert after - before == 2 * SECOND
    for start in (before, after):
        assert judged(rule, refund(start, lasts=0), zone=ZONE).verdict == "violated"


@pytest.mark.parametrize("day", ["2026-03-28T12:00", "2026-10-24T12:00"], ids=["23 hours", "25 hours"])
def test_24_hours_are_24_hours_whatever_the_clocks_do(day: str) -> None:
    rule, start = "Refund must happen at most 1 time within 24 hours.", local(day)
    assert judged(rule, refund(start), refund(start + 24 * HOUR - 1), zone=ZONE).verdict == "violated"
    assert judged(rule, refund(start), refund(start + 24 * HOUR), zone=ZONE).verdict == "ok"


DAILY = (
    "Refund must happen at most 1 time per calendar day.",
    "The sum of args.amount of refund must be at most 60 per calendar day.",
)


@pytest.mark.parametrize("rule", DAILY)
@pytest.mark.parametrize(
    ("day", "next_day", "hours"),
    [
        ("2026-03-29", "2026-03-30", 23), ("2026-10-25", "2026-10-26", 25), ("2026-06-01", "2026-06-02", 24),
    ],
)  # fmt: skip
def test_a_calendar_day_is_the_local_one_to_the_nanosecond(
    rule: str, day: str, next_day: str, hours: int
) -> None:
    begin, end = local(f"{day}T00:00"), local(f"{next_day}T00:00")
    assert end - begin == hours * HOUR

    def of(*starts: int) -> PolicyResult:
        return judged(rule, *(refund(start, amount=50) for start in starts), zone=ZONE)

    assert of(begin, end - 1).violations == (1,)
    assert of(begin, end).verdict == "ok"
    assert of(begin - 1, begin).verdict == "ok"
    assert of(begin - 1, end - 1).verdict == "ok"
    assert of(end, end + 23 * HOUR, begin).violations == (1,)


@pytest.mark.parametrize("rule", DAILY)
def test_a_call_of_which_the_day_is_open_decides_nothing_unless_each_day_does(rule: str) -> None:
    midnight = local("2026-06-02T00:00")

    def between(lo: int, hi: int) -> ToolCall:
        return ToolCall(None, "refund", {"amount": 50}, start=(lo, hi), end=(hi + 1, hi + 1))

    open_ = judged(rule, refund(midnight - HOUR, amount=50), between(midnight - 1, midnight), zone=ZONE)
    assert (open_.verdict, "on one day (Europe/Zurich)" in open_.explanation) == ("undecided", True)
    surely = judged(rule, refund(midnight - HOUR, amount=50), between(midnight - 2, midnight - 1), zone=ZONE)
    assert surely.violations == (1,)
    other = judged(rule, refund(midnight - HOUR, amount=50), between(midnight, midnight + HOUR), zone=ZONE)
    assert other.verdict == "ok"
    untimed = judged(rule, *(ToolCall(None, "refund", {"amount": 50}) for _ in range(2)))
    assert (untimed.verdict, "the run has none" in untimed.explanation) == ("unsupported", True)


def test_an_open_hour_that_comes_twice_over_midnight_may_be_of_both_days() -> None:
    """In St. John's the clocks went from 00:01 back to 23:01 of the day before."""
    zone = ZoneInfo("America/St_Johns")
    change = round(datetime(2010, 11, 6, 22, 0, tzinfo=zone).timestamp()) * SECOND + 2 * HOUR + HOUR // 60
    first = refund(change - HOUR // 120)
    assert datetime.fromtimestamp(first.start[0] // SECOND, zone).day == 7  # type: ignore[index]
    assert datetime.fromtimestamp(change // SECOND, zone).day == 6
    rule = "Refund must happen at most 1 time per calendar day."
    perhaps = ToolCall(
        None, "refund", {}, start=(change - HOUR, change + HOUR // 2), end=(NOON * 2, NOON * 2)
    )
    later = refund(change + 2 * HOUR)
    assert judged(rule, later, first, zone="America/St_Johns").violations == (0,)
    assert judged(rule, later, perhaps, zone="America/St_Johns").verdict == "undecided"


@pytest.mark.parametrize("amount", ["1,200.50", "$40", "40 EUR", "40", ""])
def test_an_amount_that_is_text_decides_nothing(amount: str) -> None:
    found = judged(SUM, refund(amount=10), refund(amount=amount))
    assert (found.verdict, "is a text, not a number" in found.explanation) == ("undecided", True)
    assert judged(SUM, refund(amount=101), refund(amount=amount)).violations == (0,)


def test_currencies_of_their_own_field_are_sums_of_their_own() -> None:
    both = refund(amount=80, currency="EUR"), refund(amount=80, currency="USD")
    assert judged(EACH, *both).verdict == "ok"
    assert judged(SUM, *both).violations == (1,)
    assert judged(EACH, *both, refund(amount=21, currency="EUR")).violations == (2,)
    unsaid = judged(EACH, both[0], refund(amount=80))
    assert (unsaid.verdict, "has no argument 'currency'" in unsaid.explanation) == ("undecided", True)
    other = judged(SUM, refund(amount=80), refund(amount_usd=80))
    assert (other.verdict, "has no argument 'amount'" in other.explanation) == ("undecided", True)


def test_negative_and_missing_amounts_leave_open_what_hangs_on_them() -> None:
    assert judged(SUM, refund(amount=60), refund(amount=-20), refund(amount=30)).verdict == "ok"
    assert judged(SUM, refund(amount=60), refund(amount=-20), refund(amount=50)).verdict == "undecided"
    assert judged(SUM, refund(amount=60), refund()).verdict == "undecided"
    assert judged("The sum of args.price of refund must be at most 1.", refund(amount=60)).verdict == (
        "unsupported"
    )
