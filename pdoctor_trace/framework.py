"""What an adapter is: data. Targets to wrap and readers for what passes through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .span import Wrapper


@dataclass(frozen=True, slots=True)
class Target:
    """One function of a framework that is wrapped when its module is imported."""

    module: str
    attribute: str
    """`function`, or `Class.method`."""
    wrapper: Wrapper
    optional: bool = False
    """True where only some of the supported versions have it: then its absence is no problem."""


class Limit(NamedTuple):
    """Something that is not recorded as in other frameworks; a test of its name shows it."""

    name: str
    reason: str
    """What is not recorded and why; a clause of the README table."""


@dataclass(frozen=True, slots=True)
class Framework:
    """One supported framework; a row of the README table."""

    name: str
    """Value of `pdoctor.source`."""
    title: str
    distribution: str
    """Package whose version decides; its name in the package index."""
    versions: str
    """Supported versions, as a version specifier."""
    targets: tuple[Target, ...]
    covers: str
    """What is recorded, in a few words."""
    limits: tuple[Limit, ...] = ()
    """What is known not to be recorded, and why."""
