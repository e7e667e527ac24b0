"""What every table is made of."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, MetaData, text

metadata = MetaData()
Big = BigInteger().with_variant(Integer(), "sqlite")


def partial(name: str, *columns: str, where: str) -> Index:
    """An index of the rows that fulfil `where` only: a run that is just arriving costs nothing in it."""
    on_sqlite = where.replace("FALSE", "0")  # as SQLAlchemy spells it there
    return Index(name, *columns, sqlite_where=text(on_sqlite), postgresql_where=text(where))
