"""The real collector beside a test of the tracer."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def pdoctor() -> str:
    """The command, beside this Python."""
    program = shutil.which("pdoctor", path=str(Path(sys.executable).parent))
    assert program, "the pdoctor command is not installed beside this Python"
    return program


class Collector:
    """`pdoctor serve` as a process of its own."""

    def __init__(
        self, store: Path | str, port: int = 0, *more: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """`store`: a file of SQLite, or an address; `more` options of `pdoctor serve`."""
        url = store if isinstance(store, str) else f"sqlite:///{store}"
        options = ["--http-port", str(port), "--grpc-port", "off", "--store", url, *more]
        self.process = subprocess.Popen(
            [pdoctor(), "serve", *options], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("pdoctor collector ready at "):
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"the collector did not start: {line!r}")
        self.url = line.rpartition(" ")[2].strip()
        self.port = int(self.url.rpartition(":")[2])

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", timeout=30) as answer:
            return json.load(answer)

    def spans(self) -> int:
        """Spans of all runs, once each has been looked at: that follows the storing."""
        deadline = time.monotonic() + 240
        while True:
            found = self.get("stats")
            if found["unchecked"] == 0 or time.monotonic() > deadline:
                return int(found["spans"])
            time.sleep(0.5)

    def end(self) -> None:
        """In good order."""
        self.process.terminate()
        self.process.communicate(timeout=120)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.communicate()


@contextlib.contextmanager
def collector(store: Path, port: int = 0) -> Iterator[Collector]:
    started = Collector(store, port)
    try:
        yield started
    finally:
        started.kill()
