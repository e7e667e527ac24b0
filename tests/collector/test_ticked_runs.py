"""What the list of runs does with those that are ticked in it."""

from __future__ import annotations

import json

from tests.support.traces import Client, agent_request, new_id


def test_ticked_runs_become_a_file_of_cases_and_drafts_of_rules(fresh: Client) -> None:
    runs = [new_id() for _ in range(20)]
    for run in runs:
        fresh.send(agent_request(run, ["verify", "pay"], query=f"Pay {run[:4]}."))
    silent = new_id()
    fresh.send(agent_request(silent, ["pay"]))
    for run in (*runs, silent):
        fresh.judged(run)
    listed = fresh.http.get("/runs").text
    assert listed.count('formaction="/policies/draft"') == listed.count('formaction="/runs/cases"') == 1
    assert '<option value="tool:verify">' in listed
    made = fresh.http.get("/runs/cases", params={"run": runs[:2]})
    assert [json.loads(line)["from"]["run_id"] for line in made.text.splitlines()] == runs[:2]
    assert made.headers["content-disposition"] == 'attachment; filename="cases.jsonl"'
    refused = fresh.http.get("/runs/cases", params={"run": [runs[0], silent]})
    assert (refused.status_code, silent[:12] in refused.text) == (400, True)
    assert fresh.http.get("/runs/cases").status_code == 400
    drafted = fresh.http.get("/policies/draft", params={"run": runs})
    assert "All of the 20 runs keep these rules" in drafted.text
