"""Results of policies counted by day, runs and findings by six hours, and indices that hold what figures over
many runs ask for."""

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
COMPARED = [
    "project", "release", "first_seen", "id", "listed", "complete", "outcome", "case_id", "calls",
    "started_ns", "ended_ns",
]  # fmt: skip


def upgrade() -> None:
    for (name, table), columns in WIDER.items():
        op.drop_index(name, table)
        op.create_index(name, table, columns)
    known = sa.text("release IS NOT NULL")
    op.drop_index("runs_release", "runs")
    op.create_index("runs_release", "runs", COMPARED, sqlite_where=known, postgresql_where=known)
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
    stretches(big)


def stretches(big: sa.types.TypeEngine[int]) -> None:
    """Runs by what they came to, and findings, in stretches of six hours."""

    def key() -> list[sa.Column[int]]:
        kinds = {"project": big, "stretch": sa.Integer()}
        return [sa.Column(n, kind, primary_key=True, autoincrement=False) for n, kind in kinds.items()]

    op.create_table(
        "run_stretches",
        *key(),
        *(sa.Column(name, sa.String, primary_key=True) for name in ("agent", "release", "outcome")),
        sa.Column("runs", big, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "finding_stretches",
        *key(),
        *(sa.Column(name, sa.String, primary_key=True) for name in ("rule", "agent", "tool", "release")),
        *(sa.Column(name, big, nullable=False) for name in ("runs", "leads")),
        sa.Column("first", sa.Float),
        sa.Column("last", sa.Float),
        sa.Column("newest", big),
        sqlite_with_rowid=False,
    )
    unknown = sa.text("first IS NULL")
    op.create_index(
        "finding_stretches_unknown", "finding_stretches", ["project", "stretch"], sqlite_where=unknown,
        postgresql_where=unknown,
    )  # fmt: skip
    stretch = "first_seen / 21600"
    if op.get_bind().dialect.name != "sqlite":
        stretch = f"floor({stretch})"
    named = f"project, CAST({stretch} AS INTEGER)"
    agent, release = "coalesce(agent, '')", "coalesce(release, '')"
    op.execute(
        "INSERT INTO run_stretches (project, stretch, agent, release, outcome, runs) "
        f"SELECT {named}, {agent}, {release}, outcome, count(*) "
        "FROM runs WHERE listed IS NOT FALSE AND outcome IS NOT NULL GROUP BY 1, 2, 3, 4, 5"
    )
    op.execute(
        "INSERT INTO finding_stretches "
        "(project, stretch, rule, agent, tool, release, runs, leads, first, last, newest) "
        f"SELECT runs.{named}, rule, {agent}, coalesce(tool, ''), {release}, count(DISTINCT run), "
        "sum(CASE WHEN EXISTS (SELECT 1 FROM findings b WHERE b.run = findings.run "
        "AND b.rule = findings.rule AND b.id < findings.id) THEN 0 ELSE 1 END), "
        "min(first_seen), max(first_seen), max(findings.id) "
        "FROM runs JOIN findings ON findings.run = runs.id "
        "WHERE listed IS NOT FALSE AND runs.findings > 0 GROUP BY 1, 2, 3, 4, 5, 6"
    )
