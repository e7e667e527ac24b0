"""Two rules in one sentence: one rule where both are of one kind, else both are said."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = ("run tests", "deploy service", "page oncall", "take backup", "apply migration")
ANY = {"any tool": Tools("any tool", ("*",))}
NAMES = Names(ANY | {phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in PHRASES})


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Run tests before deploy service", "take backup before apply migration"),
        ("Run tests must happen before deploy service with the same region",
         "take backup must happen before apply migration with the same region"),
        ("Never deploy service after page oncall", "never apply migration after take backup"),
        ("If deploy service fails, page oncall must follow",
            "if apply migration fails, take backup must follow"),
        ("Don't deploy services", "don't apply migrations"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("joint", ["; {}", ". {}", "; and {}"])
def test_two_rules_of_one_kind_are_one(first: str, then: str, joint: str) -> None:
    rules = [read_rule(one, NAMES, OURS) for one in (first, then)]
    both = f"{first}{joint.format(then)}"
    if first.startswith("If "):
        with pytest.raises(BadInput, match="two policies"):
            read_rule(both, NAMES, OURS)
        return
    found = read_rule(both, NAMES, OURS)
    assert found.tools == (*rules[0].tools, *rules[1].tools)
    assert type(found) is type(rules[0])
    assert getattr(found, "same", ()) == getattr(rules[0], "same", ())


@pytest.mark.parametrize(
    ("sentence", "two"),
    [
        ("At most 3 deploys and never on "
         "weekends", ("At most 3 deploys", "Deploy service: never on weekends")),
        ("Max 3 deploys. Max 2 backups.", ("Max 3 deploys", "Max 2 backups")),
        ("Deploys need run tests first and must be followed by page oncall",
         ("Deploys need run tests first", "Deploy service: must be followed by page oncall")),
        ("Never deploy service after take backup; never after page oncall",
         ("Never deploy service after take backup", "Deploy service: never after page oncall")),
    ],
)  # fmt: skip
def test_two_rules_that_differ_are_said_each(sentence: str, two: tuple[str, str]) -> None:
    with pytest.raises(BadInput) as bad:
        read_rule(sentence, NAMES, OURS)
    said = bad.value.message
    assert said.endswith(f"write two policies: '{two[0]}' and '{two[1]}'")
    for one in two:
        read_rule(one, NAMES, OURS)


@pytest.mark.parametrize(
    "sentence",
    [
        "Run tests before deploy service; then take backup before it",
        "Run tests before deploy service; otherwise page oncall before apply migration",
        "Run tests before deploy service; unless page oncall before apply migration",
        "On weekends, run tests before deploy service; take backup before apply migration",
    ],
)
def test_what_hangs_on_the_first_is_no_rule_of_its_own(sentence: str) -> None:
    with pytest.raises(BadInput):
        read_rule(sentence, NAMES, OURS)
