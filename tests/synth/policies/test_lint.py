"""Lint: contradictions with a minimal conflict, unknown tools, rules that lead nowhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from synth.policies import lint, load_policies
from synth.policies.lint import Problem, contradictions
from tests.support.policing import policy, rules_file

CONSISTENT = [
    ["A must happen before B.", "B must happen before C."],
    ["A must be followed by B.", "A must happen before B."],
    ["A must happen at most 1 time.", "A must happen at least 1 time."],
    ["A must happen after 22:00, and A must happen before 02:00."],
    [
        "A must happen immediately before B.",
        "A must happen immediately before C.",
        "B must be followed by C.",
    ],
    ["A must never happen after B.", "A must happen before B."],
    ["A must never happen."],
    ["Any tool must be alone in its turn."],
    ["A must happen before any tool.", "B must happen before C."],
    ["A must happen immediately before any tool."],
    ["Any tool must be followed by A.", "B must happen before A."],
    ["Any tool must start within 5 minutes after A."],
    ["B must start within 5 minutes of A.", "B must happen before A.", "B must happen at most once."],
    ["B must start within 5 minutes before A.", "B must happen before A."],
    ["Any tool must start at least 5 minutes after A.", "B must happen before C."],
]

CONTRADICTIONS = [
    (["A must happen before B.", "B must happen before C.", "C must happen before A."], ("P0", "P1", "P2")),
    (["A must happen before C.", "B must happen before A.", "A must happen before B."], ("P1", "P2")),
    (["A must be followed by B.", "C must happen before A.", "B must be followed by A."], ("P0", "P2")),
    (["A must be followed by B.", "B must never happen after A."], ("P0", "P1")),
    (["A must happen at least 2 times.", "A must happen at most 1 time."], ("P0", "P1")),
    (["A must happen at least 1 time.", "A must never happen."], ("P0", "P1")),
    (["B must happen at least once.", "A must happen before B.", "A must never happen."], ("P0", "P1", "P2")),
    (["A must happen after 22:00.", "C must never happen.", "A must happen before 20:00."], ("P0", "P2")),
    (["A must happen immediately before C.", "B must happen immediately before C."], ("P0", "P1")),
    (["B must start within 5 minutes after A.", "B must start at least 6 minutes after A."], ("P0", "P1")),
    (["A must happen before B.", "Any tool must happen at most 1 time."], ("P0", "P1")),
    (["A must happen before any tool.", "B must happen before A."], ("P0", "P1")),
    (
        [
            "A must happen before B.",
            "B must start within 5 minutes before A.",
            "A must happen at most 1 time.",
        ],
        ("P0", "P1", "P2"),
    ),
    (["A must happen before B.", "B must precede A, and A must precede B."], ("P1",)),
    (
        [
            "C must happen immediately before A.",
            "A must happen before B.",
            "B and D and E must happen immediately before A.",
        ],
        ("P2",),
    ),
    (["A must happen before B.", "B must happen before any tool, and A must precede B."], ("P1",)),
]


@pytest.mark.parametrize("sentences", CONSISTENT)
def test_consistent_files_have_no_problem(sentences: list[str]) -> None:
    assert lint(rules_file(*sentences)) == ()


@pytest.mark.parametrize(("sentences", "conflict"), CONTRADICTIONS)
def test_a_contradiction_names_a_minimal_conflict(sentences: list[str], conflict: tuple[str, ...]) -> None:
    found = [p for p in lint(rules_file(*sentences)) if p.code == "contradiction"]
    assert [p.policies for p in found] == [conflict]
    for left_out in conflict:
        rest = [s for i, s in enumerate(sentences) if f"P{i}" in conflict and f"P{i}" != left_out]
        same = found[0].explanation.split(" P")[0]
        assert not rest or not any(p.explanation.startswith(same) for p in lint(rules_file(*rest)))


SAID = (
    "{a} must happen before {b}.",
    "{a} must precede {b}, and {c} must precede {a}.",
    "{a} and {b} must happen immediately before {c}.",
    "{a} must be followed by {b}.",
    "{a} must never happen after {b}.",
    "{a} must happen at least 2 times.",
    "{a} must happen at most 1 time.",
    "{a} must happen before any tool.",
    "{a} must happen after 22:00, and {b} must happen before 20:00.",
    "{a} must start within 5 minutes after {b}.",
    "{a} must start at least 6 minutes after {b}.",
    "{a} must never happen.",
)


def told(sentences: Sequence[str]) -> list[Problem]:
    return [p for p in contradictions(rules_file(*sentences).policies) if p.code == "contradiction"]


def no_run(problem: Problem) -> bool:
    return problem.explanation.startswith("No run can keep")


@pytest.mark.heavy
def test_no_policy_of_a_contradiction_can_be_left_out() -> None:
    r = Random(13)
    sizes: Counter[int] = Counter()
    for _ in range(80):
        names = (r.sample("ABC", 3) for _ in range(r.randint(2, 5)))
        sentences = [r.choice(SAID).format(a=a, b=b, c=c) for a, b, c in names]
        for problem in told(sentences):
            own = [sentences[int(name[1:])] for name in problem.policies]
            sizes[len(own)] += 1
            assert told(own), (sentences, problem)
            for rest in combinations(own, len(own) - 1):
                smaller = told(rest) if rest else []
                assert not [p for p in smaller if no_run(p) >= no_run(problem)], (sentences, problem)
    assert sizes[1] > 10
    assert sizes[2] > 15
    assert sizes[3] > 1


def test_a_long_circle_is_named_at_once() -> None:
    rules = [f"  - {{id: P{i}, rule: act{i} must happen before act{(i + 1) % 60}.}}" for i in range(60)]
    actions = [f"  act{i}: t{i}" for i in range(60)]
    (problem,) = lint(load_policies("\n".join(["actions:", *actions, "policies:", *rules])), timeout_ms=1)
    assert len(problem.policies) == 60


def test_the_shortest_circle_is_named_in_its_order() -> None:
    (problem,) = lint(rules_file("A must happen before B.", "B must happen before A."))
    assert problem.explanation == "These cannot be kept together: A before B [P0] and B before A [P1]."
    assert problem.line is not None
    assert problem.to_json()["code"] == "contradiction"


def codes(text: object, **options: object) -> list[tuple[str, tuple[str, ...]]]:
    return [(p.code, p.policies) for p in lint(text, **options)]  # type: ignore[arg-type]


def test_tools_that_do_not_exist_are_named() -> None:
    order = rules_file("A must happen before B.")
    assert codes(order, tools=["do_a", "do_b"]) == []
    (problem,) = lint(order, tools=["do_a"])
    assert (problem.code, "do_b" in problem.explanation) == ("unknown_tool", True)
    guarded = policy("guard: {calls: A, check: \"last('lookup') != null\"}")
    assert codes(guarded) == [("unknown_tool", ("P0",))]
    assert codes(policy("guard: {calls: do_x, check: 'true'}")) == [("unknown_tool", ("P0",))]


def test_rules_that_wait_for_what_is_forbidden() -> None:
    found = codes(rules_file("A must be followed by B.", "A must never happen."))
    assert ("never_applies", ("P0", "P1")) in found


def test_windows_and_sources_are_looked_at_too() -> None:
    assert codes(rules_file("A must happen after 22:00.", "A must never happen.")) == [
        ("never_applies", ("P0", "P1"))
    ]
    traced = "provenance: {calls: A, argument: id, from: do_x}"
    assert codes(policy(traced)) == [("unknown_tool", ("P0",))]
    assert codes(policy(traced.replace("do_x", "do_b"))) == []


def test_contracts_that_go_in_circles() -> None:
    circle = policy(
        "contract: {initial: [], tools: {x: {requires: p, provides: q}, y: {requires: q, provides: p}}}"
    )
    (problem,) = lint(circle)
    assert problem.code == "never_applies"
    assert "x (needs p) and y (needs q)" in problem.explanation
    opened = policy(
        "contract: {initial: [p], tools: "
        "{x: {requires: p, provides: 'q {a}'}, y: {requires: 'q *', provides: r}}}"
    )
    assert lint(opened) == ()


def test_duplicates_and_dead_guards() -> None:
    assert codes(rules_file("A must happen before B.", "A must happen before B.")) == [
        ("duplicate", ("P1", "P0"))
    ]
    assert codes(policy("guard: {calls: A, when: 'false', check: 'true'}")) == [("never_applies", ("P0",))]


def test_large_files_are_proved_or_said_to_be_unproved() -> None:
    actions = "".join(f"  act{i}: t{i}\n" for i in range(150))
    rules = "".join(f"  - {{id: P{i}, rule: act{i} must happen before act{i + 1}.}}\n" for i in range(149))
    text = f"actions:\n{actions}policies:\n{rules}"
    assert lint(load_policies(text)) == ()
    assert [p.code for p in lint(load_policies(text), timeout_ms=1)] in ([], ["unproved"])


def test_tools_of_contracts_and_behaviours_must_exist_too() -> None:
    contract = policy("contract: {initial: [], tools: {do_x: {provides: p}}}")
    assert [p.code for p in lint(contract, tools=["do_a"])] == ["unknown_tool"]
    assert [p.code for p in lint(policy("behaviour: (next do_x do_a)"), tools=["do_a"])] == ["unknown_tool"]
    assert lint(policy("behaviour: (next do_x do_a)"), tools=["do_a", "do_x"]) == ()


def test_what_is_not_analysed_for_contradictions_is_named(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from collector.cli.policies import command

    file = tmp_path / "rules.yaml"
    said = (
        "Pay must happen before ship.", "Pay must happen at most 2 times within 1 hour.",
        "The sum of args.amount of pay must be at most 5.", "Pay must never happen on Fridays.",
    )  # fmt: skip
    rules = "".join(f"  - {{id: P{k}, rule: {one!r}}}\n" for k, one in enumerate(said))
    file.write_text(f"actions: {{pay: pay, ship: ship}}\npolicies:\n{rules}")
    told = CliRunner().invoke(command, ["lint", str(file)])
    assert told.exit_code == 0, told.output
    why = "was not analysed for contradictions: it says more than the order of calls, or nothing about it."
    kinds = ("rate", "total", "weekdays")
    assert told.output.splitlines() == [
        *(f"{file}:{k + 3}: not_analysed: P{k} ({kind}) {why}" for k, kind in enumerate(kinds, 1)),
        f"{file}: 4 policies, no contradiction among the other 1",
    ]
    told = CliRunner().invoke(command, ["lint", str(file), "--json"])
    assert told.exit_code == 0
    assert [json.loads(line) for line in told.output.splitlines()] == [
        {"code": "not_analysed", "policies": [f"P{k}"], "explanation": f"P{k} ({kind}) {why}", "line": k + 3}
        for k, kind in enumerate(kinds, 1)
    ]
    told = CliRunner().invoke(command, ["lint", str(file), "--json", "--guard"])
    guard = [one for one in map(json.loads, told.output.splitlines()) if "--guard" in one["explanation"]]
    assert [one["policies"] for one in guard] == [["P1"], ["P2"], ["P3"]]
