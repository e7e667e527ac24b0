"""How many tokens a run took; of runs that were judged before it is not known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("runs", sa.Column("tokens", sa.BigInteger))
