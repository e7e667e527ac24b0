"""Runs and spans of each project by outcome, counted once and kept from then on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "run_counts",
        sa.Column("project", big, primary_key=True),
        sa.Column("listed", sa.Integer, primary_key=True),
        sa.Column("outcome", sa.String, primary_key=True),
        sa.Column("error_type", sa.String, primary_key=True),
        sa.Column("runs", big, nullable=False),
        sa.Column("spans", big, nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO run_counts (project, listed, outcome, error_type, runs, spans) "
        "SELECT project, CASE WHEN listed IS NOT FALSE THEN 1 ELSE 0 END, coalesce(outcome, ''), "
        "coalesce(error_type, ''), count(*), coalesce(sum(spans), 0) FROM runs GROUP BY 1, 2, 3, 4"
    )
    op.drop_index("runs_counts", "runs")
