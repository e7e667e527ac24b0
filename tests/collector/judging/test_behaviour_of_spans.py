"""Recorded spans of ReAct runs judged by `react.spec`: of our own tracer, and of other vendors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from collector.cli.runfiles import runs_in
from synth.observed.run import Run
from synth.policies import judge_policies, load_policies

FOLDER = Path(__file__).parents[1] / "react_runs"
RECORDED = sorted(path.stem for path in FOLDER.glob("*.json"))
VENDORS = ("native_pydantic_ai_run", "openinference_langchain_agent", "openllmetry_langchain_agent")
FILE = "policies:\n  - {id: shape, behaviour: %s}\n"


def recorded(name: str) -> Run:
    (run,) = runs_in(str(FOLDER / f"{name}.json"))
    return run


def judged(run: Run, specification: str = "react") -> tuple[str, tuple[int, ...], str]:
    (result,) = judge_policies(load_policies(FILE % specification), run)
    return result.verdict, result.violations, result.explanation


def without_observation(run: Run, call: int) -> Run:
    calls = list(run.calls)
    calls[call] = replace(calls[call], result=None, error=None, end=None, finished=False)
    return replace(run, calls=tuple(calls))


def test_there_are_eight_frameworks_and_three_other_vocabularies() -> None:
    assert set(VENDORS) < set(RECORDED)
    frameworks = set(RECORDED) - {*VENDORS, "openai", "anthropic", "litellm"}
    assert len(frameworks) >= 8


@pytest.mark.parametrize("name", RECORDED)
def test_a_scripted_react_run_follows_react(name: str) -> None:
    assert judged(recorded(name)) == ("ok", (), "The run follows the specification.")


@pytest.mark.parametrize("name", RECORDED)
def test_without_the_observation_it_is_violated_at_the_next_thought(name: str) -> None:
    run = recorded(name)
    tool = run.calls[1].tool
    said = f"The text beside {tool} (call 1) is not allowed here as Tht; expected Obs."
    assert judged(without_observation(run, 0)) == ("violated", (1,), said)
    last = "The model's last word is not allowed here as Final-Tht Ans; expected Obs."
    assert judged(without_observation(run, 1)) == ("violated", (), last)


@pytest.mark.parametrize("name", RECORDED)
def test_the_other_specifications_say_what_the_run_was_not(name: str) -> None:
    run = recorded(name)
    verdicts = {
        one: judged(run, one)[:2] for one in ("pass", "rewoo", "chain_of_thought", "direct", "reflexion")
    }
    assert verdicts == {
        "pass": ("ok", ()),
        "rewoo": ("ok", ()),
        "chain_of_thought": ("violated", (0,)),
        "direct": ("violated", (0,)),
        "reflexion": ("violated", ()),
    }
