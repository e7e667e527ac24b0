"""How long a project keeps runs that failed, where that is longer than it keeps others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("projects", sa.Column("failed_retention_days", sa.Float))
