"""System prompt, role, temperature and further parameters: every agent sends them, as its endpoint sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from synth.agents import load
from synth.agents.external import _request
from synth.agents.mock_tools import ToolLog, mock_tools
from synth.agents.model import Job, Settings, Unreachable
from synth.agents.usage import Answers
from synth.agents.user_callable import as_agent
from synth.agents.worker import load_any
from synth.cases.generate import Options, generate
from synth.language.query import role_of
from synth.simulated_model import SimulatedModel
from tests.support.models import FakeModels

SYSTEM = "Be careful, {role}: think before you call."
LOOPS = ("raw-loop", "openai-tools", "react", "responses", "assistants", "plan-multi-step-json-P")
AGENTS = (*LOOPS, "spec:react")
(CASE,) = generate(1, 3, Options(actions=(2, 2)))


@pytest.fixture(scope="module")
def models() -> Iterator[FakeModels]:
    with FakeModels() as running:
        yield running


def sent(models: FakeModels, agent: str, **more: Any) -> list[Any]:
    """The requests of one run that name a model, or make what answers by one."""
    before = len(models.requests)
    settings = Settings("fake", models.openai, "none", max_iterations=2, **more).told(CASE.query)
    with suppress(Exception):  # not every agent can read what this endpoint answers
        load(agent)(Job(CASE.query, mock_tools(CASE, ToolLog(None)), settings))
    made = [body for _, body in models.requests[before:]]
    return [body for body in made if isinstance(body, dict) and "model" in body]


@pytest.mark.parametrize("agent", AGENTS)
def test_system_prompt_temperature_and_further_parameters(models: FakeModels, agent: str) -> None:
    role = role_of(CASE.query)
    assert role.startswith(("a ", "an "))
    said = f"Be careful, {role}: think before you call."
    asked = sent(models, agent, system=SYSTEM, temperature=0.3, params={"seed": 7, "n": 1})
    assert asked
    for body in asked:
        assert (body["seed"], body["n"]) == (7, 1)
        # The paper's Assistant ran at the service's own temperature.
        assert body.get("temperature") == (None if agent == "assistants" else 0.3)
        assert opening(agent, body) == (said, "user" if "react" in agent else "system")


def opening(agent: str, body: Any) -> tuple[str, str]:
    """What the model reads first, and as whose words."""
    if agent in ("responses", "assistants"):
        return body["instructions"], "system"
    first = body["messages"][0]
    whole = first["content"]
    return whole.partition("\n\nAnswer the following")[0], first["role"]


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_of_it_where_nothing_is_said(models: FakeModels, agent: str) -> None:
    for body in sent(models, agent, temperature=None):
        assert not {"temperature", "seed", "n"} & body.keys()
        assert "think before" not in json.dumps(body)
        assert not body.get("instructions")


def test_the_simulated_planner_reads_the_case_behind_it() -> None:
    with SimulatedModel() as simulated:
        settings = Settings("simulated-perfect", simulated.base_url, "key", system=SYSTEM)
        for agent in LOOPS:
            log = ToolLog()
            load(agent)(Job(CASE.query, mock_tools(CASE, log), settings.told(CASE.query)))
            assert len(log.calls) == len(CASE.actions), agent


def test_agents_of_the_user_are_given_it_by_name() -> None:
    got: list[Any] = []
    job = Job(CASE.query, (), Settings("m", system="S", params={"seed": 7}))

    def careful(query: str, system: str, params: Any) -> None:
        got.extend([system, params])

    as_agent(careful)(job)
    assert got == ["S", {"seed": 7}]
    assert _request(job, "http://t")["system"] == "S"
    assert "system" not in _request(Job(CASE.query, (), Settings("m")), "http://t")
    with pytest.raises(Unreachable, match="no parameter named `system`"):
        as_agent(lambda query: None)(job)


def test_the_worker_fills_in_the_role_of_the_case(models: FakeModels) -> None:
    settings = {"model": "fake", "base_url": models.openai, "api_key": "none", "system": "You are {role}."}
    request = {"case": CASE.to_json(), "settings": settings}
    before = len(models.requests)
    load_any("raw-loop")(request, ToolLog(None), Answers())
    (_, body), *_ = models.requests[before:]
    assert body["messages"][0]["content"] == f"You are {role_of(CASE.query)}."
