"""Campaigns, and their results as they come."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def count(name: str, kind: sa.types.TypeEngine[int]) -> sa.Column[int]:
    return sa.Column(name, kind, nullable=False, server_default=sa.text("0"))


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", BIG, primary_key=True, autoincrement=True),
        sa.Column("project", BIG, sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("last_seen", sa.Float, nullable=False),
        sa.Column("verb", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        *(count(name, sa.Integer()) for name in ("runs", "passed", "failed", "errors")),
        count("size", BIG),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("report", sa.Text),
        sa.UniqueConstraint("project", "key"),
    )
    op.create_table(
        "campaign_results",
        sa.Column("id", BIG, primary_key=True, autoincrement=True),
        sa.Column("campaign", BIG, sa.ForeignKey("campaigns.id"), nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("campaign", "key"),
    )
