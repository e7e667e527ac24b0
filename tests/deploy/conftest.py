"""What the drills share: a release, and what the image's steps make of it; once for all test workers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.drills import Image, alone, carry_out, checkout, open_folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of all test workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "release"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def released(shared: Path) -> Path:
    """The checkout of a release: dist/ is in it."""
    with alone(shared / "lock"):
        if not (shared / "checkout").exists():
            copy = checkout(shared)
            environment = {**os.environ, "PYTHONPATH": "", "SOURCE_DATE_EPOCH": "1790000000"}
            subprocess.run(
                ["make", "release", f"PYTHON={sys.executable}"], cwd=copy, env=environment, check=True,
                capture_output=True,
            )  # fmt: skip
            shutil.rmtree(copy / "build")
    return shared / "checkout"


@pytest.fixture(scope="session")
def image(released: Path, shared: Path) -> Image:
    with alone(shared / "lock"):
        return carry_out(released / "deploy" / "Dockerfile", released, shared / "root")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Open to all: whoever serves has to be able to ask whether a file is there."""
    with open_folder("drill") as made:
        yield made
