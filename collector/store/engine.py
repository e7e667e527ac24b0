"""Opening a store: address, pragmas, schema version.

A store written by a newer version is refused before anything is touched: an old program that writes
into a new schema would corrupt it.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as NoConnection

from collector.errors import BadStore, CollectorError, Overloaded
from collector.store import leaving, schema
from collector.store.hung import PATIENT, Patience, Watched, watch
from collector.store.same_file import MARK, SameFile, file_of
from collector.store.turn import BUSY_SECONDS, at_once, begin
from synth.errors import MissingExtra

try:
    import fcntl
except ImportError:  # not on Windows: there nothing stops a second collector on one file
    fcntl = None  # type: ignore[assignment]

REVISIONS = tuple(f"{number:04}" for number in range(1, int(schema.HEAD) + 1))
"""Every schema revision this code knows, oldest first; the last is `schema.HEAD`."""


LONG_LOG_BYTES = 1024 * 1024
"""A longer log of SQLite is emptied when there is nothing else to do."""
OF_VALUES = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
"""Failures that lie in what was written, or in our statement: trying again would end the same way."""


class Store:
    """One open store; connections are taken from it for one transaction each."""

    def __init__(self, engine: Engine, watched: Watched, same: SameFile | None = None) -> None:
        """`same` is the file of SQLite."""
        self.engine, self.watched, self.same = engine, watched, same
        self.sqlite = engine.dialect.name == "sqlite"
        self._held: IO[bytes] | None = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading one consistent state.

        Raises Overloaded where the database is away, and Left where nobody waits for the answer any more.
        """
        try:
            with self._connected() as connection, leaving.served(connection):
                if self.sqlite:
                    connection.exec_driver_sql("BEGIN")
                else:
                    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield connection
        except ProgrammingError:
            raise
        except (DBAPIError, NoConnection) as failure:
            raise refusal("cannot be read", failure) from failure

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction; leaving the block commits.

        Raises Overloaded where the database is away or full, and one of `OF_VALUES` as it is.
        """
        try:
            with self._connected() as connection:
                if self.sqlite:
                    with self.watched.waiting():
                        begin(connection)
                yield connection
                with self.watched.waiting():
                    connection.commit()
                if self.same is not None:
                    self.same.check()  # or what was written may be where nobody finds it
        except OF_VALUES:
            raise
        except (DBAPIError, NoConnection) as failure:
            raise refusal("refuses to write", failure) from failure

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        if self.watched.hung:
            raise Overloaded("the database does not answer", "check the database", retry_after=5)
        if self.same is not None:
            self.same.check()
        with self.watched.checking():
            connection = self.engine.connect()
        with connection:
            yield connection

    def upsert(self, table: Any) -> Any:
        """`INSERT` with `on_conflict_*` in the dialect of this store."""
        return sqlite.insert(table) if self.sqlite else postgresql.insert(table)

    @property
    def address(self) -> str:
        """Where other processes open this very store, and no file that was put in its place."""
        marked = self.engine.url
        if self.same is not None:
            marked = marked.set(database=self.same.path).update_query_dict({MARK: str(self.same.mark)})
        return marked.render_as_string(hide_password=False)

    @property
    def file(self) -> Path | None:
        """The database file of SQLite, by the one name that no symbolic link has given it."""
        return Path(self.same.path) if self.same is not None else None

    def hold(self) -> None:
        """Be the only collector on an SQLite file until `close`, or the end of this process; raises BadStore.

        A second one would take away the runs that the first is judging. PostgreSQL takes any number.
        """
        if self.file is None:
            return
        if self.file.stat().st_nlink > 1:
            raise BadStore(
                f"{self.file} has several names (hard links)",
                "SQLite keeps a log beside each name, which breaks the file: remove the others, or copy it",
            )
        self._held = hold_file(self.file)

    @property
    def has_long_log(self) -> bool:
        """Has SQLite's log the length of a busy moment?"""
        return self.file is not None and _size(Path(f"{self.file}-wal")) >= LONG_LOG_BYTES

    def shorten_log(self) -> None:
        """Empty SQLite's log into the file where it is long; left for later where somebody is at it.

        It keeps the length of the busiest moment otherwise. Nobody has to wait for more than its last pages.
        """
        if not self.has_long_log:
            return
        in_use = suppress(sqlite3.OperationalError)  # or the disk is full, which the next commit tells
        with self._connected() as connection, at_once(connection) as driver, in_use:
            for how in ("PASSIVE", "TRUNCATE"):  # the first lets others write meanwhile
                driver.execute(f"PRAGMA wal_checkpoint({how})")

    def close(self) -> None:
        self.engine.dispose()
        if self._held is not None:
            self._held.close()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def hold_file(file: Path) -> IO[bytes] | None:
    """The lock of the one who serves an SQLite file, until closed. Raises BadStore where it is taken."""
    if fcntl is None:
        return None
    held = Path(f"{file}-lock").open("ab+")  # noqa: SIM115 (held as long as the store is open)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.seek(0)
        holder = held.read(20).decode("ascii", "replace").strip()
        held.close()
        raise BadStore(
            f"another collector (process {holder or 'unknown'}) uses {file}",
            "stop it, use another file, or use PostgreSQL for several collectors",
        ) from None
    held.truncate(0)
    held.write(str(os.getpid()).encode())
    held.flush()
    return held


