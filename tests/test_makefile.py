"""What `make` does on a machine that lacks what the tests need."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make")


class Machine:
    """A checkout on a machine that has a shell and no browser; its apt-get only writes what it was asked."""

    def __init__(self, folder: Path, *, user: int, sudo: bool) -> None:
        self.checkout, self.programs = folder / "checkout", folder / "programs"
        for place in (self.checkout, self.programs):
            place.mkdir()
        shutil.copy(ROOT / "Makefile", self.checkout)
        for name in ("sh", "ls", "env", "true"):
            (self.programs / name).symlink_to(shutil.which(name) or name)
        self.installed = folder / "installed"
        self.has("id", f"echo {user}")
        self.has("apt-get", f'echo "$@" >> {self.installed}')
        self.has("sudo", 'shift; exec "$@"' if sudo else "exit 1")

    def has(self, name: str, does: str) -> None:
        (self.programs / name).unlink(missing_ok=True)
        (self.programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (self.programs / name).chmod(0o755)

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        assert MAKE is not None
        return subprocess.run(
            [MAKE, target],
            cwd=self.checkout,
            env={"PATH": str(self.programs)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.parametrize("target", ["test", "setup", "test-heavy"])
def test_a_plain_user_is_told_the_command_before_anything_is_made(tmp_path: Path, target: str) -> None:
    machine = Machine(tmp_path, user=1000, sudo=False)
    done = machine.make(target)
    assert done.returncode == 2
    assert "    sudo apt-get install chromium" in done.stderr
    assert not machine.installed.exists()
    assert [path.name for path in machine.checkout.iterdir()] == ["Makefile"]


@pytest.mark.parametrize(("user", "sudo"), [(0, False), (1000, True)])
def test_whoever_may_install_is_told_what_and_why_first(tmp_path: Path, user: int, sudo: bool) -> None:
    machine = Machine(tmp_path, user=user, sudo=sudo)
    done = machine.make("system")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("make: installing chromium")
    assert "the tests open the pages in Chromium" in done.stdout
    assert "install -y -qq chromium" in machine.installed.read_text()


def test_nothing_is_said_where_nothing_is_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000, sudo=False)
    machine.has("google-chrome", "exit 0")
    machine.has("initdb", "exit 0")
    done = machine.make("system")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("present", "asked"), [((), " nginx prometheus npm"), (("nginx", "prometheus"), " npm")]
)
def test_the_heavy_tests_want_the_services_of_the_drills_too(
    tmp_path: Path, present: tuple[str, ...], asked: str
) -> None:
    machine = Machine(tmp_path, user=1000, sudo=False)
    machine.has("google-chrome", "exit 0")
    machine.has("initdb", "exit 0")
    machine.has("ls", "exit 1")  # whatever this machine has in /usr/sbin
    for program in present:
        machine.has(program, "exit 0")
    done = machine.make("test-heavy")
    assert done.returncode == 2
    assert f"    sudo apt-get install{asked}\n" in done.stderr


def test_an_installation_that_fails_says_what_to_do(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=0, sudo=False)
    machine.has("apt-get", "exit 100")
    done = machine.make("system")
    assert done.returncode == 2
    assert "    sudo apt-get install chromium" in done.stderr
