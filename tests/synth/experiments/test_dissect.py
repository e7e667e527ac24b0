from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.cases.mutate import mutants
from synth.experiments.dissect import (
    CAUSES,
    LAYERS,
    Attempt,
    Dissection,
    Failure,
    Layer,
    cause_shares,
    dissect,
    dissections_journal,
    failures_of,
    find_cause,
    top_topics,
)
from synth.simulated_model import PROFILES, Profile
from synth.simulated_model.brain import Brain
from synth.simulated_model.dialogue import Dialogue, OfferedTool
from tests.support.bench_cases import order_case
from tests.support.bench_results import result

CASE = order_case()


def numbered(case: Case, layer: Layer, count: int) -> Sequence[Case]:
    return [order_case(id=f"{layer}-{number}") for number in range(count)]


def passing(*ids: str) -> Callable[[Case, int], bool]:
    return lambda case, number: (f"{case.id}#{number}" if case.id == CASE.id else case.id) in ids


@pytest.mark.parametrize(
    ("passes", "cause", "runs"),
    [
        (passing("case-1#1"), "probability", 1),
        (passing("case-1#3"), "probability", 3),
        (passing("terminal-0"), "terminal", 4),
        (passing("terminal-9", "topic-0"), "terminal", 13),
        (passing("topic-4", "structure-0"), "topic", 18),
        (passing("structure-9"), "structure", 33),
        (passing(), "constraint", 33),
    ],
)
def test_the_first_pass_names_the_cause(passes: Callable[[Case, int], bool], cause: str, runs: int) -> None:
    found, attempts = find_cause(CASE, passes, numbered)
    assert (found, len(attempts)) == (cause, runs)
    assert [attempt.passed for attempt in attempts].count(True) == (cause != "constraint")


def test_layers_are_tried_in_the_order_of_the_paper() -> None:
    _, attempts = find_cause(CASE, passing(), numbered, repeats=1, count=1)
    assert [attempt.layer for attempt in attempts] == ["repeat", *LAYERS]


def test_dissections_are_kept_and_not_made_again(tmp_path: Path) -> None:
    looked: list[str] = []
    lock = threading.Lock()

    def passes(agent: str, model: str, case: Case, number: int) -> bool:
        with lock:
            looked.append(case.id)
        return False

    failures = [Failure("a", "m", order_case(id=f"case-{k}"), "order_error") for k in range(3)]
    for given in (failures[:2], failures, failures):
        with dissections_journal(tmp_path / "d.jsonl", {}) as journal:
            found = dissect(given, passes, journal, numbered, parallel=2)
    assert {d.case_id for d in found} == {"case-0", "case-1", "case-2"}
    assert len(looked) == 3 * 33
    assert {(d.cause, d.error_type, d.topic) for d in found} == {("constraint", "order_error", "baker")}


def test_failures_are_taken_once_per_agent_and_model() -> None:
    body = CASE.to_json()
    results = [
        result("fail", "order_error", key="1", case=body),
        result("fail", "order_error", key="2", case=body),
        result("fail", "order_error", key="3", agent="react", case=body),
        result("pass", key="4", case=body),
    ]
    assert [(f.agent, f.case.id) for f in failures_of(results)] == [
        ("raw-loop", "case-1"),
        ("react", "case-1"),
    ]


def dissection(cause: str, topic: str) -> Dissection:
    return Dissection("a", "m", "c", topic, None, cause, (Attempt("repeat", "c", False),))  # type: ignore[arg-type]


def test_the_tables_count_causes_and_topics() -> None:
    found = [dissection("topic", "baker"), dissection("topic", "baker"), dissection("topic", "dentist")]
    found.append(dissection("terminal", "pilot"))
    assert cause_shares(found) == {**dict.fromkeys(CAUSES, 0), "topic": 3, "terminal": 1}
    assert top_topics(found) == [("baker", 2), ("dentist", 1)]


# ---------------------------------------------------------------- the planners with a single cause


def passes_on(brain: Brain, model: str, case: Case) -> bool:
    """Whether the planner has no fault in mind for this case; no agent needs to run for that."""
    tools = tuple(OfferedTool(action.tool, action.description) for action in case.actions)
    brain.think(Dialogue(model, case.query, tools, key="k"))
    planted = brain.planted_for("k")
    assert planted is not None
    return planted.fault is None


def named_causes(profile: str, count: int) -> list[str]:
    brain, model, named = Brain(), f"simulated-{profile}", []
    for case in generate(1_000, 21, Options(actions=(3, 6)), confirm=False):
        if len(named) == count:
            break
        if not passes_on(brain, model, case):
            named.append(find_cause(case, lambda case, _: passes_on(brain, model, case), mutants)[0])
    return named


@pytest.mark.parametrize("profile", [p for p in PROFILES if p.cause], ids=lambda profile: profile.name)
def test_planners_with_a_single_cause_are_seen_through(profile: Profile) -> None:
    named = named_causes(profile.name, 6)
    assert named.count(profile.cause) >= 5


@pytest.mark.heavy
@pytest.mark.parametrize("profile", [p for p in PROFILES if p.cause], ids=lambda profile: profile.name)
def test_the_planted_cause_is_named_in_95_of_100_cases(profile: Profile) -> None:
    named = named_causes(profile.name, 100)
    assert named.count(profile.cause) >= 95
