"""The names of tools that runs show, and the results that wait for one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

UNSUPPORTED = sa.text("verdict = 'unsupported'")


def upgrade() -> None:
    """Calls of the runs so far are known by `run_tools`; what they were offered, later runs will tell."""
    op.create_table(
        "seen_tools",
        sa.Column("project", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("tool", sa.String, primary_key=True),
        sa.Column("how", sa.String, primary_key=True),
        sa.Column("owed", sa.BigInteger().with_variant(sa.Integer(), "sqlite")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "policy_results_unsupported",
        "policy_results",
        ["policy", "run"],
        sqlite_where=UNSUPPORTED,
        postgresql_where=UNSUPPORTED,
    )
    op.execute(
        "INSERT INTO seen_tools (project, tool, how) SELECT DISTINCT runs.project, run_tools.tool, 'called' "
        "FROM run_tools JOIN runs ON runs.id = run_tools.run WHERE length(run_tools.tool) <= 500"
    )
