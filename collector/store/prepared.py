"""Statements of the hot path: written with SQLAlchemy, compiled once, then handed to the driver as text.

SQLAlchemy's own work for each execution and row costs more than SQLite's. Errors are still its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import any_, bindparam, column, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

Row = Mapping[str, Any]


class Prepared:
    """One statement; `build` writes it, for SQLite if its argument is true, else for PostgreSQL."""

    def __init__(self, build: Callable[[bool], Any]) -> None:
        self._build = build
        self._ready: dict[str, tuple[str, Callable[[Row], Any]]] = {}

    def run(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Execute once for each row of parameters."""
        if rows:
            text, values = self._text(connection)
            connection.exec_driver_sql(text, [values(row) for row in rows])

    def ask(self, connection: Connection, **parameters: Any) -> Sequence[Any]:
        """The rows that a query, or a statement with RETURNING, gives: plain values of the driver."""
        text, values = self._text(connection)
        return connection.exec_driver_sql(text, values(parameters)).all()

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
