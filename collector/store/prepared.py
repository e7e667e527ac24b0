"""Statements of the hot path: written with SQLAlchemy, compiled once, then handed to the driver as text.

SQLAlchemy's own work for each execution and row costs more than SQLite's, whose driver is asked directly.
Errors are still SQLAlchemy's errors.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import any_, bindparam, column, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

Row = Mapping[str, Any]


class Prepared:
    """One statement; `build` writes it, for SQLite if its argument is true, else for PostgreSQL."""

    def __init__(self, build: Callable[[bool], Any]) -> None:
        self._build = build
        self._ready: dict[str, tuple[str, Callable[[Row], Any]]] = {}

    def run(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Execute once for each row of parameters."""
        if not rows:
            return
        text, values = self._text(connection)
        several = [values(row) for row in rows]
        if connection.dialect.name != "sqlite":
            connection.exec_driver_sql(text, several)
            return
        try:
            driver_of(connection).executemany(text, several)
        except sqlite3.Error as failure:
            raise as_usual(connection, text, failure) from failure

    def ask(self, connection: Connection, **parameters: Any) -> Sequence[Any]:
        """The rows that a query, or a statement with RETURNING, gives: plain values of the driver."""
        text, values = self._text(connection)
        if connection.dialect.name != "sqlite":
            return connection.exec_driver_sql(text, values(parameters)).all()
        try:
            return driver_of(connection).execute(text, values(parameters)).fetchall()
        except sqlite3.Error as failure:
            raise as_usual(connection, text, failure) from failure

    def _text(self, connection: Connection) -> tuple[str, Callable[[Row], Any]]:
        dialect = connection.dialect
        if dialect.name not in self._ready:
            made = self._build(dialect.name == "sqlite").compile(dialect=dialect)
            fixed = {name: value for name, value in made.params.items() if value is not None}
            names = made.positiontup
            values: Callable[[Row], Any] = dict if names is None else in_order(names)
            self._ready[dialect.name] = (
                str(made),
                (lambda row: values({**fixed, **row})) if fixed else values,
            )
        return self._ready[dialect.name]


def driver_of(connection: Connection) -> sqlite3.Connection:
    """What SQLAlchemy's connection to an SQLite file stands for."""
    found: Any = connection.connection.dbapi_connection
    assert isinstance(found, sqlite3.Connection)
    return found


def as_usual(connection: Connection, statement: str, failure: sqlite3.Error) -> BaseException:
    """The error of SQLAlchemy for one of the driver; the values of the statement are not in it."""
    return DBAPIError.instance(
        statement, None, failure, sqlite3.Error, hide_parameters=True, dialect=connection.dialect
    )


def in_order(names: Sequence[str]) -> Callable[[Row], tuple[Any, ...]]:
    """Reads these values of a row, as a tuple."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda row: tuple(row[name] for name in names)


def insertion(on_sqlite: bool, table: Any, *columns: str) -> Any:
    """`INSERT` with one parameter for each of the columns; can have `on_conflict_*`."""
    statement = sqlite.insert(table) if on_sqlite else postgresql.insert(table)
    return statement.values({name: bindparam(name) for name in columns})


def among(on_sqlite: bool, field: Any, name: str) -> Any:
    """`field` is one of the parameter `name`, which `several` makes of any number of values."""
    if not on_sqlite:
        return field == any_(bindparam(name, type_=ARRAY(field.type)))
    values = func.json_each(bindparam(name)).table_valued(column("value"))
    return field.in_(select(values.c.value))


def several(connection: Connection, values: Sequence[int] | Sequence[str]) -> Any:
    """The value of a parameter that stands for several."""
    return orjson.dumps(values).decode() if connection.dialect.name == "sqlite" else list(values)
