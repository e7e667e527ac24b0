"""Schema changes, one file each in `versions`; run when an older store is opened."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

FOLDER = Path(__file__).parent


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the store to `revision` in one transaction: a failed migration leaves it as it was."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.commit()
