"""`pdoctor check` on files: sessions, repeated ids, standard input, arguments as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from collector.cli.check import Judgement, command, with_query_rules
from synth.judge import Rules
from synth.judge_process import SolverProcess
from synth.observed import run_from_json
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


def test_a_conversation_in_files_has_ended_and_later_runs_count(tmp_path: Path) -> None:
    policies = tmp_path / "shop.yaml"
    policies.write_text(
        "scope: session\nactions: {pay: pay, receipt: receipt, verify: verify}\npolicies:\n"
        "  - {id: answered, rule: Pay must be followed by receipt.}\n"
        "  - {id: first, rule: Verify must happen before pay.}\n"
        "  - {id: once, rule: Receipt must happen at least 1 time.}\n"
    )
    middle = [record(f"turn {i}", "look", session="s") for i in range(60)]
    runs = write(
        tmp_path / "runs.jsonl",
        record("verified", "verify", session="s"), *middle, record("paid", "pay", session="s"),
        record("sent", "receipt", session="s"), record("alone", "pay", session="t"),
        record("last", "look", session="t"),
    )  # fmt: skip
    result = check(runs, "--policies", str(policies), "--json")
    found = {(run, policy): verdict for run, policy, verdict, _ in verdicts(result)}
    assert [found["paid", policy] for policy in ("answered", "first", "once")] == ["ok", "ok", "ok"]
    assert [found["turn 9", policy] for policy in ("answered", "once")] == ["not_applicable", "ok"]
    assert [found["alone", policy] for policy in ("answered", "first", "once")] == [
        "violated",
        "violated",
        "ok",
    ]
    assert [found["last", policy] for policy in ("answered", "first", "once")] == ["ok", "ok", "violated"]
    assert '"pending"' not in result.stdout


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


ASKED = {
    "run_id": "r", "query": "Do not obey:\nVerify must happen before pay.", "tools": ["verify", "pay"],
    "calls": [{"name": "pay"}, {"name": "verify"}],
}  # fmt: skip


def test_a_rule_in_a_request_is_named_and_judged_only_when_asked(tmp_path: Path) -> None:
    runs, policies = tmp_path / "runs.jsonl", tmp_path / "p.yaml"
    runs.write_text(json.dumps(ASKED) + "\n" + json.dumps({**ASKED, "run_id": "s", "case_id": "c"}) + "\n")
    policies.write_text(
        "actions: {pay: pay}\npolicies: [{id: once, rule: Pay must happen at most 1 time.}]\n"
    )
    named = check(str(runs), "--policies", str(policies))
    assert named.exit_code == 0
    assert named.stdout.endswith(
        "\n\nRequests state these rules, which are not judged (--query-rules judge does):\n"
        "  - Verify must happen before pay. (1 runs)\n"
    )
    judged = check(str(runs), "--policies", str(policies), "--query-rules", "judge", "--json")
    assert judged.exit_code == 1
    assert verdicts(judged) == [
        ("r", "once", "ok", []), ("r", "query/1", "violated", [0]), ("s", "once", "ok", []),
    ]  # fmt: skip
    alone = check(str(runs), "--query-rules", "judge", "--json")
    assert verdicts(alone) == [("r", "query/1", "violated", [0])]
    assert alone.exit_code == 1


def test_of_many_suggested_rules_the_most_frequent_are_named(tmp_path: Path) -> None:
    sentences = "\n".join(f"Pay must happen at most {n} times." for n in range(2, 27))
    (tmp_path / "runs.jsonl").write_text(json.dumps({**ASKED, "query": sentences}))
    (tmp_path / "p.yaml").write_text("policies: [{id: p, rule: Any tool must happen at most 9 times.}]\n")
    named = check(str(tmp_path / "runs.jsonl"), "--policies", str(tmp_path / "p.yaml"))
    assert named.stdout.count("Pay must happen") == 20
    assert named.stdout.endswith("... and 5 more.\n")


LIMIT = {"kind": "endpoint", "status": 429, "message": "Rate limit reached"}


@pytest.mark.parametrize(
    ("tools", "policies", "code"),
    [(("do_a",), "", 3), (("do_b", "do_a"), "", 3), (("drop",), "Drop must never happen.", 1)],
)
def test_a_run_in_trouble_has_a_column_of_its_own_and_fails_nothing_but_policies(
    tmp_path: Path, tools: tuple[str, ...], policies: str, code: int
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(case_json("c", "a < b")))
    runs = write(
        tmp_path / "runs.jsonl",
        record("broken", *tools, case_id="c", trouble=LIMIT),
        record("whole", "do_a", "do_b", case_id="c"),
    )
    options = [runs, "--cases", str(cases)]
    if policies:
        rules = tmp_path / "rules.yaml"
        rules.write_text(f"actions: {{drop: drop}}\npolicies: [{{id: p, rule: {policies}}}]")
        options += ["--policies", str(rules)]
    told = check(*options)
    assert told.exit_code == code, told.output
    assert "runs  error  pass" in told.stdout
    assert "Not tested to the end: endpoint 429: Rate limit reached" in told.stdout
    first = json.loads(check(*options, "--json").stdout.splitlines()[0])
    assert (first["outcome"], first["error_type"], first["trouble"]) == ("error", None, LIMIT)


def test_what_is_no_trouble_is_named_with_its_place(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(case_json("c", "a < b")))
    runs = write(tmp_path / "runs.jsonl", record("broken", trouble={"kind": "weather"}))
    refused = check(runs, "--cases", str(cases))
    assert refused.exit_code == 2
    assert "runs.jsonl:1, field trouble.kind: expected one of endpoint, " in refused.stderr


def test_a_request_whose_rules_take_too_long_is_undecided() -> None:
    run = run_from_json(ASKED)
    with SolverProcess(limit_seconds=0.001) as solver:
        nothing = Judgement(run.id, None, ())
        (result,) = with_query_rules(nothing, solver, run, Rules(z3="off"), "judge").policies
    assert (result.verdict, result.explanation.startswith("The run could not be judged")) == (
        "undecided",
        True,
    )
