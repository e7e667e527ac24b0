"""A private PostgreSQL cluster for tests: its own folder, a free port on loopback, ended by its process id.

PostgreSQL refuses to run as root; then it runs as the user `postgres`, whom its package makes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

USER = "pdoctor"
ENDS_WITH_US = ("setpriv", "--pdeathsig", "INT")
"""A test run that is killed leaves no server behind."""


def program(name: str) -> str:
    """Debian keeps the server's programs out of the path, one folder per version."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")]))
    assert found, "the store tests need PostgreSQL: install the package `postgresql`"
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """One server in `folder`; `durable` = commits wait for the disk, as in production."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder, self.port = folder, free_port()
        self._as: dict[str, Any] = (
            {"user": "postgres", "group": "postgres", "extra_groups": ()} if os.geteuid() == 0 else {}
        )
        if self._as:
            shutil.chown(folder, "postgres", "postgres")
        options = ["--no-sync", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--locale=C"]
        self._run("initdb", *options, "-D", str(folder / "data"))
        self._options = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(folder),
            "max_connections": "60",
            "shared_buffers": "32MB",
            "fsync": "on" if durable else "off",
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _run(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [program(name), *arguments], cwd=self.folder, capture_output=True, text=True, **self._as
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Returns once it takes connections; after a crash the last process of before must be gone first."""
        end = time.monotonic() + 60
        while not self._answers():
            if self._process is None or self._process.poll() is not None:
                self._process = self._launch()
            assert time.monotonic() < end, (self.folder / "log").read_text(errors="replace")
            time.sleep(0.05)

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = [f"--{name}={value}" for name, value in self._options.items()]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*ENDS_WITH_US, program("postgres"), "-D", str(self.folder / "data"), *settings],
                stdout=log, stderr=log, cwd=self.folder, **self._as,
            )  # fmt: skip

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(self.address("postgres")).close()
            return True
        return False

    def end(self, number: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends it in good order; after SIGKILL the other processes notice and end as well."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None

    def crash(self) -> None:
        """kill -9, then recovery."""
        self.end(signal.SIGKILL)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Every process of the server stands still: it keeps its connections and answers nothing."""
        assert self._process is not None
        parent = self._process.pid
        every = [parent, *map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())]
        for process in every:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in every:
                os.kill(process, signal.SIGCONT)

    def address(self, database: str) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"test_{uuid.uuid4().hex}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return self.address(name)

    def execute(self, database: str, statement: str) -> Any:
        """The first value of the first row, None where there is none."""
        address = database if "://" in database else self.address(database)
        with psycopg.connect(address, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None


@contextlib.contextmanager
def cluster(*, durable: bool = False) -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="pdoctor-postgresql-"))
    made = None
    try:
        made = Cluster(folder, durable=durable)
        yield made
    finally:
        if made is not None:
            made.end()
        shutil.rmtree(folder, ignore_errors=True)
