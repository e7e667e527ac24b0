"""Which release of us this is."""

from __future__ import annotations

import functools


@functools.cache
def version() -> str:
    """Read when the first span leaves: importing the metadata reader takes longer than importing us."""
    from importlib import metadata

    try:
        return metadata.version("pdoctor-trace")
    except metadata.PackageNotFoundError:
        return "unknown"
