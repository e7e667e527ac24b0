"""What rules have in common that are about the starts of calls, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import NO_TIMES, NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps
from synth.policies.names import Tools


def judge_starts(
    what: Sequence[Tools],
    seen: Evidence,
    kept: Callable[[int, Evidence], Collection[bool]],
    said: Callable[[int, Evidence], str],
    *,
    left_open: str,
    fine: str,
) -> Judged:
    """Each own attempt by itself, by the time of day.

    `kept` has what may be true of a call, as its start is known; `said` tells of one that broke the rule.
    """
    tried = sorted({i for tools in what for i in seen.attempts(tools)})
    if not tried:
        return NOT_APPLICABLE
    own = [i for i in tried if seen.owns(i)]
    if not own:
        return NOT_ITS_OWN
    if not seen.has_times:
        return NO_TIMES
    day = seen.by_the_time_of_day()
    seen.budget.spend(len(own))
    found = {i: set(kept(i, day)) for i in own}
    broken = tuple(i for i in own if found[i] == {False})
    if broken:
        reasons = tuple((i, said(i, day)) for i in broken)
        return Judged("violated", broken, reasons[0][1], reasons=reasons)
    if any(False in found[i] for i in own):
        return Judged("undecided", (), f"The recorded times leave open {left_open} ({seen.timezone}).")
    return Judged("ok", (), fine)


def unseen_starts(judged: Judged, what: Sequence[Tools], seen: Evidence) -> Judged:
    """The answer where calls are missing: each of them may break the rule, none mends it."""
    return despite_gaps(judged, opens=lambda: any(map(seen.gaps.can_be, what)), mends=lambda call: False)
