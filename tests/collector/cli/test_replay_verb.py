"""`pdoctor replay`: what it refuses; what it does is in the loop from production to a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.cli.replay import command


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        pytest.param(None, [], "cases.jsonl: cannot be read", id="no file"),
        pytest.param("", [], "no case stands in it: `pdoctor cases from-run ID` makes one", id="empty"),
        pytest.param("nonsense", [], "cases.jsonl:1: not JSON", id="no JSON"),
        pytest.param('{"run_id": "r", "calls": []}', [], "`pdoctor cases from-run`", id="run"),
        pytest.param(
            '{"constraints": []}', [], "`pdoctor test AGENT --cases FILE` runs those", id="synthesized"
        ),
        pytest.param("", ["--on-miss", "live"], "--on-miss live and --tools belong together", id="no tools"),
        pytest.param("", ["--tools", "os"], "--on-miss live and --tools belong together", id="tools"),
        pytest.param("", ["--on-miss", "never"], "is not one of", id="miss"),
    ],
)
def test_misuse_is_named(tmp_path: Path, content: str | None, options: list[str], message: str) -> None:
    path = tmp_path / "cases.jsonl"
    if content is not None:
        path.write_text(content)
    said = CliRunner().invoke(command, [str(path), *options])
    assert said.exit_code == 2
    assert message in said.output
