"""`pdoctor open`: look at runs that nobody gave a collector."""

from __future__ import annotations

import sys
import time
import webbrowser
from pathlib import Path

import click

from collector.cli.console import clear_errors, look_at
from collector.cli.embedded import collector_process
from synth.errors import BadInput
from synth.kept import folder, page_of, stores


@click.command("open")
@click.argument("what", default="latest", metavar="[STORE[/PAGE]]")
@click.option("--list", "listed", is_flag=True, help="Only name the stores that are kept, the newest first.")
def command(what: str, listed: bool) -> None:
    """Serve the pages of runs that were kept without a collector.

    Tests and campaigns without --collector keep their runs in the user's cache folder (PDOCTOR_CACHE), the
    last 20 of them. Without STORE: the newest. PAGE is the id of a run, or campaigns and the id of one, as
    the commands say where to look. Ends with Ctrl-C.

    \b
    pdoctor open
    pdoctor open 1123-175123-11961/93ba9b75f58b6e5e5cb8670e7bdb39a4
    pdoctor open 1123-175123-11961/campaigns/0af7651916cd43dd8448eb211c80319c
    """
    with clear_errors():
        if listed and what != "latest":
            raise BadInput(f"--list names all stores that are kept: leave {what!r} out")
        if listed:
            for path in stores():
                click.echo(path.stem)
            return
        name, _, inside = what.partition("/")
        with collector_process(store_of(name)) as url:
            address = f"{url}/{page_of(inside)}"
            look_at(address)
            click.echo("Ctrl-C ends it.")
            if sys.stdout.isatty():
                webbrowser.open(address)
            wait()


def store_of(name: str) -> Path:
    """The kept store of that name; BadInput where there is none."""
    kept = stores()
    if not kept:
        raise BadInput(f"no runs are kept in {folder()}: tests and campaigns without --collector keep theirs")
    if name == "latest":
        return kept[0]
    found = [path for path in kept if path.stem == name]
    if not found:
        raise BadInput(f"no store {name!r} is kept (`pdoctor open --list` names them)")
    return found[0]


def wait() -> None:
    """Until the user has seen enough."""
    while True:
        time.sleep(3600)
