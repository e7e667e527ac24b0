"""What must follow, or must not, once an action has failed so many times."""

from __future__ import annotations

import pytest

from tests.support.policing import brief

ALL = "If a fails 2 times, b must follow."
ROW = "If a fails 2 times in a row, b must follow."
BAN = "If a fails 2 times in a row, b must never happen."


@pytest.mark.parametrize(
    ("rule", "calls", "verdict"),
    [
        (ALL, "a! b", "not_applicable"),
        (ALL, "a! a! b", "ok"),
        (ALL, "a! a a! b", "ok"),
        (ALL, "a! a a!", "violated"),
        (ALL, "a! b a!", "violated"),
        (ALL, "a! a! b!", "violated"),
        (ALL, "a! a! b a!", "ok"),
        (ROW, "a! a a!", "not_applicable"),
        (ROW, "a! c a!", "violated"),
        (ROW, "a! a! b a! a!", "ok"),
        (ROW, "a! a! b a a! a!", "violated"),
        (BAN, "a! a! b", "violated"),
        (BAN, "a! a! b!", "violated"),
        (BAN, "b a! a!", "ok"),
        (BAN, "a! a a! b", "not_applicable"),
        (BAN, "a! a a! a! b", "violated"),
        ("If a fails 2 times in a row, a must never happen.", "a! a! a", "violated"),
        ("If a fails 2 times in a row, a must never happen.", "a! a a! a! c", "ok"),
        ("B must never happen after a fails twice in a row.", "a! a! b", "violated"),
    ],
)
def test_so_many_failures(rule: str, calls: str, verdict: str) -> None:
    assert brief(rule, calls)[0] == verdict


AGAIN = "If a fails, it must be tried again"


@pytest.mark.parametrize(
    ("rule", "calls", "verdict"),
    [
        (f"{AGAIN}.", "a! a", "ok"),
        (f"{AGAIN}.", "a! a! a", "ok"),
        (f"{AGAIN}.", "a! b", "violated"),
        (f"{AGAIN}.", "a", "not_applicable"),
        ("If a fails, a must be attempted again.", "a! b a", "ok"),
    ],
)
def test_another_attempt_is_enough(rule: str, calls: str, verdict: str) -> None:
    assert brief(rule, calls)[0] == verdict
