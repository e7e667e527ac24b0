"""`pdoctor keys`: make, list and revoke the API keys of a collector's store."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, fail, store_option, table, write_json
from synth.errors import BadInput

if TYPE_CHECKING:
    from collector.store import Store


@click.group("keys")
def command() -> None:
    """API keys of a collector. A store with a key answers nobody without one."""


@command.command("create")
@store_option("keys_create")
@click.option("--project", default="default", show_default=True)
@click.option("--name", default="", help="What the key is for.")
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(["ingest", "read", "write", "metrics", "admin"]),
    default=("ingest",), show_default=True,
    help="ingest: send spans; read: look; write: cases and policies; metrics: /metrics.",
)  # fmt: skip
@click.option("--expires", metavar="WHEN", help="90d, 12h, 4w or 2027-01-31; never unless said.")
def create(url: str, project: str, name: str, scopes: tuple[str, ...], expires: str | None) -> None:
    """Make a key and print it, this once only."""
    with clear_errors():
        from collector.access import expiry, new_key

        try:
            ends = None if expires is None else expiry(expires, time.time())
        except ValueError as flaw:
            raise BadInput(str(flaw)) from None
        with opened(url) as store:
            click.echo(new_key(store, project=project, name=name, scopes=scopes, expires=ends))


@command.command("list")
@store_option("keys_list")
@click.option("--project", default="default", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def show(url: str, project: str, as_json: bool) -> None:
    """The keys of a project, without their secrets."""
    with clear_errors(), opened(url) as store:
        with store.read() as connection:
            rows = keys_of(connection, project)
        if as_json:
            write_json(rows)
            return
        lines = [(row["id"], row["scopes"], row["name"], state(row, time.time())) for row in rows]
        click.echo(table(("id", "scopes", "name", ""), lines) if lines else f"{project} has no key")


def state(row: Mapping[str, Any], now: float) -> str:
    """What a list says of a key beside its name."""
    if row["revoked"]:
        return "revoked"
    if row["expires"] is None:
        return ""
    ends = datetime.fromtimestamp(row["expires"], UTC).isoformat(timespec="minutes")
    return f"{'expired' if row['expires'] <= now else 'expires'} {ends}"


@command.command("revoke")
@click.argument("key_id")
@store_option("keys_revoke")
def revoke(key_id: str, url: str) -> None:
    """End a key for good; running collectors notice within a second. KEY_ID stands after `pdk_`."""
    with clear_errors(), opened(url) as store:
        from collector.store import keys

        with store.read() as connection:
            found = keys.find_key(connection, key_id)
        if found is None:
            fail(f"there is no active key {key_id[:40]!r}: `pdoctor keys list` shows them")
        else:
            keys.revoke_key(store, found.project, key_id, now=time.time())
            with store.write() as connection:
                keys.record(connection, found.project, "command line", "key.revoke", key_id, now=time.time())
            click.echo(f"revoked {key_id}")


@contextlib.contextmanager
def opened(url: str) -> Iterator[Store]:
    from collector.store import open_store

    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


def keys_of(connection: Any, project: str) -> list[dict[str, Any]]:
    """Rows of a project that exists; raises BadInput."""
    from collector.store import keys

    ids = {row["name"]: row["id"] for row in keys.project_ids(connection)}
    if project not in ids:
        raise BadInput(f"there is no project {project!r} (known: {', '.join(sorted(ids))})")
    return keys.list_keys(connection, ids[project])
