"""How many runs a search finds, and by what they could be told apart further."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from collector.store import reads, schema

COLUMNS = {"agent": "agent", "model": "model", "version": "release"}
"""Field of a search -> column of `runs`."""


@dataclass(frozen=True, slots=True)
class Facets:
    """Of the runs that a search finds."""

    runs: int
    by: Mapping[str, Counter[str]]
    """Field -> value -> runs that have it."""


def of_rows(rows: Iterable[Any]) -> Facets:
    """Of all runs, where these are all."""
    return _counted((*(row[name] for name in COLUMNS.values()), 1) for row in rows)


def of_store(connection: Connection, project: int, wanted: reads.Filter, most: int) -> Facets:
    """Of the newest `most` runs that pass a filter."""
    runs = schema.runs
    columns = [runs.c[name] for name in COLUMNS.values()]
    found = reads.matching(project, wanted).with_only_columns(*columns)
    some = found.order_by(runs.c.first_seen.desc()).limit(most).subquery()
    query = select(*some.c, func.count()).group_by(*some.c)
    return _counted(connection.execute(query))


def _counted(rows: Iterable[Any]) -> Facets:
    """Of rows that end with how many runs they stand for."""
    by: dict[str, Counter[str]] = {field: Counter() for field in COLUMNS}
    total = 0
    for *values, count in rows:
        total += count
        for field, value in zip(COLUMNS, values, strict=True):
            if value is not None:
                by[field][value] += count
    return Facets(total, by)
