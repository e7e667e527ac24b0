"""Misuses of the verbs around a collector: what is said is exact and says what to do; exit code 2."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from pdoctor_trace import command
from tests.support.traces import Client

FILES = {
    "notes.jsonl": '{"rows": []}\n',
    "cut.json": "{",
    "empty.jsonl": "",
    "page.html": "<html></html>\n",
    "spans.pb": "\x0a\x7f",
    "run.jsonl": '{"run_id": "a", "query": "Pay.", "calls": [{"name": "pay"}]}\n',
    "cases.jsonl": '{"id": 1}\n',
    "recorded.jsonl": '{"id": "a", "query": "Pay.", "tools": [], "run": {}, "rules": []}\n',
    "sentence.txt": "Fly must happen before run.",
    "wide.yaml": "actions: {fly: [a, b], run: run}\npolicies: []\n",
    "names.yaml": "actions: {fly: fly_away, run: run_fast}\npolicies: []\n",
    "taken.py": "x = 1\n",
    "number.jsonl": "17\n",
    "none.yaml": "actions: {}\npolicies: []\n",
    "unknown.yaml": "actions: {}\npolicies:\n  - {id: a, rule: Fly must happen before run.}\n",
    "twice.yaml": "actions: {a: a, b: b}\npolicies:\n  - {id: a, rule: A must happen before b.}\n"
    "  - {id: a, rule: B must happen before a.}\n",
    "good.yaml": "actions: {a: a, b: b}\npolicies:\n  - {id: a, rule: A must happen before b.}\n",
}
NO_RUN = "; `pdoctor runs list` lists the runs; 6 characters of an id are enough"
OUTCOMES = "expected one of pass, fail, open, undecided, error, unbound, not judged"
TIME = "since is 'yesterday'; expected a time such as 2026-11-20T10:00:00Z, or Unix seconds"
KEYS = "expected KEY:VALUE with one of rule, case, policy, outcome, error_type, agent"
ADDRESS = "; expected one such as http://127.0.0.1:4318"
MISUSES = {
    # @ is the collector
    "runs import @": "Missing argument 'FILE|URL...'.",
    "runs import nothere.jsonl @": "pdoctor: nothere.jsonl: no such file",
    "runs import folder @": "pdoctor: folder: Is a directory",
    "runs import empty.jsonl @": "pdoctor: empty.jsonl: no run stands in it",
    "runs import cut.json @": "pdoctor: cut.json: not JSON: unexpected end of data",
    "runs import notes.jsonl @": "notes.jsonl:1: neither a run record (`run_id`, `calls`) nor a conversation",
    "runs import page.html @": "pdoctor: page.html:1: not JSON: unexpected character",
    "runs import spans.pb @": "spans.pb: the body is no protobuf ExportTraceServiceRequest, or it is cut",
    "runs import ftp://a.org/x @": "ftp://a.org/x: expected an address with http or https, or a file",
    "runs import http:// @": "pdoctor: http:// names no host: expected https://HOST/PATH",
    "runs import http://:80/x @": "pdoctor: http://:80/x names no host",
    "runs import http://127.0.0.1:1/x @": "pdoctor: http://127.0.0.1:1/x cannot be read: ",
    "runs import run.jsonl --collector 127.0.0.1:1": f"the collector's address is '127.0.0.1:1'{ADDRESS}",
    "runs import run.jsonl --collector ftp://x": f"the collector's address is 'ftp://x'{ADDRESS}",
    "runs import run.jsonl --collector http://": f"the collector's address is 'http://'{ADDRESS}",
    "runs import run.jsonl --collector http://127.0.0.1:1": "start one with `pdoctor serve`",
    "runs tail --every 0 @": "Invalid value for '--every': 0.0 is not in the range x>=0.1.",
    "runs tail --runs 0 @": "Invalid value for '--runs': 0 is not in the range x>=1.",
    "runs tail --outcome broken @": f"outcome is 'broken'; {OUTCOMES}",
    "runs show nothere @": f"there is no run 'nothere'{NO_RUN}",
    "runs show abc @": f"there is no run 'abc'{NO_RUN}",
    "runs show '' @": "'' names none of the runs: `pdoctor runs list` has them",
    "runs show .. @": "'..' names none of the runs: `pdoctor runs list` has them",
    "runs import '' @": "the name of the file is empty: give a file, an address, or - for standard input",
    "runs show a b @": "Got unexpected extra argument (b)",
    "runs list --since yesterday @": TIME,
    "runs list --limit 0 @": "Invalid value for '--limit': 0 is not in the range 1<=x<=1000.",
    "runs list --color red @": "Invalid value for '--color': 'red' is not one of 'auto', 'always', 'never'.",
    "runs export --outcome nope @": f"outcome is 'nope'; {OUTCOMES}",
    "runs lst @": "No such command 'lst'. Did you mean 'list'?",
    "cases from-run @": "give the ids of runs, or --filter WORDS (`pdoctor runs list` shows the runs)",
    "cases from-run a --filter outcome:fail @": "give the ids of runs, or --filter WORDS",
    "cases from-run --filter outcome @": f"'outcome': {KEYS}",
    "cases from-run --filter colour:red @": f"'colour:red': {KEYS}",
    "cases from-run --filter last:soon @": "last:soon: expected a number and m, h or d, such as last:24h",
    "cases from-run --filter 'agent:a agent:b' @": "'agent' is given twice",
    "cases from-run --filter agent:nobody @": "no run matches 'agent:nobody' (`pdoctor runs list` shows",
    "cases from-run nothere @": f"there is no run 'nothere'{NO_RUN}",
    "cases from-run latest -o cases.jsonl @": "pdoctor: cases.jsonl:1, field id: expected text, got 1",
    "cases from-run latest --pytest taken.py @": "taken.py: it is there and says something else: remove it",
    "cases from-run latest -o - --pytest t.py @": "--pytest needs a file of cases to read: give it with -o",
    "cases from-run latest --agent mine @": "field --agent: expected module:function, got 'mine'",
    "cases from-run latest --policies unknown.yaml @": "unknown.yaml:3, field policies[0].rule: unknown name",
    "test raw-loop --cases -1": "no cases to run: --cases takes a count from 1 upward, or a file",
    "report number.jsonl": "number.jsonl:1: a result of a campaign is a JSON object, got 17",
    "monitor raect": "no specification is called 'raect', and there is no such file; did you mean react?",
    "monitor react picture": "pdoctor: picture: not UTF-8 text: invalid start byte",
    "parse picture": "pdoctor: picture: not UTF-8 text: invalid start byte",
    "test raw-loop --cases recorded.jsonl": "recorded.jsonl:1: a case of a recorded run, and no synthesized",
    "parse sentence.txt --names wide.yaml": "wide.yaml, field actions: expected one tool, 'fly' stands for",
    "parse sentence.txt --names nothere.yaml": "nothere.yaml: cannot be read: No such file",
    "parse sentence.txt": 'no names given: --names FILE with a JSON list of {"id", "phrase", "tool"}, or',
    "replay": "Missing argument 'CASES'.",
    "replay nothere.jsonl": "pdoctor: nothere.jsonl: cannot be read: No such file or directory",
    "replay empty.jsonl": "empty.jsonl: no case stands in it: `pdoctor cases from-run ID` makes one",
    "replay cases.jsonl": "pdoctor: cases.jsonl:1, field id: expected text, got 1",
    "replay cases.jsonl --on-miss live": "--on-miss live and --tools belong together: --on-miss live --tools",
    "replay cases.jsonl --on-miss never": "'never' is not one of 'error', 'last', 'live'.",
    "compare a @": "Missing argument 'B'.",
    "compare abcdef fedcba @": f"there is no run 'abcdef'{NO_RUN}",
    "compare --by colour 1 2 @": "'colour' is not one of 'version', 'prompt', 'environment', 'agent',",
    "compare --by version 1 2 --since yesterday @": TIME,
    "compare --by version 1 1 @": "version '1' is on both sides: compare it with another",
    "compare --by version 7 8 @": "no complete run of version '7' or '8': `pdoctor runs list` shows what",
    "drift --since yesterday @": TIME,
    "drift now @": "Got unexpected extra argument (now)",
    "init --into nothere @": "pdoctor: field --into: nothere is no folder",
    "init --agent mine @": "pdoctor: field --agent: expected module:function, got 'mine'",
    "init --agent 'a b:c' @": "pdoctor: field --agent: expected module:function, got 'a b:c'",
    "init --agent http://a:b @": "pdoctor: field --agent: expected module:function, got 'http://a:b'",
    "open nothere": "pdoctor: no store 'nothere' is kept (`pdoctor open --list` names them)",
    "open --list nothere": "pdoctor: --list names all stores that are kept: leave 'nothere' out",
    "bench run": "Error: Missing argument",
    "policies show nothere @": "there is no policy file 'nothere': `pdoctor policies list` names those",
    "policies rm '' @": "'' names none of the policies: `pdoctor policies list` has them",
    "policies explain none.yaml": "pdoctor: none.yaml: no policy stands in it",
    "policies rm nothere @": "there is no policy file 'nothere': `pdoctor policies list` names those",
    "policies show a --version 0 @": "Invalid value for '--version': 0 is not in the range x>=1.",
    "policies try nothere.yaml @": "pdoctor: nothere.yaml: cannot be read: No such file or directory",
    "policies try twice.yaml @": "twice.yaml:4, field policies[1].id: the id 'a' was already used in line 3",
    "policies try good.yaml --runs 0 @": "pdoctor: field --runs: 0 is not in the range 1<=x<=5000",
    "policies try good.yaml --runs last:x @": "field --runs: 'x' is no length of time",
    "policies try good.yaml --mode blok @": "'blok' is not one of observe, warn, feedback, ask, block",
    "policies try good.yaml --runs a.jsonl @": "judged by `pdoctor check a.jsonl --policies good.yaml`",
    "policies try good.yaml --outcome nope @": f"outcome is 'nope'; {OUTCOMES}",
    "policies push good.yaml --name a/b @": "'a/b' is no name of a policy file; use letters, digits, dot",
    "completion tcsh": "'tcsh' is not one of 'bash', 'zsh', 'fish'.",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, shared: Client) -> Path:
    """Files to misuse, an empty folder and a kept store; the collector has a run."""
    made = tmp_path_factory.mktemp("misuses")
    for name, text in FILES.items():
        (made / name).write_text(text)
    (made / "picture").write_bytes(b"\xff\xd8")
    (made / "folder").mkdir()
    (made / "cache" / "stores").mkdir(parents=True)
    (made / "cache" / "stores" / "kept.db").touch()
    [run_id] = shared.http.post("/api/v1/runs", content=FILES["run.jsonl"].encode()).json()["ids"]
    shared.judged(run_id)
    return made


@pytest.mark.parametrize("line", MISUSES)
def test_a_misuse_is_told_with_what_to_do(
    line: str,
    folder: Path,
    shared: Client,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("PDOCTOR_CACHE", str(folder / "cache"))
    before = sorted(os.listdir(folder))
    code = command.main(shlex.split(line.replace("@", f"--collector {shared.url}")))
    said = capsys.readouterr()
    assert (code, MISUSES[line] in said.err) == (2, True), said.err
    assert "Traceback" not in said.err
    assert said.out == ""
    assert sorted(os.listdir(folder)) == before


def test_the_actions_of_a_policy_file_name_the_actions_of_sentences(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert command.main(["parse", "sentence.txt", "--names", "names.yaml"]) == 0
    assert '"fly_away"' in capsys.readouterr().out
