"""`pdoctor open`, and the stores that commands keep."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.cli.open import command, store_of
from synth.errors import BadInput
from synth.kept import MOST, look, new_store, stores


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PDOCTOR_CACHE", str(tmp_path))
    return tmp_path


def keep(name: str, age: float = 0) -> Path:
    path = new_store().with_name(f"{name}.db")
    path.touch()
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def test_the_newest_stores_are_kept_and_the_others_go_with_all_their_files() -> None:
    for age in range(MOST + 3):
        path = keep(f"s{age}", age)
        path.with_name(f"{path.name}-wal").touch()
    made = new_store()
    assert len(stores()) == MOST - 1, "with the new one there are as many as are kept"
    assert stores()[0].stem == "s0"
    left = {path.name for path in made.parent.iterdir()}
    assert {f"s{MOST - 2}.db-wal", f"s{MOST - 2}.db"} <= left
    assert not {name for name in left if name.startswith(f"s{MOST - 1}.")}


def test_the_newest_is_opened_unless_one_is_named() -> None:
    new, old = keep("new"), keep("old", 5)
    assert (store_of("latest"), store_of("old")) == (new, old)
    assert CliRunner().invoke(command, ["--list"]).output == "new\nold\n"
    with pytest.raises(BadInput, match="no store 'odd' is kept"):
        store_of("odd")


def test_where_nothing_is_kept_that_is_said(cache: Path) -> None:
    said = CliRunner().invoke(command, [])
    assert (said.exit_code, said.output.count(str(cache))) == (2, 1)


def test_where_to_look_is_a_page_or_the_command_that_shows_it() -> None:
    assert look("http://x", None, "r") == "http://x/runs/r"
    assert look("http://x", Path("a/b.db"), "r") == "pdoctor open b/r"
    assert look("http://x", Path("a/b.db")) == "pdoctor open b"


@pytest.mark.heavy
def test_the_pages_of_a_store_are_served(cache: Path) -> None:
    path = new_store()
    verb = (sys.executable, "-m", "pdoctor_trace", "open")
    path.touch()
    process = subprocess.Popen([*verb, path.stem], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("Look: ").strip()
        with urllib.request.urlopen(address, timeout=30) as page:
            assert b"pdoctor demo" in page.read()
    finally:
        process.terminate()
        process.communicate()
