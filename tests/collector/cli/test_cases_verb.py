"""`pdoctor cases from-run`: runs of a collector become cases and tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from collector.cli.cases import command, filter_of
from synth import read_recorded
from synth.errors import BadInput
from tests.support.traces import Client, agent_spans, new_id, request

RULES = """
actions: {search: search, book: book}
policies:
  - {id: order, rule: Search must happen before book.}
  - {id: once, rule: Search must happen at most 2 times.}
"""


def from_run(client: Client, *options: str) -> tuple[int, Any]:
    said = CliRunner().invoke(command, ["from-run", *options, "--collector", client.url])
    return said.exit_code, said


def record(name: str, *calls: str, **more: Any) -> dict[str, Any]:
    made = [{"id": None, "name": call, "arguments": {"to": "SEA"}, "result": f"{call}!"} for call in calls]
    return {"run_id": name, "query": f"Do {name}.", "calls": made, **more}


def hand_in(client: Client, *records: dict[str, Any]) -> list[str]:
    client.http.put("/api/v1/policies/shop", content=RULES)
    answer = client.http.post("/api/v1/runs", content=b"\n".join(map(orjson.dumps, records)))
    ids: list[str] = answer.json()["ids"]
    for run_id in ids:
        client.judged(run_id)
    return ids


def test_runs_that_a_filter_names_become_cases_with_their_rules_and_tests(
    fresh: Client, tmp_path: Path
) -> None:
    bad, _, repeated = hand_in(
        fresh, record("bad", "book"), record("good", "search", "book"), record("again", *["search"] * 3)
    )
    tests = tmp_path / "tests" / "test_shop.py"
    code, said = from_run(fresh, "--filter", "outcome:fail rule:order", "--pytest", str(tests))
    assert (code, said.output) == (
        0, f"1 case in {tests.with_suffix('.jsonl')}, 1 of runs that failed\nNext: pytest {tests}\n",
    )  # fmt: skip
    (case,) = read_recorded(tests.with_suffix(".jsonl"))
    assert (case.id, case.query, case.source["collector"]) == (bad, "Do bad.", fresh.url)
    assert case.found.policies == {"shop/order": "violated", "shop/once": "not_applicable"}
    assert [(rules.name, rules.version) for rules in case.rules] == [("shop", 1)]
    assert "test_shop.jsonl" in tests.read_text()
    compile(tests.read_text(), "test_shop.py", "exec")

    assert from_run(fresh, repeated, "--pytest", str(tests))[0] == 0, "cases are added, the tests stay"
    assert from_run(fresh, repeated, "-o", str(tests.with_suffix(".jsonl")))[0] == 0
    assert [case.id for case in read_recorded(tests.with_suffix(".jsonl"))] == [bad, repeated]
    code, said = from_run(fresh, repeated, "--pytest", str(tests), "--agent", "my:agent")
    assert code == 2
    assert "it is there and says something else" in said.output


def test_cases_of_traced_runs_have_the_schemas_that_the_model_was_told(fresh: Client) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    offered = [{"type": "function", "name": "search", "description": "Finds.", "parameters": schema}]
    run = new_id()
    spans = agent_spans(run, ["search"], query="Find it.")
    spans[-1]["at"]["gen_ai.tool.definitions"] = json.dumps(offered)
    fresh.send(request(*spans).SerializeToString())
    fresh.judged(run)
    code, said = from_run(fresh, run)
    assert code == 0, said.output
    case = json.loads(said.stdout)
    assert case["tools"] == [{"name": "search", "description": "Finds.", "parameters": schema}]
    assert "no policy is for 1 case" in said.stderr


def test_given_policies_take_the_place_of_the_collectors(fresh: Client, tmp_path: Path) -> None:
    (bad,) = hand_in(fresh, record("bad", "book"))
    mine = tmp_path / "mine.yaml"
    mine.write_text(RULES.replace("id: order", "id: mine"))
    code, said = from_run(fresh, bad, "--policies", str(mine))
    assert code == 0
    assert json.loads(said.stdout)["found"]["policies"] == {
        "mine/mine": "violated", "mine/once": "not_applicable",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param([], "give the ids of runs, or --filter WORDS", id="nothing"),
        pytest.param(["abc", "--filter", "outcome:fail"], "give the ids of runs, or --filter", id="both"),
        pytest.param(["--filter", "tool:no_such"], "no run matches 'tool:no_such'", id="none"),
        pytest.param(["--filter", "outcom:fail"], "'outcom:fail': expected KEY:VALUE", id="key"),
        pytest.param(["--filter", "last:soon"], "expected a number and m, h or d", id="last"),
        pytest.param(["x", "--agent", "mine"], "expected module:function, got 'mine'", id="agent"),
        pytest.param(["f" * 32], "there is no run", id="id"),
        pytest.param(["x", "-o", "-", "--pytest", "t.py"], "--pytest needs a file of cases", id="stdout"),
    ],
)
def test_misuse_is_named(shared: Client, options: list[str], message: str) -> None:
    code, said = from_run(shared, *options)
    assert code == 2
    assert message in said.output


def test_runs_without_a_call_are_named_and_the_others_are_made(fresh: Client, tmp_path: Path) -> None:
    ids = hand_in(fresh, record("talk"), record("bad", "book"))
    code, said = from_run(fresh, *ids, "-o", str(tmp_path / "cases.jsonl"))
    assert code == 1
    assert f"no case of run {ids[0]}: field calls: it has no call of a tool" in said.output
    assert [case.id for case in read_recorded(tmp_path / "cases.jsonl")] == [ids[1]]


def test_words_of_a_filter_are_those_of_the_list_of_runs() -> None:
    assert filter_of("outcome:fail rule:A2") == {"outcome": "fail", "rule": "A2"}
    assert float(filter_of("last:24h")["since"]) > 1e9
    with pytest.raises(BadInput, match="given twice"):
        filter_of("tool:a tool:b")
