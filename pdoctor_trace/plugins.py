"""Adapters that other distributions bring: entry points in the group `pdoctor.frameworks`.

The name of an entry point is the package whose import wakes the adapter, its value a `Framework`:

    [project.entry-points."pdoctor.frameworks"]
    acme_agents = "acme_pdoctor:ACME"

Nothing of it is imported before that package is. Reading all metadata at every start of every program
would cost more than the rest of the tracer, so only distributions that mention the group are read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .harmless import guarded

if TYPE_CHECKING:
    from .adapter import Framework

GROUP = "pdoctor.frameworks"


class Outside(NamedTuple):
    """One adapter of another distribution."""

    name: str
    """The package that wakes it."""
    point: Any
    """The entry point (importlib.metadata.EntryPoint)."""

    @property
    def adapter(self) -> str:
        return str(self.point.value)

    @property
    def packages(self) -> tuple[str, ...]:
        return (self.name,)

    def load(self) -> Framework:
        """The adapter itself; TypeError where the entry point names something else."""
        from .adapter import Framework

        found = self.point.load()
        if not isinstance(found, Framework):
            raise TypeError(
                f"entry point {self.name} = {self.point.value} in {GROUP} is a {type(found).__name__} "
                "(expected a pdoctor_trace.adapter.Framework)"
            )
        return found


def adapters(path: Iterable[str] | None = None) -> tuple[Outside, ...]:
    """What is installed on the path (`sys.path` by default), the first of each name."""
    folders = list(_mentioning(sys.path if path is None else path))
    if not folders:
        return ()
    from importlib import metadata

    found: dict[str, Outside] = {}
    for folder in folders:
        for point in guarded(_points, metadata, folder) or ():
            found.setdefault(point.name, Outside(point.name, point))
    return tuple(found.values())


def _points(metadata: Any, folder: str) -> list[Any]:
    from pathlib import Path

    return [point for point in metadata.PathDistribution(Path(folder)).entry_points if point.group == GROUP]


def _mentioning(path: Iterable[str]) -> Iterator[str]:
    """Metadata folders whose entry points mention the group."""
    for place in dict.fromkeys(path):
        for folder in _metadata_folders(place or os.curdir):
            try:
                with open(os.path.join(folder, "entry_points.txt"), "rb") as text:
                    if GROUP.encode() in text.read():
                        yield folder
            except OSError:
                continue


def _metadata_folders(place: str) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return []
