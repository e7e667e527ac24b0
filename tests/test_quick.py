"""What `make quick` leaves out, and that nothing in it starts a program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from collector.cli import check
from collector.server import running
from synth.judge_process import SolverProcess
from tests.quick import starts_programs
from tests.support.chromium import chromium
from tests.support.postgresql import Cluster

pytest_plugins = ["pytester"]

CONFTEST = """
from tests import quick
from tests.conftest import pytest_addoption, pytest_configure, pytest_collection_modifyitems
"""
SWALLOWS = """
import contextlib, importlib

def program():
    return getattr(importlib.import_module("subpro" + "cess"), "run")

def test_hidden():
    program()(["true"])

def test_swallowed():
    with contextlib.suppress(BaseException):
        program()(["true"])

def test_calm():
    pass
"""
MARKED = """
import subprocess, pytest

@pytest.fixture
def server():
    subprocess.run(["true"], check=True)

def test_by_fixture(server):
    pass

@pytest.mark.processes
def test_by_hand():
    pass

@pytest.mark.heavy
def test_long():
    pass

def test_plain():
    pass
"""


def by_name() -> None:
    subprocess.run(["true"], check=True)


def imported_late() -> None:
    import subprocess as programs

    programs.run(["true"], check=True)


def through_another() -> None:
    by_name()


def inside_another() -> Callable[[], None]:
    return lambda: by_name()


class Planted:
    def start(self) -> None:
        by_name()


def by_its_class() -> None:
    Planted().start()


def plain() -> str:
    return json.dumps({"subprocess": "multiprocessing"})


@pytest.mark.parametrize(
    "function",
    [
        by_name,
        imported_late,
        through_another,
        inside_another,
        by_its_class,
        running,
        chromium,
        Cluster,
        SolverProcess,
        check.command,
    ],
)
def test_code_that_leads_to_another_program_is_seen(function: Callable[..., Any]) -> None:
    assert starts_programs(function)


@pytest.mark.parametrize("function", [plain, json.dumps, str])
def test_code_that_does_not_is_not(function: Callable[..., Any]) -> None:
    assert not starts_programs(function)


def quick_run(pytester: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    pytester.makeini("[pytest]\nmarkers =\n    processes: x\n    heavy: x\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(tests)
    return pytester.runpytest_inprocess("--quick", "-p", "no:cacheprovider", *options)


def test_quick_leaves_out_what_is_heavy_or_starts_programs(pytester: pytest.Pytester) -> None:
    quick_run(pytester, MARKED).assert_outcomes(passed=1, deselected=3)


@pytest.mark.processes
def test_a_test_of_quick_that_starts_a_program_fails_by_name(pytester: pytest.Pytester) -> None:
    result = quick_run(pytester, SWALLOWS)
    result.assert_outcomes(passed=1, failed=2)
    for name in ("test_hidden", "test_swallowed"):
        result.stdout.fnmatch_lines([f"*::{name} starts a program in `make quick`: subprocess.Popen*"])
