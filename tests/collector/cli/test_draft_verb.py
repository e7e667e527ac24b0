"""Policies drafted from what a collector has seen."""

from __future__ import annotations

from click.testing import CliRunner

from collector.cli.policies import command
from synth.policies import load_policies
from tests.support.traces import Client, agent_request, agent_spans, new_id, request


def test_rules_are_drafted_from_the_good_runs_of_a_collector(fresh: Client) -> None:
    """A run that broke a policy, or that trouble broke off, teaches nothing: those pay before they check."""
    fresh.http.put(
        "/api/v1/policies/own", content="policies: [{id: n, rule: Any tool must happen at most 4 times.}]"
    )
    plans = [["check", "pay"], ["check", "look", "pay"], ["look", "check", "pay"]] * 6
    runs = [new_id() for _ in plans]
    for run, plan in zip(runs, plans, strict=True):
        fresh.send(agent_request(run, plan))
    bad = new_id()
    fresh.send(agent_request(bad, ["pay", "check", "look", "look", "look"]))
    broken_off, *_ = broken = agent_spans(new_id(), ["pay", "check"])
    broken[-1]["at"] |= {"pdoctor.run.trouble.kind": "endpoint", "pdoctor.run.trouble.status": 500}
    fresh.send(request(*broken).SerializeToString())
    for run in [*runs, broken_off["trace"]]:
        fresh.judged(run)
    assert fresh.judged(bad)["outcome"] == "fail"
    result = CliRunner().invoke(command, ["draft", "--from-runs", fresh.url])
    assert result.exit_code == 0, result.output
    assert "Drafted from 18 runs" in result.stdout
    found = load_policies(result.stdout)
    assert "Check must happen before pay." in [policy.text for policy in found.policies]
    assert found.policies[0].applies.fields == {"service": ("test",)}
