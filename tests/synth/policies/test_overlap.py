"""Calls that must not run at the same time: of the same thing."""

from __future__ import annotations

import pytest

from tests.synth.policies.test_rules_page import verdict

SAME = "Pay must not overlap each other with the same id."
TWO = "Pay must not overlap refund with the same id."


@pytest.mark.parametrize(
    ("rule", "calls", "said"),
    [
        (SAME, "pay(id=1)@10:00-10:05 pay(id=1)@10:02-10:03", "violated"),
        (SAME, "pay(id=1)@10:00-10:05 pay(id=2)@10:02-10:03", "ok"),
        (SAME, "pay(id=1)@10:00-10:05 pay(id=2)@10:01-10:09 pay(id=1)@10:04-10:06", "violated"),
        (SAME, "pay(id=1)@10:00-10:05 pay(id=1)@10:05-10:06", "ok"),
        (SAME, "pay(id=1)@10:00-10:05 pay@10:02-10:03", "undecided"),
        (TWO, "pay(id=1)@10:00-10:05 refund(id=1)@10:02-10:03", "violated"),
        (TWO, "refund(id=1)@10:00-10:05 pay(id=1)@10:02-10:03", "violated"),
        (TWO, "refund(id=1)@10:00-10:05 pay(id=2)@10:02-10:03", "ok"),
    ],
)
def test_calls_side_by_side(rule: str, calls: str, said: str) -> None:
    assert verdict(rule, calls) == said
