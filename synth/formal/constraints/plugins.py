"""Constraint kinds that other distributions bring: entry points in the group `pdoctor.constraints`.

    [project.entry-points."pdoctor.constraints"]
    apart = "acme_rules:Apart"

They are loaded when JSON first names a kind that is not ours. One that cannot be loaded, or is no constraint
kind, is told in the log by its name and passed over.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from importlib import metadata
from typing import Any

from synth.formal.constraints.outline import Kind

GROUP = "pdoctor.constraints"
LOG = logging.getLogger(__name__)

_PARTS = sorted(name for name in {**Kind.__annotations__, **vars(Kind)} if not name.startswith("_"))


@functools.cache
def outside_kinds(taken: tuple[str, ...]) -> dict[str, type[Kind]]:
    """What is installed, by kind, without kinds that are taken."""
    found: dict[str, type[Kind]] = {}
    for point in metadata.entry_points(group=GROUP):
        kind = _loaded(point)
        if kind is not None and kind.kind in (*taken, *found):
            LOG.warning(
                "constraint kind %s (%s) is not used: there is one of that name", kind.kind, point.value
            )
        elif kind is not None:
            found[kind.kind] = kind
    return found


def _loaded(point: metadata.EntryPoint) -> type[Kind] | None:
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        LOG.warning("constraint kind %s (%s) cannot be loaded: %r", point.name, point.value, error)
        return None
    wrong = _wrong_with(found)
    if wrong is not None:
        LOG.warning("constraint kind %s (%s) is not used: %s", point.name, point.value, wrong)
        return None
    return found  # type: ignore[no-any-return]


def _wrong_with(found: Any) -> str | None:
    """Why this is no constraint kind; None if it is one."""
    if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
        return f"a frozen dataclass was expected, not {found!r}"
    missing = [part for part in _PARTS if not hasattr(found, part)]
    if missing:
        return f"it has no {', '.join(missing)} (see synth.formal.constraints.Kind)"
    name: Any = found.kind  # type: ignore[attr-defined]
    return None if isinstance(name, str) else f"its kind is {name!r:.60} (expected a name)"
