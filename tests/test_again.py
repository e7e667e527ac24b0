"""What fails beside other tests is run once more alone, and nothing is hidden by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import again

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parent.parent

ONCE = """
from pathlib import Path
def test_fails_the_first_time():
    mark = Path(__file__).with_name("seen")
    seen = mark.exists()
    mark.touch()
    assert seen
"""
ALWAYS = "def test_fails():\n    assert False\n"


def tried(folder: Path, **files: str) -> tuple[int, str]:
    """(exit code, what was printed) of these test files."""
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "tests.again", "-q", "-n", "2", "-c", str(folder / "pytest.ini"), str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_what_passes_alone_is_told(tmp_path: Path) -> None:
    code, printed = tried(tmp_path, once=ONCE, good="def test_good():\n    pass\n")
    assert code == 0
    assert "1 failed, 1 passed" in printed
    assert "passes only alone: " in printed
    assert "test_once.py::test_fails_the_first_time" in printed


def test_what_fails_again_stays_red_beside_what_passes(tmp_path: Path) -> None:
    code, printed = tried(tmp_path, once=ONCE, always=ALWAYS)
    assert code == 1
    assert "failed: " in printed
    assert "passes only alone" not in printed


def test_many_failures_are_final_at_once(tmp_path: Path) -> None:
    code, printed = tried(tmp_path, **{f"always{n}": ALWAYS for n in range(again.AT_MOST + 1)})
    assert code == 1
    assert "are not tried again" in printed


def test_what_cannot_be_collected_is_red(tmp_path: Path) -> None:
    code, printed = tried(
        tmp_path, good="def test_good():\n    pass\n", other="import nothing_of_this_name\n"
    )
    assert code != 0
    assert "passes only alone" not in printed
