"""Alembic's entry: always on the connection that `upgrade` opened."""

from __future__ import annotations

from alembic import context

from collector.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
