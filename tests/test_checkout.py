"""What is tracked stands alone: a checkout holds files, not links to places that only one machine has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MADE = (".venv", ".environments")


def linked(folder: Path) -> list[str]:
    """The tracked paths that are links or other repositories, not files."""
    listing = subprocess.run(
        ["git", "ls-files", "-s"], cwd=folder, capture_output=True, text=True, check=True
    )
    entries = (line.split("\t", 1) for line in listing.stdout.splitlines())
    return [path for entry, path in entries if not entry.startswith("100")]


def git(folder: Path, *words: str) -> None:
    """Git beside `folder`'s own settings alone."""
    subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True)


@pytest.mark.processes
def test_no_tracked_path_is_a_link() -> None:
    assert linked(ROOT) == []


@pytest.mark.processes
def test_what_is_made_here_is_ignored_as_a_folder_and_as_a_link(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    git(tmp_path, "add", "-A")
    assert linked(tmp_path) == ["elsewhere"]  # the planted defect

    (tmp_path / ".gitignore").write_text((ROOT / ".gitignore").read_text())
    for name in MADE:
        (tmp_path / name).symlink_to(tmp_path)
    git(tmp_path, "add", "-A")
    assert linked(tmp_path) == ["elsewhere"]
