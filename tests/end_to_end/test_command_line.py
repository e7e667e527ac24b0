"""The `pdoctor` program as a user runs it: one import, real spans, verdicts, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.cli.embedded import collector_process
from synth.cases.generate import Options, generate
from synth.simulated_model import AIRLINE, SimulatedModel

PDOCTOR = (sys.executable, "-m", "pdoctor_trace")
POLICIES = AIRLINE.parent / "airline_policies.yaml"

LANGCHAIN_AGENT = """\
import pdoctor_trace
import json, sys
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI

case = json.load(open("case.json"))
tools = [StructuredTool.from_function(lambda: "done", name=a["tool"], description=a["description"])
         for a in case["actions"]]
agent = create_agent(ChatOpenAI(model="simulated-perfect", base_url=sys.argv[1], api_key="any"), tools)
agent.invoke({"messages": [{"role": "user", "content": case["query"]}]})
"""

RAW_LOOP = """\
import pdoctor_trace
import json, sys
from openai import OpenAI

case, client, ids = json.load(open("case.json")), OpenAI(base_url=sys.argv[1], api_key="any"), []
tools = [{"type": "function", "function": {"name": a["tool"], "description": a["description"]}}
         for a in case["actions"]]
messages = [{"role": "user", "content": case["query"]}]
while calls := (message := client.chat.completions.create(
        model="simulated-swaps", messages=messages, tools=tools).choices[0].message).tool_calls:
    messages.append(message)
    for call in calls:
        ids.append([call.id, call.function.name])
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "done"})
print(json.dumps(ids))
"""


def pdoctor(
    *arguments: str | Path, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    command = [*PDOCTOR, *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1", **variables}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, env=environment, cwd=cwd, check=False
    )


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with collector_process(tmp_path_factory.mktemp("store") / "runs.db") as address:
        yield address


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with SimulatedModel() as running:
        yield running.base_url


def run_script(source: str, folder: Path, url: str, model: str, **environment: str) -> str:
    (folder / "case.json").write_text(json.dumps(next(generate(1, 5, Options(actions=(4, 4)))).to_json()))
    (folder / "agent.py").write_text(source)
    surroundings = {**os.environ, "PDOCTOR_ENDPOINT": url, "OTEL_SERVICE_NAME": folder.name, **environment}
    command = [sys.executable, "agent.py", model]
    done = subprocess.run(
        command, cwd=folder, env=surroundings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def runs_of_service(url: str, service: str) -> list[dict[str, Any]]:
    listed = pdoctor("runs", "list", "--collector", url, "--limit", "100", "--json")
    return [run for run in json_lines(listed.stdout) if run["service"] == service]


def test_one_import_brings_a_langchain_agent_into_the_runs_list(tmp_path: Path, url: str, model: str) -> None:
    run_script(LANGCHAIN_AGENT, tmp_path, url, model)
    (run,) = runs_of_service(url, tmp_path.name)
    shown = json.loads(pdoctor("runs", "show", run["id"], "--collector", url, "--json").stdout)
    assert run["source"] == "langchain"
    assert sorted(call["name"] for call in shown["calls"]) == sorted(
        action["tool"] for action in json.loads((tmp_path / "case.json").read_text())["actions"]
    )


def test_a_raw_openai_loop_shows_its_calls_with_their_ids(tmp_path: Path, url: str, model: str) -> None:
    made = json.loads(run_script(RAW_LOOP, tmp_path, url, model))
    (run,) = runs_of_service(url, tmp_path.name)
    shown = json.loads(pdoctor("runs", "show", run["id"], "--collector", url, "--json").stdout)
    assert [[call["id"], call["name"]] for call in shown["calls"]] == made


def test_without_the_import_nothing_shows_up(tmp_path: Path, url: str, model: str) -> None:
    run_script(RAW_LOOP.removeprefix("import pdoctor_trace\n"), tmp_path, url, model)
    assert runs_of_service(url, tmp_path.name) == []


def test_recorded_airline_runs_are_judged_as_their_known_answers_say() -> None:
    checked = pdoctor("check", AIRLINE / "runs.jsonl", "--policies", POLICIES, "--json")
    found = {(r["run_id"], r["policy"]): (r["verdict"], r["violations"]) for r in json_lines(checked.stdout)}
    expected = {
        (answer["run_id"], policy): (wanted["verdict"], wanted["violations"])
        for answer in json_lines((AIRLINE / "expected.jsonl").read_text())
        for policy, wanted in answer["expected"].items()
    }
    assert found == expected
    assert checked.returncode == 1


def test_a_changed_plan_changes_the_verdict_of_check(tmp_path: Path) -> None:
    case = next(generate(1, 5, Options(actions=(4, 4))))
    (tmp_path / "case.json").write_text(json.dumps(case.to_json()))
    order = sorted(case.actions, key=lambda a: sum(c.then == a.id for c in case.constraints))
    good = next(plan for plan in permutations_of(case) if keeps(case, plan))
    record = {
        "run_id": "r",
        "case_id": case.id,
        "calls": [{"id": None, "name": t, "arguments": {}} for t in good],
    }
    codes = []
    for calls in (record["calls"], list(reversed(record["calls"])), record["calls"][1:]):
        (tmp_path / "runs.jsonl").write_text(json.dumps({**record, "calls": calls}))
        checked = pdoctor("check", "runs.jsonl", "--cases", "case.json", "--json", cwd=tmp_path)
        (verdict,) = json_lines(checked.stdout)
        codes.append((checked.returncode, verdict["outcome"], verdict["error_type"]))
    assert len(order) == 4
    assert codes == [(0, "pass", None), (1, "fail", "order_error"), (1, "fail", "action_lost")]


def permutations_of(case: Any) -> Iterator[list[str]]:
    from itertools import permutations

    yield from (list(plan) for plan in permutations(action.tool for action in case.actions))


def keeps(case: Any, plan: list[str]) -> bool:
    tools = {action.id: action.tool for action in case.actions}
    return all(plan.index(tools[c.first]) < plan.index(tools[c.then]) for c in case.constraints)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{not json\n", ("bad.jsonl:1", "not JSON")),
        ('{"run_id": 5, "calls": []}\n', ("bad.jsonl:1", "run_id")),
        ('{"run_id": "a", "calls": []}\n{"run_id": "b", "calls": "none"}\n', ("bad.jsonl:2", "calls")),
        ("", ("no run found",)),
    ],
)
def test_broken_runs_end_with_2_and_name_the_place(
    tmp_path: Path, content: str, said: tuple[str, ...]
) -> None:
    (tmp_path / "bad.jsonl").write_text(content)
    checked = pdoctor("check", "bad.jsonl", "--policies", POLICIES, cwd=tmp_path)
    assert checked.returncode == 2
    assert [part for part in said if part not in checked.stderr] == []
    assert "Traceback" not in checked.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, "colour"),
        ({"mode": "sideways"}, "mode"),
        (
            {
                "constraints": [
                    {"kind": "before", "first": "a1", "then": "a99", "sentence": 0, "span": [0, 5]}
                ]
            },
            "a99",
        ),
    ],
)
def test_a_broken_case_ends_with_2_and_names_the_field(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    case = next(generate(1, 5, Options(actions=(4, 4)))).to_json()
    (tmp_path / "cases.jsonl").write_text(json.dumps({**case, **change}))
    (tmp_path / "runs.jsonl").write_text(json.dumps({"run_id": "r", "case_id": case["id"], "calls": []}))
    checked = pdoctor("check", "runs.jsonl", "--cases", "cases.jsonl", cwd=tmp_path)
    assert checked.returncode == 2
    assert "cases.jsonl" in checked.stderr
    assert said in checked.stderr


def test_a_run_of_an_unknown_case_ends_with_2(tmp_path: Path) -> None:
    case = next(generate(1, 5, Options(actions=(4, 4)))).to_json()
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    (tmp_path / "runs.jsonl").write_text(json.dumps({"run_id": "r", "case_id": "no-such-case", "calls": []}))
    checked = pdoctor("check", "runs.jsonl", "--cases", "cases.jsonl", cwd=tmp_path)
    assert (checked.returncode, "no-such-case" in checked.stderr) == (2, True)


def test_a_run_that_nothing_judges_does_not_look_passed(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("actions: {a: tool_a}\npolicies: []\n")
    (tmp_path / "runs.jsonl").write_text(json.dumps({"run_id": "r", "calls": []}))
    checked = pdoctor("check", "runs.jsonl", "--policies", "none.yaml", cwd=tmp_path)
    assert (checked.returncode, "not judged" in checked.stdout) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve", "--http-port", "0", "--z3", "banana"), "banana"),
        (("test", "raw-loop", "--model", "simulated-nope"), "simulated-perfect"),
        (("test", "raw-loop", "--model", "nope"), "OPENAI_API_KEY"),
        (("synth", "--actions", "5..3"), "5..3"),
        (("synth", "--topic", "nosuchjob"), "nosuchjob"),
    ],
)
def test_a_wrong_option_ends_with_2_before_anything_starts(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    refused = pdoctor(*arguments, cwd=tmp_path)
    assert (refused.returncode, said in refused.stderr) == (2, True)
    assert "Traceback" not in refused.stderr


def test_every_option_has_its_variable() -> None:
    made = pdoctor("synth", PDOCTOR_SYNTH_CASES="3", PDOCTOR_SYNTH_ACTIONS="4")
    assert [len(case["actions"]) for case in json_lines(made.stdout)] == [4, 4, 4]
    refused = pdoctor("runs", "list", PDOCTOR_RUNS_LIST_COLLECTOR="http://127.0.0.1:9")
    assert "127.0.0.1:9" in refused.stderr


def test_no_collector_ends_with_2_and_says_how_to_start_one() -> None:
    listed = pdoctor("runs", "list", "--collector", "http://127.0.0.1:9")
    assert listed.returncode == 2
    assert "pdoctor serve" in listed.stderr


@pytest.mark.parametrize(("profile", "code"), [("perfect", 0), ("forgets", 1)])
def test_pdoctor_test_ends_by_the_pass_rate(profile: str, code: int, tmp_path: Path) -> None:
    junit = tmp_path / "report.xml"
    tested = pdoctor(
        "test", "raw-loop", "--cases", "2", "--model", f"simulated-{profile}", "--junit", junit, "--json"
    )
    report = json.loads(tested.stdout)
    assert (tested.returncode, report["runs"], report["failed"]) == (code, 2, 2 * code)
    assert junit.read_text().count("<failure") == 2 * code


def test_an_agent_that_is_not_traced_is_undecided_not_failed() -> None:
    tested = pdoctor("test", "raw-loop", "--cases", "1", PDOCTOR_TRACE_DISABLED="1")
    assert tested.returncode == 3
    assert "no span of this run ever arrived" in tested.stdout


def test_a_collector_beside_a_command_takes_none_of_its_libraries_into_it(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from collector.cli.embedded import collector_process\n"
        f"with collector_process(Path({str(tmp_path / 'store.db')!r})) as url: print(url)\n"
        "print(sorted({'collector.app', 'fastapi', 'sqlalchemy'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    url, imported = done.stdout.splitlines()
    assert (url.startswith("http://127.0.0.1:"), imported) == (True, "[]"), done.stderr


@pytest.mark.heavy
def test_the_demo_finds_every_planted_fault_and_nothing_else(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [*PDOCTOR, "demo", "--cases", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, check=False)
    report = json.loads(done.stdout)
    assert (done.returncode, report["slips"]) == (0, [])
    by_profile = {(row["agent"], row["profile"]): row for row in report["table"]}
    assert {name: row["pass"] for name, row in by_profile.items() if name[1] == "perfect"} == {
        ("openai-tools", "perfect"): 1,
        ("raw-loop", "perfect"): 1,
    }
    assert all(row["fail"] == row["runs"] for name, row in by_profile.items() if name[1] != "perfect")
    assert sum(policy["violated"] for policy in report["policies"]) > 0
    assert len(report["findings"]) == 3
