"""A run as a line of `pdoctor runs list`."""

from __future__ import annotations

from typing import Any

import pytest

from collector.cli.runs import run_row


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ({"judged": False, "outcome": None, "calls_count": None}, ["-", "waiting"]),
        ({"judged": True, "outcome": None, "calls_count": 0}, [0, "not judged"]),
        ({"judged": False, "outcome": "pass", "calls_count": 3}, [3, "pass"]),
    ],
    ids=["new", "without rules", "judged before"],
)
def test_a_run_that_waits_is_not_said_to_be_without_rules(item: dict[str, Any], shown: list[Any]) -> None:
    _, _, calls, outcome, _ = run_row({"id": "a1", **item})
    assert [calls, outcome] == shown
