"""Agents that are behaviour specifications, on the simulated model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from synth.agents import Job, OutOfIterations, Settings, load
from synth.agents.decoding import Completion, Piece, Transcript
from synth.agents.mock_tools import ToolLog, mock_tools
from synth.agents.specified import NotFollowed, _most, _World, monitors_of, normalised, run_with
from synth.errors import BadInput
from synth.formal.monitor import shipped, shipped_text
from synth.simulated_model import SimulatedModel
from tests.support.bench_cases import order_case

CASE = order_case()
EXPECTED = ["flour_delivery", "dough_kneading", "oven_inspection", "loaf_shaping"]


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel() as running:
        yield running


def job(model: SimulatedModel, name: str = "simulated-perfect", most: int = 50) -> tuple[Job, ToolLog]:
    log = ToolLog()
    settings = Settings(name, model.base_url, "key", 0.0, most)
    return Job(CASE.query, mock_tools(CASE, log), settings), log


@pytest.mark.parametrize("name", ["react", "pass"])
def test_an_agent_carries_out_the_plan_of_its_model(name: str, model: SimulatedModel) -> None:
    given, log = job(model)
    outcome = load(f"spec:{name}")(given)
    assert [call.name for call in log.calls] == EXPECTED
    assert outcome.iterations == 5
    assert outcome.answer == "All tasks are done."


@pytest.mark.parametrize("name", ["direct", "chain_of_thought", "direct+react"])
def test_without_actions_five_tries_decide(name: str, model: SimulatedModel) -> None:
    given, log = job(model)
    outcome = load(f"spec:{name}")(given)
    assert outcome.iterations == 5
    assert log.calls == ()


class Recording(SimulatedModel):
    """Remembers at which temperatures it was asked."""

    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        self.temperatures = [*getattr(self, "temperatures", []), body.get("temperature")]
        return super().complete(body, key)


def test_tries_are_warm_and_agents_are_as_set() -> None:
    with Recording() as model:
        given, _ = job(model)
        load("spec:direct")(given)
        load("spec:react")(given)
        assert model.temperatures == [0.7] * 5 + [0.0] * 5


def test_a_file_is_an_agent(model: SimulatedModel, tmp_path: Path) -> None:
    file = tmp_path / "own.spec"
    file.write_text(shipped_text("react"))
    given, log = job(model)
    load(f"spec:{file}")(given)
    assert [call.name for call in log.calls] == EXPECTED


def test_a_loop_ends_at_the_limit(model: SimulatedModel) -> None:
    given, log = job(model, "simulated-loops", 6)
    with pytest.raises(OutOfIterations):
        load("spec:react")(given)
    assert [call.name for call in log.calls] == ["flour_delivery"] * 6


def test_an_invented_tool_is_answered(model: SimulatedModel) -> None:
    given, log = job(model, "simulated-invents")
    load("spec:react")(given)
    assert [call.name for call in log.calls] == EXPECTED


def test_the_answer_of_most_tries_counts_and_a_hybrid_asks_where_none_agree() -> None:
    def said(*answers: str) -> list[Transcript]:
        return [Transcript([Piece("Ans", one)]) for one in answers]

    assert _most(said("4", "Five", " five", "6")) == ("Five", True)
    assert _most(said("4", "5", "6")) == ("4", False)
    assert _most([Transcript(reason="never")]) == ("", False)


def test_a_hybrid_asks_its_agent_where_no_two_tries_agree(model: SimulatedModel, tmp_path: Path) -> None:
    file = tmp_path / "mute.spec"
    other = '(Other (:text "[Answer]")) (Ans (:text "[Reply]"))'
    file.write_text(shipped_text("direct").replace('(Ans (:text "[Answer]"))', other))
    given, log = job(model)
    outcome = load(f"spec:{file}+react")(given)
    assert [call.name for call in log.calls] == EXPECTED
    assert outcome.iterations == 5 * 9 + 5


def test_rewoo_puts_results_into_later_actions(model: SimulatedModel) -> None:
    given, log = job(model)
    asked: list[str] = []

    def complete(prompt: str, **_: object) -> Completion:
        asked.append(prompt)
        return Completion("42")

    world = _World(shipped("rewoo"), given, None, complete)  # type: ignore[arg-type]
    block = [Piece("Plan", "p"), Piece("Act-Lbl", "#E1"), Piece("Act", EXPECTED[0]), Piece("Act-Inp", "{}")]
    later = [*block[:1], Piece("Act-Lbl", "#E2"), Piece("Act", "look"), Piece("Act-Inp", '{"at": "#E1"}')]
    assert world("Solver", [*block, *later]) == "42"
    assert [call.name for call in log.calls] == EXPECTED[:1]
    assert "#E1: Success" in asked[0]
    assert "#E2: Error: look is not a valid tool" in asked[0]


def test_a_batch_runs_all_actions_since_the_plan(model: SimulatedModel) -> None:
    given, log = job(model)
    world = _World(shipped("pass"), given, None, None)  # type: ignore[arg-type]
    two = [
        Piece("Act", EXPECTED[0]),
        Piece("Act-Inp", "{}"),
        Piece("Act", EXPECTED[1]),
        Piece("Act-Inp", "{}"),
    ]
    before = [Piece("Plan", "a"), *two[:2], Piece("Sum", "s"), Piece("Plan", "b"), *two]
    chat = Job(given.query, given.tools, Settings("gpt-4o-mini"))
    world.job = chat
    assert world("Sum", before).splitlines()[0].startswith("1. Success")
    assert sorted(call.name for call in log.calls) == sorted(EXPECTED[:2])


class Scoring(SimulatedModel):
    """Summarises, and finds texts with `liked` in them likely."""

    liked = ""

    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        prompt = body["prompt"]
        if body.get("echo"):
            text = prompt.partition("Summary:")[2]
            score = -0.1 if self.liked in text else -5.0
            offsets = [0, len(prompt) - len(text)]
            told = {"token_logprobs": [None, score], "text_offset": offsets, "tokens": ["", text]}
            return {"choices": [{"text": prompt, "index": 0, "logprobs": {**told, "top_logprobs": None}}]}
        return {"choices": [{"text": " in short", "index": 0, "logprobs": None}]}


@pytest.mark.parametrize(("liked", "wanted"), [("in short", "in short"), ("Success", "1. Success")])
def test_the_likelier_of_summary_and_results_is_returned(liked: str, wanted: str) -> None:
    with Scoring() as model:
        model.liked = liked
        given, _ = job(model)
        with OpenAI(base_url=model.base_url, api_key="key") as client:
            world = _World(shipped("pass"), given, client, None)  # type: ignore[arg-type]
            said = world("Sum", [Piece("Plan", "a"), Piece("Act", EXPECTED[0]), Piece("Act-Inp", "{}")])
    assert said.startswith(wanted)


def test_scores_are_normalised_by_length() -> None:
    assert normalised([]) is None
    assert normalised([-1.0]) == -1.0
    assert normalised([-1.0] * 7, alpha=1.0) == -3.5


@pytest.mark.parametrize("name", ["nothing", "react+pass", "direct+react+pass"])
def test_what_is_no_agent_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=r"no specification is called|a hybrid is"):
        monitors_of(name)


def test_a_model_that_never_obeys_is_told(model: SimulatedModel, tmp_path: Path) -> None:
    file = tmp_path / "own.spec"
    file.write_text(
        shipped_text("react").replace("[Thought]", "[Musing]").replace("[Final Thought]", "[End]")
    )
    with pytest.raises(NotFollowed, match=r"9 times where \[Musing\] or \[End\] with a text had to come"):
        run_with(monitors_of(str(file)), job(model)[0])
