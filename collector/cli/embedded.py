"""A collector of one's own for the length of a command: `pdoctor serve` in a child process."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from synth.errors import SynthError

STOP_LIMIT = 15.0
"""Seconds that the collector gets to end in good order."""


@contextlib.contextmanager
def collector_process(store: Path, *options: str) -> Iterator[str]:
    """Run `pdoctor serve` on a free loopback port with its data in the file `store`; gives its URL."""
    serve = ["serve", "--http-port", "0", "--grpc-port", "off", "--store", f"sqlite:///{store}", *options]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", "pdoctor_trace", *serve], stdout=subprocess.PIPE, stderr=complaints
        )
        try:
            yield address(process, complaints)
        finally:
            stop(process)


def address(process: subprocess.Popen[bytes], complaints: IO[bytes]) -> str:
    """The URL in the line that `serve` prints once it takes spans."""
    from collector.app import READY

    assert process.stdout is not None
    for line in process.stdout:
        _, mark, url = line.decode().partition(READY)
        if mark:
            return url.strip()
    complaints.seek(0)
    raise SynthError(f"the collector did not start: {complaints.read().decode(errors='replace').strip()}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the collector in good order, by force when it does not want to."""
    process.terminate()
    try:
        process.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
