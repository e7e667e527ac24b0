"""Planning agents as agents of `pdoctor test`, on the simulated model."""

from __future__ import annotations

from typing import Any

import pytest

from synth.agents import load
from synth.agents.mock_tools import ToolLog, mock_tools
from synth.agents.model import Job, Outcome, OutOfIterations, Settings
from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.errors import BadInput
from synth.judge import judge
from synth.observed.run import Run, ToolCall
from synth.plans.planning import DESIGNS
from synth.simulated_model import SimulatedModel, parse_model

pytest.importorskip("openai")

(CASE,) = generate(1, 5, Options(actions=(4, 4)))


def done(agent: str, model: str, case: Case = CASE) -> tuple[str, Outcome, ToolLog]:
    """The judge's outcome of one run, what the agent said, and what its tools saw."""
    log = ToolLog()
    with SimulatedModel() as server:
        settings = Settings(model, server.base_url, "key")
        outcome = load(agent)(Job(case.query, mock_tools(case, log), settings))
    calls = tuple(ToolCall(None, call.name, dict(call.arguments), call.result) for call in log.calls)
    return judge(case, Run("r", calls, tools=tuple(a.tool for a in case.actions))).outcome, outcome, log


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_every_design_carries_out_a_right_plan(design: Any) -> None:
    verdict, outcome, log = done(design.name, "simulated-perfect")
    assert (verdict, len(log.calls)) == ("pass", 4)
    assert outcome.iterations == (1 if design.strategy == "multi-step" else 5)


@pytest.mark.parametrize(
    ("profile", "feedback", "turns"),
    [("invents", "PV", 2), ("invents", "PE", 2), ("malformed", "P", 2), ("invents", "P", 1)],
)
def test_a_planner_that_heeds_is_mended_by_what_notices_its_fault(
    profile: str, feedback: str, turns: int
) -> None:
    verdict, outcome, _ = done(f"plan-multi-step-json-{feedback}", f"simulated-{profile}+always")
    assert (verdict == "pass", outcome.iterations) == (turns > 1, turns)
    deaf, outcome, _ = done(f"plan-multi-step-json-{feedback}", f"simulated-{profile}")
    assert (deaf, outcome.iterations) == ("fail", 10 if turns > 1 else 1)


def test_step_by_step_what_was_heeded_stays_heeded() -> None:
    for form in ("json", "code"):
        verdict, outcome, log = done(f"plan-step-by-step-{form}-PV", "simulated-invents+always")
        assert (verdict, outcome.iterations, len(log.calls)) == ("pass", 6, 4)


def test_answers_are_limited() -> None:
    with SimulatedModel() as server:
        settings = Settings("simulated-invents", server.base_url, "key", max_iterations=3)
        job = Job(CASE.query, mock_tools(CASE, ToolLog()), settings)
        with pytest.raises(OutOfIterations, match="3 model answers"):
            load("plan-multi-step-json-PVE")(job)


def test_a_wrong_order_is_noticed_by_no_feedback() -> None:
    verdict, outcome, log = done("plan-multi-step-code-PVE", "simulated-swaps+always")
    assert (verdict, outcome.iterations, len(log.calls)) == ("fail", 1, 4)


def test_step_by_step_each_tool_runs_once() -> None:
    for feedback in ("none", "PE"):
        verdict, _, log = done(f"plan-step-by-step-json-{feedback}", "simulated-parallel")
        assert (verdict, len(log.calls)) == ("pass", 4)


def test_step_by_step_a_planner_learns_how_long_tasks_took() -> None:
    (timed,) = generate(1, 2, Options(actions=(3, 3), mode="timed"))
    assert done("plan-step-by-step-json-PVE", "simulated-perfect", timed)[0] == "pass"


def test_half_of_what_it_is_told_is_heeded() -> None:
    turns = [
        done("plan-multi-step-json-PV", f"simulated-invents+half:{seed}")[1].iterations for seed in range(6)
    ]
    assert min(turns) == 2 < max(turns) <= 10


def test_names_of_designs_and_models() -> None:
    assert parse_model("simulated-invents+half:3")[1] == 3
    for name in ("plan-multi-step-json", "plan-multi-step-json-V"):
        with pytest.raises(BadInput, match="plan-STRATEGY-FORMAT-FEEDBACK"):
            load(name)
    with pytest.raises(BadInput, match="unknown model"):
        parse_model("simulated-invents+often")
