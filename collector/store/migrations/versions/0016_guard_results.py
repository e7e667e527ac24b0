"""What guards decided, by run and rule; of runs that were judged before nothing is told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "guard_results",
        sa.Column("run", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        *(sa.Column(name, sa.String, primary_key=True) for name in ("policy", "decision")),
        sqlite_with_rowid=False,
    )
    op.create_index("guard_results_policy", "guard_results", ["policy", "run"])
