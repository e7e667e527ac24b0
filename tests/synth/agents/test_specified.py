"""Agents that are behaviour specifications, on the simulated model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from synth.agents import Job, OutOfIterations, Settings, load
from synth.agents.decoding import Completion, Piece, Transcript
from synth.agents.mock_tools import ToolLog, mock_tools
from synth.agents.model import Unreachable
from synth.agents.question_tools import question_tools
from synth.agents.specifications import monitors_of
from synth.agents.specified import (
    LONGEST_INPUT,
    NotFollowed,
    _actions,
    _filled,
    _most,
    _transcript,
    _World,
    endpoint,
    normalised,
    run_with,
)
from synth.cases.generate import Options, generate
from synth.errors import BadInput
from synth.formal.constraints import Before
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


@pytest.mark.parametrize(
    ("name", "answers"),
    [("react", 5), ("pass", 5 + 4), ("pass_raw", 5), ("rewoo", 1 + 1), ("reflexion", 5 + 1 + 1)],
    ids=["react", "pass", "pass_raw", "rewoo", "reflexion"],
)
def test_an_agent_carries_out_the_plan_of_its_model(name: str, answers: int, model: SimulatedModel) -> None:
    """What the environment asks the model (summaries, an evaluation, ReWOO's answer) counts, too."""
    given, log = job(model)
    outcome = load(f"spec:{name}")(given)
    assert [call.name for call in log.calls] == EXPECTED
    assert outcome.iterations == answers
    assert outcome.answer == "All tasks are done."


@pytest.mark.parametrize("name", ["react", "pass", "rewoo", "reflexion"])
def test_an_agent_keeps_to_its_plan_where_several_are_right(name: str, model: SimulatedModel) -> None:
    """The model's plan is that of its first answer, also when only a transcript tells of it."""
    for case in generate(6, 3, Options(actions=(3, 4))):
        log = ToolLog()
        load(f"spec:{name}")(Job(case.query, mock_tools(case, log), job(model)[0].settings))
        called = [call.name for call in log.calls]
        assert sorted(called) == sorted(action.tool for action in case.actions)
        place = {action.id: called.index(action.tool) for action in case.actions}
        for rule in case.constraints:
            assert isinstance(rule, Before)
            assert place[rule.first] < place[rule.then]


def test_the_simulated_model_finds_its_summary_likelier(model: SimulatedModel) -> None:
    given, _ = job(model)
    with OpenAI(base_url=model.base_url, api_key="key") as client:
        world = _World(shipped("pass"), given, client, endpoint(client, given.settings))
        two = [Piece("Act", EXPECTED[0]), Piece("Act-Inp", "{}")]
        assert world("Sum", [Piece("Plan", "a"), *two]).startswith("Success")
        raw = _World(shipped("pass_raw"), given, client, endpoint(client, given.settings))
        assert raw("Sum", [Piece("Plan", "a"), *two]).startswith("1. Success")
        assert (world.calls, raw.calls) == (1, 0)
        assert world.tokens > raw.tokens == 0
        assert given.answers.usage.answers == 2  # the scores of the summary and of the results


def test_a_transcript_has_the_answers_and_tokens_of_its_environment_too(model: SimulatedModel) -> None:
    given, _ = job(model)
    with OpenAI(base_url=model.base_url, api_key="key") as client:
        made = _transcript(shipped("rewoo"), given, client, warm=False)
    assert (made.calls, made.tokens) == (2, given.answers.usage.total)


def test_no_more_stop_sequences_are_sent_than_endpoints_take() -> None:
    with Recording() as model, OpenAI(base_url=model.base_url, api_key="key") as client:
        complete = endpoint(client, job(model)[0].settings)
        complete("Begin!\n\n[Question] q\n", stop=[f"[{k}]" for k in range(6)], max_tokens=9)
        assert model.stops == [[f"[{k}]" for k in range(4)]]


def test_tools_of_a_batch_run_where_their_agent_does(model: SimulatedModel) -> None:
    """What the run set for its own work (its trace, for one) holds in the threads of its tools."""
    whose: ContextVar[str] = ContextVar("whose", default="nobody")
    given, _ = job(model)
    seen: list[str] = []

    def answer(_: Mapping[str, Any]) -> str:
        seen.append(whose.get())
        return "done"

    given = replace(given, tools=tuple(replace(tool, answer=answer) for tool in given.tools))
    world = _World(shipped("pass"), given, None, None)  # type: ignore[arg-type]
    whose.set("mine")
    assert world._run([(name, "{}") for name in EXPECTED]) == ["done"] * 4
    assert seen == ["mine"] * 4


def test_what_the_environment_asks_takes_tokens_too(model: SimulatedModel) -> None:
    spent = {}
    for name in ("pass", "pass_raw"):
        given, _ = job(model)
        load(f"spec:{name}")(given)
        spent[name] = given.answers.usage.total
    assert spent["pass"] > spent["pass_raw"] > 0


class Empty(SimulatedModel):
    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        return {"choices": [], "error": "no capacity"}


def test_an_answer_without_choices_is_no_answer_of_the_model() -> None:
    with Empty() as model, pytest.raises(Unreachable, match=r"without choices.*no capacity"):
        load("spec:react")(job(model)[0])


class Deaf(SimulatedModel):
    """Tells no log probabilities, as some servers do that take completions."""

    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        if body.get("echo"):
            raise BadInput("echo and logprobs are not allowed together")
        return super().complete(body, key)


def test_without_log_probabilities_the_results_are_returned() -> None:
    with Deaf() as model:
        given, log = job(model)
        assert load("spec:pass")(given).answer == "All tasks are done."
        assert len(log.calls) == 4


@pytest.mark.parametrize("name", ["direct", "chain_of_thought", "direct+react"])
def test_without_actions_five_tries_decide(name: str, model: SimulatedModel) -> None:
    given, log = job(model)
    outcome = load(f"spec:{name}")(given)
    assert outcome.iterations == 5
    assert log.calls == ()


class Recording(SimulatedModel):
    """Remembers at which temperatures it was asked, and where to stop."""

    def complete(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        self.temperatures = [*getattr(self, "temperatures", []), body.get("temperature")]
        self.stops = [*getattr(self, "stops", []), body.get("stop")]
        return super().complete(body, key)


def test_tries_are_warm_and_agents_are_as_set() -> None:
    with Recording() as model:
        given, _ = job(model)
        load("spec:direct")(given)
        load("spec:react")(given)
        assert model.temperatures == [0.7] * 5 + [0.0] * 5


def test_a_model_that_takes_no_temperature_is_told_none() -> None:
    with Recording() as model:
        given, _ = job(model)
        load("spec:direct")(replace(given, settings=replace(given.settings, temperature=None)))
        assert model.temperatures == [None] * 5


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


def test_a_hybrid_the_other_way_asks_the_tries_where_the_agent_has_no_answer(model: SimulatedModel) -> None:
    given, log = job(model)
    outcome = load("spec:react+direct")(given)
    assert (outcome.iterations, len(log.calls)) == (5, 4)
    given, log = job(model, "simulated-loops", 6)
    outcome = load("spec:react+chain_of_thought")(given)
    assert outcome.iterations == 6 + 5
    assert len(log.calls) == 6


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


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("#E1 + 1", 'say "2" + 1'),
        ('{"at": "#E1", "n": 3}', '{"at": "say \\"2\\"", "n": 3}'),
        ("[1, 2] #E2", "[1, 2] #E2"),
        ("#E1" * 9_000, ('say "2"' * 9_000)[:LONGEST_INPUT]),
    ],
    ids=["text", "object", "unknown", "long"],
)
def test_results_are_put_into_inputs(given: str, wanted: str) -> None:
    assert _filled(given, {"#E1": 'say "2"'}) == wanted


