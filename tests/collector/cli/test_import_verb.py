"""`pdoctor runs import`: what people have recorded becomes runs of a collector."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from collector.cli.imports import AT_ONCE, MOST_REFUSED, bodies
from collector.cli.runfiles import runs_in, unpacked
from collector.cli.runs import command
from synth.client import Collector, NoAnswer
from synth.errors import BadInput
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


RECORD = b'{"run_id": "%b", "query": "Pay.", "calls": [{"name": "pay", "arguments": {"n": %d}}]}'


def records(*names: str) -> list[bytes]:
    return [RECORD % (name.encode(), number) for number, name in enumerate(names)]


def test_a_line_that_cannot_be_read_does_not_keep_out_the_others(fresh: Client, tmp_path: Path) -> None:
    first, second, third = records("a", "b", "c")
    file = tmp_path / "cut.jsonl"
    file.write_bytes(b"\n".join([first, b"[1", b'{"run_id": 7}', second, third[:40]]))
    code, [said] = load(fresh, file)
    assert (code, len(said["runs"])) == (1, 2)
    assert [why.partition(":")[0] for why in said["refused"]] == ["line 2", "line 3", "line 5"]
    assert "field run_id: expected text, got 7" in said["refused"][1]


def test_another_record_of_the_same_id_is_told(fresh: Client, tmp_path: Path) -> None:
    first, other = records("a", "a")
    file = tmp_path / "twice.jsonl"
    file.write_bytes(b"\n".join([first, first, other]))
    code, [said] = load(fresh, file)
    assert (code, said["refused"]) == (
        1, ["run a: stands there twice and says different things; the first is taken"]
    )  # fmt: skip
    [call] = fresh.judged(said["runs"][0])["calls"]
    assert call["arguments"] == {"n": 0}


def test_an_item_of_a_list_and_a_sample_of_a_log_alone_are_refused(fresh: Client, tmp_path: Path) -> None:
    listed = tmp_path / "list.json"
    listed.write_bytes(b"[%b, 7]" % records("a")[0])
    code, [said] = load(fresh, listed)
    assert (code, len(said["runs"]), said["refused"][0].startswith("item 2: ")) == (1, 1, True)
    log = json.loads((EXPORTS / "inspect.json").read_text())
    log["samples"].append({"id": 3, "messages": "none"})
    (tmp_path / "log.json").write_text("\ufeff" + json.dumps(log), encoding="utf-8")
    code, [said] = load(fresh, tmp_path / "log.json")
    assert (code, said["form"], len(said["runs"])) == (1, "Inspect log", 2)
    assert said["refused"][0].startswith("field messages: samples[2]: expected a list of messages")


def test_a_file_of_nothing_but_broken_lines_is_given_up(fresh: Client, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(records("a")[0] + b"\n" + b"[1\n" * MOST_REFUSED + records("b")[0])
    code, [told_of_it] = load(fresh, file)
    assert (code, len(told_of_it["runs"]), len(told_of_it["refused"])) == (1, 1, MOST_REFUSED + 1)
    assert told_of_it["refused"][-1] == f"what stands behind these {MOST_REFUSED}: it was not looked at"
    file.write_bytes(b"\n" + b"{1\n" * 2)
    code, said = load(fresh, file)
    assert (code, f"{file}:2: not JSON" in said) == (2, True)


def test_a_line_that_is_too_long_is_passed_over(
    fresh: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synth.observed.lines.MAX_LINE_BYTES", 500)
    first, second = records("a", "b")
    file = tmp_path / "long.jsonl"
    file.write_bytes(b"\n".join([first, b'"%b"' % (b"x" * 1700), second]))
    code, [said] = load(fresh, file)
    assert (code, len(said["runs"])) == (1, 2)
    assert [why.partition(":")[0] for why in said["refused"]] == ["line 2"]


def test_files_that_gzip_compressed_are_read(
    fresh: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "runs.jsonl.gz"
    packed.write_bytes(gzip.compress(b"\n".join(records("a", "b"))))
    spans = tmp_path / "traces.pb.gz"
    spans.write_bytes(gzip.compress(agent_request(new_id(), ["search"])))
    code, said = load(fresh, packed, spans)
    assert (code, len(said[0]["runs"]), said[1]["spans"]) == (0, 2, 2)
    assert [run.id for run in runs_in(str(packed))] == ["a", "b"]
    packed.write_bytes(packed.read_bytes()[:-9])
    code, words = load(fresh, packed)
    assert (code, f"{packed}: no gzip file that can be read: " in words) == (2, True)
    with pytest.raises(BadInput, match="over 0 MiB when it is unpacked"), spans.open("rb") as stream:
        unpacked(stream, "x", most_bytes=10)


def test_a_conversation_without_an_id_is_known_by_what_it_says(
    fresh: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(CONVERSATION)
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.json").write_text(json.dumps([{"messages": [{"role": "user", "content": "Hi"}]}]))
    monkeypatch.chdir(tmp_path)
    code, [one, same, other] = load(fresh, "a.json", "./a.json", "b.json")
    assert (code, one["runs"] == same["runs"], one["runs"] == other["runs"]) == (0, True, False)
    _, [piped] = load(fresh, "-", text=text)
    _, [other_piped] = load(fresh, "-", text=(tmp_path / "b.json").read_text())
    assert (piped["runs"], other_piped["runs"]) == (one["runs"], other["runs"])


def test_links_that_lead_in_a_circle_are_no_file(fresh: Client, tmp_path: Path) -> None:
    os.symlink("loop", tmp_path / "loop")
    code, said = load(fresh, tmp_path / "loop")
    assert (code, "loop: Too many levels of symbolic links" in said) == (2, True)


def test_an_export_of_which_nothing_can_be_read_says_why(fresh: Client, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    row = {"id": "1", "trace_id": "2", "run_type": "tool", "start_time": "1950-11-20T10:00:00"}
    file.write_text(json.dumps([row]))
    code, said = load(fresh, file)
    assert (code, "item 1: field start_time: '1950-11-20T10:00:00' is no time" in said) == (2, True)
    lines = (EXPORTS / "langsmith_runs.jsonl").read_bytes()
    file.write_bytes(lines[:-200])
    code, [cut] = load(fresh, file)
    assert (code, cut["refused"][0].startswith("line 13: not JSON")) == (1, True)


def test_how_far_an_import_came_is_told_where_the_collector_goes_away(
    fresh: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Collector.hand_in
    handed: list[bytes] = []

    def hand_in(collector: Collector, body: bytes) -> dict[str, Any]:
        handed.append(body)
        if len(handed) == 2:
            raise NoAnswer("no collector answers")
        return whole(collector, body)

    monkeypatch.setattr(Collector, "hand_in", hand_in)
    file = tmp_path / "many.jsonl"
    file.write_bytes(b"\n".join(records(*(f"r{number}" for number in range(AT_ONCE + 1)))))
    code, said = load(fresh, file)
    assert (code, f"no collector answers; at least {AT_ONCE} runs of {file} came there: " in said) == (
        2, True
    )  # fmt: skip
    code, [again] = load(fresh, file)
    assert (code, len(again["runs"]), fresh.get("/stats")["runs"]) == (0, AT_ONCE + 1, AT_ONCE + 1)
