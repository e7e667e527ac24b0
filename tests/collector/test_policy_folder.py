"""What lies in a folder of policies need not be a policy: nothing there keeps a collector waiting."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.service import load_files
from collector.store import catalog, open_store
from synth.errors import BadInput
from synth.files import TEXT_BYTES

POLICY = "actions: {a: a, b: b}\npolicies:\n  - {id: p, rule: a must happen before b.}\n"

ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "no regular file"),
    "folder": (Path.mkdir, "no regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "no regular file"),
    "link to itself": (lambda path: path.symlink_to(path), "no regular file"),
    "link to nothing": (lambda path: path.symlink_to("/nowhere"), "no regular file"),
    "not text": (lambda path: path.write_bytes(b"\xff\xfe"), "not UTF-8 text"),
    "too big": (lambda path: path.write_bytes(b"#" * (TEXT_BYTES + 1)), "no such file"),
}


def loaded(store_folder: Path, policies: Path) -> list[str]:
    store = open_store(f"sqlite:///{store_folder / 'store.db'}")
    try:
        load_files(store, 1, None, policies, now=0.0)
        with store.read() as connection:
            return sorted(row["name"] for row in catalog.active_policies(connection, 1))
    finally:
        store.close()


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_policy_file_is_named(odd: str, tmp_path: Path) -> None:
    make, why = ODD[odd]
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "a.yaml").write_text(POLICY)
    make(folder / "b.yaml")
    with pytest.raises(BadInput, match=why) as refusal:
        loaded(tmp_path, folder)
    assert refusal.value.file == str(folder / "b.yaml")


def test_a_link_to_a_policy_file_is_followed_and_other_names_are_left(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (tmp_path / "real.txt").write_text(POLICY)
    (folder / "a.yaml").symlink_to(tmp_path / "real.txt")
    os.mkfifo(folder / "b.txt")
    assert loaded(tmp_path, folder) == ["a"]
