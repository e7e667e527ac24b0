"""What the tracer cuts, hashes or leaves out is known as such when the collector judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_tracer_to_verdict import only_run, run_agent
from tests.support.traces import Client, new_id

TOOLS = """
ROWS = [f"F{number:05}" for number in range(3000)]
REST = {"flights": [{"id": row, "from": "Rome", "to": "Oslo"} for row in ROWS]}

@pdoctor_trace.tool
def search(): return REST

@pdoctor_trace.tool
def tell(): return "Your flight is F02999 at 12:00."

@pdoctor_trace.tool
def book(id): return "done"

@pdoctor_trace.tool
def check(id): return "fine"
"""
POLICIES = """
actions: {{search: search, tell: tell, book: book, check: check}}
policies:
  - id: source
    provenance: {{calls: book, argument: id, from: [search, tell]}}
    applies: {{agent: {agent}}}
  - id: same
    rule: Check must happen before book with the same id.
    applies: {{agent: {agent}, calls: check}}
  - id: guard
    guard: {{calls: book, check: "args.id == 'F00001' || last('search') == null"}}
    applies: {{agent: {agent}}}
"""


def verdicts(collector: Client, folder: Path, program: str, **variables: str) -> dict[str, Any]:
    agent = new_id()
    collector.http.put(f"/api/v1/policies/{agent}", content=POLICIES.format(agent=agent))
    body = "\n".join(f"    {line}" for line in program.strip().splitlines())
    run_agent(collector, folder, f"{TOOLS}\nwith pdoctor_trace.run(agent={agent!r}):\n{body}\n", **variables)
    found = only_run(collector, agent=agent)
    collector.http.delete(f"/api/v1/policies/{agent}")
    return {result["policy"]: result for result in found["policies"]} | {"run": found}


def test_a_value_beyond_the_cut_of_a_long_result_is_no_invention(collector: Client, tmp_path: Path) -> None:
    found = verdicts(collector, tmp_path, "search(); book(id='F02999')")
    assert found["source"]["verdict"] == "undecided"
    assert "the result of search (call 0) was cut" in found["source"]["explanation"]
    assert found["guard"]["verdict"] == "violated", "no part that is missing can mend it"
    assert [call.get("partly") for call in found["run"]["calls"]] == [{"result": "cut"}, None]
    found = verdicts(collector, tmp_path, "search(); book(id='F00001')")
    assert (found["source"]["verdict"], found["guard"]["verdict"]) == ("ok", "ok")


def test_a_value_from_nowhere_stays_a_violation(collector: Client, tmp_path: Path) -> None:
    found = verdicts(collector, tmp_path, "book(id='F02999'); search()")
    assert (found["source"]["verdict"], found["source"]["violations"]) == ("violated", [0])


@pytest.mark.parametrize("mode", ["shape", "none"])
def test_a_mode_that_hides_content_accuses_nobody(collector: Client, tmp_path: Path, mode: str) -> None:
    found = verdicts(collector, tmp_path, "tell(); book(id='F02999')", PDOCTOR_CONTENT=mode)
    assert found["source"]["verdict"] in ("undecided", "unsupported")
    why = "hashed" if mode == "shape" else "absent"
    assert all(set(call["partly"].values()) == {why} for call in found["run"]["calls"])


def test_hashes_under_one_key_prove_equality_and_inequality(collector: Client, tmp_path: Path) -> None:
    shape = {"PDOCTOR_CONTENT": "shape", "PDOCTOR_HASH_KEY": "shared"}
    found = verdicts(collector, tmp_path, "check(id='F1'); book(id='F1')", **shape)
    keys = {call["hash_key"] for call in found["run"]["calls"]}
    assert found["same"]["verdict"] == "ok"
    assert "shared" not in str(keys)
    again = verdicts(collector, tmp_path, "check(id='F1'); book(id='F2')", **shape)
    assert (again["same"]["verdict"], again["same"]["violations"]) == ("violated", [1])
    assert {call["hash_key"] for call in again["run"]["calls"]} == keys
    alone = verdicts(collector, tmp_path, "check(id='F1'); book(id='F2')", PDOCTOR_CONTENT="shape")
    assert alone["same"]["verdict"] == "violated", "one process has one key"
    assert {call["hash_key"] for call in alone["run"]["calls"]} != keys
