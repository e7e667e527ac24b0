"""Drafts of limits, hours, days, stretches, alternatives and equal fields.

Runs are made at random; what would break a planted rule is left out of them. The rule is drafted then, and is
not where nothing was left out.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, lint, load_policies
from synth.policies.draft import Draft, Drafted, draft
from tests.support.soak import seeded

SECOND = 10**9
HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOISE = ("look up", "list", "search", "note", "rate", "print")


@dataclass
class Story:
    """What a run has had so far, for rules that look back."""

    paid: list[tuple[int, float, str]] = field(default_factory=list)
    """(when, how much, for which order)."""
    waits: bool = False
    failed: bool = False
    done: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)


Keeps = Callable[[Story, int, int, str], bool]
"""(the run so far, when, how much, for which order) -> may `pay` be called?"""
PLANTED: dict[str, tuple[str, Keeps]] = {
    "total": (
        "The sum of args.amount of pay must be at most 500.",
        lambda s, at, amount, _: sum(one[1] for one in s.paid) + amount <= 500,
    ),
    "rate": (
        "Pay must happen at most 1 time within 1 hour.",
        lambda s, at, *_: not any(at - t < HOUR for t, *_ in s.paid),
    ),
    "window": ("Pay must happen between 09:00 and 17:00.", lambda s, at, *_: 9 <= at // HOUR % 24 < 17),
    "night": ("Pay must happen between 22:00 and 06:00.", lambda s, at, *_: (at // HOUR + 2) % 24 < 8),
    "weekdays": ("Pay must happen on weekdays.", lambda s, at, *_: (at // DAY + 3) % 7 < 5),
    "a day": ("Pay must never happen on Fridays.", lambda s, at, *_: (at // DAY + 3) % 7 != 4),
    "until": ("Pay must never happen after search until check.", lambda s, *_: not s.waits),
    "until_after_failure": (
        "If check fails, pay must never happen until check succeeds.", lambda s, *_: not s.failed,
    ),
    "either_before": (
        "Approve or check must happen before pay.", lambda s, *_: bool(s.done & {"approve", "check"}),
    ),
    "precedence_same": (
        "Check must happen before pay with the same order_id.", lambda s, at, a, order: order in s.checked,
    ),
    "rate_same": (
        "Pay must happen at most 1 time with the same order_id.",
        lambda s, at, a, order: order not in {one[2] for one in s.paid},
    ),
}  # fmt: skip
RUNS = {"total": 400, "until_after_failure": 800, "until": 400, "night": 400}
"""Where there is little to see in a run, more of them must be seen."""


def made(chance: random.Random, runs: int, keeps: Keeps | None) -> list[Run]:
    return [Run(f"r{number}", tuple(calls(chance, keeps))) for number in range(runs)]


def calls(chance: random.Random, keeps: Keeps | None) -> list[ToolCall]:
    story, found = Story(), []
    at = (20_000 * DAY // SECOND + chance.randrange(120 * 86_400)) * SECOND
    names = [
        *chance.choices(NOISE, k=chance.randint(3, 9)), *["pay"] * chance.choice((0, 1, 1, 2, 3, 5)),
        *["check"] * chance.choice((0, 1, 1, 2)), *["approve"] * chance.choice((0, 1, 1)),
    ]  # fmt: skip
    chance.shuffle(names)
    for name in names:
        at += chance.randrange(1, 2400) * SECOND
        amount, order = chance.randrange(1, 300), f"o{chance.randrange(6)}"
        fails = chance.random() < (0.35 if name == "check" else 0.1)
        if name == "pay" and keeps is not None and not keeps(story, at, amount, order):
            continue
        arguments = {"order_id": order, "amount": amount}
        end = at + SECOND
        found.append(
            ToolCall(None, name, arguments, start=(at, at), end=(end, end), error="no" if fails else None)
        )
        if name == "pay":
            story.paid.append((at, amount, order))
        elif name == "check":
            story.failed = fails
            story.waits = story.waits and fails
        elif name == "search" and not fails:
            story.waits = True
        if not fails:
            story.done.add(name)
            if name == "check":
                story.checked.add(order)
        at = end
    return found


def said_of(found: Draft) -> list[str]:
    return [rule.sentence for rule in found.rules]


def kept_by(found: Draft, runs: Sequence[Run]) -> None:
    """The file lints clean, every run keeps every rule of it, and its figures are the checker's."""
    policies = load_policies(found.text)
    assert lint(policies) == ()
    applied: dict[str, int] = defaultdict(int)
    for run in runs:
        for result in judge_policies(policies, run):
            assert result.verdict in ("ok", "not_applicable"), (result, run)
            applied[result.policy] += result.verdict == "ok"
    for rule in found.rules:
        assert 3 <= rule.support <= applied[rule.id], rule


@pytest.mark.heavy
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_rule_is_drafted_and_without_it_is_not(kind: str) -> None:
    wanted, keeps = PLANTED[kind]
    with seeded() as chance:
        runs = made(chance, RUNS.get(kind, 250), keeps)
        found = draft(runs)
        assert wanted in said_of(found), said_of(found)
        kept_by(found, runs)
        assert wanted not in said_of(draft(made(chance, RUNS.get(kind, 250), None)))


