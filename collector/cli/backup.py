"""`pdoctor backup`: copy a store to a file, also while a collector uses it."""

from __future__ import annotations

from pathlib import Path

import click

from collector.cli.console import clear_errors, store_option, told_while, write_json

FORCE = click.option("--force", is_flag=True, help="Replace what is there.")


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@store_option("backup")
@FORCE
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(file: Path, url: str, force: bool, as_json: bool) -> None:
    """Copy a store into FILE: runs, verdicts, cases, policies, keys, as they are at one instant.

    The collector that uses it goes on meanwhile. A store in PostgreSQL is copied by its own pg_dump.
    """
    with clear_errors():
        from collector.store import backup

        with told_while("copying"):
            found = backup.back_up(url, file, force=force)
        if as_json:
            write_json({"file": str(file), "bytes": found.bytes, "runs": found.runs, "spans": found.spans})
            return
        inside = "" if found.runs is None else f": {found.runs:,} runs, {found.spans:,} spans"
        click.echo(f"{file} ({found.bytes / 1e6:,.1f} MB){inside}")
