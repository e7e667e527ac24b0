"""`pdoctor restore`: make a store of what `pdoctor backup` wrote."""

from __future__ import annotations

from pathlib import Path

import click

from collector.cli.backup import FORCE
from collector.cli.console import clear_errors, store_option, told_while


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@store_option("restore")
@FORCE
def command(file: Path, url: str, force: bool) -> None:
    """Make a store what it was when FILE was made. No collector may be using it.

    The store must be new, or an empty database, unless --force says to replace what is there.
    """
    with clear_errors():
        from collector.store import backup
        from collector.store.engine import shown

        with told_while("restoring"):
            backup.restore(file, url, force=force)
        click.echo(f"{shown(url)} is as it was in {file}; start it: pdoctor serve --store {shown(url)}")
