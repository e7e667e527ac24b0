"""What other distributions bring by entry points.

One that cannot be loaded is told in the log by its name and passed over: what others wrote must not take
a page, an answer or a verdict down.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from importlib import metadata
from typing import Any, TypeVar

LOG = logging.getLogger(__name__)

Named = TypeVar("Named")
"""A class whose values have a `name`."""


def load(what: str, kind: type[Named], taken: Iterable[str]) -> tuple[Named, ...]:
    """The values of `kind` in the group `pdoctor.WHATs`, without those whose names are taken."""
    found: list[Named] = []
    names = set(taken)
    for point in metadata.entry_points(group=f"pdoctor.{what}s"):
        value: Any = _loaded(what, kind, point)
        if value is not None and value.name in names:
            LOG.warning("%s %s (%s) is not used: there is one of that name", what, value.name, point.value)
        elif value is not None:
            found.append(value)
            names.add(value.name)
    return tuple(found)


def _loaded(what: str, kind: type[Named], point: metadata.EntryPoint) -> Named | None:
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        LOG.warning("%s %s (%s) cannot be loaded: %r", what, point.name, point.value, error)
        return None
    if isinstance(found, kind):
        name: Any = found.name  # type: ignore[attr-defined]
        if isinstance(name, str):
            return found
        LOG.warning("%s %s (%s) is not used: its name is %.60r", what, point.name, point.value, name)
        return None
    expected = f"{kind.__module__.rpartition('.')[0]}.{kind.__name__}"  # where it is offered
    came = type(found).__name__
    LOG.warning("%s %s (%s) is a %s (expected a %s)", what, point.name, point.value, came, expected)
    return None


def tried(what: str, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of theirs returns, or None where it fails (told once in the log)."""
    try:
        return function(*arguments)
    except Exception as error:
        tell_once(what, name, f"fails ({type(error).__name__})")
        return None


@functools.lru_cache(maxsize=256)
def tell_once(what: str, name: str, problem: str) -> None:
    LOG.warning("%s %s %s; what it would tell is left out", what, name, problem)
