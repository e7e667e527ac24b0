"""Every adapter has an environment that its conformance tests run in."""

from __future__ import annotations

from pathlib import Path

from environments import ENVIRONMENTS

from pdoctor_trace.frameworks import FRAMEWORKS

HERE = Path(__file__).parent


def test_every_conformance_test_runs_somewhere() -> None:
    run = {test for environment in ENVIRONMENTS for test in environment.tests}
    assert {path.name for path in HERE.glob("test_*.py")} - run == {"test_environments.py"}
    assert [name for name in run if not (HERE / name).exists()] == []


def test_every_framework_has_a_conformance_test() -> None:
    written = " ".join(path.name for path in HERE.glob("test_*.py"))
    assert [entry.name for entry in FRAMEWORKS if entry.name not in written] == []
