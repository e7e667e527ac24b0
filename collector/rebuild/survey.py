"""What all spans of a run show together, by which most looks at each of them are spared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from collector.model import HAS_IS_REMOTE, IS_REMOTE, Span


class Survey(NamedTuple):
    """Of the spans of a run, whatever they are."""

    has_root: bool = False
    """Has one of them no parent?"""
    started_ns: int | None = None
    ended_ns: int | None = None
    one_sender: bool = True
    """Have they one resource object, as those that a sender exported together?"""
    from_afar: bool = False
    """Did a program on another machine perhaps ask for one of them?"""
    says_parent_is_here: bool = False
    """Is the parent of one of them known to be in its own process?"""
    has_states: bool = False
    """Has one of them a W3C trace state?"""


def survey(spans: Sequence[Span]) -> Survey:
    """Column by column, which costs a tenth of going through the spans."""
    if not spans:
        return Survey()
    _, _, parents, _, starts, ends, _, _, _, _, resources, _, flags, states, _ = zip(*spans, strict=True)
    said = set(flags)
    return Survey(
        None in parents,
        min(starts),
        max(ends),
        len(set(map(id, resources))) == 1,
        any(flag & IS_REMOTE for flag in said),
        any(flag & HAS_IS_REMOTE and not flag & IS_REMOTE for flag in said),
        any(states),
    )
