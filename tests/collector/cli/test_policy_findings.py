"""Broken policies where people read them: on the terminal, in JUnit reports, in failed tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.cli.check import command as check
from collector.cli.runs import command as runs
from collector.cli.test import Report, failure_text, junit_case
from synth.experiments.trial import Result
from synth.pytest_plugin import explain_one
from tests.support.bench_results import result
from tests.support.building import run
from tests.support.policing import judged
from tests.support.traces import Client, agent_request, new_id

RULES = """
actions: {search the catalogue: search, book the cheapest flight: book}
policies:
  - {id: order, rule: Search the catalogue must happen before book the cheapest flight.}
"""
TOLD = """\
  - [order] book the cheapest flight (call 0) needs an earlier success of search the catalogue.
    rule: “Search the catalogue must happen before book the cheapest flight”
      (shop.yaml)
    would have worked: search (call 1, moved), book (call 0)
"""


def test_check_shows_the_rule_and_the_plan_in_eighty_columns(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(RULES)
    (tmp_path / "runs.jsonl").write_text(
        json.dumps({"run_id": "r1", "calls": [{"name": "book"}, {"name": "search"}]})
    )
    files = [str(tmp_path / "runs.jsonl"), "--policies", str(tmp_path / "shop.yaml")]
    shown = CliRunner().invoke(check, files)
    assert shown.exit_code == 1
    assert TOLD in shown.stdout
    (said,) = map(json.loads, CliRunner().invoke(check, [*files, "--json"]).stdout.splitlines())
    assert (said["file"], said["version"], said["repair"]["order"]) == ("shop.yaml", None, ["search", "book"])


def test_no_text_of_a_policy_forges_lines_or_colours(tmp_path: Path) -> None:
    hostile = (
        'actions: {a: do_a}\npolicies: [{id: p, text: "x\\n\\e[31mFORGED", rule: A must never happen.}]\n'
    )
    (tmp_path / "shop.yaml").write_text(hostile)
    (tmp_path / "runs.jsonl").write_text(json.dumps({"run_id": "r1", "calls": [{"name": "do_a"}]}))
    files = [str(tmp_path / "runs.jsonl"), "--policies", str(tmp_path / "shop.yaml")]
    shown = CliRunner().invoke(check, files).stdout
    assert "rule: x\\n\\x1b[31mFORGED “A must never happen”" in shown


def test_runs_show_tells_the_rule_with_its_version(fresh: Client) -> None:
    fresh.post("/policies", {"name": "shop", "text": RULES})
    trace = new_id()
    fresh.send(agent_request(trace, ["book", "search"]))
    fresh.judged(trace)
    shown = CliRunner().invoke(runs, ["show", trace, "--collector", fresh.url])
    assert (
        "- [order] book the cheapest flight (call 0) needs an earlier success of search the catalogue.\n"
        "  rule: “Search the catalogue must happen before book the cheapest flight”\n"
        "    (shop, version 1)\n"
        "  would have worked: search (call 1, moved), book (call 0)\n"
    ) in shown.stdout


def tried(outcome: str) -> Result:
    """A run of a test that broke a policy of the collector."""
    made = result(outcome)
    broken = judged("A must happen before B.", "b a").to_json()
    told: Mapping[str, Any] = {
        **(made.run or {}),
        "policies": [broken],
        "calls": run("b a").to_json()["calls"],
    }
    return replace(made, run=told)


BROKEN = [
    "[P0] B (call 0) needs an earlier success of A.",
    "rule: “A must happen before B”",
    "do_a (call 1, moved)",
]


@pytest.mark.parametrize("outcome", ["pass", "fail"])
def test_a_junit_report_tells_broken_policies(outcome: str) -> None:
    case = junit_case(tried(outcome))
    texts = [child.text or "" for child in case]
    assert [child.tag for child in case] == (["failure"] if outcome == "fail" else []) + ["system-out"]
    assert all(line in text for line in BROKEN for text in texts)


def test_the_text_of_a_failed_test_tells_broken_policies() -> None:
    for text in (failure_text(tried("fail")), explain_one(tried("fail"))):
        assert all(line in text for line in BROKEN)
    assert "> 0. do_b" in explain_one(tried("fail"))


def test_names_of_agents_are_whole_in_a_pipe_and_fit_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = "exec:python an_agent_whose_name_is_long.py"
    report = Report(agent, "simulated-swaps", [result(agent=agent, model="simulated-swaps")])
    assert agent in report.text().split("\n\n")[0]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = report.text().split("\n\n")[0]
    assert agent not in shown
    assert max(map(len, shown.splitlines())) <= 80
