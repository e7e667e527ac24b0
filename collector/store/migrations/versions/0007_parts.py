"""Runs that wait for somebody, and runs of several parts: when they count as heard of last."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("runs", sa.Column("heard", sa.Float))
