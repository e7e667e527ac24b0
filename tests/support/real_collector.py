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
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Collector:
    """`pdoctor serve` as a process of its own."""

    def __init__(self, store: Path, port: int = 0) -> None:
        program = shutil.which("pdoctor", path=str(Path(sys.executable).parent))
        assert program, "the pdoctor command is not installed beside this Python"
        options = ["--http-port", str(port), "--grpc-port", "off", "--store", f"sqlite:///{store}"]
        self.process = subprocess.Popen([program, "serve", *options], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("pdoctor collector ready at "), line
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
