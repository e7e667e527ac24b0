"""Every setting of the collector in one table; `serve` turns each into an option and a variable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collector.logs import LogFormat

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on everything that comes in over OTLP."""

    body_bytes: int = 20 * MIB
    """Request body as sent; more is answered with 413."""
    decoded_bytes: int = 20 * MIB
    """Request body after decompression; more is answered with 413."""
    body_seconds: float = 30.0
    """From the first to the last byte of a body; slower is answered with 408."""
    spans: int = 50_000
    """Per request; more is answered with 413."""
    attributes: int = 10_000
    """Per span, and elements per attribute value; a span with more is rejected. Some libraries write
    every message of a long conversation as several attributes, so this is generous."""
    depth: int = 20
    """Nesting of one attribute value; a span with more is rejected."""
    span_bytes: int = 4 * MIB
    """One encoded span; a bigger one is rejected."""
    queue_bytes: int = 64 * MIB
    """Decoded but not yet stored; beyond it the answer is 503 with Retry-After."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one collector runs."""

    store_url: str = "sqlite:///pdoctor.db"
    host: str = "127.0.0.1"
    http_port: int = 4318
    """0 = any free port; the readiness line says which."""
    grpc_port: int | None = 4317
    """0 = any free port, None = no gRPC receiver."""
    policies: Path | None = None
    """Folder of policy files (*.yaml), or one file, loaded at start."""
    cases: Path | None = None
    """File of cases, one JSON document a line, loaded at start."""
    redact: Path | None = None
    """File of names and patterns that are replaced in spans before they are stored."""
    checkers: int = 1
    """Checker processes; 0 = this collector only stores (another one checks)."""
    open_check_seconds: float = 1.0
    """A run that pauses this long is judged as an open run."""
    grace_seconds: float = 2.0
    """After the root span, where the run did not announce its number of calls (or not all came)."""
    idle_seconds: float = 60.0
    """A run without a root span is complete when nothing arrived for so long."""
    check_seconds: float = 20.0
    """A checker that needs longer for one run is killed; the run is then undecided."""
    z3_check: str = "all"
    """`all`, `failing`, `off` or `1/K`: which directly decided verdicts of test cases Z3 re-checks."""
    z3_check_policies: str = "1/100"
    """The same for policy results; `1/K` means every failing run and one run in K of the rest."""
    webhook_hosts: tuple[str, ...] = ()
    """Hosts that webhooks may be sent to."""
    webhook_private: bool = False
    """Allow webhook hosts whose address lies inside a private network or on this machine."""
    events_endpoint: str | None = None
    """OTLP/HTTP address that verdicts are exported to as `gen_ai.evaluation.result` events."""
    janitor_seconds: float = 60.0
    """Pause between two looks for runs that are older than their project keeps them."""
    limits: Limits = Limits()
    insecure: bool = False
    """Allow a bind beyond loopback without API keys."""
    log_format: LogFormat | None = None
    """`json` or `text`; None = text on a terminal, JSON elsewhere."""
    log_level: str = "info"
