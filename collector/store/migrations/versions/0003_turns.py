"""The runs of conversations as the other runs of them are judged by them: a cache that fills itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "turns",
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("needs", sa.String, nullable=False),
        sa.Column("stamp", sa.String, nullable=False),
        sa.Column("tells", sa.String, nullable=False),
        sa.Column("awaits", sa.Boolean, nullable=False),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("whole", sa.LargeBinary),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("cut", sa.Boolean, nullable=False, server_default=sa.false()),
    )
