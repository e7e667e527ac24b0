"""The kinds of rules that ask about failures, stretches, equal arguments and days, against all small worlds.

`make soak` tries 50,000 pairs of a run and a rule for each; other runs a fiftieth.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, Rules, judge_policies, load_policies
from synth.policies.online import Prefix
from tests.properties.test_agreement_policies import DRAWS, KINDS, check, check_bounds
from tests.support.soak import new_seed, tell, tries

NEW = (
    "after failure", "absence within", "absence same", "response to failure", "adjacency same", "next call",
    "next call same", "next call to failure", "between",
    "between same", "until", "until after failure", "rate", "either before", "neither after", "after either",
    "at most of both", "at least before", "at least before same", "different before", "only so often before",
    "after failures", "against", "paired", "paired same", "at most as often", "first call", "last call",
    "in a row",
    "in a row same", "failures in a row", "failures in a row same", "at most failures",
    "at most successes same", "at most values",
)  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", NEW)
def test_a_rule_means_what_its_definition_says(name: str) -> None:
    check(name, tries(30_000), "failing")


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in NEW if not name.startswith("at most")])
def test_bounds_are_judged_as_by_trying_every_world(name: str) -> None:
    check_bounds(name, max(tries(20_000), DRAWS.get(name, 0)))


# ---------------------------------------------------------------- the judge, Z3 and the guard


def told_in_order(r: random.Random) -> Run:
    """Calls of which no two begin or end at one instant."""
    count = r.randint(0, 7)
    instants = r.sample(range(1, 20), 2 * count)
    calls = []
    for k in range(count):
        start, end = sorted(instants[2 * k : 2 * k + 2])
        at, over = (instant * 10**9 for instant in (start, end))
        calls.append(
            ToolCall(
                None, r.choice("aabbc"), {"x": r.choice((1, 1, 2))}, error=r.choice((None, None, None, "no")),
                start=(at, at), end=(over, over),
            )
        )  # fmt: skip
    return Run("run", tuple(sorted(calls, key=lambda call: call.start or (0, 0))))


def standing(policies: PolicySet, run: Run) -> str:
    """What the guard's evaluator says after the same calls have begun and ended one by one."""
    prefix, places = Prefix(policies), {}
    events = [
        (edges[0], ends, k)
        for k, call in enumerate(run.calls)
        for ends, edges in enumerate((call.start, call.end))
        if edges is not None
    ]
    for at, ends, k in sorted(events):
        if ends:
            prefix.ended(places[k], None, run.calls[k].error, at)
        else:
            places[k] = prefix.began(run.calls[k], at)
    return prefix.standings(10**12)["P"]


@pytest.mark.parametrize("name", NEW)
def test_the_judge_z3_and_the_guard_say_the_same(name: str) -> None:
    r, seen = random.Random(new_seed()), Counter[str]()
    text = f"actions: {{A: a, B: b, C: c}}\npolicies: [{{id: P, rule: {KINDS[name][0]!r}}}]\n"
    policies = load_policies(text)
    while seen.total() < tries(2_000) or min(seen["violated"], seen["ok"]) < 2:
        run = told_in_order(r)
        (direct,) = judge_policies(policies, run, rules=Rules(z3="off", repair=False))
        (by_z3,) = judge_policies(policies, run, rules=Rules(z3="all", repair=False))
        assert (by_z3.verdict, by_z3.violations) == (direct.verdict, direct.violations), run
        broken = standing(policies, run) in ("broken for good", "open")
        assert broken is (direct.verdict == "violated"), (run, direct, standing(policies, run))
        seen[direct.verdict] += 1
    tell(f"judge, Z3, guard: {name}", seen)


# ---------------------------------------------------------------- days of the week

