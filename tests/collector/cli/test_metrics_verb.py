"""`pdoctor metrics` and `pdoctor check --plan`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.check import command as check
from collector.cli.metrics import command as metrics
from tests.support.traces import case_json

PARITY = Path(__file__).parents[2] / "synth/plans"
GOLD = [{"id": 0, "name": "a", "args": {"x": 1}}, {"id": 1, "name": "b", "args": {"y": "<node-0>.z"}}]
TOOLS = [{"name": "a", "inputs": ["x"], "outputs": ["z"]}, {"name": "b", "inputs": ["y"], "outputs": []}]


def run(verb: Any, *arguments: object) -> Result:
    return CliRunner().invoke(verb, [str(one) for one in arguments])


def lines(done: Result) -> list[Any]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def written(folder: Path, name: str, *said: Any) -> Path:
    file = folder / name
    file.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in said))
    return file


def test_corpora_are_scored_as_by_the_evaluator_with_the_tools_beside_them() -> None:
    file = PARITY / "mnms_parity/cases.jsonl"
    found = {one["corpus"]: one for one in lines(run(metrics, file, "--family", "mnms", "--json"))}
    cases = [json.loads(line) for line in file.read_text().splitlines()]
    scored = [case for case in cases if not case["evaluator_error"]]
    assert len(found) == len(cases) > len(scored)
    for case in scored:
        assert found[case["case"]]["scores"] == pytest.approx(case["expected"], abs=0.00501)


def test_samples_of_several_domains_are_scored_each_with_its_tools() -> None:
    file = PARITY / "taskbench_parity/cases.jsonl"
    beside = lines(run(metrics, file, "--family", "taskbench", "--json"))
    named = lines(run(metrics, file, "--family", "taskbench", "--tools", file.parent, "--json"))
    assert [one["scores"] for one in beside] == [one["scores"] for one in named]
    case = json.loads(file.read_text().splitlines()[1])
    assert beside[1]["scores"]["link_binary_f1"] == pytest.approx(case["expected"]["link_binary_f1"])


def test_pairs_on_lines_of_their_own_are_one_corpus(tmp_path: Path) -> None:
    other = [GOLD[0]]
    pairs = written(
        tmp_path, "pairs.jsonl", {"gold": GOLD, "prediction": GOLD}, "", {"gold": GOLD, "prediction": "no"},
        {"gold": GOLD, "prediction": other, "alternatives": [other]},
    )  # fmt: skip
    (found,) = lines(run(metrics, pairs, "--json"))
    assert (found["samples"], found["unit"], found["tools"]) == (3, "percent", None)
    assert found["scores"]["invalid_predictions"] == 1
    assert found["scores"]["plan_tool_accuracy"] == pytest.approx(100 / 3)
    assert found["delta"]["plan_tool_accuracy"] == pytest.approx(100 / 3)
    text = run(metrics, pairs).stdout
    assert "with alternatives" in text
    assert "66.6667" in text


def test_predictions_may_be_text_or_python(tmp_path: Path) -> None:
    code = "x = a(x=1)\nb(y=x['z'])"
    said = {"text": json.dumps(GOLD), "python": code}
    for spelling, prediction in said.items():
        pairs = written(tmp_path, f"{spelling}.jsonl", {"gold": code, "prediction": prediction})
        (found,) = lines(run(metrics, pairs, "--plans", spelling, "--json"))
        assert found["scores"]["plan_argvalue_accuracy"] == 100
    (found,) = lines(run(metrics, tmp_path / "python.jsonl", "--plans", "text", "--json"))
    assert found["scores"]["invalid_predictions"] == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("{", "pairs.jsonl, 1"),
        ({"gold": GOLD}, "prediction"),
        ({"gold": "?", "prediction": GOLD}, "plan"),
        ({"gold": [GOLD], "predictions": []}, "1 gold plans for 0"),
        ({"gold": {}, "predictions": []}, "gold is a list"),
        ({"gold": GOLD, "prediction": GOLD, "domain": 1}, "domain"),
        ("", "no pairs"),
    ],
    ids=["json", "lacking", "gold", "counts", "list", "domain", "empty"],
)
def test_what_cannot_be_scored_is_bad_input(said: Any, words: str, tmp_path: Path) -> None:
    done = run(metrics, written(tmp_path, "pairs.jsonl", said))
    assert done.exit_code == 2
    assert words.replace(", 1", ":1") in done.stderr


def test_taskbench_needs_to_know_where_links_come_from(tmp_path: Path) -> None:
    sample = {"task_nodes": [{"task": "a", "arguments": []}, {"task": "b", "arguments": ["<node-0>"]}]}
    pairs = written(tmp_path, "pairs.jsonl", {"gold": sample, "prediction": {"result": sample}})
    done = run(metrics, pairs, "--family", "taskbench")
    assert (done.exit_code, "--dependency" in done.stderr) == (2, True)
    (found,) = lines(run(metrics, pairs, "--family", "taskbench", "--dependency", "resource", "--json"))
    assert found["scores"]["node_macro_f1_no_matching"] == found["scores"]["link_binary_f1"] == 1


def test_plans_are_verified_before_their_first_call(tmp_path: Path) -> None:
    tools = written(tmp_path, "tools.json", TOOLS)
    good = written(tmp_path, "good.json", json.dumps(GOLD, indent=1))
    assert run(check, "--plan", good, "--tools", tools).stdout == "1 of 1 plans can be carried out.\n"
    code = written(tmp_path, "good.py", "b(y=a(x=1)['z'])")
    assert run(check, "--plan", code, "--tools", tools).exit_code == 0
    many = written(tmp_path, "many.jsonl", GOLD, {"prediction": "no"}, {"nodes": [{"name": "c", "args": {}}]})
    done = run(check, "--plan", many, "--tools", tools, "--json")
    assert done.exit_code == 1
    assert [(one["status"], [p["kind"] for p in one["problems"]]) for one in lines(done)] == [
        (True, []), (False, ["unreadable"]), (False, ["tool"]),
    ]  # fmt: skip
    edges = written(tmp_path, "edges.json", [["b", "a"]])
    done = run(check, "--plan", good, "--tools", tools, "--edges", edges)
    assert (done.exit_code, "y cannot come from a" in done.stdout) == (1, True)


def test_statuses_are_the_published_verifiers() -> None:
    folder = PARITY / "mnms_parity"
    done = run(
        check, "--plan", folder / "cases.jsonl", "--tools", folder / "tools.json",
        "--edges", folder / "tool_edges.json", "--json",
    )  # fmt: skip
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    expected = [one["status"] for case in cases for one in case["expected_verifier"]]
    assert [one["status"] for one in lines(done)] == expected


def test_a_plan_is_not_checked_with_runs_or_without_tools(tmp_path: Path) -> None:
    good = written(tmp_path, "good.json", GOLD)
    for arguments in (
        ["--plan", good],
        ["--plan", good, "--tools", good, "runs.jsonl"],
        [],
        ["--tools", good],
    ):
        assert run(check, *arguments).exit_code == 2


def contains(tool: str, argument: str, gold: object, given: object) -> bool:
    """A judge."""
    return str(gold) in str(given)


def test_a_judge_says_what_values_entail(tmp_path: Path) -> None:
    said = [{"name": "a", "args": {"x": "it is 1"}}]
    pairs = written(tmp_path, "pairs.jsonl", {"gold": GOLD[:1], "prediction": said})
    (found,) = lines(run(metrics, pairs, "--judge", f"{__name__}:contains", "--json"))
    assert (found["scores"]["argvalue_f1"], found["entailment"]) == (0, 1)
    assert "entailment" in run(metrics, pairs, "--judge", f"{__name__}:contains").stdout
    for name in ("nowhere:judge", f"{__name__}:nobody", ":", "x"):
        assert run(metrics, pairs, "--judge", name).exit_code == 2


def test_plans_in_python_have_metrics_of_code_too(tmp_path: Path) -> None:
    code = "output0 = a(x=1)"
    pairs = written(
        tmp_path, "pairs.jsonl", {"gold": code, "prediction": f"```\n{code}  # so\n```"},
        {"gold": GOLD, "prediction": "b("}, {"gold": GOLD, "prediction": None},
    )  # fmt: skip
    (found,) = lines(run(metrics, pairs, "--plans", "python", "--json"))
    assert found["code"]["ast_accuracy"] == pytest.approx(100 / 3)
    assert 100 / 3 < found["code"]["codebleu"] < 50
    assert "codebleu" in run(metrics, pairs, "--plans", "python").stdout


def test_ratings_of_several_raters(tmp_path: Path) -> None:
    ratings = [
        {"item": item, "rater": rater, "rating": item * (rater == "b")} for item in (0, 1) for rater in "ab"
    ]
    file = written(tmp_path, "ratings.jsonl", *ratings)
    (found,) = lines(run(metrics, file, "--family", "ratings", "--json"))
    assert (found["items"], found["raters"], found["pairwise"]) == (2, 2, 0.5)
    assert "krippendorffs_alpha" in run(metrics, file, "--family", "ratings").stdout
    assert run(metrics, written(tmp_path, "wrong.jsonl", 1), "--family", "ratings").exit_code == 2


def test_runs_are_compared_with_the_gold_plans_of_their_cases(tmp_path: Path) -> None:
    case = {
        **case_json("c"),
        "gold_plan": [{"name": "do_a", "args": {"x": 1}}, {"name": "do_b", "args": {"y": "<node-0>.z"}}],
    }
    calls = [
        {"id": None, "name": "do_a", "arguments": {"x": 1}, "result": {"z": "made"}},
        {"id": None, "name": "do_b", "arguments": {"y": "made"}},
    ]
    failed = [calls[0], calls[1] | {"error": "no"}]
    runs = [
        {"run_id": str(at), "case_id": "c", "calls": one} for at, one in enumerate([calls, failed, calls[:1]])
    ]
    file = written(tmp_path, "runs.jsonl", *runs, {"run_id": "other", "case_id": "none", "calls": []})
    cases = written(tmp_path, "cases.jsonl", case, case_json("plain"))
    (found,) = lines(run(metrics, file, "--cases", cases, "--json"))
    assert (found["samples"], found["pass_rate"]) == (3, pytest.approx(200 / 3))
    assert found["scores"]["plan_argvalue_accuracy"] == pytest.approx(200 / 3)
    assert "pass_rate" in run(metrics, file, "--cases", cases).stdout
    none = written(tmp_path, "none.jsonl", case_json("c"))
    assert run(metrics, file, "--cases", none).exit_code == 2
