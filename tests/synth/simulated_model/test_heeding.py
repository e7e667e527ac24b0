"""Simulated planners that heed what a guard tells them, on the evaluator of the guard itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from synth.agents.mock_tools import ToolLog, as_openai_chat, mock_tools
from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.errors import BadInput
from synth.formal.constraints import Before
from synth.observed.run import ToolCall
from synth.policies.cased import rules_of
from synth.policies.load import policies_from_text
from synth.policies.online import Prefix
from synth.policies.proposed import refusal
from synth.simulated_model import SimulatedModel, parse_model
from synth.simulated_model.heeding import told_by
from synth.simulated_model.planning import Move, start_at
from synth.simulated_model.task import Task
from tests.support.bench_cases import order_case, timed_case

CASE = order_case()
MOST = 12
"""Messages of the model, after which the loop is stopped."""


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as running:
        yield running


class Guarded:
    """A raw loop whose tools are asked about first; what is refused the model is told, as loops tell it."""

    def __init__(
        self, model: SimulatedModel, name: str, case: Case, rules: Any = None, plan: bool = True
    ) -> None:
        self.log = ToolLog()
        self.tools = {tool.name: tool for tool in mock_tools(case, self.log)}
        self.prefix = Prefix(rules_of(case) if rules is None else rules, tools=tuple(self.tools))
        self.refused: list[str] = []
        self.messages: list[Any] = [{"role": "user", "content": case.query}]
        offered = [as_openai_chat(tool) for tool in self.tools.values()]
        sdk = OpenAI(base_url=model.base_url, api_key=f"key of {name}", max_retries=0)
        with sdk:
            for _ in range(MOST):
                asked: Any = {"model": name, "messages": self.messages, "tools": offered}
                message = sdk.chat.completions.create(**asked).choices[0].message
                if not message.tool_calls:
                    return
                self.messages.append(message.model_dump(exclude_none=True))
                for call in message.tool_calls:
                    said = self.call(call.function.name, json.loads(call.function.arguments))
                    self.messages.append({"role": "tool", "tool_call_id": call.id, "content": said})

    def call(self, tool: str, arguments: Any) -> str:
        made = ToolCall(None, tool, arguments)
        decision, place = self.prefix.propose(made, heeds=lambda decision: not decision.breaches)
        if place is None:
            breach = decision.breaches[0]
            self.refused.append(tool)
            allowed = self.prefix.allowed(tuple(self.tools))
            return "Error: " + refusal(breach.policy, breach.explanation, breach.waits, allowed, breach.rest)
        result = self.tools[tool](**arguments)
        self.prefix.ended(place, result)
        return str(result)

    @property
    def ran(self) -> list[str]:
        return [call.name for call in self.log.calls]


def is_right(case: Case, ran: list[str]) -> bool:
    """Each task once, in an order that the request allows."""
    tool = {action.id: action.tool for action in case.actions}
    stated = [c for c in case.constraints if isinstance(c, Before)]
    return sorted(ran) == sorted(tool.values()) and all(
        ran.index(tool[c.first]) < ran.index(tool[c.then]) for c in stated
    )


@pytest.mark.parametrize("way", ["", "+parallel"])
@pytest.mark.parametrize("profile", ["swaps", "loops"])
def test_who_heeds_a_refusal_gets_it_right_and_who_does_not_never_does(
    model: SimulatedModel, profile: str, way: str
) -> None:
    for case in (CASE, *generate(2, 7, Options(actions=(3, 5)), confirm=False)):
        listens = Guarded(model, f"simulated-{profile}{way}+always", case)
        assert is_right(case, listens.ran)
        assert listens.refused
        deaf = Guarded(model, f"simulated-{profile}{way}", case)
        assert not is_right(case, deaf.ran)
        assert len(set(deaf.ran)) == len(deaf.ran)
        said = Guarded(model, f"simulated-{profile}{way}+never", case)
        assert (said.ran, said.refused) == (deaf.ran, deaf.refused)


def test_who_heeds_half_of_the_time_gets_it_right_for_some_seeds(model: SimulatedModel) -> None:
    runs = [Guarded(model, f"simulated-swaps+half:{seed}", CASE) for seed in range(12)]
    right = [is_right(CASE, run.ran) for run in runs]
    assert 3 <= right.count(True) <= 11
    again = Guarded(model, "simulated-swaps+half:0", CASE)
    assert again.ran == runs[0].ran


def test_a_forgetful_planner_learns_of_what_it_left_out_where_something_waits_for_it(
    model: SimulatedModel,
) -> None:
    runs = [Guarded(model, f"simulated-forgets+always:{seed}", CASE) for seed in range(8)]
    assert {is_right(CASE, run.ran) for run in runs} == {True, False}
    assert all(is_right(CASE, run.ran) == bool(run.refused) for run in runs)


def test_in_timed_mode_the_told_plan_is_moved_back_by_what_tools_took(model: SimulatedModel) -> None:
    case = timed_case(
        "The flour delivery must precede the dough kneading. "
        "The dough kneading must precede the loaf shaping.",
        {"the flour delivery": 30, "the dough kneading": 45, "the loaf shaping": 20},
    )
    run = Guarded(model, "simulated-swaps+always:1", case)
    assert run.refused
    assert is_right(case, run.ran[-3:])
    starts = [call.arguments["start_time"] for call in run.log.calls[-3:]]
    assert starts == sorted(starts)
    assert len(set(starts)) == 3
    assert len(run.refused) == 1  # a start before the last task has ended would be refused again


def test_without_a_told_plan_it_takes_what_is_allowed_first(model: SimulatedModel) -> None:
    names = {action.phrase.removeprefix("the "): action.tool for action in CASE.actions}
    rules = policies_from_text(
        json.dumps(
            {
                "actions": names,
                "policies": [
                    {"id": "P1", "rule": "The flour delivery must happen before the dough kneading."},
                    {"id": "P2", "rule": "The dough kneading must happen before the oven inspection."},
                    {"id": "P3", "rule": "The oven inspection must happen before the loaf shaping."},
                ],
            }
        )
    )
    for seed in range(4):
        run = Guarded(model, f"simulated-swaps+always:{seed}", CASE, rules)
        assert is_right(CASE, run.ran), (run.refused, run.ran)
        assert run.refused


def test_calls_in_no_stated_order_are_asked_for_in_one_message(model: SimulatedModel) -> None:
    case = order_case("The flour delivery must precede the loaf shaping.")
    together = Guarded(model, "simulated-perfect+parallel", case)
    assert is_right(case, together.ran)
    asked = [
        [call["function"]["name"] for call in message["tool_calls"]]
        for message in together.messages
        if message.get("tool_calls")
    ]
    assert max(map(len, asked)) > 1
    assert sum(map(len, asked)) == len(case.actions)
    assert not any({"flour_delivery", "loaf_shaping"} <= set(names) for names in asked)
    alone = Guarded(model, "simulated-perfect", case)
    assert len(alone.messages) > len(together.messages)


def test_a_refusal_that_was_cut_off_tells_as_far_as_it_goes() -> None:
    task = Task("", "", ("bake", "knead", "sell_it"), ())
    told = told_by('{"error": "Not run: x. A plan that works from here: knead, bake, sell_…"}', task)
    assert (told.plan, told.allowed) == ((Move("knead"), Move("bake")), ())
    told = told_by(
        "Not run: x. A plan that works from here: knead at 09:30, bake at 10:00. Allowed now: knead.", task
    )
    assert told.plan == (Move("knead", start_at(570)), Move("bake", start_at(600)))
    assert told.allowed == ("knead",)


def test_how_often_it_heeds_is_in_the_name() -> None:
    assert parse_model("simulated-swaps+parallel+half:3")[1] == 3
    with pytest.raises(BadInput, match="unknown model"):
        parse_model("simulated-swaps+often")
