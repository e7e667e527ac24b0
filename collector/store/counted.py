"""Counters that each commit keeps, so that nothing is counted when it is asked for."""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, String, Table

from collector.store.tables import Big, metadata, partial

run_counts = Table(
    "run_counts",
    metadata,
    Column("project", Big, primary_key=True, autoincrement=False),
    Column("listed", Integer, primary_key=True),
    Column("outcome", String, primary_key=True),
    Column("error_type", String, primary_key=True),
    Column("runs", Big, nullable=False),
    Column("spans", Big, nullable=False),
    sqlite_with_rowid=False,
)

# How often policies came to what on a day (UTC, since 1970), in listed runs, and how often guards decided
# what by them; `collector.store.counts`.
policy_days = Table(
    "policy_days",
    metadata,
    Column("project", Big, primary_key=True, autoincrement=False),
    Column("day", Integer, primary_key=True),
    Column("policy", String, primary_key=True),
    Column("agent", String, primary_key=True),
    Column("verdict", String, primary_key=True),
    Column("runs", Big, nullable=False),
    sqlite_with_rowid=False,
)

# What listed runs came to, and what they broke, in a stretch of time; `collector.store.stretches`.
run_stretches = Table(
    "run_stretches",
    metadata,
    Column("project", Big, primary_key=True, autoincrement=False),
    Column("stretch", Integer, primary_key=True, autoincrement=False),
    Column("agent", String, primary_key=True),
    Column("release", String, primary_key=True),
    Column("outcome", String, primary_key=True),
    Column("runs", Big, nullable=False),
    sqlite_with_rowid=False,
)

finding_stretches = Table(
    "finding_stretches",
    metadata,
    Column("project", Big, primary_key=True, autoincrement=False),
    Column("stretch", Integer, primary_key=True, autoincrement=False),
    Column("rule", String, primary_key=True),
    Column("agent", String, primary_key=True),
    Column("tool", String, primary_key=True),
    Column("release", String, primary_key=True),
    Column("runs", Big, nullable=False),
    Column("leads", Big, nullable=False),
    Column("first", Float),
    Column("last", Float),
    Column("newest", Big),
    partial("finding_stretches_unknown", "project", "stretch", where="first IS NULL"),
    sqlite_with_rowid=False,
)
