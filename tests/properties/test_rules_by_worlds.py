"""The kinds of rules that ask about failures, stretches and equal arguments, against all small worlds.

`make soak` tries 50,000 pairs of a run and a rule for each; other runs a fiftieth.
"""

from __future__ import annotations

import pytest

from tests.properties.test_agreement_policies import check, check_bounds
from tests.support.soak import tries

NEW = (
    "after failure", "absence within", "absence same", "response to failure", "adjacency same", "between",
    "between same", "until", "until after failure", "rate",
)  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", NEW)
def test_a_rule_means_what_its_definition_says(name: str) -> None:
    check(name, tries(30_000), "failing")


@pytest.mark.heavy
@pytest.mark.parametrize("name", NEW)
def test_bounds_are_judged_as_by_trying_every_world(name: str) -> None:
    check_bounds(name, tries(20_000))
