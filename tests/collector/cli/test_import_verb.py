"""`pdoctor runs import`: what people have recorded becomes runs of a collector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
from click.testing import CliRunner

from collector.cli.imports import AT_ONCE, bodies
from collector.cli.runfiles import runs_in
from collector.cli.runs import command
from synth.observed.run import Run, read_runs
from synth.policies import judge_policies, load_policies
from tests.support.real_runs import HERE
from tests.support.traces import Client, agent_request, eventually, new_id

CONVERSATION = {
    "messages": [
        {"role": "user", "content": "Pay 3."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": '{"amount": 3}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "paid"},
    ]
}


def load(client: Client, *files: str | Path, text: str | None = None) -> tuple[int, Any]:
    said = CliRunner().invoke(
        command, ["import", *map(str, files), "--collector", client.url, "--json"], input=text
    )
    lines = said.stdout.splitlines()
    return said.exit_code, [json.loads(line) for line in lines] if lines else said.output


def test_real_runs_are_judged_in_the_collector_as_in_their_file(fresh: Client, tmp_path: Path) -> None:
    few = (HERE / "tau_airline" / "runs.jsonl").read_bytes().splitlines()[:12]
    file = tmp_path / "airline.jsonl"
    file.write_bytes(b"\n".join(few))
    rules = HERE / "tau_airline.yaml"
    assert fresh.http.put("/api/v1/policies/airline", content=rules.read_text()).status_code in (200, 201)
    code, [said] = load(fresh, file)
    assert (code, len(said["runs"]), said["refused"]) == (0, 12, [])
    policies = load_policies(rules)
    for run, run_id in zip(read_runs(file), said["runs"], strict=True):
        known = {result.policy: result.verdict for result in judge_policies(policies, run)}
        assert {p["policy"]: p["verdict"] for p in fresh.judged(run_id)["policies"]} == known
        assert fresh.get(f"/runs/{run_id}/record")["messages"] == run.extra["messages"]
    assert load(fresh, file) == (code, [said])
    assert fresh.get("/stats")["runs"] == 12


def test_conversations_come_from_standard_input_too(fresh: Client) -> None:
    code, [said] = load(fresh, "-", text=orjson.dumps(CONVERSATION).decode())
    assert (code, said["file"], len(said["runs"])) == (0, "standard input", 1)
    [call] = fresh.judged(said["runs"][0])["calls"]
    assert (call["name"], call["arguments"], call["result"]) == ("pay", {"amount": 3}, "paid")


def test_files_of_spans_keep_their_spans(fresh: Client, tmp_path: Path) -> None:
    ids = [new_id(), new_id()]
    file = tmp_path / "traces.pb"
    file.write_bytes(b"".join(agent_request(run, ["search", "book"]) for run in ids))
    code, [said] = load(fresh, file)
    assert (code, said["form"], said["spans"]) == (0, "OTLP", 6)
    for run in ids:
        assert [call["name"] for call in fresh.judged(run)["calls"]] == ["search", "book"]


def test_what_cannot_be_read_is_told_and_nothing_is_said_to_be_there(fresh: Client, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"rows": []}\n')
    said = CliRunner().invoke(command, ["import", str(file), "--collector", fresh.url])
    assert said.exit_code == 2
    assert f"{file}:1: neither a run record" in said.output
    assert fresh.get("/stats")["runs"] == 0


def test_the_words_for_people_name_each_file_and_where_to_look(fresh: Client, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_bytes(orjson.dumps([CONVERSATION, CONVERSATION]))
    said = CliRunner().invoke(command, ["import", str(file), "--collector", fresh.url])
    assert said.exit_code == 0, said.output
    assert said.output.splitlines() == [
        f"{file}: 2 runs (run records or conversations)", f"Look: {fresh.url}/"
    ]  # fmt: skip
    eventually(lambda: fresh.get("/stats")["runs"] == 2)


def test_many_runs_go_in_several_requests() -> None:
    runs = [Run(f"r{number}", ()) for number in range(2 * AT_ONCE + 1)]
    sizes = [len(body.splitlines()) for body in bodies(runs)]
    assert sizes == [AT_ONCE, AT_ONCE, 1]


EXPORTS = Path(__file__).parent.parent / "exports"
OF_OTHERS = (
    "phoenix_frame.jsonl",
    "langfuse_observations.json",
    "langsmith_runs.jsonl",
    "agents_traces.jsonl",
)


def told(run: dict[str, Any]) -> list[Any]:
    return [
        [call.get(name) for name in ("id", "name", "arguments", "result", "error")] for call in run["calls"]
    ]


def test_exports_of_other_products_come_in_go_out_and_come_in_as_the_same_runs(
    fresh: Client, tmp_path: Path
) -> None:
    files = [EXPORTS / name for name in (*OF_OTHERS, "inspect.json")]
    code, said = load(fresh, *files)
    assert (code, [len(one["runs"]) for one in said]) == (0, [1, 2, 2, 2, 2])
    ids = [run_id for one in said for run_id in one["runs"]]
    expected = [run.to_json() for name in files for run in runs_in(str(name))]
    for run_id, run in zip(ids, expected, strict=True):
        assert told(fresh.judged(run_id)) == told(run)
    exported = tmp_path / "all.jsonl"
    out = CliRunner().invoke(command, ["export", "--collector", fresh.url])
    exported.write_text(out.stdout)
    by_id = {json.loads(line)["run_id"]: json.loads(line) for line in out.stdout.splitlines()}
    assert sorted(by_id) == sorted(ids)
    assert [[*map(told, (by_id[i],))] for i in ids] == [[told(run)] for run in expected]
    assert load(fresh, *files) == (code, said)  # again, and nothing is there twice
    code, [again] = load(fresh, exported)
    assert (code, sorted(again["runs"])) == (0, sorted(ids))
    eventually(lambda: fresh.get("/stats")["unchecked"] == 0)
    second = CliRunner().invoke(command, ["export", "--collector", fresh.url]).stdout
    assert {json.loads(line)["run_id"]: told(json.loads(line)) for line in second.splitlines()} == {
        run_id: told(run) for run_id, run in by_id.items()
    }


def test_rows_that_cannot_be_read_are_told_with_their_place(fresh: Client, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    lines = (EXPORTS / "agents_traces.jsonl").read_text().splitlines()
    bad = {"object": "trace.span", "id": 7, "trace_id": "t", "span_data": {"type": "x"}}
    file.write_text("\n".join([*lines, json.dumps(bad)]))
    code, [said] = load(fresh, file)
    assert (code, len(said["runs"])) == (1, 2)
    [refused] = said["refused"]
    assert (refused.startswith(f"line {len(lines) + 1}: "), "expected text, got 7" in refused) == (True, True)
