"""The tracer's tests with the oldest releases of its libraries that pyproject.toml allows."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TESTS = (
    "test_importing.py",
    "test_install.py",
    "test_other_layers.py",
    "test_run_identity.py",
    "test_sdk_spans.py",
    "test_threads.py",
    "test_user_tools.py",
)
"""Those that need no more than these."""


def oldest() -> list[str]:
    """`name==oldest` of every library of the tracer; SDK and protocol are of the API's release."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pinned = [re.sub(r">=([\d.]+).*", r"==\1.*", requirement) for requirement in wanted]
    (api,) = (one for one in pinned if one.startswith("opentelemetry-api"))
    return [*pinned, api.replace("-api", "-sdk"), api.replace("-api", "-proto")]


@pytest.mark.heavy
def test_the_oldest_releases_do(tmp_path: Path) -> None:
    home = ROOT / ".environments" / "oldest"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run(
        [*install, "pytest", "pydantic", *oldest()], check=False, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::DeprecationWarning",
    ]
    done = subprocess.run(
        [*command, *(str(HERE / name) for name in TESTS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3_000:]
    assert "skipped" not in done.stdout
