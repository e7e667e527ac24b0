"""`pdoctor keys`: make an API key for a collector's store."""

from __future__ import annotations

import click

from collector.cli.console import clear_errors


@click.group("keys")
def command() -> None:
    """API keys of a collector. A store with a key answers nobody without one."""


@command.command("create")
@click.option("--store", "url", default="sqlite:///pdoctor.db", show_default=True, metavar="URL")
@click.option("--project", default="default", show_default=True)
@click.option("--name", default="", help="What the key is for.")
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(["ingest", "read", "write", "admin"]),
    default=("ingest",), show_default=True, help="ingest: send spans; read: look; write: cases and policies.",
)  # fmt: skip
def create(url: str, project: str, name: str, scopes: tuple[str, ...]) -> None:
    """Make a key and print it, this once only."""
    with clear_errors():
        from collector.access import new_key
        from collector.store import open_store

        store = open_store(url)
        try:
            click.echo(new_key(store, project=project, name=name, scopes=scopes))
        finally:
            store.close()
