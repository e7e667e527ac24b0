"""Whose a rule is and how bad it is to break it, as the files in use say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from collector.judging.policies import PolicyFile, load_all, readable

AS_IN_THE_INBOX = {"warning": "medium", "info": "low", "error": None}
"""What files have always said -> what findings have; `error` is what a file that says nothing says."""


class Owned(NamedTuple):
    """What a file says of one rule."""

    owner: str | None = None
    severity: str | None = None
    """`critical`, `high`, `medium` or `low`."""


def owners(files: Sequence[PolicyFile]) -> Mapping[str, Owned]:
    """Rule -> what its file says of it; of files that can be read."""
    return {
        policy.id: Owned(policy.owner, AS_IN_THE_INBOX.get(policy.severity, policy.severity))
        for found in load_all(readable(files)).files
        for policy in found.policies
    }