def refusal(what: str, failure: DBAPIError | NoConnection) -> Overloaded:
    """What the sender is told; one line, without the statement and its values."""
    reason = failure.orig if isinstance(failure, DBAPIError) else "all its connections are busy"
    said = " ".join(str(reason).split())
    return Overloaded(f"the store {what}: {said}", "free disk space or check the database", retry_after=5)


def open_store(url: str, *, durable: bool = True, patience: Patience = PATIENT) -> Store:
    """Open (and create or migrate) the store at `url`, `sqlite:///FILE` or `postgresql://...`.

    `durable=False` is for writers whose commits can be recomputed (verdicts): on SQLite they do not
    wait for the disk. Raises BadStore.
    """
    watched, address = Watched(patience), address_of(url)
    same = file_of(address) if address.drivername == "sqlite" else None
    store = Store(_engine(address, durable, watched), watched, same)
    try:
        if store.same is not None:
            store.same.check()
        _prepare(store, url)
        watched.unbounded = False
        if store.same is not None:
            store.same.remember()
        if not store.sqlite:
            store.engine.dispose()  # what was opened until now knows no limits
    except (DBAPIError, sqlite3.Error) as failure:
        store.close()
        said = " ".join(str(failure.orig if isinstance(failure, DBAPIError) else failure).split())
        why = why_not(store.file) or said
        raise BadStore(f"cannot open the store {shown(url)}: {why}", "check the address") from failure
    except CollectorError:
        store.close()
        raise
    return store


def project_id(store: Store, name: str) -> int:
    """The id of a project, made if it is new."""
    projects = schema.projects
    with store.read() as connection:
        found = connection.scalar(select(projects.c.id).where(projects.c.name == name))
    if found is not None:
        return int(found)
    with store.write() as connection:
        connection.execute(store.upsert(projects).values(name=name).on_conflict_do_nothing())
        return int(connection.scalar(select(projects.c.id).where(projects.c.name == name)) or 0)


PAGE_BYTES = 1024
"""Of a new SQLite file: a segment fills its last page by half, on average."""
LOG_BYTES = 16 * 1024 * 1024
"""Of its log, until SQLite tries to write it into the file."""
EXPECTED = "use sqlite:///FILE or postgresql://USER@HOST/DB"
LOST_CONNECTION = {"keepalives_idle": 30, "tcp_user_timeout": 30_000}
"""Of libpq: a database that is gone without a word is noticed within half a minute."""


