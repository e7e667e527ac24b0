"""What we write is spelled as the current GenAI conventions of OpenTelemetry spell it.

`tests/support/genai_conventions.json` holds the names in their registry, with the date they were read on.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pdoctor_trace import semconv

ROOT = Path(__file__).parents[2]
KNOWN: dict[str, Any] = json.loads((ROOT / "tests/support/genai_conventions.json").read_text())
_NAME = re.compile(r"[\"'\x60]((?:gen_ai|mcp)(?:\.[a-z_]+)+)[\"'\x60]")
THEIRS = re.compile(r"mcp\.(?:client|server|shared)\b")
"""Modules of MCP's own package."""


def names_in(source: str) -> set[str]:
    """Names of attributes and metrics in a text: all that is quoted and begins like them."""
    return {name for name in _NAME.findall(source) if not THEIRS.match(name)}


def unknown(source: str) -> set[str]:
    return names_in(source) - {*KNOWN["attributes"], *KNOWN["metrics"]}


@pytest.mark.parametrize("path", sorted((ROOT / "pdoctor_trace").rglob("*.py")), ids=lambda path: path.name)
def test_every_name_of_ours_stands_in_the_registry(path: Path) -> None:
    assert unknown(path.read_text()) == set()


def test_a_planted_name_is_seen() -> None:
    assert unknown('TOOL = "gen_ai.tool.nickname"\nID = "gen_ai.tool.call.id"') == {"gen_ai.tool.nickname"}


def test_the_schema_that_we_name_is_that_of_the_registry() -> None:
    assert KNOWN["schema_url"] == semconv.SCHEMA_URL
    assert len(KNOWN["attributes"]) > 60
