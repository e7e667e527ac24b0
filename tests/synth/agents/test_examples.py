"""Worked examples in the prompts of agents that are behaviour specifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from synth.agents import Job, Settings, load
from synth.agents.decoding import states_in
from synth.agents.examples import texts_of
from synth.agents.mock_tools import ToolLog
from synth.agents.question_tools import question_tools
from synth.formal.monitor import SHIPPED, monitor_of, shipped, shipped_text
from synth.questions import CALCULATOR, EXAMPLES, MOST, TOOLS, Example, Question, calculate, is_right
from synth.simulated_model import SimulatedModel

EVERY = [one for data in EXAMPLES.values() for one in data]


@pytest.mark.parametrize("name", SHIPPED)
def test_each_method_has_examples_that_follow_its_specification(name: str) -> None:
    monitor = shipped(name)
    texts = texts_of(EVERY, monitor)
    assert len(texts) == len(EVERY) == MOST * len(TOOLS)
    for text in texts:
        assert monitor.follow(states_in(text, monitor.specification.states)).complete


def test_examples_are_right_and_use_the_tools_of_their_data_set() -> None:
    for data, examples in EXAMPLES.items():
        for example in examples:
            assert {action.tool for step in example.steps for action in step.actions} <= set(TOOLS[data])
            asked = Question(data, "example", example.question, (example.answer,))
            assert is_right(example.answer, asked)
            results = " ".join(action.result for step in example.steps for action in step.actions)
            assert data != "triviaqa" or example.answer in results


def test_their_sums_are_what_the_calculator_says() -> None:
    text = "\n".join(texts_of(EXAMPLES["gsm8k"], shipped("react")))
    given = [line.partition("] ")[2] for line in text.splitlines() if line.startswith("[Action Input]")]
    told = [line.partition("] ")[2] for line in text.splitlines() if line.startswith("[Observation]")]
    assert len(given) == len(told) == 6
    assert [calculate(one) for one in given] == told


def test_what_does_not_fit_a_specification_is_no_example_of_it() -> None:
    other = monitor_of(shipped_text("react").replace("[Thought]", "[Musing]"))
    assert texts_of(EVERY, other) == []


class Recording(SimulatedModel):
    """Remembers the prompts of agents."""

    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        if "Begin!" in body["prompt"]:
            self.prompts = [*getattr(self, "prompts", []), body["prompt"]]
        return super().complete(body, key)


def prompts(name: str, examples: tuple[Example, ...]) -> list[str]:
    question = Question("gsm8k", "1", "What are 6 and 7?", ("13",), ((CALCULATOR, "6 + 7"),))
    with Recording(questions=[question]) as model:
        tools = question_tools([CALCULATOR], None, ToolLog())
        settings = Settings("simulated-perfect", model.base_url, "key")
        outcome = load(f"spec:{name}")(Job(question.text, tools, settings, examples=examples))
        assert outcome.answer.endswith("13")
        return model.prompts


@pytest.mark.parametrize("name", SHIPPED)
def test_the_model_reads_as_many_as_were_asked_for_before_its_own_question(name: str) -> None:
    for count in (0, 2):
        given = EXAMPLES["gsm8k"][:count]
        for prompt in prompts(name, given):
            before, _, own = prompt.partition("Begin!")
            assert own.lstrip().startswith("[Question] What are 6 and 7?")
            assert [one.question in before for one in EXAMPLES["gsm8k"]] == [True] * count + [False] * (
                3 - count
            )
            assert ("Here is how it looks" in prompt) is (count > 0)
            assert all(text in before for text in texts_of(given, shipped(name)))
