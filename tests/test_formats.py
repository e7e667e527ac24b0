"""The examples of docs/formats.md are what the code reads and writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from synth.cases.case import case_from_json
from synth.cases.recorded import recorded_case_from_json
from synth.formal.model import verdict_from_json
from synth.judge import judge
from synth.observed.run import run_from_json
from synth.policies import judge_policies, load_policies
from synth.policies.model import policy_result_from_json

PAGE = (Path(__file__).parent.parent / "docs" / "formats.md").read_text()
EXAMPLES: dict[str, Any] = {
    name: json.loads(text) for name, text in re.findall(r"^```json (\w+)\n(.*?)^```", PAGE, re.S | re.M)
}
READERS = {
    "Case": case_from_json,
    "RecordedCase": recorded_case_from_json,
    "Run": run_from_json,
    "Verdict": verdict_from_json,
    "PolicyResult": policy_result_from_json,
}


def timeless(verdict: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in verdict.items() if name != "z3_ms"}


@pytest.mark.parametrize("name", READERS)
def test_an_example_reads_back_to_itself(name: str) -> None:
    assert READERS[name](EXAMPLES[name]).to_json() == EXAMPLES[name]  # type: ignore[operator]


def test_the_run_of_the_page_is_judged_as_the_page_says() -> None:
    case, run = case_from_json(EXAMPLES["Case"]), run_from_json(EXAMPLES["Run"])
    assert timeless(judge(case, run).to_json()) == timeless(EXAMPLES["Verdict"])
    (rules,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.S | re.M)
    (result,) = judge_policies(load_policies(rules), run)
    assert result.to_json() == EXAMPLES["PolicyResult"]
