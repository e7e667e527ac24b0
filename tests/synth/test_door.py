"""`synth` itself: its names, loaded when they are asked for."""

from __future__ import annotations

import ast
import inspect
import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import synth


def fresh(program: str) -> None:
    """Run a program in a Python of its own."""
    subprocess.run([sys.executable, "-P", "-c", program], check=True)


def imported_for_checkers() -> dict[str, str]:
    """Name -> home and name there, as mypy and editors read them in the source."""
    tree = ast.parse(Path(synth.__file__).read_text())
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("synth")
        for alias in node.names
    }


def test_what_type_checkers_see_is_what_is_loaded() -> None:
    assert sorted(imported_for_checkers()) == sorted(synth.__all__)
    for name, place in imported_for_checkers().items():
        home, _, there = place.rpartition(".")
        module = __import__(home, fromlist=[there])
        assert getattr(synth, name) is (module if name == "judge" else getattr(module, there)), name


def test_dir_names_everything_public() -> None:
    assert set(synth.__all__) <= set(dir(synth))
    assert synth.__all__ == sorted(synth.__all__)


def test_a_name_that_is_not_there_is_told_as_by_any_module() -> None:
    misspelt = "jugde"
    with pytest.raises(AttributeError, match="module 'synth' has no attribute 'jugde'"):
        getattr(synth, misspelt)
    with pytest.raises(ImportError, match="cannot import name 'jugde' from 'synth'"):
        exec("from synth import jugde")


def test_importing_synth_loads_nothing_else() -> None:
    fresh(
        """
import sys
before = set(sys.modules)
import synth
dir(synth)
assert set(sys.modules) - before == {"synth"}, set(sys.modules) - before
synth.SynthError
assert {name for name in sys.modules if name.startswith("synth.")} == {"synth.errors"}
"""
    )


JUDGED = """
from synth import Run, generate
(case,) = generate(1, 7, confirm=False)
run = Run("nothing was called", ())
"""
WAYS = (
    "from synth import judge; judged = judge(case, run)",
    "from synth.judge import judge; judged = judge(case, run)",
    "import synth.judge; judged = synth.judge.judge(case, run)",
    "import synth.judge as wing; judged = wing.judge(case, run)",
    "import synth; judged = synth.judge(case, run)",
)


@pytest.mark.parametrize("first", WAYS)
def test_judge_is_the_function_and_the_wing_whatever_was_imported_before(first: str) -> None:
    """Each way comes first once, and after it every other in every order of two."""
    rest = [way for way in WAYS if way != first]
    ways = [first, *itertools.chain.from_iterable(itertools.permutations(rest, 2))]
    look = [f"{way}\nassert judged.outcome == 'fail', {way!r}" for way in ways]
    fresh("\n".join([JUDGED, *look]))


@pytest.mark.parametrize("part", ["synth.judge.rules", "synth.judge.order_mode", "synth.policies"])
def test_judge_can_be_called_when_a_part_of_its_wing_came_first(part: str) -> None:
    fresh(f"import {part}\n{JUDGED}\n{WAYS[0]}\n{WAYS[2]}")


def test_judge_says_its_parameters_and_crosses_to_another_process() -> None:
    from synth.judge import judge as function

    assert inspect.signature(synth.judge) == inspect.signature(function)
    assert pickle.loads(pickle.dumps(synth.judge)) is synth.judge