def test_an_action_without_an_input_has_an_empty_one() -> None:
    said = [
        ("[Action]", "a"),
        ("[Action]", "b"),
        ("[Action Input]", "x"),
        ("[Thought]", "t"),
        ("[Action]", "c"),
    ]
    assert _actions(said) == [("a", ""), ("b", "x"), ("c", "")]


def test_an_environment_without_an_action_has_nothing_to_say(model: SimulatedModel) -> None:
    given, _ = job(model)
    world = _World(shipped("react"), given, None, None)  # type: ignore[arg-type]
    assert world("Obs", [Piece("Ques", "q")]) == "nothing"


def test_a_tool_that_takes_text_is_given_the_input_as_it_is(model: SimulatedModel) -> None:
    log = ToolLog()
    tools = question_tools(["Calculator"], None, log)
    given = Job("q", tools, Settings("simulated-perfect", model.base_url, "key"))
    world = _World(shipped("react"), given, None, None)  # type: ignore[arg-type]
    for text, wanted in (("6 * 7", "42"), ('{"formula": "6*7"}', "42"), ("1/0", "Error: division by zero")):
        assert world("Obs", [Piece("Act", "Calculator"), Piece("Act-Inp", text)]) == wanted
    assert log.calls[0].arguments == {"formula": "6 * 7"}


def test_a_batch_runs_all_actions_since_the_plan(model: SimulatedModel) -> None:
    given, log = job(model)
    world = _World(shipped("pass"), given, None, None)  # type: ignore[arg-type]
    assert world("Sum", [Piece("Plan", "a")]) == "nothing"
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
            offsets = [0, 1, len(prompt) - len(text)]  # scores of what was asked are not the text's
            scores = [None, -99.0 if self.liked in text else -0.1, score]
            told = {"token_logprobs": scores, "text_offset": offsets, "tokens": ["", prompt, text]}
            return {"choices": [{"text": prompt, "index": 0, "logprobs": {**told, "top_logprobs": None}}]}
        return {"choices": [{"text": " in short", "index": 0, "logprobs": None}]}


@pytest.mark.parametrize(
    ("liked", "wanted"), [("in short", "in short"), ("Success", "1. Success"), ("", "1.")]
)
def test_the_likelier_of_summary_and_results_is_returned(liked: str, wanted: str) -> None:
    with Scoring() as model:
        model.liked = liked
        given, _ = job(model)
        with OpenAI(base_url=model.base_url, api_key="key") as client:
            world = _World(shipped("pass"), given, client, endpoint(client, given.settings))
            said = world("Sum", [Piece("Plan", "a"), Piece("Act", EXPECTED[0]), Piece("Act-Inp", "{}")])
    assert said.startswith(wanted)


def test_scores_are_normalised_by_length() -> None:
    assert normalised([]) is None
    assert normalised([-1.0]) == -1.0
    assert normalised([-1.0] * 7, alpha=1.0) == -3.5


@pytest.mark.parametrize("name", ["nothing", "react+pass", "direct+direct", "direct+react+pass"])
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