BERLIN = ZoneInfo("Europe/Berlin")
WEEKS = (datetime(2025, 3, 24, tzinfo=BERLIN), datetime(2025, 10, 20, tzinfo=BERLIN))
"""Mondays before summer time begins and ends."""
HOUR = 3600 * 10**9
DAYS = {
    "A must never happen on weekends.": {0, 1, 2, 3, 4},
    "A must happen on Thursday to Monday.": {3, 4, 5, 6, 0},
    "A must only happen on Sundays.": {6},
    "A must never happen on Friday or Saturday.": {0, 1, 2, 3, 6},
}


def near_midnight(r: random.Random, *, blur: bool) -> tuple[int, int]:
    """The bounds of an instant at the edge of a day, or an hour of it, with up to two days between them."""
    day = r.choice(WEEKS) + timedelta(days=r.randrange(9), hours=r.choice((0, 0, 0, 2, 23)))
    at = int(day.timestamp()) * 10**9 + r.choice((-1, 0, 1))
    return at, at + (r.choice((0, 0, 1, 2, HOUR, 25 * HOUR, 47 * HOUR)) if blur else 0)


def days_within(lo: int, hi: int) -> set[int]:
    """Every day of the week on which an instant between the two can be, from hour to hour."""
    instants = (*range(lo, hi, HOUR), hi)
    return {datetime.fromtimestamp(at // 10**9, BERLIN).weekday() for at in instants}


def run_over_days(r: random.Random) -> tuple[Run, list[set[int]]]:
    calls, days, blur = [], [], r.random() < 0.6
    for _ in range(r.randint(0, 4)):
        lo, hi = near_midnight(r, blur=blur)
        made = ToolCall(
            None, r.choice("aab"), {}, start=(lo, hi), end=(lo + HOUR, hi + HOUR), executed=r.random() < 0.9,
            finished=True,
        )  # fmt: skip
        calls.append(made)
        days.append(days_within(lo, hi) if made.tool == "a" and made.executed else set())
    return Run("run", tuple(calls)), days


@pytest.mark.heavy
@pytest.mark.parametrize("sentence", DAYS)
def test_a_day_of_the_week_is_that_of_the_zone_in_every_world(sentence: str) -> None:
    r, seen = random.Random(new_seed()), Counter[str]()
    text = "timezone: Europe/Berlin\nactions: {A: a}\npolicies: [{id: P, rule: "
    policies = load_policies(f"{text}{sentence!r}}}]\n")
    for _ in range(tries(50_000) // len(DAYS)):
        run, days = run_over_days(r)
        wrong = [at for at, on in enumerate(days) if on and not on & DAYS[sentence]]
        asked = [on for on in days if on]
        sure = all(on <= DAYS[sentence] for on in asked)
        expected = "violated" if wrong else "not_applicable" if not asked else "ok" if sure else "undecided"
        (found,) = judge_policies(policies, run, rules=Rules(repair=False))
        assert (found.verdict, list(found.violations)) == (expected, wrong), run
        seen[found.verdict] += 1
    tell(f"days of the week: {sentence}", seen)
    assert set(seen) == {"ok", "violated", "undecided", "not_applicable"}, seen


# ---------------------------------------------------------------- days of the calendar

DAILY = (
    "A must happen at most 1 time per calendar day.",
    "A must succeed at most 1 time per calendar day.",
    "A must fail at most 1 time per calendar day.",
    "A must happen at most 1 time on the same calendar day with the same x.",
    "The sum of args.x of A must be at most 3 in one calendar day.",
)


def too_much(sentence: str, calls: list[ToolCall], days: tuple[int, ...]) -> list[int]:
    """By the words of the sentence, where each call is on one day."""
    sums: Counter[tuple[int, int]] = Counter()
    broken = []
    for at, (call, day) in enumerate(zip(calls, days, strict=True)):
        if (
            call.tool != "a"
            or ("succeed" in sentence and call.error)
            or ("fail" in sentence and not call.error)
        ):
            continue
        x = (call.arguments or {})["x"]
        group = (day, x if "same x" in sentence else 0)
        sums[group] += x if "sum" in sentence else 1
        if sums[group] > (3 if "sum" in sentence else 1):
            broken.append(at)
    return broken


@pytest.mark.parametrize("sentence", DAILY)
def test_calls_of_one_calendar_day_count_together_in_every_world(sentence: str) -> None:
    r, seen = random.Random(new_seed()), Counter[str]()
    text = "timezone: Europe/Berlin\nactions: {A: a}\npolicies: [{id: P, rule: "
    policies = load_policies(f"{text}{sentence!r}}}]\n")
    while seen.total() < tries(20_000) // len(DAILY) or len(seen) < 4:
        calls: list[Any] = []
        blur = r.random() < 0.6
        for _ in range(r.randint(0, 5)):
            lo, hi = near_midnight(r, blur=blur)
            calls.append((lo, hi, r.choice("aaab"), r.choice((1, 1, 2)), r.choice((None, None, "no"))))
        made = [
            ToolCall(None, tool, {"x": x}, error=error, start=(lo, hi), end=(lo + HOUR, hi + HOUR))
            for lo, hi, tool, x, error in sorted(calls, key=lambda one: one[:2])
        ]
        days = [ordinals_within(*call.start) for call in made if call.start]
        worlds = [too_much(sentence, made, world) for world in product(*days)]
        (found,) = judge_policies(policies, Run("run", tuple(made)), rules=Rules(repair=False))
        seen[found.verdict] += 1
        if not any(call.tool == "a" for call in made):
            assert found.verdict == "not_applicable"
        elif len(worlds) == 1:
            assert (found.verdict, list(found.violations)) == (
                "violated" if worlds[0] else "ok", worlds[0]
            ), made  # fmt: skip
        else:
            verdicts = {"violated" if one else "ok" for one in worlds}
            assert found.verdict == "undecided" or verdicts == {found.verdict}, made
            if len(verdicts) == 1 and "ok" in verdicts:
                assert found.verdict == "ok", made
    tell(f"calendar days: {sentence}", seen)


@pytest.mark.parametrize("sentence", DAILY)
def test_a_guard_and_the_judge_agree_about_calendar_days(sentence: str) -> None:
    """A call is refused exactly where it is one too many by the words of the sentence."""
    r, refused, rounds = random.Random(new_seed()), 0, 0
    asks_for_the_end = "fail" in sentence or "succeed" in sentence
    text = "timezone: Europe/Berlin\nactions: {A: a}\npolicies: [{id: P, rule: "
    policies = load_policies(f"{text}{sentence!r}}}]\n")
    while rounds < max(tries(1_000) // len(DAILY), 40) or not (refused or asks_for_the_end):
        rounds += 1
        prefix, made = Prefix(policies), []
        starts = sorted({near_midnight(r, blur=False)[0] for _ in range(r.randint(0, 7))})
        for at in starts:
            call = ToolCall(None, r.choice("aaab"), {"x": r.choice((1, 1, 2))})
            error = r.choice((None, None, "no"))
            days = tuple(ordinals_within(one, one).pop() for one in starts[: len(made) + 1])
            worst = replace(call, error="no" if "fail" in sentence else None)
            judged_so = len(made) in too_much(sentence, [*made, worst], days)
            decision, place = prefix.propose(call, at)
            assert decision.refused is (judged_so and not asks_for_the_end), (made, call)
            refused += decision.refused
            place = prefix.began(call, at) if place is None else place
            prefix.ended(place, None, error, at + 1)
            made.append(replace(call, error=error))
            broken = too_much(sentence, made, days)
            assert (prefix.standings(at + 2)["P"] == "broken for good") is bool(broken), made


def ordinals_within(lo: int, hi: int) -> set[int]:
    """Every local date on which an instant between the two can be, from hour to hour."""
    instants = (*range(lo, hi, HOUR), hi)
    return {datetime.fromtimestamp(at // 10**9, BERLIN).toordinal() for at in instants}
