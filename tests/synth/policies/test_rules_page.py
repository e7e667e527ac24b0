"""`docs/rules.md`: every rule of the page is kept and broken by the runs that stand beside it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from ruamel.yaml import YAML

from synth.policies import judge_policies, load_policies
from tests.synth.policies.test_hundred_sentences import run

PAGE = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
ACTIONS = YAML(typ="safe").load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])["actions"]
ROWS = re.findall(r"^\| ([A-Z].+?\.) \| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)


def verdict(rule: str, text: str) -> str:
    """Numbers in the arguments of the page's runs are numbers."""
    said = run(text)
    calls = [
        replace(call, arguments={k: int(v) if v.isdigit() else v for k, v in call.arguments.items()})
        for call in said.calls
    ]
    policies = {"actions": ACTIONS, "policies": [{"id": "said", "rule": rule}]}
    read = load_policies(orjson.dumps(policies).decode() + "\n")
    return judge_policies(read, replace(said, calls=tuple(calls)))[0].verdict


@pytest.mark.parametrize(("rule", "kept", "broken"), ROWS)
def test_a_rule_of_the_page_is_kept_and_broken_as_it_says(rule: str, kept: str, broken: str) -> None:
    assert verdict(rule, kept) in ("ok", "not_applicable")
    assert verdict(rule, broken) == "violated"


def test_every_row_of_the_page_is_tried() -> None:
    assert len(ROWS) == len([line for line in PAGE.splitlines() if line.startswith("| ") and "`" in line])
