"""Older stores become what a new one is: the first schema as it was, brought to the newest step by step."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, select, text

from collector.store import counts, open_store, schema
from collector.store.engine import REVISIONS
from collector.store.migrations import upgrade
from tests.support.postgresql import Cluster
from tests.support.schemas import first_revision, shape


@pytest.fixture(params=["sqlite", "postgresql"])
def engines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """An empty database, and a store that was made at once."""
    if request.param == "sqlite":
        old, new = f"sqlite:///{tmp_path / 'old.db'}", f"sqlite:///{tmp_path / 'new.db'}"
    else:
        server: Cluster = request.getfixturevalue("postgresql")
        old, new = server.database(), server.database()
    made = open_store(new)
    engine = create_engine(old.replace("postgresql://", "postgresql+psycopg://"))
    yield engine, made.engine
    engine.dispose()
    made.close()


def test_the_migrations_lead_to_the_schema_of_the_code(engines: tuple[Engine, Engine]) -> None:
    old, new = engines
    first_revision(old)
    for revision in REVISIONS:
        upgrade(old, revision)
    assert REVISIONS[-1] == schema.HEAD
    assert shape(old) == shape(new)
    with old.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == schema.HEAD
        assert connection.execute(select(schema.seen_tools)).all() == [(1, "pay", "called", None)]
        assert counts.kept_of(connection) == {counts.Group(1, True, "", ""): (2, 0)}


def test_a_cache_of_an_older_form_is_made_anew(engines: tuple[Engine, Engine]) -> None:
    old, new = engines
    first_revision(old)
    upgrade(old, "0008")
    with old.connect() as connection:
        connection.execute(text("ALTER TABLE turns DROP COLUMN whole"))
        connection.commit()
    upgrade(old)
    assert shape(old) == shape(new)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_store_of_every_schema_there_was_opens_with_what_is_in_it(revision: str, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'old.db'}"
    engine = create_engine(address)
    first_revision(engine)
    upgrade(engine, revision)
    engine.dispose()
    opened, new = open_store(address), open_store(f"sqlite:///{tmp_path / 'new.db'}")
    assert shape(opened.engine) == shape(new.engine)
    with opened.read() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == schema.HEAD
        assert counts.kept_of(connection) == {counts.Group(1, True, "", ""): (2, 0)}
    opened.close()
    new.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'old.db'}"
    engine = create_engine(address)
    first_revision(engine)
    before = shape(engine)
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE shared (x)"))  # in the way of a later revision
        connection.commit()
    try:
        with pytest.raises(Exception, match="shared"):
            upgrade(engine)
    finally:
        with engine.connect() as connection:
            connection.execute(text("DROP TABLE shared"))
            connection.commit()
    assert shape(engine) == before
    upgrade(engine)
    engine.dispose()


def test_collectors_that_start_together_migrate_once(postgresql: Cluster) -> None:
    address = postgresql.database()
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    first_revision(engine)
    upgrade(engine, REVISIONS[0])
    with ThreadPoolExecutor(4) as several:
        for store in several.map(lambda _: open_store(address), range(4)):
            with store.read() as connection:
                found = connection.scalars(text("SELECT version_num FROM alembic_version")).all()
            assert found == [schema.HEAD]
            store.close()
    engine.dispose()
