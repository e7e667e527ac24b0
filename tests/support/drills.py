"""Carrying out what deploy/ says without a container engine: the image's steps, services as processes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.deployed import DEPLOY

NOBODY = 65534
SEES = "+dac_read_search"
PLAIN = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
    f"--inh-caps={SEES}", f"--ambient-caps={SEES}",
)  # fmt: skip
"""Before a command: as a user who may write to his own folders only, also where the tests may do all. He may
look into others, since Python, and the tests' own folders, can lie in one of root's."""
BUSY_SHARE = 0.1
"""Of a core: who takes less is at rest."""
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")


def plain(*command: str) -> list[str]:
    return [*PLAIN, *command] if os.geteuid() == 0 else [*command]


def program(name: str) -> str:
    """Debian keeps servers' programs out of a user's path."""
    folders = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *folders]))
    assert found, f"the drills of deploy/ need {name}: `make test-heavy` names and installs its package"
    return found


@contextmanager
def open_folder(name: str) -> Iterator[Path]:
    """A folder that other users may enter, as those of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix=f"pdoctor-{name}-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def own(folder: Path) -> Path:
    """A folder of the plain user's, for him alone."""
    folder.mkdir(parents=True, mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    return folder


@dataclass
class Image:
    """What a Dockerfile makes, in a folder that stands for the root of its file system."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    entry: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def here(self, text: str) -> str:
        """Paths of the image as paths of this machine."""
        return re.sub(r"(?<![\w.}])/(opt/pdoctor|build|var/lib/pdoctor)\b", rf"{self.root}/\1", text)


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    lines = (line for line in dockerfile.splitlines() if line.strip() and not line.startswith("#"))
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        yield name, rest.strip()


def carry_out(dockerfile: Path, context: Path, root: Path) -> Image:
    """Every step of every stage, with a Python of its own in `root`; both stages share the folder.

    Where that was done before, the steps are only read.
    """
    image, done = Image(root), (root / "base").exists()
    if not done:
        subprocess.run([sys.executable, "-m", "venv", str(root / "base")], check=True)
    working = root
    for name, rest in instructions(dockerfile.read_text()):
        if name == "FROM":
            image.environment = {"PATH": f"{root}/base/bin:{os.environ['PATH']}"}
        elif name == "WORKDIR":
            working = Path(image.here(rest))
            working.mkdir(parents=True, exist_ok=True)
        elif name in ("COPY", "RUN") and done:
            continue
        elif name == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            for source in sources:
                for path in context.glob(source):
                    shutil.copy(path, working / target)
        elif name == "ENV":
            said = dict(one.split("=", 1) for one in shlex.split(image.here(rest)))
            if "PATH" in said:
                said["PATH"] = said["PATH"].replace("/usr/local/bin", f"{root}/base/bin")
            image.environment |= said
        elif name == "RUN" and not rest.startswith("useradd"):
            environment = {**os.environ, **image.environment, "PYTHONPATH": ""}
            subprocess.run(["sh", "-ec", image.here(rest)], cwd=working, env=environment, check=True)
        elif name == "HEALTHCHECK":
            image.health = json.loads(rest.partition("CMD ")[2])
        elif name == "ENTRYPOINT":
            image.entry = json.loads(rest)
        elif name == "CMD":
            image.command = json.loads(rest)
        else:
            assert name in ("COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL"), name
    return image


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


class Running:
    """A service as a process of this machine."""

    def __init__(self, command: Sequence[str], *, log: Path, **how: Any) -> None:
        """`command` may begin with `PLAIN`; it ends with the tests."""
        self.log = log
        at = len(PLAIN) if tuple(command[: len(PLAIN)]) == PLAIN else 0
        command = [*command[:at], *ENDS_WITH_US, *command[at:]]
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, **how)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def healthy(self, check: Sequence[str], seconds: float = 60, **how: Any) -> float:
        """Seconds until its own health check passes."""
        began = time.monotonic()
        while subprocess.run(check, capture_output=True, **how).returncode:
            assert self.process.poll() is None, self.said()
            assert time.monotonic() - began < seconds, self.said()
            time.sleep(0.1)
        return time.monotonic() - began

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)

    @property
    def _every(self) -> list[int]:
        """It and its descendants."""
        found = [self.process.pid]
        for pid in found:  # each thread has children of its own
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, children.read_text().split())
        return found

    def cpu_seconds(self) -> float:
        """Of it and its descendants; how busy the machine is hardly changes that."""
        fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self._every)
        return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")

    def rests(self) -> bool:
        """Has it done nothing for a second?"""
        before = self.cpu_seconds()
        time.sleep(1)
        return self.cpu_seconds() - before < BUSY_SHARE

    def memory(self) -> Counter[str]:
        """Bytes that it and its descendants hold for themselves, by what lies there."""
        found: Counter[str] = Counter()
        for number, pid in enumerate(self._every):
            own, what = "objects of its children" if number else "objects of the first process", ""
            for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
                if share := re.match(r"Pss:\s+(\d+) kB", line):
                    found[what] += int(share[1]) * 1024
                elif re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                    place = line.split(maxsplit=5)[5:]
                    what = Path(place[0]).name if place and place[0].startswith("/") else own
        return found


def quiet_port() -> int:
    """A free port that the system gives to no outgoing connection: it may be asked for much later."""
    while True:
        port = random.randrange(15_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))
            return port


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """One test worker at a time."""
    with file.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def mapped(text: str, places: Mapping[str, str]) -> str:
    """A text of deploy/ with names, ports and paths of containers as they are here; longer names go first."""
    names = "|".join(re.escape(name) for name in sorted(places, key=len, reverse=True))
    return re.sub(names, lambda found: places[found[0]], text)


def environment_file(path: Path) -> dict[str, str]:
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def checkout(folder: Path) -> Path:
    """What a release is made of, copied."""
    copy = folder / "checkout"
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("pdoctor_trace", "synth", "collector", "deploy", "docs"):
        shutil.copytree(DEPLOY.parent / name, copy / name, ignore=left_out)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "Makefile"):
        shutil.copy(DEPLOY.parent / name, copy)
    return copy
