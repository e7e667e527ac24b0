"""Single quotes, names that calls shorten, and the same thing by its argument alone."""

from __future__ import annotations

from typing import Any

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.nouns import Meant, Noun
from synth.policies.quotes import in_double_quotes

HEAD = (
    "actions: {deploy: deploy, scan image: scan_image, freeze environment: freeze_env,"
    " verify customer: verify_customer, refund order: refund_order, archive repository: archive_repo,"
    " push: push}\npolicies:\n"
)
Calls = list[tuple[str, dict[str, Any]]]


def verdict(rule: str, calls: Calls) -> str:
    made = tuple(ToolCall(str(k), tool, given, result="ok") for k, (tool, given) in enumerate(calls))
    policies = load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n")
    return judge_policies(policies, Run("r", made, status="ok"))[0].verdict


SAME = "Deploy to 'production' only after the same service and version was deployed to 'staging'."
STAGED = {"service": "a", "env": "staging", "version": "1"}
LIVE = {"service": "a", "env": "production", "version": "1"}
SCANNED = "Deploy only if the same version was scanned."
FROZEN = "Once an environment is frozen, no more deploys there."


@pytest.mark.parametrize(
    ("rule", "calls", "expected"),
    [
        (SAME, [("deploy", STAGED), ("deploy", LIVE)], "ok"),
        (SAME, [("deploy", {**STAGED, "version": "2"}), ("deploy", LIVE)], "violated"),
        (SAME, [("deploy", {**STAGED, "service": "b"}), ("deploy", LIVE)], "violated"),
        (SAME, [("deploy", LIVE)], "violated"),
        (SAME, [("deploy", STAGED)], "not_applicable"),
        (FROZEN, [("freeze_env", {"env": "p"}), ("deploy", {"env": "p"})], "violated"),
        (FROZEN, [("freeze_env", {"env": "p"}), ("deploy", {"env": "q"})], "ok"),
        ("No deploys to 'production'.", [("deploy", LIVE)], "violated"),
        (SCANNED, [("scan_image", {"version": "1"}), ("deploy", LIVE)], "ok"),
        (SCANNED, [("scan_image", {"version": "2"}), ("deploy", LIVE)], "violated"),
    ],
)  # fmt: skip
def test_read_as_meant(rule: str, calls: Calls, expected: str) -> None:
    assert verdict(rule, calls) == expected


@pytest.mark.parametrize(
    "rule",
    [
        "The same version was deployed to 'staging'.",
        "Deploy only after the same day was scanned.",
        "Deploy only after the same run was scanned.",
        "Deploy 'to production' only.",
    ],
)
def test_refused(rule: str) -> None:
    with pytest.raises(BadInput):
        load_policies(f"{HEAD}  - {{id: P, rule: {rule!r}}}\n")


@pytest.mark.parametrize(
    ("noun", "keys", "key"),
    [
        ("environment", ("env",), "env"),
        ("environment", ("env", "environment"), "environment"),
        ("repository", ("repo_id",), "repo_id"),
        ("card", ("car",), "card"),
        ("order", ("ord",), "order"),
        ("planet", ("plan",), "planet"),
    ],
)
def test_calls_shorten_the_names_of_things(noun: str, keys: tuple[str, ...], key: str) -> None:
    given = dict.fromkeys(keys, "x")
    assert Noun(noun).key_in(given) == key
    assert Meant(noun).key_in(given) == key


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("to 'staging' or 'qa'", 'to "staging" or "qa"'),
        ("the customers' orders and users' carts", "the customers' orders and users' carts"),
        ("don't book 'Dr. Weiss'", 'don\'t book "Dr. Weiss"'),
        ("it's 'a' isn't it", "it's \"a\" isn't it"),
        ("to \u2018staging\u2019 alone", 'to "staging" alone'),
    ],
)
def test_single_quotes_are_quotes_and_apostrophes_are_none(sentence: str, said: str) -> None:
    assert in_double_quotes(sentence) == said
