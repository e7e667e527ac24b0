"""Code stands in one place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy  # pylint compares each file with each other one

ROOT = Path(__file__).parent.parent
CHECK = ("--disable=all", "--enable=duplicate-code", "--min-similarity-lines=10", "--score=no", "--rcfile=")


def duplicates(*where: Path | str) -> str:
    """What pylint says of ten lines and more that stand twice."""
    command = [sys.executable, "-m", "pylint", *CHECK, *map(str, where)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode & ~8 == 0, done.stderr  # 8: it found some
    return done.stdout


def test_no_ten_lines_stand_twice_in_the_packages() -> None:
    assert duplicates("pdoctor_trace", "synth", "collector") == ""


def test_a_planted_duplicate_is_seen(tmp_path: Path) -> None:
    for name in ("one", "other"):
        body = "\n".join(f"    step_{number} = {number}" for number in range(12))
        (tmp_path / f"{name}.py").write_text(f"def {name}():\n{body}\n")
    assert "duplicate-code" in duplicates(tmp_path / "one.py", tmp_path / "other.py")
