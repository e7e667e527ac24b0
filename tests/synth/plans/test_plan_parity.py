"""The published evaluators' numbers and statuses, case by case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synth.plans import (
    Pair,
    corpus_scores,
    graph_from_json,
    plan_from_json,
    readable_plan,
    taskbench,
    verify_json,
)

HERE = Path(__file__).parent


def cases(folder: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / folder / "cases.jsonl").read_text().splitlines()]


def said(path: str) -> Any:
    return json.loads((HERE / path).read_text())


MNMS = cases("mnms_parity")
GRAPH = graph_from_json(said("mnms_parity/tools.json"), said("mnms_parity/tool_edges.json"))
TASKBENCH = cases("taskbench_parity")
DOMAINS = {
    domain: taskbench.tools_from_json(said(f"taskbench_parity/tools_{domain}.json"))
    for domain in ("dailylifeapis", "huggingface", "multimedia")
}


@pytest.mark.parametrize(
    "case", [one for one in MNMS if not one["evaluator_error"]], ids=lambda one: one["case"]
)
def test_mnms_numbers_are_the_evaluators(case: dict[str, Any]) -> None:
    plans = zip(case["gold"], case["predictions"], strict=True)
    pairs = [Pair(plan_from_json(gold), readable_plan(prediction)) for gold, prediction in plans]
    assert corpus_scores(pairs, GRAPH.tools) == pytest.approx(case["expected"], abs=0.00501)


def test_mnms_statuses_are_the_verifiers() -> None:
    found = [[not verify_json(one, GRAPH) for one in case["predictions"]] for case in MNMS]
    assert found == [[one["status"] for one in case["expected_verifier"]] for case in MNMS]
    assert sum(map(len, found)) == 578


@pytest.mark.parametrize(
    "case", [one for one in TASKBENCH if not one["evaluator_error"]], ids=lambda one: one["case"]
)
def test_taskbench_numbers_are_the_evaluators(case: dict[str, Any]) -> None:
    tools, dependency = DOMAINS[case["domain"]], case["dependency"]
    pairs = [
        (taskbench.sample_of(gold, dependency, tools), taskbench.sample_of(one["result"], dependency, tools))
        for gold, one in zip(case["gold"], case["predictions"], strict=True)
    ]
    found = taskbench.corpus_scores(pairs, tools.names)
    assert {name: found[name] for name in case["expected"]} == pytest.approx(case["expected"], abs=1e-6)
