"""`pdoctor check` on files: sessions, repeated ids, standard input, arguments as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.check import command
from tests.support.traces import case_json

SESSION = """
scope: session
actions: {search: search, book: book}
policies:
  - {id: order, rule: Search must happen before book.}
  - {id: once, rule: Book must happen at most 1 time.}
"""


def record(run: str, *tools: str, **more: Any) -> dict[str, Any]:
    return {"run_id": run, "calls": [{"id": None, "name": tool, "arguments": {}} for tool in tools], **more}


def write(path: Path, *records: dict[str, Any]) -> str:
    path.write_text("\n".join(map(json.dumps, records)))
    return str(path)


def check(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, [*arguments, "--z3", "off"], input=stdin)


def verdicts(result: Result) -> list[tuple[str, str, str, list[int]]]:
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return [(said["run_id"], said["policy"], said["verdict"], said["violations"]) for said in lines]


@pytest.mark.parametrize("field", ["session", "session_id", "conversation_id", "thread_id"])
def test_the_runs_of_one_session_are_judged_together(tmp_path: Path, field: str) -> None:
    policies = tmp_path / "shop.yaml"
    policies.write_text(SESSION)
    runs = write(
        tmp_path / "runs.jsonl",
        record("first", "search", **{field: "s"}), record("other", "book", **{field: "t"}),
        record("second", "book", **{field: "s"}), record("third", "search", "book", **{field: "s"}),
        record("free", "book"),
    )  # fmt: skip
    assert verdicts(check(runs, "--policies", str(policies), "--json")) == [
        ("first", "order", "not_applicable", []), ("first", "once", "not_applicable", []),
        ("other", "order", "violated", [0]), ("other", "once", "ok", []),
        ("second", "order", "ok", []), ("second", "once", "ok", []),
        ("third", "order", "ok", []), ("third", "once", "violated", [1]),
        ("free", "order", "violated", [0]), ("free", "once", "ok", []),
    ]  # fmt: skip


def test_a_policy_of_single_runs_does_not_look_at_the_session(tmp_path: Path) -> None:
    policies = tmp_path / "shop.yaml"
    policies.write_text(SESSION.replace("scope: session", "scope: run"))
    runs = write(
        tmp_path / "runs.jsonl", record("a", "search", session="s"), record("b", "book", session="s")
    )
    assert ("b", "order", "violated", [0]) in verdicts(check(runs, "--policies", str(policies), "--json"))


def test_run_ids_that_stand_for_several_runs_are_told(tmp_path: Path) -> None:
    policies = tmp_path / "shop.yaml"
    policies.write_text(SESSION)
    runs = write(tmp_path / "runs.jsonl", record("same", "search"), record("same", "search"), record("own"))
    result = check(runs, "--policies", str(policies), "--json")
    assert "1 run ids stand for several runs (same)" in result.stderr
    assert len(result.stdout.splitlines()) == 6
    alone = write(tmp_path / "alone.jsonl", record("own", "search"))
    assert check(alone, "--policies", str(policies)).stderr == ""


def test_cases_come_from_standard_input_and_runs_then_do_not(tmp_path: Path) -> None:
    runs = write(tmp_path / "runs.jsonl", record("r", "do_b", "do_a", case_id="c"))
    result = check(runs, "--cases", "-", "--json", stdin=json.dumps(case_json("c", "a < b")))
    assert json.loads(result.stdout)["error_type"] == "order_error"
    both = check("-", "--cases", "-", stdin="{}")
    assert (both.exit_code, "can be read once" in both.output) == (2, True)


def test_arguments_kept_as_json_text_are_judged_like_objects(tmp_path: Path) -> None:
    policies = tmp_path / "pay.yaml"
    policies.write_text(
        "actions: {pay: pay}\npolicies: [{id: small, guard: {calls: pay, check: args.amount <= 10}}]\n"
    )
    calls = [{"id": None, "name": "pay", "arguments": said} for said in ('{"amount": 5}', '{"amount": 50}')]
    runs = write(tmp_path / "runs.jsonl", {"run_id": "r", "calls": calls})
    assert verdicts(check(runs, "--policies", str(policies), "--json")) == [("r", "small", "violated", [1])]


def test_a_time_beyond_reason_is_named_with_what_to_look_for(tmp_path: Path) -> None:
    policies = tmp_path / "shop.yaml"
    policies.write_text(SESSION)
    runs = write(tmp_path / "runs.jsonl", {"run_id": "r", "calls": [{"name": "a", "start": 1, "end": 1e300}]})
    result = check(runs, "--policies", str(policies))
    assert result.exit_code == 2
    assert "calls[0].end: 1e+300 is no time in seconds" in result.output
