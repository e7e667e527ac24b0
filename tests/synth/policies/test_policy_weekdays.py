"""On which days of the week an action may happen."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from synth.judge.rules import Rules
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import PolicyResult, judge_policies, load_policies
from synth.policies.session import judge_turn

NO_FRIDAYS = "Deploy must never happen on Fridays."
SKEWED = Rules(clock_skew_ms=5_000.0)


def policies(rule: str, zone: str = "UTC", scope: str = "run") -> Any:
    return load_policies(
        f"timezone: {zone}\nscope: {scope}\nactions: {{deploy: deploy, test: test}}\n"
        f"policies:\n  - {{id: P, rule: {rule!r}}}\n"
    )


def judged(rule: str, *calls: ToolCall, zone: str = "UTC", **fields: Any) -> PolicyResult:
    (result,) = judge_policies(policies(rule, zone), Run("run", calls, **fields))
    return result


def at(*moments: str | tuple[str, str] | None, zone: str = "UTC", tool: str = "deploy") -> list[ToolCall]:
    """Calls that start at such a local time, or between two."""
    found = []
    for moment in moments:
        lo, hi = moment if isinstance(moment, tuple) else (moment, moment)
        start = None if lo is None or hi is None else (instant(lo, zone), instant(hi, zone))
        found.append(ToolCall(None, tool, {}, start=start, end=start and (start[0] + 1, start[1] + 1)))
    return found


def instant(moment: str, zone: str) -> int:
    local = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone))
    return int(local.timestamp() * 1_000_000) * 1000


THURSDAY, FRIDAY, SATURDAY, MONDAY = "2024-10-24", "2024-10-25", "2024-10-26", "2024-10-28"


@pytest.mark.parametrize(
    ("rule", "day", "verdict"),
    [
        (NO_FRIDAYS, THURSDAY, "ok"),
        (NO_FRIDAYS, FRIDAY, "violated"),
        ("Deploy must happen on weekdays.", FRIDAY, "ok"),
        ("Deploy must happen on weekdays.", SATURDAY, "violated"),
        ("Deploy must only happen on working days.", SATURDAY, "violated"),
        ("Deploy must happen only on weekends.", SATURDAY, "ok"),
        ("Deploy must happen on Friday, Saturday and Monday.", THURSDAY, "violated"),
        ("Deploy must happen on Friday, Saturday and Monday.", MONDAY, "ok"),
        ("Deploy must happen on Friday to Monday.", SATURDAY, "ok"),
        ("Deploy must happen on Friday to Monday.", THURSDAY, "violated"),
        ("Deploy must happen on Monday through Thursday.", THURSDAY, "ok"),
        ("Deploy must happen on Monday through Thursday.", FRIDAY, "violated"),
        ("Deploy must not be done on Fridays or Saturdays.", SATURDAY, "violated"),
        ("Deploy and test must never happen on Fridays.", FRIDAY, "violated"),
    ],
)
def test_the_day_on_which_a_call_starts_counts(rule: str, day: str, verdict: str) -> None:
    assert judged(rule, *at(f"{day}T12:00")).verdict == verdict


def test_days_are_those_of_the_time_zone_of_the_file() -> None:
    late = at(f"{THURSDAY}T23:30", zone="UTC")
    assert judged(NO_FRIDAYS, *late).verdict == "ok"
    found = judged(NO_FRIDAYS, *late, zone="Europe/Berlin")
    assert (found.verdict, found.violations) == ("violated", (0,))
    assert found.explanation == (
        "deploy (call 0) may happen on Monday, Tuesday, Wednesday, Thursday, Saturday and Sunday "
        "(Europe/Berlin); it started on Friday."
    )


def test_the_night_on_which_clocks_are_put_back_belongs_to_its_day() -> None:
    zone = "Europe/Berlin"
    sundays = "Deploy must never happen on Sundays."
    edges = at("2024-10-26T23:59:59.999999", "2024-10-28T00:00", zone=zone)
    assert judged(sundays, *edges, zone=zone).verdict == "ok"
    inside = at("2024-10-27T00:00", "2024-10-27T02:30", "2024-10-27T23:59:59.999999", zone=zone)
    assert judged(sundays, *inside, zone=zone).violations == (0, 1, 2)


@pytest.mark.parametrize(
    ("first", "last", "verdict"),
    [
        (f"{THURSDAY}T10:00", f"{THURSDAY}T23:59", "ok"),
        (f"{THURSDAY}T10:00", f"{FRIDAY}T00:00", "undecided"),
        (f"{FRIDAY}T10:00", f"{FRIDAY}T11:00", "violated"),
        (f"{SATURDAY}T10:00", "2024-10-31T23:00", "ok"),
        (f"{SATURDAY}T10:00", "2024-11-02T09:00", "undecided"),
        ("2024-01-01T10:00", "2024-12-31T09:00", "undecided"),
    ],
)
def test_times_that_are_bounds(first: str, last: str, verdict: str) -> None:
    assert judged(NO_FRIDAYS, *at((first, last))).verdict == verdict


def test_what_ran_elsewhere_or_not_at_all() -> None:
    assert judged(NO_FRIDAYS, *at(f"{FRIDAY}T10:00", tool="test")).verdict == "not_applicable"
    assert judged(NO_FRIDAYS, *at(None)).verdict == "unsupported"
    gap = Unseen("a lost call", calls=1)
    assert judged(NO_FRIDAYS, *at(f"{THURSDAY}T10:00"), unseen=(gap,)).verdict == "undecided"
    assert judged(NO_FRIDAYS, *at(f"{FRIDAY}T10:00"), unseen=(gap,)).verdict == "violated"
    assert judged(NO_FRIDAYS, *at(f"{THURSDAY}T10:00"), unseen=(gap,), tools=("test",)).verdict == "ok"


def test_in_a_conversation_each_run_has_its_own_calls() -> None:
    turns = [Run("first", tuple(at(f"{FRIDAY}T10:00"))), Run("second", tuple(at(f"{MONDAY}T10:00")))]
    rules = policies(NO_FRIDAYS, scope="session")
    (found,) = judge_turn(lambda rules, run, part: judge_policies(rules, run, part=part), rules, turns, 1)
    assert (found.run_id, found.verdict) == ("second", "ok")


def test_of_two_clocks_neither_says_alone_on_which_day_it_was() -> None:
    """The second clock may be up to the allowed skew off; one call is a second from midnight."""
    calls = [
        replace(call, extra={"clock": name})
        for name, call in zip("ab", at(f"{THURSDAY}T23:59:59", f"{THURSDAY}T12:00"), strict=True)
    ]
    (found,) = judge_policies(policies(NO_FRIDAYS), Run("run", tuple(calls)), rules=SKEWED)
    assert found.verdict == "undecided"
    assert judged(NO_FRIDAYS, *at(f"{THURSDAY}T23:59:59", f"{THURSDAY}T12:00")).verdict == "ok"
