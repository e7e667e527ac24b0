"""A collector of one's own for the length of a command: `pdoctor serve` in a child process.

Run as a module it is that child: it serves until its standard input ends, so that it never outlives
whoever started it, however that one ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from collector.settings import READY
from synth.errors import SynthError

STOP_LIMIT = 15.0
"""Seconds that the collector gets to end in good order."""


@contextlib.contextmanager
def collector_process(store: Path, *options: str) -> Iterator[str]:
    """Run `pdoctor serve` on a free loopback port with its data in the file `store`; gives its URL."""
    serve = ["--http-port", "0", "--grpc-port", "off", "--store", f"sqlite:///{store}", *options]
    with tempfile.TemporaryFile() as complaints:
        # -P: a folder named `collector` where the user stands is not ours. A session of its own: an
        # interrupt at the terminal is for us, who end it when the last runs are in.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "collector.cli.embedded", *serve],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, start_new_session=True,
        )  # fmt: skip
        try:
            yield address(process, complaints)
        finally:
            stop(process)


def address(process: subprocess.Popen[bytes], complaints: IO[bytes]) -> str:
    """The URL in the line that `serve` prints once it takes spans."""
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
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()


def end_with_parent() -> None:
    """Ask this process to end as soon as nobody holds the other end of its standard input."""

    def wait() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="pdoctor parent", daemon=True).start()


if __name__ == "__main__":
    from collector.cli.serve import command

    end_with_parent()
    command.main(sys.argv[1:], prog_name="pdoctor serve")
