"""How often an action may be done within a time, and with equal arguments."""

from __future__ import annotations

from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import PolicyResult, judge_policies, load_policies
from synth.policies.session import judge_turn

HOUR = 3_600_000_000_000
START = 1_700_000_000_000_000_000


def judged(rule: str, *calls: ToolCall, **fields: Any) -> PolicyResult:
    text = f"actions: {{transfer: transfer, refund: refund}}\npolicies:\n  - {{id: P, rule: {rule!r}}}\n"
    (result,) = judge_policies(load_policies(text), Run("run", calls, **fields))
    return result


def at(*starts: int | tuple[int, int] | None, tool: str = "transfer", **arguments: Any) -> list[ToolCall]:
    """Calls that start so many nanoseconds after the first hour, or between two such times."""
    found = []
    for start in starts:
        lo, hi = start if isinstance(start, tuple) else (start, start)
        said = None if lo is None or hi is None else (START + lo, START + hi)
        end = None if said is None else (said[0] + 1, said[1] + 1)
        found.append(ToolCall(None, tool, dict(arguments), start=said, end=end))
    return found


THREE_AN_HOUR = "Transfer must happen at most 3 times within 1 hour."
ONCE_EACH = "Refund must happen at most 1 time with the same order_id."


@pytest.mark.parametrize(
    ("starts", "verdict", "beyond"),
    [
        ([0, 1, 2], "ok", ()),
        ([0, 1, 2, HOUR - 1], "violated", (3,)),
        ([0, 1, 2, HOUR], "ok", ()),
        ([0, HOUR - 3, HOUR - 2, HOUR - 1, HOUR], "violated", (3, 4)),
        ([0, 0, 0, 0], "violated", (3,)),
        ([0, 2 * HOUR, 4 * HOUR, 6 * HOUR, 8 * HOUR], "ok", ()),
        ([], "not_applicable", ()),
    ],
    ids=[
        "as many",
        "just before",
        "the hour is over",
        "windows slide",
        "at once",
        "far apart",
        "none",
    ],
)
def test_the_window_slides_and_its_end_is_outside(
    starts: list[int], verdict: str, beyond: tuple[int, ...]
) -> None:
    found = judged(THREE_AN_HOUR, *at(*starts))
    assert (found.verdict, found.violations) == (verdict, beyond)
    if beyond:
        assert "transfer may happen at most 3 times within 1 hour; call" in found.explanation


@pytest.mark.parametrize(
    ("starts", "verdict"),
    [
        ([0, 1, 2, (3, 9)], "violated"),
        ([0, 1, 2, (3, 2 * HOUR)], "undecided"),
        ([0, 1, 2, (HOUR, 2 * HOUR)], "ok"),
        ([(0, 5), (0, 5), (0, 5), (0, 5)], "violated"),
        ([None, None, None], "ok"),
        ([None, None, None, None], "unsupported"),
    ],
    ids=["surely near", "perhaps near", "surely later", "in any order", "few without times", "many without"],
)
def test_times_that_are_bounds(starts: list[Any], verdict: str) -> None:
    assert judged(THREE_AN_HOUR, *at(*starts)).verdict == verdict


def test_equal_arguments_count_together_however_calls_overlap() -> None:
    twice = [at(0, tool="refund", order_id=order)[0] for order in (7, 8, 7)]
    within = "Refund must happen at most 1 time within 1 hour with the same order_id."
    found = judged(ONCE_EACH, *twice)
    assert (found.verdict, found.violations) == ("violated", (2,))
    assert "refund may happen at most 1 time with the same order_id; call 2" in found.explanation
    assert judged(ONCE_EACH, *twice[:2]).verdict == "ok"
    assert judged(within, *twice).verdict == "violated"
    later = [*twice[:2], *at(HOUR, tool="refund", order_id=7)]
    assert judged(within, *later).verdict == "ok"


def test_arguments_that_are_missing_or_not_known() -> None:
    bare = at(0, tool="refund")
    known = at(1, tool="refund", order_id=7)
    assert judged(ONCE_EACH, *bare, *bare).verdict == "unsupported"
    found = judged(ONCE_EACH, *bare, *known)
    assert (found.verdict, "has no argument 'order_id'" in found.explanation) == ("undecided", True)
    hidden = ToolCall(None, "refund", {}, partly={"arguments": "hashed"})
    assert judged(ONCE_EACH, *known, hidden).verdict == "undecided"
    assert judged(ONCE_EACH, *known, *known, hidden).violations == (1,)


def test_what_nobody_saw_leaves_a_full_window_open() -> None:
    gap = Unseen("a lost call", calls=1)
    assert judged(THREE_AN_HOUR, *at(0, 1, 2), unseen=(gap,)).verdict == "undecided"
    assert judged(THREE_AN_HOUR, *at(0, 1), unseen=(gap,)).verdict == "ok"
    assert judged(THREE_AN_HOUR, *at(0, 1, 2, 3), unseen=(gap,)).verdict == "violated"
    assert judged(THREE_AN_HOUR, unseen=(gap,)).verdict == "undecided"
    assert judged(THREE_AN_HOUR, *at(0, 1, 2), unseen=(gap,), tools=("refund",)).verdict == "ok"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Refund must happen at most 0 times within 1 hour.", "a count is said"),
        ("Refund must happen at most 2 times within 0 seconds.", "a count is said"),
        ("Refund must be alone in its turn with the same order_id.", "can ask for the same arguments"),
        ("Refund must happen at least 2 times with the same order_id.", "can ask for the same arguments"),
    ],
)
def test_what_cannot_be_meant_is_refused(rule: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        judged(rule)


@pytest.mark.parametrize("rule", [
    "Transfer must happen at most three times within 1 hour.",
    "Transfer should occur no more than 3 times within any 60 minutes.",
    "Transfer must be done at most 3 within 3600 seconds.",
])  # fmt: skip
def test_other_words_for_the_same(rule: str) -> None:
    assert judged(rule, *at(0, 1, 2, 3)).violations == (3,)
    assert judged(rule, *at(0, 1, 2, HOUR)).verdict == "ok"


def test_many_calls_cost_little() -> None:
    assert judged(THREE_AN_HOUR, *at(*range(9_000))).violations[:2] == (3, 4)
    blurred = at(*((start, start + 1) for start in range(9_000)), tool="refund")
    both = "Transfer and refund must happen at most 3 times within 1 hour."
    assert judged(both, *blurred).verdict == "undecided"
    found = judged(both, *at(0, 0, 0, 0), *blurred)
    assert (found.verdict, found.violations) == ("violated", (3,))


def test_in_a_conversation_each_run_has_its_own_calls() -> None:
    rules = f"policies:\n  - {{id: P, rule: {THREE_AN_HOUR!r}}}\n"
    policies = load_policies(f"actions: {{transfer: transfer}}\nscope: session\n{rules}")
    turns = [Run("first", tuple(at(0, 1, 2, 3))), Run("second", tuple(at(4)))]
    (found,) = judge_turn(lambda rules, run, part: judge_policies(rules, run, part=part), policies, turns, 1)
    assert (found.run_id, found.violations) == ("second", (0,))
    assert "calls 3" not in found.explanation
