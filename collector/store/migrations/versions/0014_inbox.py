"""What people say of findings, saved views, alerts, and what a run was asked and for whom."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def key(name: str, kind: sa.types.TypeEngine[int] | sa.types.TypeEngine[str]) -> sa.Column[int | str]:
    return sa.Column(name, kind, primary_key=True)


def said(name: str, kind: sa.types.TypeEngine[str] | sa.types.TypeEngine[float]) -> sa.Column[str | float]:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    op.add_column("runs", sa.Column("title", sa.String))
    op.add_column("runs", sa.Column("person", sa.String))
    known = sa.text("person IS NOT NULL")
    columns = ["project", "person", "id"]
    op.create_index("runs_person", "runs", columns, sqlite_where=known, postgresql_where=known)
    op.create_table(
        "finding_groups",
        key("project", BIG),
        *(key(name, sa.String()) for name in ("rule", "agent", "tool")),
        said("state", sa.String()),
        *(sa.Column(name, sa.String) for name in ("owner", "severity", "reason")),
        sa.Column("until", sa.Float),
        sa.Column("version", sa.String),
        said("actor", sa.String()),
        said("at", sa.Float()),
    )
    op.create_table(
        "labels",
        key("project", BIG),
        *(key(name, sa.String()) for name in ("run", "rule")),
        said("label", sa.String()),
        sa.Column("note", sa.String),
        said("actor", sa.String()),
        said("at", sa.Float()),
    )
    op.create_table(
        "views", key("project", BIG), key("name", sa.String()), said("query", sa.String()),
        said("at", sa.Float()),
    )  # fmt: skip
    op.create_table(
        "alert_rules",
        sa.Column("id", BIG, primary_key=True, autoincrement=True),
        sa.Column("project", BIG, sa.ForeignKey("projects.id"), nullable=False),
        said("name", sa.String()),
        said("body", sa.Text()),
        sa.Column("active", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.Float) for name in ("silenced", "firing", "looked")),
        sa.Column("said", sa.Text),
        said("at", sa.Float()),
    )
    op.create_table(
        "alert_deliveries",
        sa.Column("id", BIG, primary_key=True, autoincrement=True),
        sa.Column("project", BIG, nullable=False),
        sa.Column("alert", BIG, sa.ForeignKey("alert_rules.id"), nullable=False),
        said("at", sa.Float()),
        said("kind", sa.String()),
        said("body", sa.Text()),
        sa.Column("due", sa.Float),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("status", sa.String),
    )
    due = sa.text("due IS NOT NULL")
    op.create_index(
        "alert_deliveries_due", "alert_deliveries", ["due"], sqlite_where=due, postgresql_where=due
    )
