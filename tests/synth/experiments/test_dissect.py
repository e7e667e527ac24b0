from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from synth.cases.case import Case
from synth.cases.mutate import Layer
from synth.experiments.causes import Attempt
from synth.experiments.dissect import (
    AS_PAPER,
    CONTRAST,
    Dissection,
    Failure,
    dissect,
    dissection_from_json,
    dissections_journal,
    failures_of,
    top_topics,
)
from synth.experiments.rates import Rate
from tests.support.bench_cases import order_case
from tests.support.bench_results import result

CASE = order_case()


def numbered(case: Case, layer: Layer, count: int) -> Sequence[Case]:
    return [order_case(id=f"{layer}-{number}") for number in range(count)]


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
            found = dissect(given, passes, journal, AS_PAPER, mutate=numbered, parallel=2)
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


def test_a_base_rate_is_asked_where_no_mutant_passes_and_only_there(tmp_path: Path) -> None:
    asked: list[str] = []

    def base(failure: Failure) -> Rate:
        asked.append(failure.key)
        return Rate(25, 50)

    def some_topics(agent: str, model: str, case: Case, number: int) -> bool:
        return agent == "b" and case.id.startswith("topic")

    failures = [Failure(agent, "m", CASE) for agent in ("a", "b")]
    with dissections_journal(tmp_path / "d.jsonl", {}) as journal:
        found = dissect(failures, some_topics, journal, CONTRAST, base, numbered)
    assert {d.agent: d.cause for d in found} == {"a": "constraint", "b": "topic"}
    assert asked == [f"a|m|{CASE.id}"]
    by_agent = {d.agent: d for d in found}
    assert by_agent["b"].layers == {"terminal": Rate(0, 20), "topic": Rate(20, 20), "structure": Rate(0, 20)}
    assert by_agent["b"].to_json()["layers"]["topic"] == [20, 20]
    assert all(dissection_from_json(d.to_json()) == d for d in found)


def test_a_cause_told_from_chance_has_the_paper_s_cause_beside_it() -> None:
    attempts = [Attempt("terminal", "t", number == 3) for number in range(10)]
    found = Dissection("a", "m", "c", "baker", None, "difficulty", tuple(attempts), "contrast")
    assert (found.cause, found.paper_cause) == ("difficulty", "terminal")
    assert dissection("topic", "baker").paper_cause == "topic"


def test_the_tables_count_topics() -> None:
    found = [dissection("topic", "baker"), dissection("topic", "baker"), dissection("topic", "dentist")]
    found.append(dissection("terminal", "pilot"))
    assert top_topics(found) == [("baker", 2), ("dentist", 1)]
