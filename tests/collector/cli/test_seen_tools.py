"""`pdoctor check` and `pdoctor policies lint --seen`: tools that no run shows."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.check import command as check_verb
from collector.cli.policies import command as policies_verb

POLICIES = """
actions: {move: transfer_mony, audit: audit_account, pay: pay}
policies:
  - {id: money, rule: Move must happen at least 1 time.}
  - {id: audited, rule: Audit must happen before pay.}
  - {id: books, rule: Audit must happen at most 1 time.}
"""
MISSPELT = (
    "The policy speaks of the tool 'transfer_mony', which was never seen; did you mean 'transfer_money'?"
)
UNSEEN = "The tool 'audit_account' was never seen."


def record(run: str, *tools: str, **more: Any) -> str:
    return json.dumps({"run_id": run, "calls": [{"name": tool} for tool in tools], **more})


@pytest.fixture
def policies(tmp_path: Path) -> str:
    (tmp_path / "shop.yaml").write_text(POLICIES)
    return str(tmp_path / "shop.yaml")


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """The tools of the last file are needed for the verdict on the first."""
    (tmp_path / "a.jsonl").write_text(record("first", "pay") + "\n" + record("second", "look"))
    (tmp_path / "b.jsonl").write_text(record("third", "pay", tools=["pay", "transfer_money"]))
    return [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]


def check(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(check_verb, [*arguments, "--z3", "off"], input=stdin)


def said(result: Result) -> list[tuple[str, str, str, str]]:
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return [(one["run_id"], one["policy"], one["verdict"], one["explanation"]) for one in lines]


def verdicts(result: Result) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for _, policy, verdict, _ in said(result):
        found.setdefault(policy, []).append(verdict)
    return found


EXPECTED = {
    "money": ["unsupported"] * 3,
    "audited": ["violated", "not_applicable", "violated"],
    "books": ["not_applicable"] * 3,
}


def test_every_file_is_read_before_the_first_verdict(runs: list[str], policies: str) -> None:
    result = check(*runs, "--policies", policies, "--json")
    assert verdicts(result) == EXPECTED
    assert {why for _, policy, _, why in said(result) if policy == "money"} == {MISSPELT}
    assert all(why.endswith(f" {UNSEEN}") for _, policy, _, why in said(result) if policy != "money")
    assert result.exit_code == 1


def test_standard_input_is_read_twice_too(runs: list[str], policies: str) -> None:
    first = Path(runs[0]).read_text()
    assert verdicts(check("-", runs[1], "--policies", policies, "--json", stdin=first)) == EXPECTED
    alone = check("-", "--policies", policies, "--json", stdin=first + "\n" + Path(runs[1]).read_text())
    assert verdicts(alone) == EXPECTED


def test_a_pipe_is_read_twice_too(runs: list[str], policies: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = Path(runs[0]).read_text()
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text), daemon=True)
    writer.start()
    result = check(str(tmp_path / "pipe"), runs[1], "--policies", policies, "--json")
    writer.join(60)
    assert verdicts(result) == EXPECTED


def test_a_flaw_names_the_stream_and_its_line(policies: str, tmp_path: Path) -> None:
    result = check("-", "--policies", policies, "--json", stdin=record("a", "pay") + "\nno json\n")
    assert result.exit_code == 2
    assert "standard input:2:" in result.stderr
    assert len(said(result)) == 3
    gone = check(str(tmp_path / "gone.jsonl"), "--policies", policies)
    assert (gone.exit_code, "gone.jsonl: no such file" in gone.stderr) == (2, True)


def test_in_a_conversation_too(policies: str, tmp_path: Path) -> None:
    Path(policies).write_text(f"scope: session{POLICIES}")
    turns = [record(f"turn {i}", "pay", tools=["pay", "transfer_money"], session="s") for i in range(2)]
    (tmp_path / "turns.jsonl").write_text("\n".join(turns))
    found = verdicts(check(str(tmp_path / "turns.jsonl"), "--policies", policies, "--json"))
    assert found["money"] == ["unsupported"] * 2


def test_the_text_warns_once_in_80_columns(runs: list[str], policies: str) -> None:
    text = check(*runs, "--policies", policies).stdout
    warnings = text[text.index("Warning") :]
    assert max(map(len, warnings.splitlines())) <= 80
    joined = " ".join(warnings.split())
    assert joined.count(f"Warning [money]: {MISSPELT}") == 1
    assert joined.count(f"Warning [audited, books]: {UNSEEN}") == 1


def test_of_many_policies_with_one_unseen_tool_some_are_named(runs: list[str], policies: str) -> None:
    many = [f"  - {{id: P{i}, rule: Audit must happen at most {i + 1} times.}}\n" for i in range(9)]
    Path(policies).write_text(POLICIES + "".join(many))
    text = check(*runs, "--policies", policies).stdout
    assert f"Warning [audited, books, P0, P1, P2, ...]: {UNSEEN}" in " ".join(text.split())


def test_lint_knows_the_tools_of_the_runs(runs: list[str], policies: str) -> None:
    sources = [part for run in runs for part in ("--seen", run)]
    result = CliRunner().invoke(policies_verb, ["lint", policies, *sources])
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{policies}:4: unknown_tool: {MISSPELT}",
        f"{policies}:5: never_seen: {UNSEEN}",
        f"{policies}:6: never_seen: {UNSEEN}",
    ]


def test_what_lint_has_never_seen_is_a_warning(runs: list[str], policies: str) -> None:
    Path(policies).write_text(POLICIES.replace("transfer_mony", "transfer_money"))
    result = CliRunner().invoke(policies_verb, ["lint", policies, "--seen", runs[1]])
    assert result.exit_code == 0
    assert "3 policies, no contradiction" in result.stdout
    assert result.stdout.count(": never_seen: ") == 2


PROVENANCE = """
actions: {search: search, book: book}
policies:
  - {id: anywhere, provenance: {calls: book, argument: id, from: search}}
  - {id: placed, provenance: {calls: book, argument: id, from: search, in: 'flights[].id'}}
"""


@pytest.mark.parametrize(
    ("value", "advised"),
    [
        ("F1", True),
        (7, True),
        ("12345678", True),
        (0.5, True),
        ("F0234", False),
        (True, False),
        ("A-12", False),
    ],
)
def test_lint_advises_a_place_for_values_that_stand_anywhere_by_chance(
    tmp_path: Path, value: object, advised: bool
) -> None:
    (tmp_path / "rules.yaml").write_text(PROVENANCE)
    calls = [{"name": "search"}, {"name": "book", "arguments": {"id": value}}]
    lines = [
        {"run_id": "r", "calls": calls[:1]},
        {"run_id": "s", "calls": calls, "tools": ["search", "book"]},
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, [*lines, *lines])))
    arguments = ["lint", str(tmp_path / "rules.yaml"), "--seen", str(tmp_path / "runs.jsonl")]
    result = CliRunner().invoke(policies_verb, arguments)
    assert result.exit_code == 0
    assert result.stdout.count("by_chance: id = ") == advised
    if advised:
        assert f"rules.yaml:4: by_chance: id = {value!r} was seen" in result.stdout
