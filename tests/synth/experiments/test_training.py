"""Failures as training material, and whether training on it helped."""

from __future__ import annotations

from synth.cases.generate import Options, generate
from synth.experiments.training import conversations, training_records
from synth.experiments.trial import Result
from tests.support.bench_cases import order_case
from tests.support.bench_results import finding, result

CASE = order_case().to_json()


def failing(repair: dict[str, object] | None) -> Result:
    made = result("fail", "order_error", key="1", case=CASE, findings=[finding("order_error", "Wrong.")])
    assert made.run is not None
    run = {
        "verdict": {**(made.verdict or {}), "repair": repair},
        "calls": [{"name": "loaf_shaping", "arguments": {}, "id": "x"}],
    }
    return Result(**{**{name: getattr(made, name) for name in made.__slots__}, "run": run})


def test_a_failure_becomes_training_material() -> None:
    (record,) = training_records([failing({"order": ["a1", "a3"], "moved": []}), result("pass", case=CASE)])
    assert record["query"] == CASE["query"]
    assert record["wrong_plan"] == [{"name": "loaf_shaping", "arguments": {}}]
    assert record["explanations"] == ["Wrong."]
    assert record["repaired_plan"] == [
        {"name": "flour_delivery", "arguments": {}},
        {"name": "dough_kneading", "arguments": {}},
    ]


def test_a_timed_repair_says_when_to_start() -> None:
    (record,) = training_records([failing({"order": ["a1"], "moved": [], "starts": {"a1": 570}})])
    assert record["repaired_plan"] == [{"name": "flour_delivery", "arguments": {"start_time": "09:30"}}]


def test_without_a_repair_there_is_no_right_plan_to_show() -> None:
    (record,) = training_records([failing(None)])
    assert record["repaired_plan"] is None


# ---------------------------------------------------------------- as chats


def test_a_repaired_plan_becomes_the_chat_that_should_have_been() -> None:
    case = order_case()
    order = [action.id for action in case.actions]
    wrong = failing({"order": order, "moved": []})
    (chat,) = conversations([wrong, wrong, failing(None), result("pass", case=CASE)])
    first, asked, answered, *_, last = chat["messages"]
    assert first == {"role": "user", "content": case.query}
    (call,) = asked["tool_calls"]
    assert (call["function"], answered["tool_call_id"]) == (
        {"name": "flour_delivery", "arguments": "{}"},
        call["id"],
    )
    assert answered["content"] == "Success: the flour delivery is done."
    assert last == {"role": "assistant", "content": "All tasks are done."}
    names = [m["tool_calls"][0]["function"]["name"] for m in chat["messages"] if "tool_calls" in m]
    assert names == [action.tool for action in case.actions]
    assert [tool["function"]["name"] for tool in chat["tools"]] == names


def test_a_timed_chat_says_when_tasks_start_and_how_long_they_took() -> None:
    (case,) = generate(1, 3, Options(actions=(2, 2), mode="timed"), confirm=False)
    assert case.durations is not None
    (action,) = case.actions[:1]
    made = result("fail", "order_error", key="1", case=case.to_json())
    assert made.run is not None
    repair = {"order": [action.id], "moved": [], "starts": {action.id: 570}}
    run = {"verdict": {**(made.verdict or {}), "repair": repair}, "calls": []}
    (chat,) = conversations([Result(**{**{n: getattr(made, n) for n in made.__slots__}, "run": run})])
    assert chat["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"start_time": "09:30"}'
    took = f"started at 09:30 and took {case.durations[action.id]} minutes."
    assert chat["messages"][2]["content"].endswith(took)
