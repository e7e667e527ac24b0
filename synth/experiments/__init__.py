"""Agents driven through cases, and what is counted of that.

The page of a campaign is loaded when it is asked for: it takes half of this wing.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from synth.experiments.populations import Counted, Member, compare, drifts, matched, mean_json
from synth.experiments.rates import Rate
from synth.experiments.recording import recorded_case

__all__ = [
    "Counted",
    "Member",
    "Rate",
    "campaign_body",
    "compare",
    "drifts",
    "matched",
    "mean_json",
    "recorded_case",
]


def campaign_body(
    results: Sequence[Mapping[str, Any]],
    report: Mapping[str, Any] | None,
    before: Sequence[Mapping[str, Any]] = (),
    shown: Container[str] = frozenset(),
) -> str:
    """HTML of a campaign, as `posting` told of it: its report if there is one, else what results add up to.

    With results of an earlier campaign, it is compared with that. `shown`: ids of runs that have a page.
    """
    from synth.experiments import posting

    return posting.campaign_body(results, report, before, shown)
