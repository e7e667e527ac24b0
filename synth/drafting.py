"""Rules drafted from runs, for whoever asks from outside the wing of policies."""

from __future__ import annotations

from collections.abc import Sequence

from synth.observed import Run
from synth.policies.draft import Draft, draft


def drafted(runs: Sequence[Run], *, origin: str) -> Draft:
    """Rules that all of these runs keep, for a person to review; see `draft`. BadInput without any call."""
    return draft(runs, origin=origin)
