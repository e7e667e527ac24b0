"""What made a run: version, prompt and environment, each with an index of the runs that say it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

COLUMNS = ("release", "prompt", "environment")


def upgrade() -> None:
    for name in COLUMNS:
        op.add_column("runs", sa.Column(name, sa.String))
        said = sa.text(f"{name} IS NOT NULL")
        op.create_index(
            f"runs_{name}", "runs", ["project", name, "first_seen"], sqlite_where=said, postgresql_where=said
        )
