"""`pdoctor serve`: the collector and its web pages."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import click

from collector.cli.console import clear_errors, fail
from collector.logs import FORMATS, LEVELS

PORTS = range(65536)
SECONDS = click.FloatRange(0)
PATH = click.Path(path_type=Path)


def port_or_off(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """A port, or None for `off`."""
    if value == "off":
        return None
    if not value.isdigit() or int(value) not in PORTS:
        raise click.BadParameter(f"{value!r}: expected a port from 0 to 65535, or off")
    return int(value)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--http-port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="0 = any free port."
)
@click.option(
    "--grpc-port", callback=port_or_off, default="4317", show_default=True, metavar="PORT|off",
    help="0 = any free port.",
)  # fmt: skip
@click.option(
    "--store",
    default="sqlite:///pdoctor.db",
    show_default=True,
    metavar="URL",
    help="sqlite:///FILE or postgresql://USER@HOST/DB",
)
@click.option("--policies", type=PATH, default=None, help="A policy file or a folder of them.")
@click.option("--cases", type=PATH, default=None, help="Cases as JSON lines.")
@click.option("--redact", type=PATH, default=None, help="Names and patterns (YAML) that are never stored.")
@click.option(
    "--checkers", type=click.IntRange(0, 64), default=1, show_default=True, help="Judging processes."
)
@click.option(
    "--idle-seconds", type=SECONDS, default=60.0, show_default=True, help="Until a run without an end ends."
)
@click.option("--grace-seconds", type=SECONDS, default=2.0, show_default=True, help="To wait for late calls.")
@click.option(
    "--check-seconds", type=click.FloatRange(0.1), default=20.0, show_default=True,
    help="After so long one run's judging is stopped.",
)  # fmt: skip
@click.option(
    "--z3", "z3_check", default="all", show_default=True, help="all, failing, off or 1/K: test cases."
)
@click.option(
    "--z3-policies", "z3_check_policies", default="1/100", show_default=True, help="The same: policies."
)
@click.option("--webhook-host", "webhook_hosts", multiple=True, help="A host that webhooks may be sent to.")
@click.option("--webhook-private", is_flag=True, help="Also when its address is inside a private network.")
@click.option("--events-endpoint", metavar="URL", default=None, help="Where verdicts go as OTLP events.")
@click.option(
    "--log-format", type=click.Choice(FORMATS), default=None,
    help="Of the lines on standard error; text on a terminal, json elsewhere.",
)  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True)
@click.option("--insecure", is_flag=True, help="Allow other machines in without API keys.")
def command(
    host: str, http_port: int, grpc_port: int | None, store: str, policies: Path | None, cases: Path | None,
    **others: Any,
) -> None:  # fmt: skip
    """Receive OTLP traces, judge the runs and show them at http://HOST:PORT/.

    Beyond loopback it needs an API key in its store (`pdoctor keys create`).
    """
    with clear_errors():
        from collector.app import serve
        from synth.rules import Rules

        for share in (others["z3_check"], others["z3_check_policies"]):
            Rules(z3=share)  # said here, before anything listens, where it is no share that Z3 understands
        try:
            serve(
                host=host,
                http_port=http_port,
                grpc_port=grpc_port,
                store=store,
                policies=policies,
                cases=cases,
                **others,
            )
        except OSError as error:
            hint = "; is another collector running?" if error.errno == errno.EADDRINUSE else ""
            fail(f"cannot listen on {host}:{http_port}: {error.strerror or error}{hint}")
