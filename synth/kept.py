"""Stores of runs that nobody gave a place: in the user's cache folder, where `pdoctor open` finds them."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

MOST = 20
"""Stores that are kept; making one more takes the oldest away."""
BESIDE = ("", "-wal", "-shm", ".lock")
"""Files of one store."""


def folder() -> Path:
    """PDOCTOR_CACHE, else `pdoctor` in XDG_CACHE_HOME or where the system keeps caches."""
    if own := os.environ.get("PDOCTOR_CACHE"):
        return Path(own)
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "pdoctor"
    caches = {"darwin": Path("Library", "Caches"), "win32": Path("AppData", "Local")}
    return Path.home() / caches.get(sys.platform, Path(".cache")) / "pdoctor"


def new_store() -> Path:
    """A file for a new store, named by the time; the oldest ones go. OSError where none can be made."""
    place = folder() / "stores"
    place.mkdir(parents=True, exist_ok=True)
    for old in stores()[MOST - 1 :]:
        for ending in BESIDE:
            with suppress(OSError):
                old.with_name(f"{old.name}{ending}").unlink(missing_ok=True)
    return place / f"{time.strftime('%m%d-%H%M%S')}-{os.getpid()}.db"


def stores() -> list[Path]:
    """The stores that are kept, the newest first."""
    found = [path for path in (folder() / "stores").glob("*.db") if path.is_file()]
    return sorted(found, key=lambda path: (path.stat().st_mtime, path.name), reverse=True)


def look(url: str, store: Path | None, what: str | None = None) -> str:
    """Where to look at a run (its id) or a campaign (`campaigns/ID`), or at all there is.

    That is a page, or the command that shows it when the collector is gone.
    """
    if store is not None:
        return "/".join(filter(None, (f"pdoctor open {store.stem}", what)))
    return f"{url.rstrip('/')}/{page_of(what or '')}"


def look_line(address: str) -> str:
    """The last line of whatever leaves something to see; `address` is a page, or a command."""
    return f"Look: {address}"


def page_of(what: str) -> str:
    """The path of the page of what `look` is asked for."""
    return what if not what or what.startswith("campaigns/") else f"runs/{what}"
