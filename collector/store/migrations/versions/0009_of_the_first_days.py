"""What stores of the first days lack: columns that their revision came to have later."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """`turns` is a cache that fills itself: an older one is made anew."""
    if "trouble" not in _columns("bindings"):
        op.add_column("bindings", sa.Column("trouble", sa.Text))
    if not {"calls", "size", "whole", "cut"} <= _columns("turns"):
        op.drop_table("turns")
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


def _columns(table: str) -> set[str]:
    return {str(column["name"]) for column in sa.inspect(op.get_bind()).get_columns(table)}
