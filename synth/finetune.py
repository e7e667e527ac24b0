"""Failures as training data: query, wrong plan, what it broke, and a plan that would have worked.

Source: the paper's section 7, which proposes to train models on the plans that testing finds wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from synth.harness import Result


def training_examples(results: Iterable[Result]) -> Iterator[dict[str, Any]]:
    """One JSON-ready example per failing run that has a repaired plan.

    `{"run_id", "case_id", "query", "plan": [tools], "error_type", "violated": [{"sentence", "explanation"}],
    "repaired": [tools], "starts": {tool: minutes} or null}`; `sentence` is the text, or null where no
    sentence is concerned.
    """
    for result in results:
        repair = (result.verdict or {}).get("repair")
        if result.outcome == "fail" and result.case is not None and repair is not None:
            yield _example(result, result.case, repair)


def _example(result: Result, case: Mapping[str, Any], repair: Mapping[str, Any]) -> dict[str, Any]:
    tools = {action["id"]: action["tool"] for action in case["actions"]}
    starts = repair.get("starts")
    findings = (result.verdict or {})["findings"]
    return {
        "run_id": result.trace_id,
        "case_id": result.case_id,
        "query": case["query"],
        "plan": [call["name"] for call in (result.run or {})["calls"]],
        "error_type": result.error_type,
        "violated": [_violation(finding, case) for finding in findings if finding["type"] != "note"],
        "repaired": [tools[action] for action in repair["order"]],
        "starts": None if starts is None else {tools[action]: minute for action, minute in starts.items()},
    }


def _violation(finding: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    span = finding["span"]
    sentence = case["paragraph"][slice(*span)] if span else None
    return {"sentence": sentence, "explanation": finding["explanation"]}
