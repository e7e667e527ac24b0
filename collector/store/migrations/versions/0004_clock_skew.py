"""How far two clocks of a project's machines may differ, where it is not what the collector assumes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("projects", sa.Column("clock_skew_ms", sa.Float))
