"""The one schema, for SQLite and PostgreSQL. Times are arrival times (Unix seconds) unless named `_ns`.

A run's row is also its place in the work queue: `due` is when a checker shall look at it next (NULL =
nothing to do), `lease` until when a checker holds it, `version` grows with every arrival, so that a
verdict computed from fewer spans never hides later ones.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from collector.store.counted import finding_stretches, policy_days, run_counts, run_stretches
from collector.store.tables import Big, metadata, partial

__all__ = [
    "Big", "finding_stretches", "metadata", "partial", "policy_days", "run_counts", "run_stretches",
]  # fmt: skip

HEAD = "0018"
"""Revision that this code reads and writes; see `migrations/versions`."""

COMPARED = ("project", "release", "first_seen", "id", "listed", "complete", "outcome", "case_id",
            "calls", "started_ns", "ended_ns")  # fmt: skip

meta = Table(
    "meta",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False, unique=True),
    Column("retention_days", Float),
    Column("clock_skew_ms", Float),
    Column("failed_retention_days", Float),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("project", Big, ForeignKey("projects.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("scopes", String, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("at", Float, nullable=False),
    Column("revoked", Float),
    Column("expires", Float),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("project", Big, nullable=False),
    Column("at", Float, nullable=False),
    Column("actor", String, nullable=False),
    Column("action", String, nullable=False),
    Column("subject", String, nullable=False),
    Index("audit_project", "project", "id"),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("project", Big, ForeignKey("projects.id"), nullable=False),
    Column("url", String, nullable=False),
    Column("secret", String, nullable=False),
    Column("outcomes", String, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("at", Float, nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("webhook", Big, ForeignKey("webhooks.id"), nullable=False),
    Column("run", Big, nullable=False),
    Column("digest", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("due", Float),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("status", String),
    UniqueConstraint("webhook", "run", "digest"),
    partial("deliveries_due", "due", where="due IS NOT NULL"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("project", Big, ForeignKey("projects.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("last_seen", Float, nullable=False),
    Column("root_seen", Float),
    Column("version", Integer, nullable=False),
    Column("checked", Integer, nullable=False, server_default=text("0")),
    Column("due", Float),
    Column("lease", Float),
    Column("worker", String),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # What the last assessment said, for lists:
    Column("agent", String),
    Column("service", String),
    Column("source", String),
    Column("model", String),
    Column("session", String),
    # By what versions of an agent are told apart (Run.version), the digest of its prompt, where it ran.
    Column("release", String),
    Column("prompt", String),
    Column("environment", String),
    Column("case_id", String),
    Column("outcome", String),
    Column("error_type", String),
    Column("complete", Boolean),
    Column("listed", Boolean),
    Column("calls", Integer),
    Column("spans", Integer),
    Column("started_ns", BigInteger),
    Column("ended_ns", BigInteger),
    Column("findings", Integer),
    Column("digest", String),
    # A trace of a conversation (rebuild.conversations), or a part of a run (rebuild.parts): key of the run
    # that shows it, which may be its own.
    Column("joined", String),
    # When the run counts as heard of last: by any of its parts, and while it waits for somebody, when that
    # will be over. NULL = last_seen.
    Column("heard", Float),
    # What was asked, its beginning, and whom the run was for (`user.id`).
    Column("title", String),
    Column("person", String),
    # Given to models and written by them, as far as their spans say.
    Column("tokens", BigInteger),
    UniqueConstraint("project", "key"),
    partial("runs_due", "due", where="due IS NOT NULL"),
    partial("runs_outcome", "project", "outcome", "first_seen", where="outcome IS NOT NULL"),
    partial("runs_error", "project", "error_type", "first_seen", where="error_type IS NOT NULL"),
    partial("runs_agent", "project", "agent", "first_seen", where="agent IS NOT NULL"),
    partial("runs_service", "project", "service", "first_seen", where="service IS NOT NULL"),
    partial("runs_release", *COMPARED, where="release IS NOT NULL"),
    partial("runs_prompt", "project", "prompt", "first_seen", where="prompt IS NOT NULL"),
    partial("runs_environment", "project", "environment", "first_seen", where="environment IS NOT NULL"),
    partial("runs_case", "project", "case_id", "first_seen", where="case_id IS NOT NULL"),
    partial("runs_session", "project", "session", "id", where="session IS NOT NULL"),
    partial("runs_joined", "project", "joined", where="joined IS NOT NULL"),
    partial("runs_person", "project", "person", "id", where="person IS NOT NULL"),
    partial(
        "runs_unbound", "project", "outcome", "first_seen", where="outcome IS NULL AND listed IS NOT FALSE"
    ),
    # With what figures over many runs ask for: a quarter of what reading the rows would cost.
    Index("runs_project", "project", "first_seen", "id", "listed", "outcome", "agent", "release", "findings"),
)

# What runs of which all may be there will be once nothing came until then; `collector.store.closings`.
closings = Table(
    "closings",
    metadata,
    Column("run", Big, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("at", Float, nullable=False),
    # When the newest span had come, of whatever part of the run.
    Column("last_seen", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("closings_at", "at"),
)

segments = Table(
    "segments",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("run", Big, ForeignKey("runs.id"), nullable=False),
    Column("spans", Integer, nullable=False),
    Column("span_keys", LargeBinary, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("segments_run", "run"),
)

# Resources and scopes that are too big to be copied into every segment; `collector.store.shared`.
shared = Table(
    "shared",
    metadata,
    Column("project", Big, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

run_shared = Table(
    "run_shared",
    metadata,
    Column("project", Big, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("run", Big, primary_key=True),
    Index("run_shared_run", "run"),
    sqlite_with_rowid=False,
)

run_traces = Table(
    "run_traces",
    metadata,
    Column("project", Big, primary_key=True),
    Column("trace_id", String, primary_key=True),
    Column("run", Big, primary_key=True),
    Index("run_traces_run", "run"),
    sqlite_with_rowid=False,
)

pieces = Table(
    "pieces",
    metadata,
    Column("run", Big, primary_key=True),
    Column("body", Text, nullable=False),
)

piece_links = Table(
    "piece_links",
    metadata,
    Column("project", Big, primary_key=True),
    Column("link", String, primary_key=True),
    Column("run", Big, primary_key=True),
    Index("piece_links_run", "run"),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("run", Big, ForeignKey("runs.id"), nullable=False),
    Column("at", Float, nullable=False),
    Column("outcome", String),
    Column("error_type", String),
    Column("body", Text, nullable=False),
    Index("verdicts_run", "run"),
)

findings = Table(
    "findings",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("run", Big, ForeignKey("runs.id"), nullable=False),
    Column("project", Big, nullable=False),
    Column("rule", String, nullable=False),
    Column("type", String, nullable=False),
    Column("code", String, nullable=False),
    Column("tool", String),
    Column("sentence", Integer),
    Column("calls", Text, nullable=False),
    Column("explanation", Text, nullable=False),
    Index("findings_run", "run", "project", "rule", "tool"),
    Index("findings_rule", "project", "rule", "id"),
)

run_tools = Table(
    "run_tools",
    metadata,
    Column("run", Big, primary_key=True),
    Column("tool", String, primary_key=True),
    Index("run_tools_tool", "tool", "run"),
    sqlite_with_rowid=False,
)

# The names of tools that the runs of a project show; `how` is `called` or `offered`. They outlive the runs.
seen_tools = Table(
    "seen_tools",
    metadata,
    Column("project", Big, primary_key=True),
    Column("tool", String, primary_key=True),
    Column("how", String, primary_key=True),
    # Row id of the newest run that must be looked at again because of this name; NULL = none.
    Column("owed", Big),
    sqlite_with_rowid=False,
)

# The runs of conversations as the other runs of them are judged by them; `collector.store.turns`.
turns = Table(
    "turns",
    metadata,
    Column("run", Big, primary_key=True),
    Column("needs", String, nullable=False),
    Column("stamp", String, nullable=False),
    Column("tells", String, nullable=False),
    Column("awaits", Boolean, nullable=False),
    Column("calls", Integer, nullable=False),
    # Without arguments and results; `whole` has those that policies read, `size` bytes of them.
    Column("body", LargeBinary, nullable=False),
    Column("whole", LargeBinary),
    Column("size", Integer, nullable=False),
    # Were runs of the same conversation deleted?
    Column("cut", Boolean, nullable=False, server_default=false()),
)

policy_results = Table(
    "policy_results",
    metadata,
    Column("run", Big, primary_key=True),
    Column("policy", String, primary_key=True),
    Column("verdict", String, nullable=False),
    Index("policy_results_policy", "policy", "run"),
    partial("policy_results_unsupported", "policy", "run", where="verdict = 'unsupported'"),
    partial("policy_results_violated", "policy", "run", where="verdict = 'violated'"),
    sqlite_with_rowid=False,
)

# What guards in the agents' programs said before calls of a run; `collector.judging.decisions`.
guard_results = Table(
    "guard_results",
    metadata,
    Column("run", Big, primary_key=True),
    Column("policy", String, primary_key=True),
    Column("decision", String, primary_key=True),
    Index("guard_results_policy", "policy", "run"),
    sqlite_with_rowid=False,
)

cases = Table(
    "cases",
    metadata,
    Column("project", Big, primary_key=True),
    Column("id", String, primary_key=True),
    Column("at", Float, nullable=False),
    Column("body", Text, nullable=False),
)

case_texts = Table(
    "case_texts",
    metadata,
    Column("project", Big, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("case_id", String, primary_key=True),
    Column("part", String, primary_key=True),
    Index("case_texts_case", "project", "case_id"),
)

bindings = Table(
    "bindings",
    metadata,
    Column("project", Big, primary_key=True),
    Column("trace_id", String, primary_key=True),
    Column("case_id", String, nullable=False),
    Column("status", String),
    Column("wall_seconds", Float),
    Column("iterations", Integer),
    Column("at", Float, nullable=False),
    Column("trouble", Text),
)

policies = Table(
    "policies",
    metadata,
    Column("project", Big, primary_key=True),
    Column("name", String, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("at", Float, nullable=False),
)

# What `pdoctor test` and its like tell of themselves while they run; `collector.store.campaigns`.
campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("project", Big, ForeignKey("projects.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("last_seen", Float, nullable=False),
    Column("verb", String, nullable=False),
    Column("name", String, nullable=False),
    Column("state", String, nullable=False),
    # Of its results, by outcome; what is none of these is open or undecided.
    Column("runs", Integer, nullable=False, server_default=text("0")),
    Column("passed", Integer, nullable=False, server_default=text("0")),
    Column("failed", Integer, nullable=False, server_default=text("0")),
    Column("errors", Integer, nullable=False, server_default=text("0")),
    # Bytes of everything that is kept of it.
    Column("size", Big, nullable=False, server_default=text("0")),
    Column("head", Text, nullable=False),
    Column("report", Text),
    UniqueConstraint("project", "key"),
)

campaign_results = Table(
    "campaign_results",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("campaign", Big, ForeignKey("campaigns.id"), nullable=False),
    # Digest of what was tried: a second result of that takes the place of the first.
    Column("key", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("size", Integer, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("campaign", "key"),
)

# What people say of findings that are alike; `collector.store.groups`. Empty text where a run has no agent.
finding_groups = Table(
    "finding_groups",
    metadata,
    Column("project", Big, primary_key=True),
    Column("rule", String, primary_key=True),
    Column("agent", String, primary_key=True),
    Column("tool", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("owner", String),
    Column("severity", String),
    Column("reason", String),
    Column("until", Float),
    Column("version", String),
    Column("actor", String, nullable=False),
    Column("at", Float, nullable=False),
)

# What a person says about one verdict; it changes none. The run is named by its key: a label outlives it.
labels = Table(
    "labels",
    metadata,
    Column("project", Big, primary_key=True),
    Column("run", String, primary_key=True),
    Column("rule", String, primary_key=True),
    Column("label", String, nullable=False),
    Column("note", String),
    Column("actor", String, nullable=False),
    Column("at", Float, nullable=False),
)

views = Table(
    "views",
    metadata,
    Column("project", Big, primary_key=True),
    Column("name", String, primary_key=True),
    Column("query", String, nullable=False),
    Column("at", Float, nullable=False),
)

# Rules over rates and windows; `collector.notify.alerts`. `firing` is since when one does.
alert_rules = Table(
    "alert_rules",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("project", Big, ForeignKey("projects.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("silenced", Float),
    Column("firing", Float),
    Column("looked", Float),
    Column("said", Text),
    Column("at", Float, nullable=False),
)

alert_deliveries = Table(
    "alert_deliveries",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=True),
    Column("project", Big, nullable=False),
    Column("alert", Big, ForeignKey("alert_rules.id"), nullable=False),
    Column("at", Float, nullable=False),
    Column("kind", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("due", Float),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("status", String),
    partial("alert_deliveries_due", "due", where="due IS NOT NULL"),
)
