"""Runs beside the gold plan of their case: as metrics, in the API, on the page."""

from __future__ import annotations

from typing import Any

import pytest

from collector.metrics import Observed, measured
from collector.metrics.plans import METRICS
from collector.model import Run, ToolCall
from synth.cases import case_from_json
from synth.errors import BadInput
from tests.support.traces import Client, agent_request, case_json, new_id

GOLD = [
    {"id": 0, "name": "do_a", "args": {"city": "Rome"}},
    {"id": 1, "name": "do_b", "args": {"text": "<node-0>.text", "note": "in <node-0>.text!"}},
]
OTHER = [{"id": 0, "name": "do_c", "args": {}}]
CASE: dict[str, Any] = {**case_json("case-plan", "a < b"), "gold_plan": GOLD, "alternative_plans": [OTHER]}
NAMES = [metric.name for metric in METRICS]
RIGHT = (
    ToolCall(None, "do_a", {"city": "Rome"}, result='{"text": "sunny"}'),
    ToolCall(None, "do_b", {"text": "sunny", "note": "in sunny!"}, result="ok"),
)


def found(*calls: ToolCall, case: dict[str, Any] | None = CASE) -> dict[str, Any]:
    of = measured(Observed(Run("r", calls), case=None if case is None else case_from_json(case)))
    return {name: of[name] for name in NAMES}


def test_a_run_that_keeps_the_gold_plan_is_right_in_every_part() -> None:
    assert found(*RIGHT) == {name: float(name != "plan_edit_distance") for name in NAMES}


def test_a_wrong_value_a_wrong_tool_and_a_failed_call_lower_their_parts() -> None:
    wrong = ToolCall(None, "do_b", {"text": "rainy", "note": "in sunny!"}, result="ok")
    value = found(RIGHT[0], wrong)
    assert (value["plan_argname_f1"], value["plan_argvalue_f1"], value["plan_accuracy"]) == (1, 0.5, 0)
    tool = found(RIGHT[0], ToolCall(None, "do_x", {"text": "sunny", "note": "in sunny!"}))
    assert (tool["plan_tool_f1"], tool["plan_edge_f1"], tool["plan_passed"]) == (0.5, 0, 1)
    failed = found(RIGHT[0], ToolCall(None, "do_b", RIGHT[1].arguments, error="no"))
    assert (failed["plan_accuracy"], failed["plan_passed"]) == (1, 0)


def test_an_alternative_plan_is_as_right_as_the_gold_plan() -> None:
    assert found(ToolCall(None, "do_c", {}))["plan_accuracy"] == 1


def test_no_calls_are_none_of_the_plan_and_without_a_gold_plan_nothing_is_known() -> None:
    nothing = found()
    assert (nothing["plan_tool_f1"], nothing["plan_edit_distance"], nothing["plan_passed"]) == (0, 1, 0)
    for case in (None, case_json("case-plain", "a < b")):
        assert set(found(*RIGHT, case=case).values()) == {None}


def test_arguments_that_are_not_known_have_no_score() -> None:
    cut = found(RIGHT[0], ToolCall(None, "do_b", {}, partly={"arguments": "absent"}))
    assert (cut["plan_tool_f1"], cut["plan_argname_f1"], cut["plan_argvalue_f1"], cut["plan_accuracy"]) == (
        1, None, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "calls", [("not an object", None), ({"city": None}, {"text": None}), ({"city": [1]}, 3)], ids=str
)
def test_odd_arguments_and_results_are_compared_too(calls: tuple[Any, Any]) -> None:
    said = found(
        *(ToolCall(None, f"do_{name}", given, result="{") for name, given in zip("ab", calls, strict=True))
    )
    assert (said["plan_tool_f1"], said["plan_argvalue_f1"]) == (1, 0)


@pytest.mark.parametrize(
    "fields",
    [{"gold_plan": {}}, {"gold_plan": [1]}, {"gold_plan": [{"name": "a"}]}, {"gold_plan": [{"args": {}}]},
     {"alternative_plans": {}}, {"alternative_plans": [1]}],
    ids=["object", "number", "no-args", "no-name", "no-list", "no-plan"],
)  # fmt: skip
def test_a_case_with_what_is_no_plan_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="plan"):
        case_from_json(CASE | fields)


def test_a_plan_that_only_the_reader_of_plans_refuses_scores_nothing() -> None:
    assert set(found(*RIGHT, case=CASE | {"gold_plan": [GOLD[0] | {"id": -1}]}).values()) != {1}


def test_a_case_keeps_its_gold_plan() -> None:
    said = case_from_json(CASE).to_json()
    assert (said["gold_plan"], said["alternative_plans"]) == (GOLD, [OTHER])
    assert "gold_plan" not in case_from_json(case_json("case-plain", "a < b")).to_json()


def test_the_api_and_the_page_show_the_run_beside_its_gold_plan(fresh: Client) -> None:
    fresh.post("/cases", CASE)
    run, plain = new_id(), new_id()
    fresh.send(agent_request(run, ["do_a", "do_b"], case="case-plan"))
    fresh.send(agent_request(plain, ["do_a"]))
    detail = fresh.judged(run)
    assert detail["plan"]["gold"] == GOLD
    assert [step["name"] for step in detail["plan"]["done"]] == ["do_a", "do_b"]
    assert (detail["plan"]["scores"]["tool_f1"], detail["plan"]["with_alternatives"]["argname_f1"]) == (1, 0)
    assert detail["metrics"]["plan_tool_f1"] == 1
    page = fresh.http.get(f"/runs/{run}").text
    assert "Beside the gold plan" in page
    assert "Tools 100 %, argument names 0 %" in page
    assert fresh.judged(plain)["plan"] is None
    assert "gold plan" not in fresh.http.get(f"/runs/{plain}").text
