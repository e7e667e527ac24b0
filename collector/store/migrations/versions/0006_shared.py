"""Big resources and scopes, kept once; segments so far have theirs in them and stay as they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "shared",
        sa.Column("project", big, primary_key=True),
        sa.Column("digest", sa.String, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "run_shared",
        sa.Column("project", big, primary_key=True),
        sa.Column("digest", sa.String, primary_key=True),
        sa.Column("run", big, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_index("run_shared_run", "run_shared", ["run"])
