"""Schema changes, one file each in `versions`; run when an older store is opened."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

LOCK = 7400771
"""Of PostgreSQL: whoever makes or changes the tables holds it."""
FOLDER = Path(__file__).parent


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the store to `revision` in one transaction: a failed migration leaves it as it was.

    Collectors that start together migrate one after the other, and all but the first find nothing to do.
    """
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.commit()
