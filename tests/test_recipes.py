"""The recipes of CONTRIBUTING.md, carried out in a copy of the tree."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.recipes import Block, blocks, changed

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
TREE = ("pdoctor_trace", "synth", "collector", "tests", "docs", "deploy", ".mypy_cache")
FILES = ("pyproject.toml", "Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")


@dataclass(frozen=True)
class Recipe:
    """One recipe as the page tells it."""

    changes: tuple[Block, ...]
    """Of `python` or `diff`, about a file, in their order."""
    commands: tuple[str, ...]


def recipes(page: str) -> dict[str, Recipe]:
    """What follows `### Add ...` on the page."""
    found = {}
    for section in page.split("\n### Add ")[1:]:
        told = blocks(section)
        commands = [line[2:] for block in told if block.kind == "console" for line in block.text.splitlines()]
        found[section.partition("\n")[0]] = Recipe(
            tuple(block for block in told if block.about), tuple(commands)
        )
    return found


RECIPES = recipes(PAGE)
FORGOTTEN = {
    "a metric": ("make docs", "tests/test_docs.py"),
    "a verb": ("make docs", "tests/test_docs.py"),
    "a setting": ("tests/collector/test_settings.py", "tests/collector/test_settings.py"),
    "a kind of rule": (
        "tests/properties/test_policy_sentences.py",
        "tests/properties/test_policy_sentences.py",
    ),
    "a kind of constraint": ("tests/properties/test_agreement.py", "tests/properties/test_agreement.py"),
    "a framework": ("make docs", "tests/test_docs.py"),
}
"""Recipe -> (the command or the file that is left out, the tests that notice)."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what a change is made in, with the environment that these tests run in."""
    for name in TREE:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy2(ROOT / name, tmp_path)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def carry_out(tree: Path, recipe: Recipe, leave_out: str = "") -> None:
    for block in recipe.changes:
        file = tree / block.about
        if block.about == leave_out:
            continue
        if block.kind == "diff":
            file.write_text(changed(file.read_text(), block.text))
        else:
            assert not file.exists()
            file.write_text(block.text)


def run(tree: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command of the page in the copy, whose packages come before the installed ones."""
    words = shlex.split(command)
    if words[0] == "make":  # the environment is that of these tests, and stays as it is
        words[1:1] = ["-o", ".venv/.installed", "-o", ".venv/.installed-dev"]
    elif words[0] == "pytest":
        words = [".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *words[1:]]
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "MAKE"))}
    return subprocess.run(
        words, cwd=tree, env=outside | {"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=False
    )


def test_the_page_has_the_recipes_that_are_asked_for() -> None:
    assert set(RECIPES) == {
        *("a framework", "a kind of constraint", "a kind of rule", "a metric", "a dialect", "a verb"),
        *("a setting", "a page"),
    }


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_does_what_it_says(name: str, tree: Path) -> None:
    carry_out(tree, RECIPES[name])
    for command in RECIPES[name].commands:
        done = run(tree, command)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


@pytest.mark.parametrize("name", FORGOTTEN)
def test_a_forgotten_step_is_noticed(name: str, tree: Path) -> None:
    forgotten, notices = FORGOTTEN[name]
    carry_out(tree, RECIPES[name], leave_out=forgotten)
    for command in RECIPES[name].commands:
        if command.startswith("make docs") and command != forgotten:
            assert run(tree, command).returncode == 0
    assert run(tree, f"pytest -x {notices} -m 'not heavy'").returncode == 1


def test_a_kind_of_rule_that_lacks_a_method_is_noticed_by_mypy(tree: Path) -> None:
    carry_out(tree, RECIPES["a kind of rule"])
    file = tree / "synth/policies/kinds/first.py"
    file.write_text(file.read_text().replace("def flaws", "def flaw"))
    done = run(tree, ".venv/bin/mypy")
    assert done.returncode == 1
    assert 'type "type[First]"; "type[PolicyKind]" expected' in done.stdout


def test_a_change_that_does_not_fit_the_file_is_told() -> None:
    with pytest.raises(AssertionError, match="stands not once in the file"):
        changed("a = 1\nb = 2\n", " a = 2\n+c = 3\n")
    assert changed("a = 1\nb = 2\n", " a = 1\n+c = 3\n@@\n-b = 2\n") == "a = 1\nc = 3\n"
