"""Every setting of the collector in one table.

`pdoctor serve` makes its options, and with them the variables `PDOCTOR_SERVE_...`, from the fields that
name an option; docs/settings.md lists these; checker processes are told those marked `checker`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from collector.logs import LogFormat, LogLevel

QueryRules = Literal["suggest", "judge"]

MIB = 1024 * 1024
READY = "pdoctor collector ready at "
"""Start of the line that `serve` prints once it takes spans; the address follows."""
PORTS = (0, 65535)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on everything that comes in over OTLP."""

    body_bytes: int = 20 * MIB
    """Request body as sent; more is answered with 413."""
    decoded_bytes: int = 20 * MIB
    """Request body after decompression; more is answered with 413."""
    grpc_bytes: int = 4 * MIB
    """One message of gRPC, as is usual there; more is answered with RESOURCE_EXHAUSTED."""
    body_seconds: float = 30.0
    """From the first to the last byte of a body; slower is answered with 408."""
    spans: int = 50_000
    """Per request; more is answered with 413."""
    attributes: int = 10_000
    """Per span, and elements per attribute value; a span with more is rejected. Some libraries write
    every message of a long conversation as several attributes, so this is generous."""
    elements: int = 50_000
    """Per span, with those of nested values; a span with more is rejected."""
    depth: int = 20
    """Nesting of one attribute value; a span with more is rejected."""
    containers: int = 1_000_000
    """Objects and lists in a JSON body, also where texts have such brackets; each takes up to 200 bytes."""
    span_bytes: int = 4 * MIB
    """One encoded span; a bigger one is rejected."""
    head_bytes: int = 2 * MIB
    """One encoded resource or scope; the spans of a bigger one are rejected."""
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
    variables: tuple[str, ...] | None = None,
) -> Any:
    """A field of the table: `option` of `pdoctor serve` with its help, the bounds and the word for its value.

    What values the option takes follows from the field's type. `checker`: checker processes need it too.
    `variables` that the option reads, where that is more than the one of its name.
    """
    told = {"help": help_, "option": option, "within": within, "metavar": metavar, "checker": checker}
    return field(default=default, metadata={**told, "variables": variables})


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
        variables=("PDOCTOR_SERVE_STORE", "PDOCTOR_STORE"),
    )
    policies: Path | None = setting(None, "A policy file or a folder of them.", option="--policies")
    """Loaded at start; of a folder the files *.yaml and *.yml."""
    cases: Path | None = setting(None, "Cases as JSON lines.", option="--cases")
    """Loaded at start."""
    redact: Path | None = setting(None, "Names and patterns (YAML) that are never stored.", option="--redact")
    workers: int = setting(1, "Receiving processes on one port.", option="--workers", within=(1, 64))
    """Each has its part of `--in-flight` (32 MiB at least) and of `--max-connections`."""
    checkers: int = setting(1, "Judging processes for each worker.", option="--checkers", within=(0, 64))
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
    session_idle_seconds: float = setting(
        1800.0,
        "Until a silent conversation ends.",
        option="--session-idle",
        within=(0, None),
        checker=True,
    )
    """Policies with `scope: session` wait so long for what a later run can still put right."""
    paused_idle_seconds: float = setting(
        7 * 86_400.0,
        "Until a run that waits for a person or a timer is given up.",
        option="--paused-idle",
        within=(0, None),
        checker=True,
        variables=("PDOCTOR_SERVE_PAUSED_IDLE", "PDOCTOR_PAUSED_IDLE"),
    )
    """What it still owed is undecided then; a part that comes later goes on with it."""
    check_seconds: float = setting(
        15.0,
        "CPU time for one policy, or a run's case; then, or after four times that, a checker is stopped.",
        option="--check-seconds",
        within=(0.1, None),
        checker=True,
    )
    """The checker is killed, and that policy undecided; it gives up by itself 5 s sooner (see `Rules`).

    By the clock it has four times as long, so that a busy machine gives up nothing that a quiet one judges.
    """
    z3_check: str = setting("all", "all, failing, off or 1/K: test cases.", option="--z3", checker=True)
    """Which directly decided verdicts of test cases Z3 re-checks."""
    z3_check_policies: str = setting("1/100", "The same: policies.", option="--z3-policies", checker=True)
    """`1/K` means every failing run and one run in K of the rest."""
    query_rules: QueryRules = setting(
        "suggest", "Rules in a request that is no case's.", option="--query-rules", checker=True
    )
    """`suggest` shows them, `judge` judges by them; our own queries are judged by theirs always."""
    webhook_hosts: tuple[str, ...] = setting(
        (), "A host that webhooks may be sent to.", option="--webhook-host"
    )
    webhook_private: bool = setting(
        False, "Also when its address is inside a private network.", option="--webhook-private"
    )
    """Or on this machine."""
    public_url: str | None = setting(
        None, "Address at which people reach this collector: alerts lead to it.", option="--public-url",
        metavar="URL",
    )  # fmt: skip
    """`http://` or `https://`, without a path that is not ours; None = alerts name runs by their ids."""
    smtp: str | None = setting(
        None, "Mail server for alerts: smtp[s]://[USER:PASSWORD@]HOST[:PORT][?from=ADDRESS].",
        option="--smtp", metavar="URL",
    )  # fmt: skip
    """Over `smtp://` with STARTTLS where the server offers it; a password is sent over TLS only."""
    events_endpoint: str | None = setting(
        None, "Where verdicts go as OTLP events.", option="--events-endpoint", metavar="URL"
    )
    """OTLP/HTTP address that verdicts are exported to as `gen_ai.evaluation.result` events."""
    janitor_seconds: float = setting(
        60.0, "Pause between two looks for runs that are older than their project keeps them."
    )
    checker_mib: int = setting(
        240, "Memory of a judging process.", option="--checker-memory", within=(200, None), metavar="MIB",
        checker=True,
    )  # fmt: skip
    """A run that takes more is undecided."""
    max_connections: int = setting(
        1000,
        "Connections at once, over HTTP and gRPC together.",
        option="--max-connections",
        within=(10, None),
    )
    """For one more, the longest silent is closed; fewer where the process may not open so many files."""
    max_connections_per_address: int = setting(
        500,
        "Of one address but a trusted proxy's; 0 = all.",
        option="--max-connections-per-address",
        within=(0, None),
    )
    """For one more, its own longest silent is closed; where that has none, the new one is refused."""
    in_flight_mib: int = setting(
        64, "Of bodies being read, decoded or queued.", option="--in-flight", within=(8, None), metavar="MIB"
    )
    """One key, or one address without a key, may hold half of it, or one body; beyond is 503."""
    max_lag_seconds: float = setting(
        0.0,
        "Refuse spans while runs wait longer for a verdict; 0 = never.",
        option="--max-lag",
        within=(0, None),
    )
    """Senders get 503 with `Retry-After`, and the pages say so."""
    max_spans_per_second: float = setting(
        0.0,
        "Of each project, on average; 0 = as many as come.",
        option="--max-spans-per-second",
        within=(0, None),
    )
    """Beyond, senders get 429 with `Retry-After`; after a pause those of ten seconds may come at once."""
    host_names: tuple[str, ...] = setting(
        (), "A name it is reached by; requests for others are refused.", option="--host-name"
    )
    """Beyond loopback any name is taken unless some are given; on loopback, behind a front, these too."""
    tls_cert: Path | None = setting(
        None, "Certificate (PEM) for HTTP and gRPC, with those that signed it.", option="--tls-cert"
    )
    """Read again when it changes; open connections go on."""
    tls_key: Path | None = setting(None, "Its key (PEM), if not in that file.", option="--tls-key")
    trusted_proxies: tuple[str, ...] = setting(
        (),
        "A front, or a network of them, whose X-Forwarded-For and -Proto are believed.",
        option="--trusted-proxy",
        metavar="ADDRESS",
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