def test_several_rules_at_once_are_drafted() -> None:
    several = ("a day", "either_before", "rate_same")
    runs = made(random.Random(7), 200, lambda *said: all(PLANTED[kind][1](*said) for kind in several))
    found = draft(runs)
    for kind in several:
        assert PLANTED[kind][0] in said_of(found), said_of(found)
    assert len(found.rules) <= 8
    kept_by(found, runs)


# ---------------------------------------------------------------- what is never drafted


def payments(runs: int, *amounts: int, days: int = 30) -> list[Run]:
    """Runs of payments ten minutes apart, with as many reading calls between them."""
    found = []
    for number in range(runs):
        at, made = 20_000 * DAY + number % days * DAY + 10 * HOUR, []
        for amount in amounts:
            for tool, value in (("pay", amount), ("look", 1), ("look", 1)):
                at += 4 * 60 * SECOND
                call = ToolCall(None, tool, {"amount": value + number % 7}, start=(at, at), end=(at, at))
                made.append(call)
        found.append(Run(f"r{number}", tuple(made)))
    return found


BOUNDED = ("rate", "total", "window", "weekdays")


@pytest.mark.parametrize(("runs", "drafted"), [(19, False), (20, True)])
def test_a_limit_is_learned_from_twenty_runs_or_none(runs: int, drafted: bool) -> None:
    found = draft(payments(runs, 90, 10), min_surprise=0.0, top=1000)
    assert any(rule.kind in BOUNDED for rule in found.rules) is drafted
    assert all(rule.support >= (20 if rule.kind in BOUNDED else 3) for rule in found.rules)


def test_nothing_is_learned_from_two_runs() -> None:
    runs = payments(2, 90, 10, 50)
    assert draft(runs, min_surprise=0.0, top=1000).rules == ()
    with pytest.raises(BadInput, match="learned from 3 runs or more, not from 2"):
        draft(runs, min_support=2)


@pytest.mark.parametrize(("days", "drafted"), [(9, False), (10, True)])
def test_a_busy_day_is_one_day(days: int, drafted: bool) -> None:
    """A hundred runs of nine days say nothing of the hours of a day; other calls are made at any hour."""
    runs = payments(50, 90, days=days)
    for number in range(240):
        at = 20_000 * DAY + number % 10 * DAY + number // 10 * HOUR
        runs.append(Run(f"n{number}", (ToolCall(None, "note", {}, start=(at, at), end=(at, at)),)))
    found = draft(runs, min_surprise=0.0, top=1000).rules
    assert ("window", ("pay",)) in {(rule.kind, rule.tools) for rule in found} or not drafted
    assert drafted or not {rule.kind for rule in found if rule.tools == ("pay",)} & {"window", "weekdays"}


def the(kind: str, runs: Sequence[Run]) -> Drafted:
    found = draft(runs, min_surprise=0.0, top=1000).rules
    return next(rule for rule in found if (rule.kind, rule.tools) == (kind, ("pay",)))


def test_a_limit_says_what_it_leaves() -> None:
    found = the("total", payments(22, 90, 7, 8))
    assert found.sentence == "The sum of args.amount of pay must be at most 130."
    assert found.bound == "The largest sum seen is 123: the limit leaves 7."
    assert f"# {found.bound}" in draft(payments(22, 90, 7, 8), min_surprise=0.0, top=1000).text
    found = the("rate", payments(22, 1, 1, 1))
    assert found.sentence == "Pay must happen at most 1 time within 10 minutes."
    assert found.bound == "The nearest 2 calls began 12 min apart: 2 min more than the rule asks for."


def test_amounts_that_are_texts_or_lacking_have_no_sum() -> None:
    for odd in ("12", None, True, -3):
        runs = payments(22, 90, 7, 8)
        first = replace(runs[4].calls[0], arguments={"amount": odd})
        runs[4] = replace(runs[4], calls=(first, *runs[4].calls[1:]))
        found = draft(runs, min_surprise=0.0, top=1000).rules
        assert [rule.tools for rule in found if rule.kind == "total"] == [("look",)]


def test_what_one_run_breaks_is_not_drafted() -> None:
    runs = made(random.Random(3), 120, PLANTED["rate_same"][1])
    call = ToolCall(None, "pay", {"order_id": "o1", "amount": 1}, start=(1, 1), end=(2, 2))
    assert PLANTED["rate_same"][0] in said_of(draft(runs))
    assert PLANTED["rate_same"][0] not in said_of(draft([*runs, Run("more", (call, call))]))


def test_what_says_no_more_is_left_out() -> None:
    """Each of a chain is for one order: that the last needs the first with the same order follows."""
    chance = random.Random(5)
    runs = []
    for number in range(30):
        orders = [f"o{number}", f"p{number}"]
        tools = [(tool, order) for order in orders for tool in ("open", "pack", "ship")]
        noise = [(chance.choice(NOISE), chance.choice(orders)) for _ in range(4)]
        for one in noise:
            tools.insert(chance.randrange(len(tools) + 1), one)
        runs.append(Run(f"r{number}", tuple(ToolCall(None, t, {"order": o}) for t, o in tools)))
    said = [one for one in said_of(draft(runs)) if "same order" in one]
    assert "Open must happen before pack with the same order." in said
    assert "Pack must happen before ship with the same order." in said
    assert "Open must happen before ship with the same order." not in said
    assert not any(one == "Open must happen before pack." for one in said_of(draft(runs)))
