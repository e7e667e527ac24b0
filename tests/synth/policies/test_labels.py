"""An action as a label, with what is demanded of it behind; short signs and capitals."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = ("run tests", "deploy service", "page oncall", "refund ticket", "search flights")
ANY = {"any tool": Tools("any tool", ("*",))}
NAMES = Names(ANY | {phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in PHRASES})


def rule(sentence: str) -> PolicyKind:
    return read_rule(sentence, NAMES, OURS)


FORMS = (
    "deploy service: {}",
    "Deploy service - {}.",
    "deploy service \u2013 {}",
    "deploy service; {}",
    "Deploys: {}",
)
BEHIND = {
    "deploy service must take at most 15 minutes": (
        "15 minutes at the longest", "15 min max", "time limit 15 minutes", "at most 15 minutes",
        "takes 15 minutes at most", "no longer than 15 minutes",
    ),
    "deploy service must happen at most 1 time with the same region": (
        "one try per region, failed ones "
        "count", "at most one attempt per region", "limited to 1 call per region",
        "max 1x per region", "1 try per region, never a second one",
    ),
    "deploy service must happen at most 5 times within 1 minute": (
        "rate limit 5/min", "limited to 5 calls a minute", "max. 5 per minute", "5 calls max per minute",
    ),
    "There must be at least 15 minutes between two calls of deploy "
    "service": ("15 minutes apart", "at least 15m apart"),
    "Deploy service must never overlap": ("not in parallel", "one at a time", "never two at the same time"),
    "Run tests must happen before deploy service": (
        "preceded by run tests", "needs run tests first", "not w/o run tests",
            "run tests must succeed before it",
        "RUN TESTS FIRST",
    ),
    "Deploy service must be followed by page "
    "oncall": ("always followed by page oncall", "page oncall afterwards"),
    "Deploy service must be immediately followed by page oncall": ("next call page oncall",),
    "If deploy service fails, page oncall must "
    "follow": ("on failure page oncall", "if it fails, page oncall"),
    "The first call must be deploy service": ("first", "always the first call"),
    "After deploy service, no other tool may be called": ("nothing afterwards", "no tool calls after that"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("plain", BEHIND)
def test_what_is_said_behind_a_label_is_said_of_its_action(plain: str, form: str) -> None:
    found = {said: rule(form.format(said)) for said in BEHIND[plain]}
    assert found == dict.fromkeys(found, rule(plain))


@pytest.mark.parametrize(
    "sentence",
    [
        "failed deploys: 3 tries",
        "deploy service: 3 tries, then page oncall",
        "deploy service: one try per region unless it failed",
        "deploy service: 30 seconds max after run tests",
        "deploy service: not the first call",
        "deploy service: never followed by page oncall",
        "deploy service: no calls after 18:00",
        "deploy service: run tests",
        "refund ticket: limit 50",
        "refund ticket: limit 50 per hour",
        "Refund ticket must have a reason, nothing else",
        "At most 3 deploys, nothing else",
        "No deploys without run tests, even for refunds",
        "A refund has an upper limit of $500",
        "run tests: timeout 15m",
        "Never refund your own ticket: at most 3 deploys",
        "No double deploys on Sundays: deploy service at most once per region",
    ],
)
def test_what_says_more_than_its_label_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        rule(sentence)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("no deploys w/o tests", "no deploys without tests"),
        ("max. 3 deploys/h", "at most 3 deploys per hour"),
        ("Deploys: max 3 / conv", "at most 3 deploys per conversation"),
        ("refunds over 1k need page oncall first", "refunds over 1000 need page oncall first"),
        ("refunds over EUR 1,000.00 need page oncall first", "refunds over 1000 EUR need page oncall first"),
        ("refunds over 1'000 need page oncall first", "refunds over 1000 need page oncall first"),
        ("refunds over two thousand need page oncall first", "refunds over 2000 need page oncall first"),
        ("refund ticket: 1 <= amount <= 5000", "refund ticket: amount between 1 and 5000"),
        ("refund ticket: amount must be < 5k", "refund ticket: amount must be below 5000"),
        ("wait >= 10 min between deploys", "wait at least 10 minutes between deploys"),
        ("deploys only between 9 and 17h", "deploys only between 09:00 and 17:00"),
        ("refunds > 500 => page oncall first", "refunds over 500: page oncall first"),
        (
            "No double deploys: deploy service at most once per region",
            "deploy service at most once per region",
        ),
        (
            "Nobody approves his own refunds: approver and owner of refund ticket must differ",
            "approver and owner of refund ticket must differ",
        ),
        ("deploys: one after the other", "deploys: not in parallel"),
        ("NO DEPLOYS AFTER A REFUND", "No deploys after a refund"),
        ("AT MOST 3 DEPLOYS PER SERVICE", "At most 3 deploys per service"),
    ],
)
def test_short_signs_are_read_as_the_words_in_full(short: str, full: str) -> None:
    assert rule(short) == rule(full)
