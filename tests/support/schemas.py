"""Schemas of stores as they were.

`first_schema_*.sql` is the schema of revision 0001, in the words of each database, and never changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, MetaData, create_engine, insert, inspect, text

from collector.store import schema
from collector.store.migrations import upgrade

SCHEMAS = Path(__file__).parent.parent / "collector" / "store"


def first_revision(engine: Engine) -> None:
    statements = (SCHEMAS / f"first_schema_{engine.dialect.name}.sql").read_text().split(";\n")
    with engine.connect() as connection:
        for statement in filter(None, statements):
            connection.execute(text(statement))
        connection.execute(text("INSERT INTO projects (id, name) VALUES (1, 'default')"))
        columns = "id, project, key, first_seen, last_seen, version, checked, attempts, spans"
        for row in (1, 2):
            values = f"{row}, 1, '{row}', 0, 0, 1, 0, 0, 0"
            connection.execute(text(f"INSERT INTO runs ({columns}) VALUES ({values})"))
            connection.execute(insert(schema.run_tools).values(run=row, tool="pay"))
        connection.commit()


def shape(engine: Engine) -> dict[str, Any]:
    found = inspect(engine)
    return {
        table: {
            "columns": {c["name"]: (str(c["type"]), c["nullable"]) for c in found.get_columns(table)},
            "key": found.get_pk_constraint(table)["constrained_columns"],
            "indexes": {str(i["name"]): i["column_names"] for i in found.get_indexes(table)},
        }
        for table in found.get_table_names()
        if table != "alembic_version"
    }


def take_back(engine: Engine, revision: str, folder: Path) -> None:
    """Take out of a store what revisions after this one brought; rows stay as they are."""
    older = create_engine(f"sqlite:///{folder / 'older.db'}")
    first_revision(older)
    upgrade(older, revision)
    was, now = shape(older), shape(engine)
    older.dispose()
    newer = MetaData()
    newer.reflect(engine, only=sorted(now.keys() - was.keys()))
    with engine.begin() as connection:
        for table in was:
            before, after = was[table]["indexes"], now[table]["indexes"]
            for index in inspect(engine).get_indexes(table):
                name = index["name"]
                if "duplicates_constraint" not in index and before.get(name) != after[name]:
                    connection.execute(text(f"DROP INDEX {name}"))
            for name in now[table]["columns"].keys() - was[table]["columns"].keys():
                connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {name}"))
            for name in (name for name in before if before[name] != after.get(name)):
                columns = ", ".join(before[name])
                connection.execute(text(f"CREATE INDEX {name} ON {table} ({columns})"))
        for table in reversed(newer.sorted_tables):
            if table.name not in was:
                table.drop(connection)
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
