"""Calls of several machines: whose clock a call has, and what that leaves of a verdict."""

from __future__ import annotations

from typing import Any

import pytest

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
    first, second = clocks(program, dict(program), flags=IS_REMOTE)
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
