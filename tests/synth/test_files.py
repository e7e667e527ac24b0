"""Files that somebody names: what is none of ours is told at once, and nothing of it is read without end."""

from __future__ import annotations

import os
import re
import resource
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.otlp.redaction import read_redaction
from collector.service import certificate_of, load_files
from collector.settings import Settings
from collector.store import open_store
from synth.cases import read_cases
from synth.errors import BadInput
from synth.files import content_of, text_of
from synth.policies import load_policies
from tests.support.traces import PATIENCE

HUGE = 1 << 30


def sparse(path: Path) -> None:
    """A file of 1 GiB that takes no room."""
    with path.open("wb") as file:
        file.truncate(HUGE)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "a pipe, no regular file"),
    "folder": (Path.mkdir, "a folder, no regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "a device, no regular file"),
    "link to itself": (lambda path: path.symlink_to(path), "cannot (be )?read"),
    "nothing": (lambda path: None, "cannot (be )?read"),
    "huge": (sparse, "MiB: this is no such file"),
}
READERS: dict[str, Callable[[Path], object]] = {
    "any": content_of,
    "text": text_of,
    "cases": read_cases,
    "policies": load_policies,
    "redaction": read_redaction,
    "certificate": lambda path: certificate_of(Settings(tls_cert=path)),
}


def said(read: Callable[[Path], object], path: Path) -> BaseException | None:
    """How it was refused, in a thread that a pipe may keep; None where it was not."""
    found: list[BaseException] = []

    def work() -> None:
        try:
            read(path)
        except BaseException as problem:
            found.append(problem)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE / 4)
    return found[0] if found else None


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_such_file_is_told(reader: str, odd: str, tmp_path: Path) -> None:
    make, why = ODD[odd]
    path = tmp_path / "file"
    make(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = said(READERS[reader], path)
    assert isinstance(refused, BadInput), refused
    assert re.search(why, str(refused))
    assert refused.file == str(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@pytest.mark.parametrize("odd", ["pipe", "device", "huge"])
def test_a_collector_says_so_of_its_policies(odd: str, tmp_path: Path) -> None:
    make, why = ODD[odd]
    make(tmp_path / "file")
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    try:
        refused = said(lambda path: load_files(store, 1, None, path, now=0.0), tmp_path / "file")
    finally:
        store.close()
    assert isinstance(refused, BadInput), refused
    assert re.search(why, str(refused))


def test_a_name_that_no_file_can_have_is_told(tmp_path: Path) -> None:
    for name in ("x" * 5_000, "a\0b"):
        with pytest.raises(BadInput, match="cannot be read"):
            content_of(tmp_path / name)


def test_a_file_of_all_that_it_may_have_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    assert content_of(path, 10) == b"x" * 10
    with pytest.raises(BadInput, match="split it"):
        content_of(path, 9)


def test_a_file_that_does_not_tell_its_size_is_bounded_too() -> None:
    """Those of /proc are regular and have 0 bytes for `stat`."""
    assert len(content_of(Path("/proc/self/status"))) > 100
    with pytest.raises(BadInput, match="split it"):
        content_of(Path("/proc/self/status"), 100)
