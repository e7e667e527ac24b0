"""`pdoctor init`: files to begin with, from what was seen."""

from __future__ import annotations

import ast
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from collector.cli.init import EMPTY, POLICIES, TESTS, WORKFLOW, command, installed
from synth.policies import load_policies
from tests.support.traces import Client

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which frameworks there are is asked of another process; one test does."""
    monkeypatch.setattr("collector.cli.init.installed", lambda: ["langchain 1.2"])


def init(folder: Path, url: str = NOBODY, *options: str) -> tuple[int, str]:
    said = CliRunner().invoke(command, ["--into", str(folder), "--collector", url, *options])
    return said.exit_code, said.output


def hand_in(client: Client, runs: int = 12) -> None:
    calls = [{"id": None, "name": name, "arguments": {}} for name in ("look_up", "check", "pay", "say_bye")]
    records = [
        {"run_id": f"r{at}", "query": f"Pay {at % 2}.", "calls": calls[:3] if at % 2 else calls[3:]}
        for at in range(runs)
    ]
    answer = client.http.post("/api/v1/runs", content=b"\n".join(map(orjson.dumps, records)))
    for run_id in answer.json()["ids"]:
        client.judged(run_id)


def test_seen_tools_become_actions_and_drafted_rules_and_again_nothing_changes(
    fresh: Client, tmp_path: Path
) -> None:
    hand_in(fresh)
    code, said = init(tmp_path, fresh.url, "--agent", "my.agent:run")
    assert code == 0, said
    assert "frameworks here: langchain 1.2" in said
    assert f"good runs at {fresh.url}: 12" in said
    assert said.endswith(f"Next: pytest {TESTS}\n")
    policies = load_policies(tmp_path / POLICIES)
    named = {tool for tools in policies.actions.values() for tool in tools.names}
    assert named == {"look_up", "check", "pay", "say_bye", "*"}
    assert policies.policies
    assert "# Kept in 6 runs" in (tmp_path / POLICIES).read_text()
    tests = (tmp_path / TESTS).read_text()
    ast.parse(tests)
    assert 'AGENT = "my.agent:run"' in tests
    assert '"Pay 0."' in tests
    assert YAML(typ="safe").load((tmp_path / WORKFLOW).read_text())["jobs"]["rules"]["steps"]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    code, said = init(tmp_path, fresh.url, "--agent", "my.agent:run")
    assert (code, said.count("unchanged")) == (0, 3)
    assert {path: path.read_bytes() for path in before} == before


def test_without_a_collector_there_is_a_file_to_fill_in(tmp_path: Path) -> None:
    code, said = init(tmp_path)
    assert (code, said.count("written")) == (0, 3)
    assert f"no collector answers at {NOBODY}" in said
    assert (tmp_path / POLICIES).read_text() == EMPTY
    assert not load_policies(tmp_path / POLICIES).policies
    assert "AGENT = None" in (tmp_path / TESTS).read_text()


def test_what_is_there_is_shown_as_a_diff_and_kept_unless_one_says_so(tmp_path: Path) -> None:
    (tmp_path / POLICIES).write_text("# mine\n")
    code, said = init(tmp_path)
    assert code == 0
    assert "-# mine" in said
    assert "+policies: []" in said
    assert f"kept       {POLICIES}" in said
    assert (tmp_path / POLICIES).read_text() == "# mine\n"
    assert f"replaced   {POLICIES}" in init(tmp_path, NOBODY, "--yes")[1]
    assert (tmp_path / POLICIES).read_text() == EMPTY


@pytest.mark.processes
def test_the_frameworks_are_those_of_this_environment() -> None:
    assert [name for name in installed() if name.startswith("openai ")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--into", "/no/such"], "/no/such is no folder", id="folder"),
        pytest.param(["--agent", "agent"], "expected module:function, got 'agent'", id="agent"),
    ],
)
def test_misuse_is_named(tmp_path: Path, options: list[str], message: str) -> None:
    said = CliRunner().invoke(command, options)
    assert said.exit_code == 2
    assert message in said.output
