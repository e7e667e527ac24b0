"""A constraint kind of another distribution, as docs/adapters.md shows it, and how to install one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from synth.formal.constraints.plugins import outside_kinds
from tests.support.distribution import Install, distribution, shown

__all__ = ["MODULE", "SHOWN", "Install", "installed"]

SHOWN = shown("constraint")
MODULE = "pd_acme_rules"


def installed(folder: Path, source: str = SHOWN) -> AbstractContextManager[Install]:
    """Gives a function that puts entry points into a distribution on the path."""
    return distribution(folder, MODULE, source, "pdoctor.constraints", outside_kinds.cache_clear)
