"""Until when an API key works, where it ends by itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("expires", sa.Float))