def address_of(url: str) -> URL:
    """The address of a store, read; `drivername` is `sqlite` for a file of SQLite. Raises BadStore."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise BadStore(f"{shown(url)} is no store address", EXPECTED) from None
    if parsed.drivername == "sqlite" and parsed.database and parsed.database != ":memory:":
        return parsed
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return parsed
    raise BadStore(f"{shown(url)} is no store address", EXPECTED)


def real_address(url: str) -> str:
    """The address of a store by which it is found again whatever becomes of a link to it. Raises BadStore."""
    parsed = address_of(url)
    if parsed.drivername != "sqlite" or not parsed.database:
        return url
    return parsed.set(database=os.path.realpath(parsed.database)).render_as_string(hide_password=False)


def _engine(parsed: URL, durable: bool, watched: Watched) -> Engine:
    return _sqlite(parsed, durable) if parsed.drivername == "sqlite" else _postgresql(parsed, watched)


def _postgresql(parsed: URL, watched: Watched) -> Engine:
    try:
        engine = create_engine(
            parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True, connect_args=LOST_CONNECTION,
            hide_parameters=True, pool_timeout=watched.patience.answer,
        )  # fmt: skip
        watch(engine, watched)
        return engine
    except ImportError:
        raise MissingExtra("a PostgreSQL store", "scale") from None


def _sqlite(parsed: URL, durable: bool) -> Engine:
    assert parsed.database
    file = Path(parsed.database)
    try:
        exists = file.parent.is_dir()
        file.exists()
    except OSError as failure:
        raise BadStore(f"{shown(str(parsed))} is no store address: {failure.strerror}", EXPECTED) from None
    if not exists:
        raise BadStore(f"the folder {file.parent} of the store does not exist", "create it first")
    engine = create_engine(
        parsed.difference_update_query([MARK]),
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        hide_parameters=True,  # a failure's text goes to the log, what people sent does not
    )

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # BEGIN is ours: a write transaction must take its lock at once
        if connection.execute("PRAGMA page_count").fetchone() == (0,):
            # both have to come first
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # writes to the file
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {'FULL' if durable else 'NORMAL'}",
            "cache_size = -4000",
            f"wal_autocheckpoint = {LOG_BYTES // PAGE_BYTES}",
            "journal_size_limit = 67108864",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def why_not(file: Path | None) -> str | None:
    """What is wrong with a file that SQLite cannot open, where that can be said better than SQLite does."""
    try:
        if file is None:
            return None
        if file.is_dir():
            return "it is a folder"
        if file.exists() and not may(file, os.R_OK | os.W_OK):
            return "no permission to read and write the file"
        if not may(file.parent, os.W_OK | os.X_OK):
            return "no permission to write to its folder"
    except OSError as failure:
        return failure.strerror
    return None


def may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _prepare(store: Store, url: str) -> None:
    tables, versions = _found(store)
    if versions == (schema.HEAD,):
        missing = sorted(set(schema.metadata.tables) - tables)
        if missing:
            raise BadStore(
                f"the store {shown(url)} is damaged: the table {missing[0]} is missing", "restore a backup"
            )
        return
    unknown = [version for version in versions if version not in REVISIONS]
    if unknown:
        raise BadStore(
            f"the store {shown(url)} has schema {unknown[0]}, this version knows up to {schema.HEAD}",
            "it was written by a newer pdoctor-trace: upgrade, or restore a backup of before",
        )
    if tables and not versions:
        raise BadStore(f"{shown(url)} holds other tables", "use a file or database of its own")
    if not tables:
        _create(store)
    else:
        from collector.store.migrations import upgrade  # alembic is slow to import and rarely needed

        upgrade(store.engine)


def _found(store: Store) -> tuple[set[str], tuple[str, ...]]:
    """(tables, schema versions) of what is there; an SQLite file is not changed by looking."""
    if store.file is not None and not (store.file.exists() and store.file.stat().st_size):
        return set(), ()
    looking = _looking_at(store.file) if store.file is not None else store.engine
    try:
        with looking.connect() as connection:
            tables = set(inspect(connection).get_table_names())
            if "alembic_version" not in tables:
                return tables, ()
            return tables, tuple(connection.scalars(text("SELECT version_num FROM alembic_version")))
    finally:
        if looking is not store.engine:
            looking.dispose()


def _looking_at(file: Path) -> Engine:
    return create_engine("sqlite://", creator=lambda: read_only(file))


def read_only(file: Path) -> sqlite3.Connection:
    """An SQLite file that looking at does not change."""
    return sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=15)


def _create(store: Store) -> None:
    """All tables at once; two collectors that start together on one database do not collide."""
    with store.engine.connect() as connection:
        if store.sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(7400771)"))  # that of migrations, too
        if "alembic_version" not in inspect(connection).get_table_names():
            schema.metadata.create_all(connection)
            connection.execute(
                text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
            )
            connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": schema.HEAD})
            connection.execute(insert(schema.projects).values(name="default"))
        connection.commit()


def shown(url: str) -> str:
    """The address without its password, also where it is none."""
    try:
        shown = make_url(url).difference_update_query([MARK]).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        shown = repr(re.sub(r"//[^/@]*@", "//...@", url))
    return shown if len(shown) <= 200 else shown[:197] + "..."
