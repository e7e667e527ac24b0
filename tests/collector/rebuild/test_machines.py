"""Calls of several machines: whose clock a call has, and what that leaves of a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.cli.check import command as check
from collector.model import IS_REMOTE, Span
from collector.rebuild import rebuild
from tests.support.traces import MS, Client, agent_spans, new_id, request


def clocks(*resources: dict[str, Any], flags: int = 0) -> list[str | None]:
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    spans = [
        Span("ab" * 16, f"{i}", "0", "t", i * MS, i * MS + 1, "unset", "", said, resource=where, flags=flags)
        for i, where in enumerate(resources)
    ]
    return [call.extra.get("clock") for call in rebuild("ab" * 16, spans).run.calls]


def test_one_machine_has_one_clock_however_many_programs() -> None:
    one = {"host.name": "m1", "service.name": "agent", "service.instance.id": "1"}
    assert clocks(one, {**one, "service.name": "tools", "service.instance.id": "2"}) == [None, None]


@pytest.mark.parametrize("name", ["host.id", "host.name", "service.instance.id", "process.pid"])
def test_what_tells_machines_apart_is_the_clock(name: str) -> None:
    a, b = clocks({name: "one"}, {name: "two"})
    assert a is not None
    assert b is not None
    assert ("one" in a, "two" in b) == (True, True)


def test_the_machine_counts_more_than_its_name() -> None:
    assert clocks({"host.id": "x", "host.name": "m1"}, {"host.id": "x", "host.name": "m2"}) == [None, None]


def test_a_call_from_elsewhere_has_its_own_clock_unless_the_machine_is_known() -> None:
    program, machine = {"service.name": "tools"}, {"host.name": "m1"}
    for exported in (dict(program), program):  # by another exporter, or together
        first, second = clocks(program, exported, flags=IS_REMOTE)
        assert first != second
    assert clocks(machine, dict(machine), flags=IS_REMOTE) == [None, None]


POLICIES = """\
actions: {verify: verify, pay: pay}
policies:
  - {id: verified, rule: Verify must happen before pay.}
"""


@pytest.mark.parametrize(
    ("hosts", "lead", "verdict"),
    [
        (("m1", "m2"), -12, "undecided"), (("m1", "m2"), 12, "undecided"), (("m1", "m1"), -12, "violated"),
        (("m1", "m1"), 12, "ok"), (("m1", "m2"), 60, "ok"), (("m1", "m2"), -80, "violated"),
    ],
)  # fmt: skip
def test_calls_nearer_than_two_clocks_may_differ_are_neither_kept_nor_broken(
    fresh: Client, hosts: tuple[str, str], lead: int, verdict: str
) -> None:
    assert fresh.post("/policies", {"name": "pay", "text": POLICIES}).status_code == 201
    run = new_id()
    verify, pay, root = agent_spans(run, ["verify", "pay"])
    verify["end"] = verify["start"] + 90 * MS
    pay["start"], pay["end"] = verify["end"] + lead * MS, verify["end"] + (lead + 100) * MS
    for span in (verify, pay):
        del span["at"]["pdoctor.turn.index"]
    for span, host in ((verify, hosts[0]), (pay, hosts[1]), (root, hosts[0])):
        fresh.send(request(span, resource={"host.name": host}).SerializeToString())
    assert fresh.judged(run)["policies"][0]["verdict"] == verdict


def on_two_machines(verify_leads: int, agent_lags: int = 0) -> tuple[str, list[bytes]]:
    """A run whose verify ends some ms before pay begins, on another machine than the agent."""
    run = new_id()
    verify, pay, root = agent_spans(run, ["verify", "pay"])
    verify["end"] = verify["start"] + 90 * MS
    pay["start"], pay["end"] = verify["end"] + verify_leads * MS, verify["end"] + (verify_leads + 100) * MS
    root["start"], root["end"] = verify["start"] + agent_lags * MS, pay["end"] + 500 * MS
    for span in (verify, pay):
        del span["at"]["pdoctor.turn.index"]
    placed = ((verify, "m2"), (pay, "m1"), (root, "m1"))
    sent = [request(span, resource={"host.name": host}).SerializeToString() for span, host in placed]
    return run, sent


def judged(client: Client, verify_leads: int, agent_lags: int = 0) -> dict[str, Any]:
    run, bodies = on_two_machines(verify_leads, agent_lags)
    for body in bodies:
        client.send(body)
    return client.judged(run)


def test_a_project_says_how_far_its_clocks_may_differ(fresh: Client) -> None:
    fresh.post("/policies", {"name": "pay", "text": POLICIES})
    assert judged(fresh, -30)["policies"][0]["verdict"] == "undecided"
    answer = fresh.http.put("/api/v1/settings", json={"clock_skew_ms": 20})
    others = dict.fromkeys(("retention_days", "failed_retention_days"))
    assert answer.json() == {"project": "default", **others, "clock_skew_ms": 20.0}
    assert judged(fresh, -30)["policies"][0]["verdict"] == "violated"
    assert fresh.http.put("/api/v1/settings", json={"retention_days": 9}).json()["clock_skew_ms"] == 20.0
    assert fresh.http.put("/api/v1/settings", json={"clock_skew_ms": None}).json()["clock_skew_ms"] is None
    assert judged(fresh, -30)["policies"][0]["verdict"] == "undecided"
    assert fresh.http.put("/api/v1/settings", json={}).status_code == 400
    assert fresh.http.put("/api/v1/settings", json={"clock_skew_ms": -1}).status_code == 400


def test_clocks_that_are_seen_to_differ_by_more_are_taken_to_do_so_with_a_warning(fresh: Client) -> None:
    fresh.post("/policies", {"name": "pay", "text": POLICIES})
    run = judged(fresh, -80, agent_lags=120)
    assert run["record"]["clocks_differ_ms"] == 120
    assert run["policies"][0]["verdict"] == "undecided"
    [said] = run["problems"]
    assert said.startswith("two clocks of this run differ by at least 120 ms (a call began before what asked")
    assert judged(fresh, -80, agent_lags=40)["problems"] == []
    assert judged(fresh, -80, agent_lags=40)["policies"][0]["verdict"] == "violated"


def test_check_takes_the_difference_from_its_option_and_from_the_run(tmp_path: Path) -> None:
    calls = [
        {"name": "verify", "start": 1.0, "end": 2.0, "clock": "m2"},
        {"name": "pay", "start": 1.92, "end": 3.0, "clock": "m1"},
    ]
    said = [{"run_id": "a", "calls": calls}, {"run_id": "b", "calls": calls, "clocks_differ_ms": 120}]
    runs, policies = tmp_path / "runs.jsonl", tmp_path / "p.yaml"
    runs.write_text("".join(f"{json.dumps(run)}\n" for run in said))
    policies.write_text(POLICIES)
    options = [str(runs), "--policies", str(policies), "--json"]
    plain, wide = (CliRunner().invoke(check, [*options, *more]) for more in ([], ["--clock-skew-ms", "90"]))
    told, wider = ([json.loads(line)["verdict"] for line in f.stdout.splitlines()] for f in (plain, wide))
    assert (told, wider) == (["violated", "undecided"], ["undecided", "undecided"])
    assert "Warning: b: two clocks of this run differ by at least 120 ms" in plain.stderr
    assert "Warning: a" not in plain.stderr
