"""A store copied to a file while it is in use, and back: whole, of one instant, or not at all.

SQLite is copied by its own online backup, of one instant and without holding up a collector that writes.
PostgreSQL is copied by its own `pg_dump` and `pg_restore`, run with these arguments. A backup holds all
content and the hashes of the keys: the file can be read by its owner only.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.engine import URL

from collector.errors import BadStore
from collector.store.engine import REVISIONS, address_of, hold_file, open_store, read_only, shown

SQLITE, POSTGRESQL = b"SQLite format 3\0", b"PGDMP"
"""How the files of each begin."""


class Held(NamedTuple):
    """What a backup holds."""

    bytes: int
    """Size of its file."""
    runs: int | None = None
    spans: int | None = None
    """None where only PostgreSQL's own tools could tell."""


def back_up(url: str, file: Path, *, force: bool = False) -> Held:
    """Copy the store at `url` into `file`, which appears when it is whole. Raises BadStore."""
    address = address_of(url)
    if file.exists() and not force:
        raise BadStore(f"{file} exists", "choose another name, or replace it with --force")
    with _appearing(file) as part:
        if address.drivername == "sqlite":
            _copied(Path(str(address.database)), part)
        else:
            _ran(_dump(address, part), address)
    return held(file)


def restore(file: Path, url: str, *, force: bool = False) -> None:
    """Make the store at `url` what it was when `file` was made; it must be new or empty unless `force`.

    No collector may be using it. Raises BadStore.
    """
    address = address_of(url)
    kind, wanted = _kind_of(file), "sqlite" if address.drivername == "sqlite" else "postgresql"
    if kind != wanted:
        raise BadStore(f"{file} is a backup of {kind}, {shown(url)} is {wanted}", "name a store of its kind")
    if kind == "sqlite":
        _put_back(file, Path(str(address.database)), force=force)
    else:
        _ran(_undump(address, file, force=force), address)
    open_store(url).close()  # an older schema is brought up to date here, where somebody looks


def held(file: Path) -> Held:
    """What is in a file that `back_up` wrote."""
    size = file.stat().st_size
    if _kind_of(file) != "sqlite":
        return Held(size)
    with closing(read_only(file)) as copy:
        ((runs,),) = copy.execute("SELECT count(*) FROM runs")
        ((spans,),) = copy.execute("SELECT coalesce(sum(spans), 0) FROM segments")
    return Held(size, runs, spans)


# ---------------------------------------------------------------- SQLite


def _copied(source: Path, part: Path) -> None:
    if not source.is_file():
        raise BadStore(f"there is no store {source}", "name it with --store")
    try:
        with (
            closing(read_only(source)) as store,
            closing(sqlite3.connect(part)) as copy,
        ):
            store.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            _checked(copy, source)
    except sqlite3.Error as failure:
        raise BadStore(f"{source} cannot be copied: {failure}", "check the disk and the file") from None


def _put_back(file: Path, target: Path, *, force: bool) -> None:
    if target.exists() and target.stat().st_size and not force:
        raise BadStore(f"the store {target} exists", "name a new one, or replace it with --force")
    with closing(read_only(file)) as copy:
        _checked(copy, file)
    with _alone(target), _appearing(target) as part:
        shutil.copyfile(file, part)
    for log in ("-wal", "-shm"):  # of the store that was there
        Path(f"{target}{log}").unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """While no collector uses the store that is about to be replaced, and its log holds nothing."""
    held = hold_file(target) if target.exists() else None
    try:
        if held is not None:
            with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(target)) as old:
                old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield
    finally:
        if held is not None:
            held.close()


def _checked(copy: sqlite3.Connection, file: Path) -> None:
    """Raises BadStore where it is damaged, or no store, or one of a newer version."""
    try:
        found = copy.execute("PRAGMA quick_check(1)").fetchone()
        versions = [version for (version,) in copy.execute("SELECT version_num FROM alembic_version")]
    except sqlite3.Error as failure:
        raise BadStore(f"{file} is no backup of a store: {failure}", "use another backup") from None
    if found != ("ok",):
        raise BadStore(f"{file} is damaged: {found[0]}", "use another backup")
    unknown = [version for version in versions if version not in REVISIONS]
    if unknown:
        raise BadStore(
            f"{file} has schema {unknown[0]}, this version knows up to {REVISIONS[-1]}",
            "it was made by a newer pdoctor-trace: upgrade first",
        )


# ---------------------------------------------------------------- PostgreSQL


def _dump(address: URL, file: Path) -> list[str]:
    return ["pg_dump", "--format=custom", "--no-owner", f"--file={file}", _dbname(address)]


def _undump(address: URL, file: Path, *, force: bool) -> list[str]:
    replacing = ["--clean", "--if-exists"] if force else []
    return [
        "pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", *replacing,
        _dbname(address), str(file),
    ]  # fmt: skip


def _dbname(address: URL) -> str:
    a = address
    plain = URL.create("postgresql", a.username, None, a.host, a.port, a.database, a.query)
    return f"--dbname={plain.render_as_string(hide_password=False)}"


def _ran(command: Sequence[str], address: URL) -> None:
    """Run a tool of PostgreSQL. Raises BadStore with what it says, or how to run it where it is missing."""
    try:
        done = subprocess.run(command, env=_environment(address), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BadStore(
            f"{command[0]} is not installed here",
            f"install PostgreSQL's client tools, or run: {shlex.join(command)}",
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split())[-500:]
        raise BadStore(f"{command[0]} failed: {said}", f"it was run as: {shlex.join(command)}")


def _environment(address: URL) -> Mapping[str, str]:
    """The password is no argument, which every user of the machine could read."""
    return {**os.environ, **({"PGPASSWORD": str(address.password)} if address.password else {})}


# ---------------------------------------------------------------- files


@contextlib.contextmanager
def _appearing(file: Path) -> Iterator[Path]:
    """A file beside `file` that takes its place when everything is in it and on the disk."""
    part = Path(f"{file}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        _to_disk(part)
        part.replace(file)
        _to_disk(file.parent)
    except OSError as failure:
        raise BadStore(f"{file} cannot be written: {failure.strerror}", "choose another place") from None
    finally:
        part.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _kind_of(file: Path) -> str:
    with file.open("rb") as stream:
        begins = stream.read(len(SQLITE))
    if begins == SQLITE:
        return "sqlite"
    if begins.startswith(POSTGRESQL):
        return "postgresql"
    raise BadStore(f"{file} is no backup", "give a file that `pdoctor backup` wrote")
