"""The first schema; later revisions change it step by step."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: a new store is created at the newest revision, and none is older than this."""
