"""Results of policies counted by day, and indices that hold what figures over many runs ask for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

WIDER = {
    ("runs_project", "runs"): [
        "project", "first_seen", "id", "listed", "outcome", "agent", "release", "findings",
    ],
    ("findings_run", "findings"): ["run", "project", "rule", "tool"],
}  # fmt: skip


def upgrade() -> None:
    for (name, table), columns in WIDER.items():
        op.drop_index(name, table)
        op.create_index(name, table, columns)
    big, violated = sa.BigInteger().with_variant(sa.Integer(), "sqlite"), sa.text("verdict = 'violated'")
    op.create_index(
        "policy_results_violated", "policy_results", ["policy", "run"], sqlite_where=violated,
        postgresql_where=violated,
    )  # fmt: skip
    op.create_table(
        "policy_days",
        sa.Column("project", big, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.String, primary_key=True) for name in ("policy", "agent", "verdict")),
        sa.Column("runs", big, nullable=False),
        sqlite_with_rowid=False,
    )
    day = "first_seen / 86400" if op.get_bind().dialect.name == "sqlite" else "floor(first_seen / 86400)"
    op.execute(
        "INSERT INTO policy_days (project, day, policy, agent, verdict, runs) "
        f"SELECT project, CAST({day} AS INTEGER), policy, coalesce(agent, ''), verdict, count(*) "
        "FROM policy_results JOIN runs ON runs.id = policy_results.run WHERE listed IS NOT FALSE "
        "GROUP BY 1, 2, 3, 4, 5"
    )
