"""Every setting of the collector in one table.

`pdoctor serve` makes its options, and with them the variables `PDOCTOR_SERVE_...`, from the fields that
name an option; the README lists these; checker processes are told those marked `checker`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.logs import LogFormat, LogLevel

MIB = 1024 * 1024
PORTS = (0, 65535)


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


def setting(
    default: Any,
    help_: str,
    *,
    option: str | None = None,
    within: tuple[float, float | None] | None = None,
    metavar: str | None = None,
    checker: bool = False,
) -> Any:
    """A field of the table: `option` of `pdoctor serve` with its help, the bounds and the word for its value.

    What values the option takes follows from the field's type. `checker`: checker processes need it too.
    """
    told = {"help": help_, "option": option, "within": within, "metavar": metavar, "checker": checker}
    return field(default=default, metadata=told)


@dataclass(frozen=True, slots=True)
class Settings:
    """How one collector runs."""

    host: str = setting("127.0.0.1", "The address to listen on.", option="--host")
    http_port: int = setting(4318, "0 = any free port.", option="--http-port", within=PORTS)
    """The readiness line says which one was free."""
    grpc_port: int | None = setting(4317, "0 = any free port.", option="--grpc-port", metavar="PORT|off")
    """None = no gRPC receiver."""
    store_url: str = setting(
        "sqlite:///pdoctor.db",
        "sqlite:///FILE or postgresql://USER@HOST/DB",
        option="--store",
        metavar="URL",
        checker=True,
    )
    policies: Path | None = setting(None, "A policy file or a folder of them.", option="--policies")
    """Loaded at start; of a folder the files *.yaml and *.yml."""
    cases: Path | None = setting(None, "Cases as JSON lines.", option="--cases")
    """Loaded at start."""
    redact: Path | None = setting(None, "Names and patterns (YAML) that are never stored.", option="--redact")
    checkers: int = setting(1, "Judging processes.", option="--checkers", within=(0, 64))
    """0 = this collector only stores (another one checks)."""
    open_check_seconds: float = setting(
        1.0, "A run that pauses this long is judged as an open run.", checker=True
    )
    idle_seconds: float = setting(
        60.0, "Until a run without an end ends.", option="--idle-seconds", within=(0, None), checker=True
    )
    """A run without a root span is complete when nothing arrived for so long."""
    grace_seconds: float = setting(
        2.0, "To wait for late calls.", option="--grace-seconds", within=(0, None), checker=True
    )
    """After the root span, where the run did not announce its number of calls (or not all came)."""
    check_seconds: float = setting(
        20.0,
        "After so long one run's judging is stopped.",
        option="--check-seconds",
        within=(0.1, None),
        checker=True,
    )
    """A checker that needs longer for one run is killed; the run is then undecided."""
    z3_check: str = setting("all", "all, failing, off or 1/K: test cases.", option="--z3", checker=True)
    """Which directly decided verdicts of test cases Z3 re-checks."""
    z3_check_policies: str = setting("1/100", "The same: policies.", option="--z3-policies", checker=True)
    """`1/K` means every failing run and one run in K of the rest."""
    webhook_hosts: tuple[str, ...] = setting(
        (), "A host that webhooks may be sent to.", option="--webhook-host"
    )
    webhook_private: bool = setting(
        False, "Also when its address is inside a private network.", option="--webhook-private"
    )
    """Or on this machine."""
    events_endpoint: str | None = setting(
        None, "Where verdicts go as OTLP events.", option="--events-endpoint", metavar="URL"
    )
    """OTLP/HTTP address that verdicts are exported to as `gen_ai.evaluation.result` events."""
    janitor_seconds: float = setting(
        60.0, "Pause between two looks for runs that are older than their project keeps them."
    )
    limits: Limits = setting(Limits(), "Bounds on everything that comes in.")
    log_format: LogFormat | None = setting(
        None,
        "Of the lines on standard error; text on a terminal, json elsewhere.",
        option="--log-format",
        checker=True,
    )
    log_level: LogLevel = setting(
        "info", "The least important lines that are written.", option="--log-level", checker=True
    )
    insecure: bool = setting(False, "Allow other machines in without API keys.", option="--insecure")
