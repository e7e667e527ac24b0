"""Adapters that other distributions bring by an entry point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pdoctor_trace.plugins import adapters
from tests.support.sink import OtlpSink

ACME = """
class Agent:
    def use(self, tool, arguments):
        return tool(**arguments)
"""
PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text()
ADAPTER = PAGE.partition("<!-- adapter -->\n```python\n")[2].partition("```\n<!-- /adapter -->")[0]
"""What the page shows."""
HOST = """
import json, sys, pdoctor_trace
waiting = pdoctor_trace.status()["frameworks"].get("acme_agents")
loaded_before = "acme_pdoctor" in sys.modules
from acme_agents.core import Agent
def search(query):
    return query.upper()
assert Agent().use(search, {"query": "x"}) == "X"
status = pdoctor_trace.status()
print(json.dumps([waiting, loaded_before, status["frameworks"].get("acme_agents"),
    [row for row in status["targets"] if row["framework"] == "acme_agents"]]))
"""


def installed(folder: Path, adapter: str = ADAPTER, points: str = "acme_agents = acme_pdoctor:ACME") -> Path:
    """A framework and, in a distribution of its own, its adapter, as pip leaves them."""
    (folder / "acme_agents").mkdir(parents=True)
    (folder / "acme_agents" / "__init__.py").write_text("")
    (folder / "acme_agents" / "core.py").write_text(ACME)
    (folder / "acme_pdoctor.py").write_text(adapter)
    return described(folder, points)


def described(folder: Path, points: str) -> Path:
    """The adapter's metadata beside it."""
    info = folder / "acme_pdoctor-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-pdoctor\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[pdoctor.frameworks]\n{points}\n")
    return folder


def host(folder: Path, endpoint: str, **environment: str) -> tuple[list[Any], str]:
    done = subprocess.run(
        [sys.executable, "-c", HOST],
        env={**os.environ, "PYTHONPATH": str(folder), "PDOCTOR_ENDPOINT": endpoint, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_one_entry_point_adds_a_framework_and_loads_nothing_before_it_is_used(tmp_path: Path) -> None:
    assert 'acme_agents = "acme_pdoctor:ACME"' in PAGE
    with OtlpSink() as sink:
        (waiting, loaded_before, state, rows), errors = host(installed(tmp_path), sink.url)
        assert [(call.tool, call.arguments, call.result) for call in sink.calls] == [
            ("search", {"query": "x"}, "X")
        ]
        assert sink.calls[0]["pdoctor.source"] == "acme"
    assert (waiting, loaded_before, state, errors) == ("waiting", False, "awake", "")
    assert [row["state"] for row in rows] == ["patched"]


@pytest.mark.parametrize(
    ("adapter", "problem"),
    [
        ("raise RuntimeError('mine')", "RuntimeError: mine"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("ACME = 'text'", "expected a pdoctor_trace.adapter.Framework"),
        ("OTHER = 1", "AttributeError"),
    ],
)
def test_a_broken_adapter_is_a_row_and_the_program_goes_on(
    tmp_path: Path, adapter: str, problem: str
) -> None:
    (_, _, state, rows), errors = host(installed(tmp_path, adapter), "http://127.0.0.1:9")
    assert state == "broken"
    assert [(row["state"], problem in row["problem"]) for row in rows] == [("broken", True)]
    assert "the adapter acme_agents cannot be loaded" in errors


def test_an_adapter_may_be_left_alone_by_its_name(tmp_path: Path) -> None:
    found, _ = host(installed(tmp_path), "http://127.0.0.1:9", PDOCTOR_DISABLED_FRAMEWORKS="acme_agents")
    assert found[2:] == ["disabled", []]


def test_a_name_that_the_tracer_knows_itself_is_not_taken_over(tmp_path: Path) -> None:
    folder = installed(tmp_path, points="langchain = acme_pdoctor:ACME")
    (_, _, state, rows), errors = host(folder, "http://127.0.0.1:9")
    assert (state, rows) == (None, [])
    assert "acme_pdoctor:ACME is not used" in errors


def test_metadata_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    good, bad, nothing = installed(tmp_path / "good"), tmp_path / "bad", tmp_path / "nothing"
    for folder, text in ((bad, b"[pdoctor.frameworks\n\xff = ="), (nothing, b"[console_scripts]\nx = y:z\n")):
        info = folder / "x-1.dist-info"
        info.mkdir(parents=True)
        (info / "entry_points.txt").write_bytes(text)
    from pdoctor_trace.harmless import FAILURES

    path = [str(nothing), str(bad), str(tmp_path / "gone"), str(good), str(good), str(Path(__file__))]
    assert [one.name for one in adapters(path)] == ["acme_agents"]
    FAILURES.clear()


@pytest.mark.parametrize(
    ("adapter", "shown"), [(ADAPTER, "not installed here"), ("1 / 0", "ZeroDivisionError")]
)
def test_the_self_check_shows_them_too(tmp_path: Path, adapter: str, shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pdoctor_trace", "status"],
        env={**os.environ, "PYTHONPATH": str(installed(tmp_path, adapter))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("acme_agents ")]
    assert shown in line


OUTSIDE = Path(__file__).parent / "outside"
"""A framework, its adapter and its driver, as somebody else would write them."""


def checked(folder: Path, adapter: str) -> subprocess.CompletedProcess[str]:
    """The conformance suite on that adapter, installed by its entry point, in a program of its own."""
    shutil.copytree(OUTSIDE, folder)
    (folder / "acme_pdoctor.py").write_text(adapter)
    described(folder, "acme_agents = acme_pdoctor:ACME")
    return subprocess.run(
        [sys.executable, "-m", "acme_checks"],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parents[2]}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_an_outside_adapter_can_do_all_that_ours_do(tmp_path: Path) -> None:
    done = checked(tmp_path / "acme", (OUTSIDE / "acme_pdoctor.py").read_text())
    assert (done.returncode, done.stderr) == (0, "")


def test_an_adapter_that_does_less_is_told_what(tmp_path: Path) -> None:
    adapter = (OUTSIDE / "acme_pdoctor.py").read_text()
    assert "    call.take_up()\n" in adapter
    done = checked(tmp_path / "acme", adapter.replace("    call.take_up()\n", ""))
    assert done.returncode == 1
    assert "test_text_beside_calls_is_noted" in done.stderr
    assert "test_uninstall_records_nothing_and_the_agent_works" not in done.stderr
